"""Random tasks of several kinds, the strata: from the whole domain down to rest.

A task uniform over the domain is faster, and has larger forces, than what a robot does most of the time.
Errors that are small beside its results may be large beside those of an ordinary motion. So each stratum has
tasks of its own, and errors are stated for each:

``box``
    Uniform over the domain, with its extremes (:func:`rbdhw.domain.sampling.sample`).
``motion``
    Velocities and accelerations of ordinary motions (:data:`SPEED`, :data:`ACCELERATION`), or of the whole
    domain on a scale from 1 down to 1/1000, and the forces that inverse dynamics needs for them.
``rest``
    No velocity, no acceleration, no force.
``balanced``
    No velocity, no acceleration, and the forces that hold the robot against gravity.
``single``
    One coordinate moves, and the others rest.

Forces that leave the domain are taken at its nearest bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.domain.bounds import Domain
from rbdhw.domain.sampling import sample
from rbdhw.golden.error_norm import norms
from rbdhw.robot.model import Robot

SHARES = {"box": 6, "motion": 4, "rest": 2, "balanced": 2, "single": 2}
"""How many of sixteen tasks are of each stratum."""

STRATA = tuple(SHARES)

BOX, MOTION, REST, BALANCED, SINGLE = range(len(STRATA))

SPEED, ACCELERATION = 3.0, 4.0
"""Largest velocity (rad/s, m/s) and acceleration (rad/s^2, m/s^2) of an ordinary motion."""

RATES = {"v": SPEED, "a": ACCELERATION, "base_v": SPEED, "base_a": ACCELERATION}
"""The largest of an ordinary motion, by array."""

NONE = -1
"""In place of the coordinate that moves."""

ORDINARY_WRENCH = 0.1
"""The external force of an ordinary motion, as a share of the largest in the domain."""

LEAST_SCALE = 1e-3
"""The least share of the domain's velocities and accelerations that a motion's scale may be."""

AT_ZERO = 1 / 8
"""The share of tasks at rest, or with one coordinate that moves, in which the others are at zero."""

FLOOR_SHARE = 0.25
"""A function's error floor as a share of the median norm of its results in ordinary motions."""

FLOOR_TASKS = 512
"""Ordinary motions in which that median is found."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Random tasks.

    Parameters
    ----------
    arrays
        Of the user's interface, (N, ...) each.
    stratum
        (N,): each task's index in :data:`STRATA`.
    """

    arrays: dict[str, Array]
    stratum: NDArray[np.int64]

    def first(self, tasks: int) -> Drawn:
        """The first tasks."""
        return Drawn({name: array[:tasks] for name, array in self.arrays.items()}, self.stratum[:tasks])


def draw(
    robot: Robot, domain: Domain, tasks: int, rng: np.random.Generator, fext: Sequence[int] = ()
) -> Drawn:
    """Random tasks of all strata in random order, in the shares of :data:`SHARES`."""
    arrays = sample(robot, domain, tasks, rng, fext)
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
    _set_forces(robot, domain, arrays, stratum)
    return Drawn(arrays, stratum)


def ordinary_motions(
    robot: Robot, domain: Domain, tasks: int, rng: np.random.Generator, fext: Sequence[int] = ()
) -> dict[str, Array]:
    """Random tasks of ordinary motions alone, none of them on a smaller scale."""
    arrays = sample(robot, domain, tasks, rng, fext)
    every, ones = np.ones(tasks, np.bool_), np.ones(tasks)
    for name, largest in RATES.items():
        if name in arrays:
            arrays[name] = _motions(domain.bounds[name], largest, every, ones, rng)
    stratum = np.full(tasks, MOTION)
    arrays["fext"] = _wrenches(arrays["fext"], domain.bounds["fext"], stratum, every, ones)
    _set_forces(robot, domain, arrays, stratum)
    return arrays


