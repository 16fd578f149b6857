"""Forces of random tasks: any within their bounds, or those of motions that the robot can make.

Forces drawn uniformly within their bounds accelerate a light link far beyond any motion: the last joint of an
arm by thousands of rad/s^2. Number formats that hold such accelerations are coarse where robots move. So by
default the forces are those that velocities and accelerations of the domain need. Where these need forces
beyond the bounds, the motion is slowed down until they lie within.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.domain.bounds import Domain
from rbdhw.protocol import BASE_HELD
from rbdhw.robot.model import Robot

OVERSHOOT = 0.5
"""How far a step in time may take a velocity out of its bounds, as a share of the largest in the domain."""

PACES = np.linspace(1.0, 0.0, 64, endpoint=False)
"""The shares of a motion's velocities that are tried, the fastest first."""

POWERS = {"v": 1, "base_v": 1, "a": 2, "base_a": 2, "fext": 2}
"""The power of the pace that scales each array: half the pace is a quarter of the acceleration."""

RELEASED = 1 / 8
"""The share of tasks whose forces are smaller than their motion needs, so that the robot falls."""

Array = NDArray[np.float64]


class Forces(Enum):
    """What the forces of random tasks may do.

    ``ANY``
        Any forces within their bounds, however far they throw the robot.
    ``STEPS``
        Of these, what does not throw it out of its domain within a step in time (:func:`limit_steps`).
    ``MOTIONS``
        Those of motions within the domain (:func:`drive`).
    """

    ANY = "any"
    STEPS = "steps"
    MOTIONS = "motions"


