"""The user's cache: results that are expensive to make and cheap to keep; deleting it is harmless.

Programs and libraries from here are run. So nobody but the user may write to the folder, and a file is used
only if its digest is the one that was written beside it.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from rbdhw.runtime.aside import aside

DIGEST = ".sha256"
"""The suffix of the file that has a file's digest."""


def find_or_make(name: str, make: Callable[[Path], Path], folder: Path | None = None) -> Path:
    """Return the file ``name`` of the user's cache, made unless it exists and is whole.

    Parameters
    ----------
    name
        The name, with a hash of all that determines the content.
    make
        Makes the file in an empty temporary folder, and returns its path.
    folder
        Where the file is kept if the user's cache cannot be used; by default :func:`process_folder`.
    """
    roots = []
    for root in _roots(folder):
        if is_whole(root / name):
            return root / name
        roots.append(root)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        made = make(Path(work))
        for root in roots[:-1]:
            try:
                keep(made, root / name)
            except OSError:
                continue
            return root / name
        keep(made, roots[-1] / name)
    return roots[-1] / name


def _roots(folder: Path | None) -> Iterator[Path]:
    """Yield the folders in which a file may be, the last of which can be written."""
    root = user_cache()
    if root is not None:
        yield root
    yield folder or process_folder()


def user_cache() -> Path | None:
    """Return ``$XDG_CACHE_HOME/rbdhw`` (``~/.cache/rbdhw``), which only the user may open; made if missing.

    None if the user has no home, if the folder cannot be made, or if others own it or may write to it.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        if not base.is_absolute():
            return None
        folder = base / "rbdhw"
        base.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        state = folder.lstat()
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
            return None
        if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return None
        if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):  # an older version let others read it
            folder.chmod(stat.S_IRWXU)
    except (RuntimeError, OSError):  # no home, or a folder that cannot be made
        return None
    return folder


@cache
def process_folder() -> Path:
    """Return a folder that only this process uses, and that is removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="rbdhw-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def log_file(name: str) -> Path:
    """Return the path of a log: in the user's cache, or else in a new folder that only the user may open."""
    return (user_cache() or Path(tempfile.mkdtemp(prefix="rbdhw-"))) / name


def is_whole(file: Path) -> bool:
    """Return whether a file exists and has the digest that was written beside it."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return False
        expected = _beside(file).read_text(encoding="ascii")
        return expected == _digest(file)
    except (OSError, ValueError):
        return False


def keep(made: Path, path: Path) -> None:
    """Copy a file to its place in a cache atomically, and write its digest beside it.

    Another process may do the same at the same time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    copy, digest = aside(path.parent), aside(path.parent)
    try:
        shutil.copy(made, copy)  # a program remains executable
        digest.write_text(_digest(copy), encoding="ascii")
        copy.replace(path)
        digest.replace(_beside(path))
    finally:
        copy.unlink(missing_ok=True)
        digest.unlink(missing_ok=True)


def _beside(file: Path) -> Path:
    return file.with_name(file.name + DIGEST)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
