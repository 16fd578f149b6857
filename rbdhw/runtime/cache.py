"""The user's cache: results that are expensive to make and cheap to keep; deleting it is harmless."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from rbdhw.runtime.files import aside


def find_or_make(name: str, make: Callable[[Path], Path], folder: Path) -> Path:
    """Return the file ``name`` of the user's cache, made unless it exists.

    Parameters
    ----------
    name
        The name, with a hash of all that determines the content.
    make
        Makes the file in an empty temporary folder, and returns its path.
    folder
        Where the file is kept if the user's cache is not writable.
    """
    kept = [place / name for place in (user_cache(), folder) if place is not None]
    for file in kept:
        if file.is_file():
            return file
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        made = make(Path(work))
        for file in kept[:-1]:
            try:
                keep(made, file)
            except OSError:
                continue
            return file
        keep(made, kept[-1])
    return kept[-1]


def user_cache() -> Path | None:
    """Return ``$XDG_CACHE_HOME/rbdhw`` (``~/.cache/rbdhw``); None if the user has no home."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home
        return None
    return base / "rbdhw" if base.is_absolute() else None


def keep(made: Path, place: Path) -> None:
    """Copy a file to its place in a cache atomically; another process may do the same at the same time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    copy = aside(place.parent)
    try:
        shutil.copy(made, copy)  # a program remains executable
        copy.replace(place)
    finally:
        copy.unlink(missing_ok=True)
