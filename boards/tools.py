"""Outside programs: finding them, running them with a kept log, and what it means when they fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LAST_LINES = 8

# Environment variables that name another program than the one this environment installs.
VARIABLES = {"yosys": "YOSYS", "nextpnr-ecp5": "NEXTPNR_ECP5", "ecppack": "ECPPACK"}

# A version is the first number with dots that a program prints when asked.
VERSION = re.compile(r"\d+(?:\.\d+)+(?:\+\d+)?")


class ToolError(Exception):
    """An outside program is missing, failed, or gave a result that must not be used.

    The text names the program, the reason, the log and its last lines. The command line prints it and
    exits with status 1.
    """


def find_tool(name: str) -> str:
    """The path of ``yosys``, ``nextpnr-ecp5`` or ``ecppack``.

    Its environment variable decides (``YOSYS``, ``NEXTPNR_ECP5``, ``ECPPACK``); else the ``yowasp-`` program
    of this Python environment, of PATH, and last a native one on PATH. Raises :class:`ToolError`.
    """
    variable = VARIABLES[name]
    if variable in os.environ:
        found = shutil.which(os.environ[variable])
        if found is None:
            raise ToolError(f"{variable}={os.environ[variable]}: no such program")
        return found
    beside = str(Path(sys.executable).parent)
    for candidate, path in ((f"yowasp-{name}", beside), (f"yowasp-{name}", None), (name, None)):
        found = shutil.which(candidate, path=path)
        if found is not None:
            return found
    raise ToolError(f"{name}: not found; install rbdhw[synthesis], or name one in {variable}")


def tool_version(name: str) -> str:
    """The version of the program that :func:`find_tool` finds.

    Raises :class:`ToolError` where it is missing, or does not tell.
    """
    command = [find_tool(name), "--version"]
    process = _finished(name, command)
    found = VERSION.search(process.stdout.decode(errors="replace"))
    if process.returncode or found is None:
        raise ToolError(f"{name}: {command[0]} --version tells no version; expected a working program")
    return found[0]


def run_tool(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run ``command`` in ``folder``; ``environment`` is added to the process's own.

    ``log`` is the file that the program itself writes, if it does; what it prints and did not write there is
    put at the end. Raises :class:`ToolError` if the program cannot be started or exits with other than 0.
    """
    log.unlink(missing_ok=True)
    process = _finished(name, command, cwd=folder, env={**os.environ, **(environment or {})})
    written = log.read_bytes() if log.exists() else b""
    if process.stdout.strip() not in written:
        log.write_bytes(written + process.stdout)
    if process.returncode:
        raise tool_failure(name, f"exit status {process.returncode}", log)


def _finished(name: str, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; what it prints on either stream is in ``stdout``."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            **options,
        )
    except OSError as error:
        raise ToolError(f"{name}: {command[0]} cannot be started ({error.strerror})") from error


def tool_failure(name: str, reason: str, log: Path) -> ToolError:
    """The :class:`ToolError` of program ``name``, with the last lines of its ``log``."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    last = [line for line in lines if line.strip()][-LAST_LINES:]
    return ToolError("\n  ".join([f"{name} failed ({reason}); its log is {log}", *last]))
