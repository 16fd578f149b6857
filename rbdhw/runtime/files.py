"""The user's files: read up to a maximum size, and written completely or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rbdhw.errors import InputError
from rbdhw.runtime.aside import aside

WRITABLE = "a writable folder"
"""The expectation in the refusal of a folder."""

_LONGEST_SUFFIX = 8


def read(path: str | os.PathLike[str], expected: str, most: int) -> bytes:
    """Return the content of a file or a pipe of at most ``most`` bytes.

    Raises
    ------
    InputError
        If it cannot be read or is larger; the message states that ``expected`` was expected.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        reason = "no such file"
    except IsADirectoryError:
        reason = "is a directory"
    except (OSError, ValueError) as error:
        reason = f"cannot be read ({_reason(error)})"
    else:
        if len(data) <= most:
            return data
        reason = f"is larger than {most:,} bytes"
    raise InputError(os.fspath(path), reason, expected)


def check_file(path: Path) -> None:
    """Check that :func:`replace_file` could write a file, before any work is done for it.

    Raises
    ------
    InputError
        If the path is a folder, or its folder does not exist or is not writable.
    """
    if is_folder(path) or not is_folder(path.absolute().parent):
        raise InputError(str(path), "cannot be written", "a file in a folder that exists")
    try:
        _is_there(path)
    except OSError as error:
        raise _refusal(path, error) from error
    written = path if _in_place(path) else path.absolute().parent
    if not os.access(written, os.W_OK):
        raise InputError(str(path), f"{written} cannot be written", WRITABLE)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; False where the system refuses the query (an overlong name)."""
    try:
        return path.is_dir()
    except OSError:
        return False


def check_folder(folder: Path, what: str) -> None:
    """Check that a folder exists or can be created and is writable, before any work is done for it.

    Raises
    ------
    InputError
        If not; the message states that a folder ``what`` was expected.
    """
    existing = Path(os.path.realpath(folder))
    try:
        while not _is_there(existing) and existing != existing.parent:
            existing = existing.parent
    except OSError as error:
        raise InputError(str(folder), _reason(error), f"a folder {what}") from error
    if not existing.is_dir():
        raise InputError(str(folder), f"{existing} is not a folder", f"a folder {what}")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(str(folder), f"{existing} cannot be written", WRITABLE)


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield the path of a new file that replaces ``path`` at the end of the block.

    On failure an existing file remains unchanged and no new file is left behind. If ``path`` is a symbolic
    link, the file that it points to is replaced. A device, a pipe, or a file that is the standard output or
    error is written in place.

    Raises
    ------
    InputError
        If writing fails.
    """
    try:
        if _in_place(path):
            with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
                made = Path(folder) / f"content{_suffix(path)}"
                yield made
                with made.open("rb") as content, _open(path) as target:
                    shutil.copyfileobj(content, target)
        else:
            target_path = Path(os.path.realpath(path))
            made = aside(target_path.parent, _suffix(path))
            try:
                yield made
                made.replace(target_path)
            finally:
                made.unlink(missing_ok=True)
    except OSError as error:
        raise _refusal(path, error) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file through :func:`replace_file`, which defines the errors."""
    with replace_file(path) as made:
        made.write_text(text, encoding="utf-8")


def _is_there(path: Path) -> bool:
    """Return whether a path exists, a dangling link included; OSError where the system refuses the query."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _refusal(path: Path, error: OSError) -> InputError:
    return InputError(str(path), f"cannot be written ({_reason(error)})", "a writable file")


def _suffix(path: Path) -> str:
    """Return the end of a file's name that identifies its format."""
    return path.suffix if len(path.suffix) <= _LONGEST_SUFFIX else ""


def _in_place(path: Path) -> bool:
    """Return whether a path exists that must be written in place."""
    try:
        there = path.stat()
    except OSError:
        return False
    return not stat.S_ISREG(there.st_mode) or _stream(there) is not None


def _open(path: Path) -> BinaryIO:
    """Open an existing path for writing; a standard stream is continued."""
    stream = _stream(path.stat())
    if stream is None:
        return path.open("wb")
    sys.stdout.flush()
    return os.fdopen(os.dup(stream), "wb")


def _stream(there: os.stat_result) -> int | None:
    """Return the standard stream (output or error) that writes to a file, or None."""
    for stream in (1, 2):
        try:
            if os.path.samestat(os.fstat(stream), there):
                return stream
        except OSError:  # the stream is closed
            continue
    return None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
