"""The user's cache: results that are expensive to make and cheap to keep; deleting it is harmless."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from rbdhw.runtime.files import aside


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
        shutil.copyfile(made, copy)
        copy.replace(place)
    finally:
        copy.unlink(missing_ok=True)