def error_floors(
    robot: Robot, domain: Domain, functions: Iterable[str], seed: int, fext: Sequence[int] = ()
) -> dict[str, float]:
    """For each function the norm below which a result counts as large as that, in the units of its results.

    It is :data:`FLOOR_SHARE` of the median norm of results in ordinary motions. Results smaller than that
    are seldom, and a controller has no use for their relative error.
    """
    arrays = ordinary_motions(robot, domain, FLOOR_TASKS, np.random.default_rng((seed, 4)), fext)
    medians = {f: float(np.median(norms(golden.evaluate(robot, f, arrays)))) for f in functions}
    return {function: float(f"{FLOOR_SHARE * median:.3g}") for function, median in medians.items()}


def _labels(tasks: int) -> NDArray[np.int64]:
    """The stratum of each task, in order; of few tasks some have one at least, the box first."""
    edges = np.cumsum([0, *SHARES.values()]) / sum(SHARES.values())
    counts = np.diff(np.ceil(tasks * edges)).astype(np.int64)
    return np.repeat(np.arange(len(STRATA)), counts)


def _motions(
    bounds: Array, largest: float, ordinary: NDArray[np.bool_], scale: Array, rng: np.random.Generator
) -> Array:
    """Random rates (N, n) within the bounds of ordinary motions, or within the domain's on a scale."""
    still = np.clip(0.0, *bounds.T)
    lower = np.where(ordinary[:, None], np.maximum(bounds[:, 0], np.minimum(-largest, still)), bounds[:, 0])
    upper = np.where(ordinary[:, None], np.minimum(bounds[:, 1], np.maximum(largest, still)), bounds[:, 1])
    drawn = rng.uniform(lower, upper)
    return np.asarray(still + np.where(ordinary, 1.0, scale)[:, None] * (drawn - still))


def _still(
    box: Array, moving: Array, bounds: Array, stratum: NDArray[np.int64], alone: NDArray[np.bool_]
) -> Array:
    """Rates (N, n) of all strata, from those of the box and of motions; ``alone`` marks the single movers."""
    still = np.broadcast_to(np.clip(0.0, *bounds.T), box.shape)
    kind = stratum[:, None]
    return np.select(
        [kind == BOX, kind == MOTION, (kind == SINGLE) & alone], [box, moving, moving], default=still
    )


def _wrenches(
    box: Array, bounds: Array, stratum: NDArray[np.int64], ordinary: NDArray[np.bool_], scale: Array
) -> Array:
    """External forces (N, bodies, 6) of all strata: scaled with the motion, and none at rest."""
    still = np.where(box != 0.0, np.clip(0.0, *bounds.T), 0.0)
    share = np.select(
        [stratum == BOX, stratum == MOTION], [1.0, np.where(ordinary, ORDINARY_WRENCH, scale)], default=0.0
    )
    return np.asarray(still + share[:, None, None] * (box - still))


def _at_zero(robot: Robot, domain: Domain, positions: Array) -> Array:
    """Positions (N, nq) with every coordinate nearest to zero; quaternions stay as they are."""
    kept = np.zeros(robot.nq, np.bool_)
    for body, place in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.mimic is None and (part := body.joint.kind.quaternion) is not None:
            kept[place.start + part.start : place.start + part.stop] = True
    return np.where(kept, positions, np.clip(0.0, *domain.bounds["q"].T))


def _set_forces(robot: Robot, domain: Domain, arrays: dict[str, Array], stratum: NDArray[np.int64]) -> None:
    """Forces of all strata but the box, within the domain: those that the accelerations need, or none."""
    needed = np.flatnonzero(np.isin(stratum, (MOTION, BALANCED, SINGLE)))
    if len(needed):
        tasks: Mapping[str, Array] = {name: array[needed] for name, array in arrays.items()}
        arrays["tau"][needed] = golden.evaluate(robot, "id", tasks)["tau"]
    arrays["tau"][stratum == REST] = 0.0
    others = stratum != BOX
    arrays["tau"][others] = np.clip(arrays["tau"][others], *domain.bounds["tau"].T)
