"""Compute the user's own tasks with an engine of a design: npz in, npz out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import SOLVE_INPUTS
from rbdhw.design.digests import digest_of, read_manifest
from rbdhw.design.folder import Design, read
from rbdhw.design.manifest import is_software
from rbdhw.driver.link import NO_LINK, Link
from rbdhw.engines.engine import Engine, RolloutEngine, Source
from rbdhw.engines.registry import answering_rollouts, start_engine
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.front.accelerator import Accelerator
from rbdhw.front.units import suspicions
from rbdhw.model.arrays import as_numbers, check_optional
from rbdhw.model.diagnosis import Cause, diagnose, explain_circles, order_causes
from rbdhw.model.limits import LIMIT, Limited, check_way, limit_tasks
from rbdhw.model.packets import NOT_FINITE
from rbdhw.model.rollouts.codec import check, flagged, prepare_checked
from rbdhw.model.rollouts.diagnosis import explain_rollouts
from rbdhw.model.rollouts.parts import ARRAYS
from rbdhw.model.rollouts.positions import OF_POSITIONS
from rbdhw.progress import Progress, silent
from rbdhw.protocol import BASE, CONTACT, FUNCTIONS, HOLDING, MPPI, PARAMETERS, ROLLOUT, SOLVE
from rbdhw.runtime.archive import read_archive
from rbdhw.runtime.files import check_file, replace_file
from rbdhw.sim.report import all_flagged
from rbdhw.solving import Solved

Array = NDArray[np.float64]


_OF_ROLLOUTS = (
    *("q", "v", "tau", "h", "std", "seed", "x_ref", "Q", "R", "C", "y", "W", "x_nominal", "K", "contact"),
    *OF_POSITIONS,
)

CONTROLS = {
    SOLVE: ((*SOLVE_INPUTS,), ("shift", "iterations", "tolerance"), ("q", "v")),
    MPPI: (
        (*SOLVE_INPUTS, "std"),
        ("shift", "samples", "seed", "hold", "correlation", "temperature"),
        ("q", "v", "std"),
    ),
    ROLLOUT: (_OF_ROLLOUTS, ("every", "hold"), ("q", "v", "tau")),
}
"""What a solver of software does: its arrays, its numbers, and the arrays that it needs."""


@dataclass(frozen=True)
class Loaded:
    """The tasks, ``q`` as it was given, the names of unused arrays in the file, and warnings."""

    tasks: Limited
    q: Array
    ignored: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The result of :func:`run`; ``causes`` explain the flagged tasks, the most frequent first.

    ``warnings`` are about the arrays, and about results of which none is to be trusted.
    """

    tasks: int
    flagged: int
    causes: tuple[Cause, ...]
    ignored: tuple[str, ...]
    warnings: tuple[str, ...]

    def json(self) -> dict[str, Any]:
        """Return the outcome as ``run --json`` prints it."""
        return vars(self) | {"causes": [cause.json() for cause in self.causes]}


