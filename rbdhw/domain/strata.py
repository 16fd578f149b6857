"""Random tasks of several kinds, the strata: from the whole domain to rest.

A task drawn uniformly from the domain is faster and has larger forces than most real tasks of a robot. An
error that is small relative to its results may be large relative to those of an ordinary motion. Therefore
each stratum has its own tasks, and errors are stated for each:

``box``
    Uniform over the domain, including its extremes (:func:`rbdhw.domain.sampling.sample`).
``motion``
    Velocities and accelerations of ordinary motions (:data:`SPEED`, :data:`ACCELERATION`), or of the whole
    domain scaled by a factor from 1 down to 1/1000.
``rest``
    No velocity, no acceleration, no force.
``balanced``
    No velocity, no acceleration, and the forces that hold the robot against gravity.
``single``
    One coordinate moves, and the others are at rest.

Forces are those that the motion needs (:mod:`rbdhw.domain.forces`). Where the domain's forces do not even
hold the robot, the task is *clipped*: it is none of its stratum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.domain.bounds import Domain
from rbdhw.domain.forces import Forces, drive, random_shares, throw
from rbdhw.domain.sampling import quaternions, sample
from rbdhw.golden.error_norm import measure, norms, parts_of
from rbdhw.protocol import BASE_HELD, FUNCTIONS
from rbdhw.robot.model import Robot

SHARES = {"box": 6, "motion": 4, "rest": 2, "balanced": 2, "single": 2}
"""The number of tasks of each stratum among sixteen."""

STRATA = tuple(SHARES)

BOX, MOTION, REST, BALANCED, SINGLE = range(len(STRATA))

SPEED, ACCELERATION = 3.0, 4.0
"""The largest velocity (rad/s, m/s) and acceleration (rad/s^2, m/s^2) of an ordinary motion."""

RATES = {"v": SPEED, "a": ACCELERATION, "base_v": SPEED, "base_a": ACCELERATION}
"""The largest magnitude in an ordinary motion, by array."""

NONE = -1
"""An index that stands for no moving coordinate."""

ORDINARY_WRENCH = 0.1
"""The external force of an ordinary motion, as a share of the largest in the domain."""

LEAST_SCALE = 1e-3
"""The least scale of a motion's velocities and accelerations, as a share of the domain's."""

AT_ZERO = 1 / 8
"""The share of tasks of the strata rest, balanced and single whose positions are at zero."""

FLOOR_SHARE = 0.25
"""The floor of the errors of results as a share of their median norm in ordinary motions."""

ROUNDED_ZERO = 1e-9
"""Results this much smaller than the largest of the function are rounding errors of zero."""

FLOOR_TASKS = 512
"""The number of ordinary motions over which that median is computed."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Random tasks."""

    arrays: dict[str, Array]
    """Arrays of the user's interface, (N, ...) each, for any function."""
    free: dict[str, Array]
    """Those of functions without forces, whose motions may need forces beyond the domain."""
    stratum: NDArray[np.int64]
    """(N,): the index of each task's stratum in :data:`STRATA`."""
    clipped: NDArray[np.bool_]
    """(N,): whether the domain's forces cannot hold the robot as the stratum asks."""

    def first(self, tasks: int) -> Drawn:
        """Return the first ``tasks`` tasks."""
        return self.taken(slice(tasks))

    def taken(self, chosen: slice | NDArray[np.int64]) -> Drawn:
        """Return some of the tasks."""
        arrays, free = (
            {name: array[chosen] for name, array in tasks.items()} for tasks in (self.arrays, self.free)
        )
        return Drawn(arrays, free, self.stratum[chosen], self.clipped[chosen])

    def of(self, function: str) -> dict[str, Array]:
        """Return the arrays of a function's tasks."""
        return self.together([function])

    def together(self, functions: Iterable[str]) -> dict[str, Array]:
        """Return one set of arrays for the tasks of all these functions."""
        return self.arrays if any(FUNCTIONS[name].takes_force for name in functions) else self.free

    def clipped_of(self, function: str) -> NDArray[np.bool_]:
        """Return which tasks (N,) of a function are clipped; without forces none are."""
        return self.clipped & FUNCTIONS[function].takes_force


