"""Arrays of untrusted npz files: every size is checked before memory is allocated."""

from __future__ import annotations

import math
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rbdhw.errors import InputError

_SUFFIX = ".npy"
_ENCRYPTED = 1
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_DEFLATION = 1032
"""The most bytes that one byte of deflated data expands to."""

_EXPECTED = "an array that np.savez wrote"
_BROKEN = (
    *(OSError, ValueError, TypeError, LookupError, EOFError, RuntimeError, MemoryError, OverflowError),
    *(SyntaxError, TokenError, zipfile.BadZipFile, zlib.error, struct.error),
)
"""The exceptions that reading a damaged archive or header may raise."""


def read_archive(
    path: Path, names: Collection[str]
) -> tuple[dict[str, NDArray[np.generic]], tuple[str, ...]]:
    """Return the arrays of an npz file whose names are in ``names``, and the names of the others.

    The sizes that an array's header declares are compared with the size of the archive before memory is
    allocated.

    Raises
    ------
    InputError
        The message names the file and the unusable array.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("not a regular file")
        with path.open("rb") as file:
            if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
                raise ValueError("one array without a name")
            size = file.seek(0, 2)
            with zipfile.ZipFile(file) as archive:
                members: dict[str, zipfile.ZipInfo] = {}
                for info in archive.infolist():
                    name = info.filename.removesuffix(_SUFFIX)
                    if name in members and name in names:
                        raise InputError(f"{path}, array '{name}'", "given twice", "it once")
                    members[name] = info
                arrays = {
                    name: _read_array(archive, info, size, f"{path}, array '{name}'")
                    for name, info in members.items()
                    if name in names
                }
    except FileNotFoundError:
        raise InputError(str(path), "no such file", "an npz file of arrays") from None
    except _BROKEN as error:
        reason = f"not a readable npz file ({_reason(error)})"
        raise InputError(str(path), reason, "arrays of numbers") from error
    return arrays, tuple(sorted(members.keys() - arrays.keys()))


def _read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int, where: str
) -> NDArray[np.generic]:
    if info.flag_bits & _ENCRYPTED:
        raise InputError(where, "is encrypted", _EXPECTED)
    if info.compress_type not in _COMPRESSIONS:
        raise InputError(where, f"is compressed by method {info.compress_type}", _EXPECTED)
    held = info.compress_size * (1 if info.compress_type == zipfile.ZIP_STORED else _DEFLATION)
    if info.compress_size > size or info.file_size > held:
        reason = f"claims {info.file_size:,} bytes in an archive of {size:,}"
        raise InputError(where, reason, _EXPECTED)
    try:
        with archive.open(info) as member:
            shape, fortran, dtype = _read_header(member)
            check_real(where, dtype)
            declared, left = math.prod(shape) * dtype.itemsize, info.file_size - member.tell()
            if declared != left:
                reason = f"its header declares {declared:,} bytes, but {left:,} follow"
                raise InputError(where, reason, _EXPECTED)
            content = member.read()
        return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
    except _BROKEN as error:
        raise InputError(where, f"cannot be read ({_reason(error)})", _EXPECTED) from error


def _read_header(member: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(member)
    if version not in readers:
        raise ValueError(f"format {version[0]}.{version[1]}")
    with warnings.catch_warnings():  # about headers written by Python 2, and about deprecated type names
        warnings.simplefilter("ignore")
        header: tuple[tuple[int, ...], bool, np.dtype[Any]] = readers[version](member)
    if min(header[0], default=0) < 0:
        raise ValueError(f"shape {header[0]}")
    return header


def check_real(where: str, dtype: np.dtype[Any]) -> None:
    """Refuse an array whose elements are no real numbers."""
    if dtype.kind not in "biuf":
        raise InputError(where, f"holds {'Python objects' if dtype.hasobject else dtype}", "real numbers")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error.args[0]) if error.args else type(error).__name__
