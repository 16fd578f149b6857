"""External programs: lookup, execution with a log and progress, and failures."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rbdhw.errors import Failure, InputError
from rbdhw.progress import Progress, silent
from rbdhw.runtime.cache import process_folder, user_cache
from rbdhw.runtime.extras import not_installed

LAST_LINES = 8

WATCHED_SECONDS = 5.0
"""The period in seconds at which the log of a running program is read."""

TAIL_BYTES = 65536
"""The bytes at the end of a log that are searched for a running program's state."""

# Environment variables that override the programs of this Python environment.
VARIABLES = {"yosys": "YOSYS", "nextpnr-ecp5": "NEXTPNR_ECP5", "ecppack": "ECPPACK"}

YOWASP = "yowasp-"
"""What the names of YoWASP's programs begin with."""

YOWASP_CACHE = "YOWASP_CACHE_DIR"

NO_MEMORY = "thrown Wasm exception"
"""What a ``yowasp-`` program prints last if it needs more than the 4 GB that such a program can have."""

# The version is the first dotted number in a program's output.
VERSION = re.compile(r"\d+(?:\.\d+)+(?:\+\d+)?")


class ToolError(Failure):
    """An external program failed, or its result must not be used.

    The text names the program, the reason, the log and its last lines.
    """


def find_tool(name: str) -> str:
    """Return the path of ``yosys``, ``nextpnr-ecp5`` or ``ecppack``, ready to run in several processes.

    The search order is: the program's environment variable (``YOSYS``, ``NEXTPNR_ECP5``, ``ECPPACK``), the
    ``yowasp-`` program of this Python environment, the ``yowasp-`` program on PATH, the native program on
    PATH. Raises InputError if there is none.
    """
    program = _find(name)
    if Path(program).name.startswith(YOWASP):
        _compile_alone(program, user_cache())
    return program


def _find(name: str) -> str:
    variable = VARIABLES[name]
    if variable in os.environ:
        program = shutil.which(os.environ[variable])
        if program is None:
            where = f"{variable}={os.environ[variable]}"
            raise InputError(where, "no such program", f"the path of {name}")
        return program
    beside = str(Path(sys.executable).parent)
    for candidate, path in ((f"{YOWASP}{name}", beside), (f"{YOWASP}{name}", None), (name, None)):
        program = shutil.which(candidate, path=path)
        if program is not None:
            return program
    missing = not_installed(name, "synthesis")
    raise replace(missing, remedy=f"{missing.remedy}, or set {variable} to its path")


@cache
def _compile_alone(program: str, folder: Path | None) -> None:
    """Have YoWASP compile a program into its cache, if it has not, while no other process does.

    It writes the file in place, and a process that has mapped it by then dies of SIGBUS. The lock is in
    ``folder``. Without a folder, or where it cannot be written to, nothing is locked.
    """
    if folder is None:
        return
    with suppress(OSError), (folder / "yowasp.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _wait_for(Path(program).name, [program, "--version"], env=_environment({}))


def tool_version(name: str) -> str:
    """Return the version of the program that :func:`find_tool` finds.

    Raises InputError if it is missing, :class:`ToolError` if it prints no version.
    """
    command = [find_tool(name), "--version"]
    status, printed = _wait_for(name, command, env=_environment({}))
    match = VERSION.search(printed.decode(errors="replace"))
    if status or match is None:
        raise ToolError(f"{name}: {command[0]} --version prints no version; expected a working program")
    return match[0]


def last_line(text: str) -> str | None:
    """Return the last line of a log that is not empty, or None."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), None)


def run_tool(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    log: Path,
    environment: Mapping[str, str] | None = None,
    progress: Progress = silent,
    state: Callable[[str], str | None] = last_line,
) -> None:
    """Run ``command`` in ``folder``; ``environment`` is added to the process's own.

    ``log`` is the file that the program itself writes, if any; printed output that is missing in it is
    appended. While the program runs, ``progress`` is called every :data:`WATCHED_SECONDS` with the state that
    ``state`` finds at the end of the log. Raises :class:`ToolError` if the program cannot be started or its
    exit status is not 0.
    """
    log.unlink(missing_ok=True)

    def watch() -> None:
        step = state(_tail(log))
        if step is not None:
            progress(step)

    status, printed = _wait_for(name, command, watch, cwd=folder, env=_environment(environment or {}))
    written = log.read_bytes() if log.exists() else b""
    if printed.strip() not in written:
        log.write_bytes(written + printed)
    if status:
        raise tool_failure(name, f"exit status {status}", log)


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with additions, and a folder in which YoWASP keeps compiled programs.

    It does not start without one; this one serves users without a home that they can write to.
    """
    environment = {**os.environ, **added}
    if YOWASP_CACHE not in environment and user_cache() is None:
        environment[YOWASP_CACHE] = str(process_folder())
    return environment


def _tail(log: Path) -> str:
    """Return the end of a log; empty if the log does not exist yet."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")


def _wait_for(
    name: str, command: Sequence[str], watch: Callable[[], object] = str, **options: Any
) -> tuple[int, bytes]:
    """Run a program to its end and call ``watch`` meanwhile; return its exit status and its output."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
        )
    except OSError as error:
        raise ToolError(f"{name}: {command[0]} cannot be started ({error.strerror})") from error
    with process:
        try:
            while True:
                try:
                    printed = process.communicate(timeout=WATCHED_SECONDS)[0]
                    return process.returncode, printed
                except subprocess.TimeoutExpired:
                    watch()
        except BaseException:
            process.kill()
            raise


def tool_failure(name: str, reason: str, log: Path) -> ToolError:
    """Return the :class:`ToolError` of program ``name``, with the last lines of its ``log``."""
    lines = _tail(log).splitlines()
    last = [line for line in lines if line.strip()][-LAST_LINES:]
    if last and NO_MEMORY in last[-1]:
        reason += f", probably for want of memory: it has 4 GB; set {VARIABLES[name]} to a native {name}"
    return ToolError("\n  ".join([f"{name} failed ({reason}); its log is {log}", *last]))