def draw(
    robot: Robot, domain: Domain, tasks: int, rng: np.random.Generator, fext: Sequence[int] = ()
) -> Drawn:
    """Draw random tasks of all strata in random order, in the shares of :data:`SHARES`."""
    arrays = sample(robot, domain, tasks, rng, fext, Forces.ANY)
    resting = _resting(arrays)
    stratum = rng.permutation(_labels(tasks))
    ordinary = rng.random(tasks) < 0.5
    scale = LEAST_SCALE ** rng.random(tasks)
    moved = rng.integers(robot.nv, size=tasks) if robot.nv else np.zeros(tasks, np.int64)
    for name, largest in RATES.items():
        if name in arrays:
            moving = _motions(domain.bounds[name], largest, ordinary, scale, rng)
            alone = np.arange(moving.shape[1]) == np.where(name in ("v", "a"), moved, NONE)[:, None]
            arrays[name] = _still(arrays[name], moving, domain.bounds[name], stratum, alone)
    arrays["fext"] = _wrenches(arrays["fext"], domain.bounds["fext"], stratum, ordinary, scale)
    at_zero = np.isin(stratum, (REST, BALANCED, SINGLE)) & (rng.random(tasks) < AT_ZERO)
    arrays["q"][at_zero] = _at_zero(robot, domain, arrays["q"][at_zero])
    _hold_bases(robot, arrays, resting, stratum)
    return with_forces(robot, domain, arrays, stratum, rng)


def ordinary_motions(
    robot: Robot, domain: Domain, tasks: int, rng: np.random.Generator, fext: Sequence[int] = ()
) -> dict[str, Array]:
    """Draw random tasks of ordinary motions only, all at full scale if the domain has their forces."""
    return _ordinary_motions(robot, domain, tasks, rng, fext).arrays


def _ordinary_motions(
    robot: Robot, domain: Domain, tasks: int, rng: np.random.Generator, fext: Sequence[int]
) -> Drawn:
    arrays = sample(robot, domain, tasks, rng, fext, Forces.ANY)
    resting = _resting(arrays)
    every, ones = np.ones(tasks, np.bool_), np.ones(tasks)
    for name, largest in RATES.items():
        if name in arrays:
            arrays[name] = _motions(domain.bounds[name], largest, every, ones, rng)
    stratum = np.full(tasks, MOTION)
    arrays["fext"] = _wrenches(arrays["fext"], domain.bounds["fext"], stratum, every, ones)
    _hold_bases(robot, arrays, resting, stratum)
    return with_forces(robot, domain, arrays, stratum, rng)


def error_floors(
    robot: Robot, domain: Domain, functions: Iterable[str], seed: int, fext: Sequence[int] = ()
) -> dict[str, float]:
    """Return the least norm by which an error is divided, in the units of the results.

    Each part of the functions' results has its own (:mod:`rbdhw.golden.error_norm`), such as ``did.dtau_dq``.

    The floor is :data:`FLOOR_SHARE` of the median norm of results in ordinary motions. Smaller results are
    rare, and their relative error is of no use to a controller. Results that are zero but for rounding, such
    as those that derivatives of a single joint leave, have the largest floor of the function.
    """
    drawn = _ordinary_motions(robot, domain, FLOOR_TASKS, np.random.default_rng((seed, 4)), fext)
    floors = {}
    for function in functions:
        arrays = _without_clipped(drawn, function)
        results = golden.evaluate(robot, function, arrays, extended=True)
        medians = {
            part: float(np.median(norms({"": measure(robot, part, arrays, results[part.array])})))
            for part in parts_of(robot, function)
        }
        ordinary = FUNCTIONS[function].outputs
        largest = max(median for part, median in medians.items() if part.array in ordinary)
        for part, median in medians.items():
            size = median if median > ROUNDED_ZERO * largest else largest
            floors[str(part)] = float(f"{FLOOR_SHARE * size:.3g}")
    return floors


def _without_clipped(drawn: Drawn, function: str) -> dict[str, Array]:
    """Return the arrays of a function's tasks without those that are clipped, unless all are."""
    kept = np.flatnonzero(~drawn.clipped_of(function))
    return (drawn.taken(kept) if len(kept) else drawn).of(function)


