"""Write a generated folder whole, in place of an earlier design and of nothing else.

The manifest of a design records its files and their digests. Only these files are replaced, and only while
they are unchanged; what a user adds to the folder remains.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rbdhw.design.digests import MANIFEST, is_unchanged, recorded_digests, seal
from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS
from rbdhw.runtime.aside import aside, remove
from rbdhw.runtime.build_folder import BUILD_PREFIX, is_build_folder
from rbdhw.runtime.files import WRITABLE, check_folder

VERILOG = "accelerator.v"
AXI_VERILOG = "accelerator_axi.v"
FILES = (VERILOG, "model.json", "robot.json", "domain.json", MANIFEST)
"""The files of every design."""

COMPANIONS = (
    AXI_VERILOG,
    "selftest.v",
    "primitives.v",
    "accelerator.vlt",
    "accelerator.xdc",
    "accelerator.lpf",
    "model.c",
    "model.h",
)
"""Files for other tools that a design can contain; the commands do not use them."""

MODEL_COMMANDS = ("model_solver.c", "model_solver.h", "model_mppi.c", "model_mppi.h")
"""Those of a design that solves, or takes means of samples."""

SOLVER_FILES = (
    "solver.h",
    "solver.c",
    "solver_sweep.h",
    "solver_pass.h",
    "solver_loop.h",
    "solver_samples.h",
    "kernels_sweep.h",
    "kernels_pass.h",
)
"""The sources of a solver."""


def software_files(target: str, functions: Iterable[str], *, solver: bool = False) -> tuple[str, ...]:
    """Return the names of the sources in a folder of software for ``c`` or ``cuda``."""
    if target == "cuda":
        return "dynamics.cu", "dynamics.cuh", "kernels.h", "measure.cu"
    sources = [name for f in functions for name in (f"dynamics_{f}.c", f"kernels_{f}.h")]
    return "dynamics.h", "batch.h", "rbdhw.hpp", *sources, *(SOLVER_FILES if solver else ())


_NAMES = frozenset(
    (
        *FILES,
        *COMPANIONS,
        *MODEL_COMMANDS,
        *software_files("c", FUNCTIONS, solver=True),
        *software_files("cuda", FUNCTIONS),
    )
)
"""The names that a file of a design can have."""


def check_output(directory: Path) -> None:
    """Check, before a long build, that :func:`write_files` will be able to write a folder.

    Raises InputError if the folder cannot be created or written, or if a file in it has the name of a
    design's file and is not as a design's manifest describes it.
    """
    check_folder(directory, "to write a design to")
    if directory.exists():
        _earlier_files(directory)


def _earlier_files(directory: Path) -> tuple[str, ...]:
    """Return the names of what a folder contains of an earlier design, the manifest first."""
    digests = recorded_digests(directory)
    named = sorted(name for name in {*_NAMES, *digests} if os.path.lexists(directory / name))
    for name in named:
        path = directory / name
        if name not in digests:
            raise _in_the_way(path, f"is no file of a design that {MANIFEST} describes")
        if name != MANIFEST and (path.is_symlink() or not is_unchanged(path, digests[name])):
            raise _in_the_way(path, "was changed after it was written")
    builds = sorted(path.name for path in directory.glob(f"{BUILD_PREFIX}*") if is_build_folder(path))
    others = [name for name in named if name != MANIFEST]
    return (MANIFEST, *others, *builds) if digests else ()


def _in_the_way(path: Path, reason: str) -> InputError:
    expected = "a folder in which nothing but an unchanged design would be replaced"
    return InputError(str(path), reason, expected, "use another folder, or move the file away")


def write_files(
    manifest: Mapping[str, Any], contents: dict[str, bytes], directory: Path, check: Callable[[Path], None]
) -> dict[str, Any]:
    """Write a folder of files and their manifest, replacing an earlier design and the builds in it.

    Other files in the folder remain. On failure the earlier design and builds remain unchanged, and no new
    file is left. Raises InputError as :func:`check_output` does, and if writing fails.

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
            remove(made)
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
    moves = [(directory / name, earlier / name) for name in _earlier_files(directory)]
    moves += [(made / name, directory / name) for name in names]
    with ExitStack() as undo:
        for source, destination in moves:
            source.rename(destination)
            undo.callback(destination.rename, source)
        undo.pop_all()