def drive(
    robot: Robot, domain: Domain, arrays: Mapping[str, Array], share: Array | float = 1.0
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return tasks with the forces that their motions need, and which of them are *clipped*.

    Motions that need forces beyond the domain are slowed down until the forces lie within. If the domain has
    steps in time, the forces are also those of :func:`limit_steps`. ``share`` (N,) is that of the forces and
    external forces that tasks have; with less than 1 the robot falls. In a clipped task (N,) the domain's
    forces cannot hold the robot: it is at rest, and its forces are reduced by a common factor until they lie
    within the domain, so that it falls.
    """
    motions = dict(arrays)
    if robot.base_chosen:  # a held base moves as base_a says
        held = (arrays[BASE_HELD] != 0.0)[:, None]
        motions["a"] = np.hstack([np.where(held, arrays["base_a"], arrays["a"][:, :6]), arrays["a"][:, 6:]])
    driven, clipped = _slow_down(robot, domain, motions)
    driven = _release(domain, driven, np.broadcast_to(share, clipped.shape))
    if robot.base_chosen:
        driven["base_a"] = np.where(held, driven["a"][:, :6], 0.0)
    if "h" in domain.bounds:
        driven["tau"] = limit_steps(robot, domain, driven)
    return driven, clipped


def throw(robot: Robot, domain: Domain, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return tasks whose forces are any within their bounds; with steps in time, those of ``STEPS``."""
    return {**arrays, "tau": limit_steps(robot, domain, arrays)} if "h" in domain.bounds else dict(arrays)


def random_shares(tasks: int, rng: np.random.Generator) -> Array:
    """Return shares (N,) of forces: 1, or in :data:`RELEASED` of the tasks any less."""
    return np.where(rng.random(tasks) < RELEASED, rng.random(tasks), 1.0)


def _slow_down(
    robot: Robot, domain: Domain, motions: Mapping[str, Array]
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return tasks with the forces that motions need within the domain, and which of them are clipped."""
    tasks = {**motions, "tau": golden.evaluate(robot, "id", motions)["tau"]}
    clipped = np.zeros(len(tasks["q"]), np.bool_)
    bounds = domain.bounds["tau"]
    beyond = np.flatnonzero(~_within(tasks["tau"], bounds))
    if not len(beyond):
        return tasks, clipped
    fast = {name: array[beyond] for name, array in tasks.items()}
    pace, forces = _pace(robot, domain, fast)
    slower = _at_pace(domain, fast, pace) | {"tau": forces}
    clipped[beyond] = pace == 0.0
    share = np.where(pace == 0.0, _share(_still(domain, forces, "tau"), forces, bounds), 1.0)
    for name, array in _release(domain, slower, share).items():
        tasks[name] = tasks[name].copy()
        tasks[name][beyond] = array
    tasks["tau"] = np.clip(tasks["tau"], *bounds.T)  # which rounding may leave
    return tasks, clipped


def _pace(robot: Robot, domain: Domain, motions: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the largest of :data:`PACES` (N,) at which forces lie within the domain, or 0, and the forces.

    Forces are quadratic in the pace, so three paces tell those at all others.
    """
    slow, half = (
        golden.evaluate(robot, "id", _at_pace(domain, motions, np.full(len(motions["q"]), candidate)))["tau"]
        for candidate in (0.0, 0.5)
    )
    fast = motions["tau"]
    # The second difference over paces 0, 1/2 and 1 is half the quadratic coefficient.
    curve = 2.0 * (fast - 2.0 * half + slow)
    pace, forces = np.zeros(len(fast)), slow.copy()
    for candidate in PACES:
        needed = slow + candidate * (fast - slow - curve) + candidate**2 * curve
        first = (pace == 0.0) & _within(needed, domain.bounds["tau"])
        pace[first], forces[first] = candidate, needed[first]
    return pace, forces


def _at_pace(domain: Domain, motions: Mapping[str, Array], pace: Array) -> dict[str, Array]:
    """Return motions at a pace (N,), a share of their own."""
    slower = dict(motions)
    for name in (name for name in POWERS if name in motions):
        still = _still(domain, motions[name], name)
        factor = (pace ** POWERS[name]).reshape(-1, *[1] * (still.ndim - 1))
        slower[name] = still + factor * (motions[name] - still)
    return slower


def _release(domain: Domain, tasks: Mapping[str, Array], share: Array) -> dict[str, Array]:
    """Return tasks with a share (N,) of their forces and external forces."""
    released = dict(tasks)
    for name in ("tau", "fext"):
        still = _still(domain, tasks[name], name)
        released[name] = still + share.reshape(-1, *[1] * (still.ndim - 1)) * (tasks[name] - still)
    return released


def _still(domain: Domain, array: Array, name: str) -> Array:
    """Return the numbers of an array that are closest to zero within the domain; zeros stay so."""
    return np.where(array != 0.0, np.clip(0.0, *domain.bounds[name].T), 0.0)


def _within(array: Array, bounds: Array) -> NDArray[np.bool_]:
    """Return whether all numbers of each row (N, n) lie within their bounds."""
    return np.asarray(((array >= bounds[:, 0]) & (array <= bounds[:, 1])).all(axis=1))


def _share(start: Array, end: Array, bounds: Array) -> Array:
    """Return the share (N,) of the way from ``start`` to ``end`` (N, n) that lies within bounds."""
    change = end - start
    room = np.where(change > 0.0, bounds[:, 1] - start, start - bounds[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(np.abs(change) > room, room / np.abs(change), 1.0)
    return np.asarray(np.clip(shares, 0.0, 1.0).min(axis=1))


def limit_steps(robot: Robot, domain: Domain, arrays: Mapping[str, Array]) -> Array:
    """Return forces (N, nv) that do not throw the robot out of its domain within the time step.

    In a long step the largest forces lead to velocities far beyond the domain, and the later stages of a step
    would be evaluated there. Such forces are moved towards those that leave velocities as they are, until no
    velocity leaves its bounds by more than :data:`OVERSHOOT`.
    """
    still = golden.evaluate(robot, "id", {**arrays, "a": np.zeros_like(arrays["v"])})["tau"]
    after = arrays["v"] + arrays["h"][:, None] * golden.evaluate(robot, "fd", arrays)["a"]
    slack = OVERSHOOT * np.abs(domain.bounds["v"]).max(axis=1)
    share = _share(arrays["v"], after, domain.bounds["v"] + np.stack([-slack, slack], axis=1))
    forces: Array = np.clip(still + share[:, None] * (arrays["tau"] - still), *domain.bounds["tau"].T)
    return forces