def _labels(tasks: int) -> NDArray[np.int64]:
    """Return the stratum of each task, in order; of few tasks at least one is of the first strata."""
    edges = np.cumsum([0, *SHARES.values()]) / sum(SHARES.values())
    # Rounding edges up gives the first strata what few tasks there are, and the sum stays right.
    counts = np.diff(np.ceil(tasks * edges)).astype(np.int64)
    return np.repeat(np.arange(len(STRATA)), counts)


def _motions(
    bounds: Array, largest: float, ordinary: NDArray[np.bool_], scale: Array, rng: np.random.Generator
) -> Array:
    """Draw rates (N, n) within the bounds of ordinary motions, or within the domain's times ``scale``."""
    still = np.clip(0.0, *bounds.T)
    lower = np.where(ordinary[:, None], np.maximum(bounds[:, 0], np.minimum(-largest, still)), bounds[:, 0])
    upper = np.where(ordinary[:, None], np.minimum(bounds[:, 1], np.maximum(largest, still)), bounds[:, 1])
    drawn = rng.uniform(lower, upper)
    return np.asarray(still + np.where(ordinary, 1.0, scale)[:, None] * (drawn - still))


def _still(
    box: Array, moving: Array, bounds: Array, stratum: NDArray[np.int64], alone: NDArray[np.bool_]
) -> Array:
    """Combine rates (N, n) of all strata from those of box and motion; ``alone`` marks single movers."""
    still = np.broadcast_to(np.clip(0.0, *bounds.T), box.shape)
    kind = stratum[:, None]
    return np.select(
        [kind == BOX, kind == MOTION, (kind == SINGLE) & alone], [box, moving, moving], default=still
    )


def _wrenches(
    box: Array, bounds: Array, stratum: NDArray[np.int64], ordinary: NDArray[np.bool_], scale: Array
) -> Array:
    """Return external forces (N, bodies, 6) of all strata: scaled with the motion, and zero at rest."""
    still = np.where(box != 0.0, np.clip(0.0, *bounds.T), 0.0)
    share = np.select(
        [stratum == BOX, stratum == MOTION], [1.0, np.where(ordinary, ORDINARY_WRENCH, scale)], default=0.0
    )
    return np.asarray(still + share[:, None, None] * (box - still))


def _at_zero(robot: Robot, domain: Domain, positions: Array) -> Array:
    """Return positions (N, nq) with every coordinate as close to zero as possible, except quaternions."""
    kept = np.zeros(robot.nq, np.bool_)
    for span in quaternions(robot):
        kept[span] = True
    return np.where(kept, positions, np.clip(0.0, *domain.bounds["q"].T))


def _resting(arrays: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Return for each task (N,) whether its base is held at rest."""
    if BASE_HELD not in arrays:
        return np.zeros(len(arrays["q"]), np.bool_)
    return np.asarray((arrays[BASE_HELD] != 0.0) & ~arrays["base_a"].any(axis=1))


def _hold_bases(
    robot: Robot, arrays: dict[str, Array], resting: NDArray[np.bool_], stratum: NDArray[np.int64]
) -> None:
    """Let bases that are held at rest stay so, and the others move as the accelerations of the task say."""
    if not robot.base_chosen:
        return
    for name in ("v", "a"):
        arrays[name][resting, :6] = 0.0
    accelerations = arrays["a"][:, :6] * (arrays[BASE_HELD] != 0.0)[:, None]
    arrays["base_a"] = np.where((stratum == BOX)[:, None], arrays["base_a"], accelerations)


def with_forces(
    robot: Robot,
    domain: Domain,
    arrays: dict[str, Array],
    stratum: NDArray[np.int64],
    rng: np.random.Generator,
) -> Drawn:
    """Return tasks, drawn with any forces, with those of their strata."""
    share = np.select([stratum == BOX, stratum == REST], [random_shares(len(stratum), rng), 0.0], 1.0)
    driven, clipped = drive(robot, domain, arrays, share)
    if domain.any_forces:
        box = stratum == BOX
        for name, thrown in throw(robot, domain, arrays).items():
            driven[name] = np.where(box.reshape(-1, *[1] * (thrown.ndim - 1)), thrown, driven[name])
    return Drawn(driven, arrays, stratum, clipped & np.isin(stratum, (MOTION, BALANCED, SINGLE)))
