"""npz files that are refused, each with a part of the error message."""

import io
import os
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.support.bad.robots import TOY

TASKS = 3
ZEROS = np.zeros((TASKS, 2))


def npy(array: np.ndarray) -> bytes:
    """Return an array as np.save writes it."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(text: str, version: tuple[int, int] = (1, 0)) -> bytes:
    """Return the header of an npy file with any text."""
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text) + 1) + text.encode() + b"\n"


def described(descr: str = "'<f8'", shape: str = "(3, 2)", content: bytes = ZEROS.tobytes()) -> bytes:
    """Return an npy file with the given type and shape."""
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}") + content


def member(q: bytes, compression: int = zipfile.ZIP_STORED) -> Callable[[Path], None]:
    """Return a function that writes an archive with ``q`` as given."""

    def write_archive(file: Path) -> None:
        with zipfile.ZipFile(file, "w", compression) as archive:
            for name, content in (("q", q), ("v", npy(ZEROS)), ("a", npy(ZEROS))):
                archive.writestr(f"{name}.npy", content)

    return write_archive


def directory_entry(offset: int, layout: str, value: int) -> Callable[[Path], None]:
    """Return a function that writes an archive whose directory has a wrong entry about ``q``."""

    def write_archive(file: Path) -> None:
        np.savez_compressed(file, q=ZEROS, v=ZEROS, a=ZEROS)
        content = bytearray(file.read_bytes())
        struct.pack_into(layout, content, content.find(b"PK\x01\x02") + offset, value)
        file.write_bytes(content)

    return write_archive


def arrays(**changes: object) -> Callable[[Path], None]:
    """Return a function that writes arrays, some of them changed or left out."""
    known = {"q": ZEROS, "v": ZEROS, "a": ZEROS} | changes
    return lambda file: np.savez(file, **{name: array for name, array in known.items() if array is not None})


def cut(file: Path) -> None:
    np.savez(file, q=ZEROS, v=ZEROS, a=ZEROS)
    file.write_bytes(file.read_bytes()[:-30])


def flipped(file: Path) -> None:
    np.savez_compressed(file, q=ZEROS, v=ZEROS, a=ZEROS)
    content = bytearray(file.read_bytes())
    content[60] ^= 0xFF
    file.write_bytes(content)


def twice(file: Path) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for name in ("q.npy", "q", "v.npy", "a.npy"):
            archive.writestr(name, npy(ZEROS))


UNREADABLE = "not a readable npz file"
ARCHIVES: dict[str, tuple[Callable[[Path], None], str]] = {
    "nothing": (lambda file: file.write_bytes(b""), f"{UNREADABLE} (File is not a zip file)"),
    "no zip": (lambda file: file.write_bytes(b"PK\x03\x04 x"), f"{UNREADABLE} (File is not a zip file)"),
    "a URDF": (lambda file: file.write_text(TOY), f"{UNREADABLE} (File is not a zip file)"),
    "npy": (lambda file: file.write_bytes(npy(ZEROS)), f"{UNREADABLE} (one array without a name)"),
    "a folder": (lambda file: file.mkdir(), f"{UNREADABLE} (not a regular file)"),
    "a pipe": (lambda file: os.mkfifo(file), f"{UNREADABLE} (not a regular file)"),
    "a file cut short": (cut, f"{UNREADABLE} (File is not a zip file)"),
    "a later version of zip": (directory_entry(6, "<H", 99), f"{UNREADABLE} (zip file version 9.9)"),
    "encrypted": (directory_entry(8, "<H", 1), "array 'q': is encrypted"),
    "unknown compression": (directory_entry(10, "<H", 99), "array 'q': is compressed by method 99"),
    "bzip2": (member(npy(ZEROS), zipfile.ZIP_BZIP2), "array 'q': is compressed by method 12"),
    "lzma": (member(npy(ZEROS), zipfile.ZIP_LZMA), "array 'q': is compressed by method 14"),
    "a wrong checksum": (
        directory_entry(16, "<I", 1),
        "array 'q': cannot be read (Bad CRC-32 for file 'q.npy')",
    ),
    "a compressed size beyond the file": (
        directory_entry(20, "<I", 0xF0000000),
        "array 'q': claims 176 bytes in an archive of",
    ),
    "a size beyond the file": (
        directory_entry(24, "<I", 0xF0000000),
        "array 'q': claims 4,026,531,840 bytes in an archive of",
    ),
    "a place beyond the file": (
        directory_entry(42, "<I", 0x7FFFFFFF),
        "array 'q': cannot be read (Truncated file header)",
    ),
    "damaged data": (flipped, "array 'q': cannot be read ("),
    "an array twice": (twice, "array 'q': given twice"),
    "a text": (
        member(b"1 2 3"),
        "array 'q': cannot be read (EOF: reading magic string, expected 8 bytes got 5)",
    ),
    "an empty member": (
        member(b""),
        "array 'q': cannot be read (EOF: reading magic string, expected 8 bytes got 0)",
    ),
    "a picture": (
        member(b"\x89PNG\r\n\x1a\n" + bytes(99)),
        "array 'q': cannot be read (the magic string is not correct",
    ),
    "half a header": (member(npy(ZEROS)[:40]), "array 'q': cannot be read (EOF: reading array header"),
    "fields with names in Unicode": (
        member(header("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", (3, 0))),
        "array 'q': cannot be read (format 3.0)",
    ),
    "an unknown format": (member(header("{}", (9, 1))), "array 'q': cannot be read (format 9.1)"),
    "a header that is none": (
        member(header("[1, 2]")),
        "array 'q': cannot be read (Header is not a dictionary",
    ),
    "a header without keys": (member(header("{}")), "array 'q': cannot be read (Header does not contain"),
    "a header cut short": (
        member(header("{'descr': ")),
        "array 'q': cannot be read (EOF in multi-line statement)",
    ),
    "a deep header": (member(header(5000 * "(")), "array 'q': cannot be read (EOF in multi-line statement)"),
    "a header that is code": (
        member(header("__import__('os')")),
        "array 'q': cannot be read (malformed node or string",
    ),
    "a header of 20,000 characters": (
        member(header(20_000 * "-" + "1")),
        "array 'q': cannot be read (Header info length (20002) is large",
    ),
    "terabytes": (
        member(described(shape="(1000000000000, 2)", content=b"")),
        "array 'q': its header declares 16,000,000,000,000 bytes, but 0 follow",
    ),
    "more than there are numbers for": (
        member(described(shape="(1" + 99 * "0" + ", 2)")),
        "bytes, but 48 follow",
    ),
    "no rows of endless length": (
        member(described(shape="(0, 100000000000000000000)", content=b"")),
        "array 'q': cannot be read (Maximum allowed dimension exceeded)",
    ),
    "a negative shape": (member(described(shape="(-3, 2)")), "array 'q': cannot be read (shape (-3, 2))"),
    "a shape of words": (member(described(shape="'3, 2'")), "array 'q': cannot be read (shape is not valid"),
    "a byte too few": (
        member(described(content=ZEROS.tobytes()[1:])),
        "array 'q': its header declares 48 bytes, but 47 follow",
    ),
    "a byte too many": (
        member(described(content=ZEROS.tobytes() + b"x")),
        "array 'q': its header declares 48 bytes, but 49 follow",
    ),
    "an unknown type": (member(described("'zzz'")), "array 'q': cannot be read (descr is not a valid dtype"),
    "objects": (member(described("'|O'")), "array 'q': holds Python objects"),
    "pickled objects": (arrays(q=np.array([{}])), "array 'q': holds Python objects"),
    "records": (member(described("[('a', '<f8')]")), "array 'q': holds [('a', '<f8')]"),
    "words": (arrays(q=np.full((TASKS, 2), "1.0")), "array 'q': holds <U3"),
    "bytes": (arrays(q=np.full((TASKS, 2), b"1")), "array 'q': holds |S1"),
    "complex numbers": (arrays(q=ZEROS + 1j), "array 'q': holds complex128"),
    "dates": (arrays(q=ZEROS.astype("M8[s]")), "array 'q': holds datetime64[s]"),
    "durations": (arrays(q=ZEROS.astype("m8[s]")), "array 'q': holds timedelta64[s]"),
    "no q": (arrays(q=None), "array 'q': missing"),
    "no a": (arrays(a=None), "array 'a': missing"),
    "another name": (arrays(q=None, Q=ZEROS), "array 'q': missing"),
    "one task": (arrays(q=np.zeros(2)), "array 'q': shape (2,)"),
    "a number": (arrays(q=np.float64(1)), "array 'q': shape ()"),
    "too many columns": (arrays(q=np.zeros((TASKS, 5))), "array 'q': shape (3, 5)"),
    "too few rows": (arrays(v=ZEROS[1:]), "array 'v': shape (2, 2)"),
    "forces without bodies": (arrays(fext=ZEROS), "array 'fext': shape (3, 2)"),
    "a force that the design does not take": (
        arrays(fext=np.ones((TASKS, 2, 6))),
        "array 'fext', row 0: a force on link 'cart_0'",
    ),
}
