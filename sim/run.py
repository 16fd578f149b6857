"""The user's own vectors through the bit-exact model, the RTL, or the golden model: npz in, npz out."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from rbdhw.artifact import Design, read
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.protocol import BASE, FUNCTIONS, SYMMETRIC
from rbdhw.sim import golden
from rbdhw.sim.model import respond
from rbdhw.sim.packets import (
    TAGS,
    answers,
    check_finite,
    contents,
    decode,
    encode,
    field,
    merged,
    requests,
    unpack,
)
from rbdhw.sim.verilator import SimulationError, Traffic, build, exchange

Array = NDArray[np.float64]

ENGINES = ("model", "rtl", "golden")

ASYMMETRY = 1e-6
"""How far, relative to its largest element, a matrix given as symmetric may be from it."""

_GIVING = {"Minv": "minv", "a": "fd"}
"""The function whose whole result an optional result is."""


def run(
    directory: Path,
    function: str,
    source: Path,
    target: Path,
    engine: str = "model",
    *,
    extended: bool = False,
    cache: Path | None = None,
    progress: Callable[[str], None] = lambda _stage: None,
) -> dict[str, int]:
    """Compute a function of the design in a folder for the tasks in an npz file.

    Parameters
    ----------
    source, target
        The npz files: arrays as in :func:`rbdhw.sim.golden.evaluate`, and of the results beside them
        ``status`` (N,), zero where the result is within the domain and nothing overflowed.
    engine
        ``model``, ``rtl`` (the Verilog in Verilator, kept in ``cache``) or ``golden`` (float64).
    extended
        Ask for the function's optional results, too (``Minv`` and ``a`` of ``dfd``). Optional arrays in the
        file (``Minv`` for ``difd``) travel in any case.
    progress
        Told each stage as it begins.

    Returns
    -------
    dict
        ``tasks``, and how many of them are ``flagged``.

    Raises
    ------
    InputError
        For anything that cannot be used, before anything is written.
    SimulationError
        Where the RTL cannot be built, or does not answer every task.
    """
    design = read(directory)
    if function not in design.functions:
        expected = f"expected one of {', '.join(design.functions)}"
        raise InputError(f"function '{function}': not in the design {directory}; {expected}")
    if engine not in ENGINES:
        raise InputError(f"engine '{engine}': unknown; expected one of {', '.join(ENGINES)}")
    if not target.absolute().parent.is_dir() or target.is_dir():
        raise InputError(f"{target}: cannot be written; expected a file in a folder that exists")
    if extended and not FUNCTIONS[function].optional_outputs:
        expected = ", ".join(name for name, arrays in FUNCTIONS.items() if arrays.optional_outputs)
        raise InputError(f"function '{function}': has no optional results; expected {expected}")
    arrays = load(design, function, source)
    extended = extended or any(name in arrays for name in FUNCTIONS[function].optional_inputs)
    progress(f"evaluating {function}")
    if engine == "golden":
        results = golden_results(design, function, arrays, extended)
        status = np.zeros(len(arrays["q"]), np.int64)
    else:
        words = encode(design, function, arrays, extended)
        if engine == "rtl":
            status, words = rtl(directory, design, function, words, cache, extended)
        else:
            status, words = respond(design, function, words, extended)
        results = decode(design, function, words, extended)
    _save(target, {**results, "status": status})
    return {"tasks": len(status), "flagged": int(np.count_nonzero(status))}


def load(design: Design, function: str, path: Path) -> dict[str, Array]:
    """The arrays in an npz file, checked to be all that the function needs and nothing else.

    Raises
    ------
    InputError
        The line names the file, the array and what was expected of it.
    """
    arrays = _read(path)
    required = golden.inputs_of(design.robot, function)
    every = FUNCTIONS[function].inputs + FUNCTIONS[function].optional_inputs
    known = [name for name in every if name not in BASE or name in required]
    optional = [name for name in known if name not in required]
    for name in required:
        if name not in arrays:
            raise InputError(f"{path}: array '{name}': missing; {function} needs {', '.join(required)}")
    for name in arrays:
        if name not in known:
            expected = ", ".join(required) + (f", optionally {', '.join(optional)}" if optional else "")
            raise InputError(f"{path}: array '{name}': no input of {function}; expected {expected}")
        if name in FUNCTIONS[function].optional_inputs and not _takes(design, name):
            expected = "expected none, or a design generated with --algorithm products=dense"
            raise InputError(f"{path}: array '{name}': this build solves with factors of its own; {expected}")
    shapes = _shapes(design, arrays["q"])
    try:
        checked = {name: _checked(name, array, shapes[name]) for name, array in arrays.items()}
        golden.with_unit_quaternions(design.robot, checked["q"])
        _check_forces(design, checked.get("fext"))
        for name in SYMMETRIC:
            _check_symmetric(name, checked.get(name))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return checked


def _takes(design: Design, array: str) -> bool:
    """Whether words of an array can come with a task."""
    return any(word.name.startswith(f"{array}[") for word in design.program.inputs)


def golden_results(
    design: Design, function: str, arrays: Mapping[str, Array], extended: bool
) -> Mapping[str, Array]:
    """What the golden model says, with the function's optional results if they are asked for."""
    results: dict[str, Array] = dict(golden.evaluate(design.robot, function, arrays))
    for name in FUNCTIONS[function].optional_outputs if extended else ():
        results[name] = golden.evaluate(design.robot, _GIVING[name], arrays)[name]
    return results


