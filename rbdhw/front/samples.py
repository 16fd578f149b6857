"""Rollouts of software, and means of samples: the arrays of calls for the passes forward of a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import SOLVE_INPUTS
from rbdhw.design.folder import Design
from rbdhw.engines.words import WordEngine
from rbdhw.errors import InputError, unknown
from rbdhw.fixed.normal import normal_samples
from rbdhw.front.solve import BOUNDS, Problems, one_of
from rbdhw.model.arrays import as_numbers, as_whole
from rbdhw.model.rollouts.mean_codec import mean_task
from rbdhw.model.rollouts.positions import OF_POSITIONS
from rbdhw.model.rollouts.samples import MOST_SEED
from rbdhw.protocol import CONTACT
from rbdhw.software.solver import sizes_of
from rbdhw.software.solver_library import Sampling, means_of

Array = NDArray[np.float64]

MOST_SAMPLES = 1 << 20
"""The most samples of a problem."""

_ROWS: dict[str, tuple[str | int, ...]] = {
    **dict.fromkeys(("tau", "R", "std"), ("nv",)),
    **dict.fromkeys(("x_ref", "x_nominal"), ("nx",)),
    **dict.fromkeys(("y", "W"), ("rows",)),
    "K": ("nv", "ndx"),
    "Q": ("ndx",),
    CONTACT: ("contacts",),
    "placement_ref": ("frames", 4, 4),
    "position_weight": ("frames", 3),
}
"""The arrays of rollouts that have a row for each step, and the axes behind."""

_PROBLEM = {
    "tau": ("tau", 0, 0, 1.0),
    "R": ("R", 0, 0, 2.0),
    "K": ("K", 0, 0, 1.0),
    CONTACT: (CONTACT, 0, 0, 1.0),
    "x_nominal": ("states", 0, 1, 1.0),
    "x_ref": ("x_ref", 1, 1, 1.0),
    "Q": ("Q", 1, 1, 2.0),
    "y": ("y", 1, 1, 1.0),
    "W": ("W", 1, 1, 2.0),
    "placement_ref": ("placement_ref", 1, 1, 1.0),
    "position_weight": ("position_weight", 1, 1, 2.0),
}
"""What becomes of rows in a problem: the array, the knots before the first row, whether the last knot has a
row, and a factor."""


class Mean(NamedTuple):
    """The mean of the forces of samples of a problem, or of problems, with their axes before.

    ``tau`` (N, nv), the ``states`` (N + 1, nq + nv) to which it leads, and their ``cost``; the ``least`` cost
    of a sample, and the ``effective`` number of samples.
    """

    tau: NDArray[Any]
    states: NDArray[Any]
    cost: NDArray[Any]
    least: NDArray[Any]
    effective: NDArray[Any]

    def __repr__(self) -> str:
        steps, nv = self.tau.shape[-2:]
        rows = zip(*map(np.ravel, (self.cost, self.least, self.effective)), strict=True)
        lines = [f"cost {cost:.6g}, of samples {least:.6g}; {many:.1f} count" for cost, least, many in rows]
        return f"{steps} steps of {nv} forces: " + "\n  ".join(lines)


class Forces(NamedTuple):
    """The forces ``tau`` (N, nv) of a mean, which are all that follows from it."""

    tau: NDArray[Any]


def bounds_and_hold(design: Design) -> tuple[dict[str, Array], int]:
    """Return the limits of the forces of an accelerator, and the steps for which it holds a sample."""
    shape = design.interface.rollout
    assert shape is not None
    limits = np.asarray(design.domain.bounds["tau"]).T
    return dict(zip(BOUNDS[2:], limits, strict=True)), shape.hold


def rollout_of(
    problems: Problems, first: Mapping[str, Array], rows: Mapping[str, Any], hold: Any
) -> tuple[dict[str, Array], Sampling, int]:
    """Return one problem from N first states, the samples, and the number of steps, of a call of ``rollout``.

    ``first`` are the arrays (N, ...) of ``step`` in the first states, without forces, and the ``seed``. The
    cost of a rollout is twice that of a problem, which begins behind the first step.

    Raises
    ------
    InputError
        An array is unusable, or the steps in time differ.
    """
    robot, knots = problems.robot, problems.steps
    given = {name: as_numbers(f"array '{name}'", array) for name, array in rows.items() if array is not None}
    steps = len(given["tau"]) if given["tau"].ndim == 2 else 0
    if not 1 <= steps <= knots:
        expected = f"(K, {robot.nv}) for K of 1 to {knots} steps"
        raise InputError("array 'tau'", f"shape {given['tau'].shape}", expected)
    if "h" in first and np.ptp(first["h"]) > 0.0:
        raise InputError("array 'h'", "steps in time differ", "one for all rollouts")
    for name, other in (("Q", "x_ref"), ("C", "x_ref"), ("K", "x_nominal"), ("std", "seed")):
        if name in given and other not in {**given, **first}:
            raise InputError(f"array '{other}'", "missing", f"one beside {name}")
    if not robot.frames and (lost := sorted(given.keys() & {*OF_POSITIONS})):
        remedy = "generate with --frames LINK"
        raise InputError(f"array '{lost[0]}'", "this build has no frames", "none", remedy)
    of_all = {name: given.pop(name) for name in ("C",) if name in given}
    sizes = sizes_of(robot, steps, len(of_all["C"]) if "C" in of_all and of_all["C"].ndim else 0)
    whole = {}
    for name, array in given.items():
        whole[name] = one_of(name, array, ("steps", *_ROWS[name]), sizes)
    arrays = {
        name: factor * _padded(whole[row], before, knots + knot)
        for row, (name, before, knot, factor) in _PROBLEM.items()
        if row in whole
    }
    for name in arrays.keys() & {"Q", "W", "position_weight"}:
        arrays[name][0] = 0.0  # the first state costs nothing
    start = {name: first[name][0] for name in ("q", "v", "h") if name in first}
    problem, _ = problems.complete(start | arrays | of_all, None, 0)
    seeds = np.zeros(len(first["q"]), np.int64)
    if "seed" in first:
        seeds = _seeds(first["seed"])
    std = _padded(whole["std"], 0, knots) if "std" in whole else None
    sampling = Sampling(std, seeds, _held(problems, hold))
    return problem | {name: first[name] for name in ("q", "v")}, sampling, steps


def forces_of(problem: Mapping[str, Array], sampling: Sampling, steps: int) -> Array:
    """Return the forces (N, steps, nv) of rollouts without feedback: those of the problem plus samples."""
    forces = problem["tau"][:, :steps]
    if sampling.std is not None:
        drawn = normal_samples(sampling.seeds, np.arange(steps) // sampling.hold, forces.shape[-1])
        forces = forces + sampling.std[:steps] * drawn
    limits = (problem[name][:, np.newaxis] for name in ("tau_min", "tau_max"))
    return np.clip(forces, *limits)


def _padded(rows: Array, before: int, knots: int) -> Array:
    """Return rows with the first one repeated before, and the last one behind, where it does not count."""
    return np.concatenate([rows[:1]] * before + [rows] + [rows[-1:]] * (knots - before - len(rows)))


def mean_call(
    problems: Problems,
    arguments: Mapping[str, Any],
    warm: Any,
    shift: int,
    std: Any,
    seed: Any,
    samples: Any,
    hold: Any,
    correlation: Any,
) -> tuple[dict[str, Array], Sampling, int, tuple[int, ...]]:
    """Return the problems of a call of ``mppi``, its samples, their number, and the axes of problems it had.

    Raises
    ------
    InputError
        An array or a number is unusable.
    """
    for name in arguments:
        if name not in SOLVE_INPUTS:
            raise unknown("array", name, tuple(SOLVE_INPUTS))
    count, length = as_whole("samples", samples), _held(problems, hold)
    if not 1 <= count <= MOST_SAMPLES:
        raise InputError("samples", str(count), f"1 to {MOST_SAMPLES}")
    if not 0.0 <= correlation < 1.0:
        raise InputError("correlation", f"{correlation:g}", "0 to below 1")
    complete, lead = problems.complete(arguments, warm, shift)
    sizes = sizes_of(problems.robot, problems.steps, 0)
    deviations = one_of("std", std, ("steps", "nv"), sizes)
    begins = _seeds(as_numbers("seed", seed)) + count * np.arange(len(complete["q"])) & MOST_SEED
    return complete, Sampling(deviations, begins, length, float(correlation)), count, lead


def mean_on_chip(
    engine: WordEngine,
    problems: Mapping[str, Array],
    sampling: Sampling,
    count: int,
    temperature: float,
    follow: int | None,
) -> dict[str, NDArray[Any]]:
    """Return the means of the samples of problems on an accelerator, one after the other.

    With ``follow`` the only problem's forces are those of the last mean, so many steps later.

    Raises
    ------
    InputError
        The accelerator does not take such a problem, or such samples.
    """
    shape = engine.design.interface.rollout
    assert shape is not None
    assert sampling.std is not None
    if sampling.hold != shape.hold:
        remedy = f"generate with --hold {sampling.hold}"
        raise InputError("hold", f"{sampling.hold} steps", f"{shape.hold}, as the build has", remedy)
    if sampling.correlation:
        raise InputError("correlation", "accelerators do not filter samples", "0", "hold them instead")
    means = []
    for k, seed in enumerate(sampling.seeds.tolist()):
        problem = {name: array[k] for name, array in problems.items()}
        if np.isfinite(problem["v"]).all():
            task = mean_task(engine.design, problem, sampling.std, seed, count, temperature)
            means.append(engine.take_mean(task, follow))
        else:
            means.append(_not_finite(problem))
    return means_of(engine.robot, shape.horizon, means)


def _not_finite(problem: Mapping[str, Array]) -> dict[str, NDArray[Any]]:
    """Return the mean for a first state that is not finite."""
    shapes = {"tau": problem["tau"].shape, "states": problem["states"].shape, "cost": (), "least": ()}
    return {name: np.full(shape, np.nan) for name, shape in shapes.items()} | {"effective": np.array(0.0)}


def _held(problems: Problems, hold: Any) -> int:
    steps = as_whole("hold", hold)
    if not 1 <= steps <= problems.steps:
        raise InputError("hold", f"{steps} steps", f"1 to {problems.steps}")
    return steps


def _seeds(numbers: Array) -> NDArray[np.int64]:
    seeds = np.asarray(numbers, np.float64)
    bad = seeds[(seeds != np.floor(seeds)) | (seeds < 0) | (seeds > MOST_SEED)]
    if bad.size:
        raise InputError("seed", f"{bad[0]:.12g}", f"integers from 0 to {MOST_SEED}")
    return seeds.astype(np.int64)
