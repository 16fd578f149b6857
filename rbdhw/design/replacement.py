"""Write a generated folder whole, in place of an earlier one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rbdhw.design.digests import MANIFEST, seal
from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS
from rbdhw.runtime.files import ASIDE, WRITABLE, aside, check_folder

VERILOG = "accelerator.v"
FILES = (VERILOG, "model.json", "robot.json", "domain.json", MANIFEST)
"""The files of every design."""

COMPANIONS = (
    "selftest.v",
    "primitives.v",
    "accelerator.vlt",
    "accelerator.xdc",
    "accelerator.lpf",
    "model.c",
    "model.h",
)
"""Files for other tools that a design can contain; the commands do not use them."""


def software_files(target: str, functions: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the sources in a folder of software for ``c`` or ``cuda``."""
    if target == "cuda":
        return "dynamics.cu", "dynamics.cuh", "kernels.h", "measure.cu"
    own = [name for function in functions for name in (f"dynamics_{function}.c", f"kernels_{function}.h")]
    return "dynamics.h", "batch.h", *own


_OURS = frozenset((*FILES, *COMPANIONS, *software_files("c", FUNCTIONS), *software_files("cuda", FUNCTIONS)))

BUILD_PREFIX = "build-"
"""The prefix of the names of subfolders in which tools keep their results."""


def check_output(directory: Path) -> None:
    """Check, before a long build, that :func:`write_files` will be able to write a folder.

    Raises
    ------
    InputError
        If the folder cannot be created or written, or contains a file that is no part of a design.
    """
    check_folder(directory, "to write a design to")
    if directory.exists():
        foreign = sorted(entry.name for entry in directory.iterdir() if not _is_ours(entry))
        if foreign:
            reason = f"contains '{foreign[0]}', which is no part of a design"
            expected = "a new or empty folder, or the folder of an earlier design"
            raise InputError(str(directory), reason, expected)


def _is_ours(entry: Path) -> bool:
    return entry.name in _OURS or (entry.name.startswith((BUILD_PREFIX, ASIDE)) and entry.is_dir())


def write_files(
    manifest: Mapping[str, Any], contents: dict[str, bytes], directory: Path, check: Callable[[Path], None]
) -> dict[str, Any]:
    """Write a folder of files and their manifest, replacing an earlier folder and the builds in it.

    On failure the earlier files and builds remain unchanged, and no new file is left.

    Parameters
    ----------
    contents
        The files without the manifest, by name.
    check
        A function that is called with a folder of the new files before they replace others.

    Returns
    -------
    dict
        The manifest as written, with the digests of the files.

    Raises
    ------
    InputError
        As :func:`check_output`; if writing fails.
    """
    check_output(directory)
    sealed = seal(manifest, contents)
    files = {**contents, MANIFEST: (json.dumps(sealed, indent=2) + "\n").encode()}
    folder = Path(os.path.realpath(directory))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = aside(folder if folder.exists() else folder.parent)
        made.mkdir()
        try:
            for name, data in files.items():
                (made / name).write_bytes(data)
            check(made)
            if folder.exists():
                _exchange(folder, made, list(files))
            else:
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(str(directory), f"cannot be written ({error.strerror})", WRITABLE) from error
    return sealed


def _exchange(directory: Path, made: Path, names: Sequence[str]) -> None:
    """Move an earlier design and its builds into ``made``, and the new files from there into ``directory``.

    ``names`` are the names of the new files, the manifest last. The old manifest is moved away first, so that
    a folder with a manifest is always complete. If a move fails, the moves before it are undone.
    """
    earlier = made / "earlier"
    earlier.mkdir()
    builds = sorted(path.name for path in directory.glob(f"{BUILD_PREFIX}*"))
    others = sorted(_OURS.difference(FILES))
    old = [name for name in (*reversed(FILES), *others, *builds) if (directory / name).exists()]
    moves = [(directory / name, earlier / name) for name in old]
    moves += [(made / name, directory / name) for name in names]
    with ExitStack() as undo:
        for source, destination in moves:
            source.rename(destination)
            undo.callback(destination.rename, source)
        undo.pop_all()
