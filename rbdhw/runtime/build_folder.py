"""Subfolders of a design in which tools keep their results, marked so that they can be removed with it."""

from __future__ import annotations

import errno
from pathlib import Path

from rbdhw.errors import InputError
from rbdhw.runtime.aside import aside, remove
from rbdhw.runtime.files import WRITABLE

BUILD_PREFIX = "build-"
"""The prefix of the names of build folders."""

TAG = "CACHEDIR.TAG"
"""The file that marks a build folder; programs that make backups leave out folders with such a file."""

_SIGNATURE = b"""\
Signature: 8a477f597d28d172789f06886806bc55
# A tool of rbdhw made this folder. The next `rbdhw generate` into the folder above removes it.
# https://bford.info/cachedir/
"""


def make_build_folder(design: Path, name: str) -> Path:
    """Return the subfolder ``build-NAME`` of a design for a tool's results, created unless it exists.

    Raises
    ------
    InputError
        If it cannot be written, or something else has its name.
    """
    folder = design / f"{BUILD_PREFIX}{name}"
    try:
        if not is_build_folder(folder):
            _make(folder)
    except OSError as error:
        raise InputError(str(folder), f"cannot be written ({error.strerror})", WRITABLE) from error
    return folder


def _make(folder: Path) -> None:
    """Create a build folder with its mark at once: another process may do the same at the same time."""
    made = aside(folder.parent)
    made.mkdir()
    try:
        (made / TAG).write_bytes(_SIGNATURE)
        made.rename(folder)  # also in place of an empty folder
    except OSError as error:
        if is_build_folder(folder):
            return
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            reason = "there is something of this name that rbdhw did not make"
            raise InputError(str(folder), reason, "a name that is free", "move it away") from error
        raise
    finally:
        remove(made)


def is_build_folder(path: Path) -> bool:
    """Return whether a path is a folder, and no link to one, that :func:`make_build_folder` made."""
    tag = path / TAG
    return not path.is_symlink() and tag.is_file() and tag.read_bytes() == _SIGNATURE
