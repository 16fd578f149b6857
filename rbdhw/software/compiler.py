"""The host's C compiler: libraries of generated sources, compiled once and kept in the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from rbdhw.errors import Failure, InputError
from rbdhw.progress import log_lines
from rbdhw.runtime.cache import find_or_make, log_file

COMPILERS = ("cc", "gcc", "clang")
"""The compilers that are tried if the variable CC is not set."""

FLAGS = ("-std=c11", "-O2", "-march=native", "-fPIC", "-shared")
LAST_LINES = 8


class CompilerError(Failure):
    """A compiler failed. The text names the compiler, its log and the log's last lines."""


def find_compiler() -> tuple[str, ...]:
    """Return the command of the C compiler: the variable CC, or the first of :data:`COMPILERS`."""
    command = command_in("CC", "the path of a C compiler")
    if command:
        return command
    for name in COMPILERS:
        path = shutil.which(name)
        if path is not None:
            return (path,)
    reason = f"none of {', '.join(COMPILERS)} is installed"
    raise InputError("C compiler", reason, "one, or its path in CC", "install one, or use --engine numpy")


def command_in(variable: str, expected: str) -> tuple[str, ...]:
    """Return the command in an environment variable, with the program's path; empty if it is not set."""
    text = os.environ.get(variable, "")
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{variable}={text}", f"cannot be split ({error})", expected) from None
    if not command:
        return ()
    path = shutil.which(command[0])
    if path is None:
        raise InputError(f"{variable}={command[0]}", "no such program", expected)
    return (path, *command[1:])


def compile_library(
    sources: Mapping[str, str],
    compiled: Sequence[str],
    flags: Sequence[str] = (),
    compiler: Sequence[str] = (),
    what: str = "",
) -> Path:
    """Return the shared library of source files, compiled unless the user's cache has it.

    Parameters
    ----------
    sources
        The texts of all files by name.
    compiled
        The names of the files to compile, which may include the others.
    flags
        Further options of the compiler.
    compiler
        The command of the compiler and its first options; by default :func:`find_compiler` and :data:`FLAGS`.
    what
        What is compiled, for a line on the error stream if it takes long; by default the files.

    Raises
    ------
    InputError
        There is no compiler.
    CompilerError
        It fails.
    """
    command = [*(compiler or (*find_compiler(), *FLAGS)), *flags]
    digest = hashlib.sha256("\0".join([_host(tuple(command)), *command, *compiled]).encode())
    for name, text in sorted(sources.items()):
        digest.update(f"\0{name}\0{text}".encode())
    library = f"{Path(compiled[0]).stem}-{digest.hexdigest()[:16]}.so"

    def make(work: Path) -> Path:
        for name, text in sources.items():
            (work / name).write_text(text, encoding="utf-8")
        made = work / library
        files = [str(work / name) for name in compiled]
        with log_lines() as progress:
            progress(f"compiling {what or ', '.join(compiled)}")
            run_compiler([*command, "-o", str(made), *files, "-lm"], Path(library).with_suffix(".log").name)
        return made

    return find_or_make(library, make)


def load_library(path: Path) -> ctypes.CDLL:
    """Return a compiled library, loaded.

    InputError if the system does not load it, as from a file system that is mounted without programs.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError(
            str(path),
            f"the system does not load it ({error})",
            "a cache from which libraries can be loaded",
            "set XDG_CACHE_HOME to a folder on a file system that is not mounted with noexec",
        ) from None


def run_compiler(command: Sequence[str], log: str) -> str:
    """Run a compiler and return its output; if it fails, keep the output as a log and raise CompilerError."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        kept = log_file(log)
        kept.write_bytes(done.stdout)
        last = done.stdout.decode(errors="replace").splitlines()[-LAST_LINES:]
        lines = "".join(f"\n  {line}" for line in last)
        raise CompilerError(f"{command[0]}: failed with status {done.returncode}; log: {kept}{lines}")
    return done.stdout.decode(errors="replace")


@cache
def _host(command: tuple[str, ...]) -> str:
    """Return what a library depends on besides its source: the compiler's version and the processor."""
    version = subprocess.run([*command, "--version"], capture_output=True, check=False).stdout
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = [platform.processor()]
    features = next((line for line in lines if line.startswith(("flags", "Features"))), lines[0])
    return f"{version.decode(errors='replace')}\n{platform.machine()}\n{features}"
