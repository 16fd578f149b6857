"""Incomplete files and folders beside their final place, and those that killed processes left there."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

ASIDE = ".writing-"
"""The prefix of the names of incomplete files and folders."""


def aside(folder: Path, suffix: str = "") -> Path:
    """Return a new path in ``folder`` for a file or folder that is not yet complete.

    What killed processes of this user on this machine left there is removed.
    """
    _remove_stale(folder)
    return folder / f"{ASIDE}{_machine()}-{os.getpid()}-{secrets.token_hex(4)}{suffix}"


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it, as far as this is possible."""
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink()
        return
    _allow(path)
    for folder, names, _ in os.walk(path):
        for name in names:
            _allow(Path(folder, name))
    shutil.rmtree(path, ignore_errors=True)


def _allow(folder: Path) -> None:
    """Permit the removal of what is in a folder, unless it is a link."""
    if not folder.is_symlink():
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)


def _remove_stale(folder: Path) -> None:
    """Remove incomplete files and folders of processes that have ended; what cannot be removed stays."""
    name = re.compile(rf"{re.escape(ASIDE)}{_machine()}-(\d{{1,9}})-[0-9a-f]{{8}}(?:\..*)?")
    with suppress(OSError):
        for path in [path for path in folder.iterdir() if path.name.startswith(ASIDE)]:
            process = name.fullmatch(path.name)
            if process and path.lstat().st_uid == os.geteuid() and not _runs(int(process[1])):
                remove(path)


@cache
def _machine() -> str:
    """Return a text for this machine or container: in others a process may have the same number."""
    try:
        space = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        space = 0
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    return True