def rtl(
    directory: Path,
    design: Design,
    function: str,
    words: Mapping[str, Integers],
    cache: Path | None = None,
    extended: bool = False,
) -> tuple[Integers, dict[str, Integers]]:
    """Status (N,) and output words of the Verilog for the input words (N,) of N tasks.

    Raises
    ------
    SimulationError
        Where it cannot be built, or does not answer every task once and in order.
    """
    tags = np.arange(len(next(iter(words.values()))))
    sequence = merged({function: tags}, {function: requests(design, function, tags, words, extended)})
    outcome = exchange(build(directory, cache), sequence, Traffic())
    answered = answers(design, outcome.responses, extended)[function]
    headers, _ = unpack(answered.packets, [])
    in_step = answered.whole.all() and np.array_equal(field(headers, "tag"), tags % TAGS)
    if outcome.violations or not in_step:
        raise SimulationError(f"{directory}: the RTL did not answer every task of {len(tags)} once, in order")
    return contents(design, function, answered.packets, extended)


def _read(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        with path.open("rb") as file, _archive(np.load(file)) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected an npz file of arrays") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a readable npz file ({error}); expected arrays of numbers") from error


def _archive(loaded: Any) -> NpzFile:
    """What NumPy loaded, if it was an npz file."""
    if not isinstance(loaded, NpzFile):
        raise ValueError("one array without a name")
    return loaded


def _shapes(design: Design, q: NDArray[np.generic]) -> dict[str, tuple[int, ...]]:
    """The shape that each array must have; ``q`` says how many tasks there are."""
    robot, tasks = design.robot, q.shape[0] if q.ndim else 1
    vector, matrix = (tasks, robot.nv), (tasks, robot.nv, robot.nv)
    wrenches = (tasks, len(robot.bodies), 6)
    shapes = {"q": (tasks, robot.nq), "v": vector, "a": vector, "tau": vector, "fext": wrenches}
    return {**shapes, "Minv": matrix, "base_v": (tasks, 6), "base_a": (tasks, 6), "gravity": (tasks, 3)}


def _checked(name: str, array: NDArray[np.generic], shape: tuple[int, ...]) -> Array:
    if not np.can_cast(array.dtype, np.float64, "same_kind"):
        raise InputError(f"array '{name}': holds {array.dtype}; expected real numbers")
    if array.shape != shape:
        raise InputError(f"array '{name}': shape {array.shape}; expected {shape}")
    numbers = array.astype(np.float64)
    check_finite(name, numbers)
    return numbers


def _check_forces(design: Design, fext: Array | None) -> None:
    """Refuse a force on a body that takes none in this build."""
    if fext is None:
        return
    pushed = np.any(fext != 0.0, axis=2)
    pushed[:, list(design.fext)] = False
    if pushed.any():
        row, body = np.argwhere(pushed)[0].tolist()
        names = [design.robot.bodies[i].name for i in design.fext]
        reason = f"row {row}: a force on link '{design.robot.bodies[body].name}'"
        raise InputError(
            f"array 'fext': {reason}; this design expects forces on {', '.join(names) or 'none'}"
        )


def _check_symmetric(name: str, array: Array | None) -> None:
    """Refuse a matrix of which only the lower triangle travels where the upper says something else."""
    if array is None or not array.size:
        return
    difference = np.abs(array - array.swapaxes(1, 2))
    places = np.argwhere(difference > ASYMMETRY * np.abs(array).max(axis=(1, 2), keepdims=True))
    if len(places):
        row, i, j = places[0].tolist()
        differing = f"[{i},{j}] is {array[row, i, j]:g} and [{j},{i}] is {array[row, j, i]:g}"
        raise InputError(f"array '{name}': row {row}: {differing}; expected symmetric matrices")


def _save(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write an npz file aside and rename it."""
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with aside.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type] # NumPy types every keyword as bool
        aside.replace(path)
    except OSError as error:
        expected = "expected a folder with room"
        raise InputError(f"{path}: cannot be written ({error.strerror}); {expected}") from error
    finally:
        aside.unlink(missing_ok=True)