def run(
    directory: Path,
    function: str,
    source: Path,
    target: Path,
    engine: str | None = None,
    *,
    extended: bool = False,
    link: Link | None = None,
    outside: str = LIMIT,
    cache: Path | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Compute a function of the design in a folder for the tasks in an npz file.

    Arrays have the order and conventions of :mod:`rbdhw.robot.pinocchio`; a ``q`` with the columns of
    Pinocchio's own model is converted. Arrays that the function does not need are ignored.

    Parameters
    ----------
    source, target
        The npz files. The source has arrays as in :func:`rbdhw.golden.evaluation.evaluate`. The target gets
        the results and ``status`` (N,), zero if the inputs are within the domain and nothing overflowed.
    engine
        One of :data:`rbdhw.engines.table.ENGINES` that serve an accelerator; by default the first. A
        simulator is kept in ``cache``.
    link
        How the engine ``board`` reaches its board.
    outside
        One of :data:`rbdhw.model.limits.WAYS`: what becomes of tasks outside the domain.
    extended
        Also compute the function's optional results (such as ``Minv`` and ``a`` of ``dfd``). Optional arrays
        in the file (``Minv`` for ``difd``) are sent in any case.
    progress
        Receives each stage at its start.

    Returns
    -------
    Outcome
        The number of tasks, and why tasks were flagged.

    Raises
    ------
    InputError
        For unusable input, before anything is written.
    SimulationError
        If the RTL cannot be built, or does not answer every task.
    CompilerError
        If the C compiler fails.
    DriverError
        If the board fails; nothing is written.
    """
    check_way(outside)
    _check_files(source, target)
    software = is_software(read_manifest(directory))
    if function in (SOLVE, MPPI) or (function == ROLLOUT and software):
        return _run_control(
            Accelerator(directory, engine, outside=outside), function, source, target, progress
        )
    if software:
        reason = f"is software, of which run computes {', '.join(CONTROLS)}"
        raise InputError(str(directory), reason, "an accelerator", f"call {function} of rbdhw.load in Python")
    design = read(directory)
    if function != ROLLOUT or design.interface.rollout is None:
        _check_function(design, directory, function)
    _check_extended(function, extended)
    chosen = start_engine(engine, Source(directory, digest_of(directory), design, cache, link or NO_LINK))
    if function == ROLLOUT:
        return _run_rollout(answering_rollouts(chosen), source, target, outside, progress)
    return _run_tasks(chosen, function, source, target, extended, outside, progress)


def _run_tasks(
    engine: Engine,
    function: str,
    source: Path,
    target: Path,
    extended: bool,
    outside: str,
    progress: Progress,
) -> Outcome:
    """Compute a function for the tasks in an npz file."""
    design = engine.source.design
    loaded = load(design, function, source, outside)
    arrays = loaded.tasks.arrays
    extended = extended or any(name in arrays for name in FUNCTIONS[function].optional_inputs)
    progress(f"evaluating {function}")
    status, results = engine.compute(function, arrays, extended)
    status = loaded.tasks.flagged(status, results)
    explained = np.flatnonzero(status & ~NOT_FINITE)
    if len(explained):
        progress(f"explaining {len(explained)} flagged tasks")
    asked = {name: array[explained] for name, array in loaded.tasks.asked.items()}
    circles = explain_circles(design.robot, function, loaded.q)
    causes = order_causes([*circles, *diagnose(design, function, asked, extended, explained)])
    _write(target, {**results, "status": status})
    return _outcome("task", status, causes, loaded)


def _outcome(kind: str, status: Integers, causes: tuple[Cause, ...], loaded: Loaded) -> Outcome:
    """Return the outcome of tasks, or of what ``kind`` they are, with this status (N,)."""
    tasks, flagged = len(status), int(np.count_nonzero(status))
    warnings = loaded.warnings + all_flagged(kind, tasks, flagged)
    damaged = np.flatnonzero(status == NOT_FINITE)
    if len(damaged):
        many = f"{kind} {damaged[0]}" + f" and {len(damaged) - 1} more" * (len(damaged) > 1)
        warnings += (f"{many}: numbers that are not finite, so results are NaN",)
    return Outcome(tasks, flagged, causes, loaded.ignored, warnings)


def _run_rollout(
    engine: RolloutEngine, source: Path, target: Path, outside: str, progress: Progress
) -> Outcome:
    """Compute the rollouts in an npz file; ``tau`` (K, nv) are the forces of all."""
    design = engine.source.design
    arrays, every, ignored = _load_rollouts(design, source)
    progress(f"evaluating {ROLLOUT}")
    try:
        rollouts, q = check(design, arrays, every, outside), as_numbers("array 'q'", arrays["q"])
        results = flagged(rollouts, engine.roll_out(rollouts, every, states=True))
    except InputError as error:
        raise error.within(source) from None
    first_flagged = results["first_flagged"].astype(np.int64)
    if first_flagged.any():
        progress(f"explaining {np.count_nonzero(first_flagged)} flagged rollouts")
    first = rollouts.first
    prepared = prepare_checked(design, replace(rollouts, first=replace(first, arrays=first.asked)), every)
    explained = explain_rollouts(design, prepared, first_flagged, first.asked)
    causes = order_causes([*explain_circles(design.robot, ROLLOUT, q), *explained])
    _write(target, results)
    warnings = [
        *suspicions(design, first.asked),
        *[f"a reference is outside the domain, and was limited, in step {rollouts.late}"]
        * bool(rollouts.late),
    ]
    loaded = Loaded(first, q, ignored, tuple(warnings))
    return _outcome(ROLLOUT, results["status"].astype(np.int64), causes, loaded)


def _run_control(
    software: Accelerator, function: str, source: Path, target: Path, progress: Progress
) -> Outcome:
    """Compute what a solver of software does for an npz file; what ends without a solution is flagged."""
    names, numbers, needed = CONTROLS[function]
    arrays, ignored = read_archive(source, [*names, *numbers])
    settings = {name: arrays.pop(name).item() for name in numbers if name in arrays}
    progress(f"evaluating {function}")
    try:
        solution = getattr(software, function)(**dict.fromkeys(needed) | arrays, **settings)
    except InputError as error:
        raise error.within(source) from None
    _write(target, solution._asdict())
    if function != SOLVE:
        status = np.atleast_1d(solution.effective == 0.0 if function == MPPI else solution.status)
        flagged = int(np.count_nonzero(status))
        warnings = (f"{MPPI}: no sample of {flagged} counts",) * (function == MPPI and flagged > 0)
        return Outcome(len(status), flagged, (), ignored, warnings)
    status = np.atleast_1d(solution.status)
    flagged = int(np.count_nonzero(status >= Solved.STALLED))
    counts = [f"{np.count_nonzero(status == kind)} {kind.name.lower()}" for kind in Solved if kind in status]
    return Outcome(len(status), flagged, (), ignored, (f"{SOLVE}: {', '.join(counts)}",) * bool(flagged))


def _load_rollouts(design: Design, source: Path) -> tuple[dict[str, Any], int, tuple[str, ...]]:
    """Return the arrays of rollouts in an npz file, ``every``, and the names of unused arrays."""
    step = design.interface.step.name
    required = golden.inputs_of(design.robot, step)
    loaded = [PARAMETERS] * bool(design.robot.loaded) + [CONTACT] * FUNCTIONS[step].touches
    arrays, others = read_archive(source, [*required, *loaded, "fext", "every", *ARRAYS])
    for name in required:
        if name not in arrays:
            expected = f"{', '.join(required)} for {ROLLOUT}"
            raise InputError(f"{source}, array '{name}'", "missing", expected)
    every = np.asarray(arrays.pop("every", 0))
    if every.shape not in ((), (1,)) or not np.issubdtype(every.dtype, np.integer):
        raise InputError(f"{source}, array 'every'", f"shape {every.shape} of {every.dtype}", "one integer")
    return arrays, int(every.item()), others


def _write(target: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with replace_file(target) as made, made.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type] # NumPy types every keyword as bool


def _check_files(source: Path, target: Path) -> None:
    """Refuse a target that cannot be written, or that would replace the source."""
    check_file(target)
    if target.is_file() and source.is_file() and target.samefile(source):
        raise InputError(str(target), "is the input, which would be replaced", "another file for the results")


def _check_function(design: Design, directory: Path, function: str) -> None:
    if function not in design.functions:
        reason, shape = f"not in the design {directory}", design.interface.rollout
        names = [*design.functions, *([ROLLOUT] if shape is not None else [])]
        raise InputError(f"function '{function}'", reason, f"one of {', '.join(names)}")


def _check_extended(function: str, extended: bool) -> None:
    """Refuse a request for optional results of a function that has none."""
    if extended and not (function in FUNCTIONS and FUNCTIONS[function].optional_outputs):
        having = ", ".join(name for name, arrays in FUNCTIONS.items() if arrays.optional_outputs)
        where, reason = f"function '{function}'", "has no optional results"
        raise InputError(where, reason, having, "leave out --extended")


def load(design: Design, function: str, path: Path, outside: str = LIMIT) -> Loaded:
    """Return the arrays of an npz file that the function uses, within the domain.

    Raises InputError, which names the file, the array and what was expected of it.
    """
    required = golden.inputs_of(design.robot, function)
    every = FUNCTIONS[function].inputs + FUNCTIONS[function].optional_inputs
    chosen = (HOLDING, *BASE, "h")
    required_or_loaded = {*required, *([PARAMETERS] if design.robot.loaded else [])}
    required_or_loaded |= set(FUNCTIONS[function].base_choice if design.robot.base_chosen else ())
    names = [name for name in every if name not in chosen or name in required_or_loaded]
    arrays, others = read_archive(path, names)
    for name in required:
        if name not in arrays:
            raise InputError(f"{path}, array '{name}'", "missing", f"{', '.join(required)} for {function}")
    try:
        check_optional(design, function, arrays)
        given = {name: as_numbers(f"array '{name}'", array) for name, array in arrays.items()}
        tasks = limit_tasks(design.robot, design.fext, design.domain, given, outside)
    except InputError as error:
        raise error.within(path) from None
    return Loaded(tasks, given["q"], others, tuple(suspicions(design, tasks.asked)))
