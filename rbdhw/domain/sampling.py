"""Random tasks over the whole input domain, including its extremes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import MULTIPLIERS
from rbdhw.domain.bounds import Domain
from rbdhw.domain.forces import Forces, drive, random_shares, throw
from rbdhw.protocol import BASE_HELD, CONTACT, HOLDING, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import NUMBERS, nominal_parameters
from rbdhw.robot.pinocchio import UNIT_SLACK

EXTREMES = 24
"""Each of the three kinds of extreme tasks has probability 1/EXTREMES."""

MOVING = ("v", "a", "tau", "base_v", "base_a")
"""The arrays of velocities, accelerations and forces."""

HELD, STILL = 2, 3
"""Of four modes in which bases are drawn, the first in which they are held, and the one in which at rest."""

STANDING = 1 / 4
"""The share of tasks with all contacts; each of the others has half of them on average."""

LEAST_MOMENT, HALVINGS = 0.05, 6
"""The least second moment of mass, as a share of that in the URDF, and the most steps towards the latter."""

Array = NDArray[np.float64]


def sample(
    robot: Robot,
    domain: Domain,
    tasks: int,
    rng: np.random.Generator,
    fext: Sequence[int] = (),
    forces: Forces = Forces.MOTIONS,
) -> dict[str, Array]:
    """Draw random arrays of the user's interface over the whole domain, including its extremes.

    Half of the tasks are uniform. In the other half each coordinate is at one of its bounds with probability
    one half. One task in sixteen is at rest (velocities are as close to zero as the domain allows). Each of
    three extreme kinds has probability 1 / :data:`EXTREMES`: all numbers at bounds; all numbers except
    positions at bounds; and the latter with positions at zero, or as close to it as possible, where an arm is
    stretched out. An angle that wraps has no bounds; it is uniform except in the last kind. (Exactly half a
    turn would fold limbs flat, and results might be zero except for rounding.) Attitudes and the direction of
    a given gravity are uniform on the sphere.

    Forces are :class:`~rbdhw.domain.forces.Forces`: by default those that the motion needs, which is slower
    where it needs too much.
    """
    bounds = domain.bounds
    kind = rng.integers(EXTREMES, size=(tasks, 1))
    extreme = kind < 3
    moving = [name for name in MOVING if name in bounds]
    arrays: dict[str, Array] = {name: _draw(bounds[name], tasks, rng, extreme) for name in moving}
    resting = (kind[:, 0] >= 3) & (rng.random(tasks) < 1 / 16)
    for name in ("v", "base_v"):
        if name in arrays:
            arrays[name][resting] = np.clip(0.0, *bounds[name].T)
    arrays["q"] = _positions(robot, domain, kind, rng)
    if robot.base_chosen:
        arrays |= _modes(arrays, rng)
    if CONTACT in bounds:
        standing = rng.random((tasks, 1)) < STANDING
        arrays[CONTACT] = (standing | (rng.random((tasks, len(bounds[CONTACT]))) < 0.5)).astype(float)
    if HOLDING in bounds:
        arrays[HOLDING] = _draw(bounds[HOLDING], tasks, rng, extreme)
    if robot.gravity_given:
        arrays["gravity"] = math.hypot(*robot.gravity) * _directions(rng, tasks, 3)
    arrays["fext"] = np.zeros((tasks, len(robot.bodies), 6))
    for i in sorted(fext):
        arrays["fext"][:, i] = _draw(bounds["fext"], tasks, rng, extreme)
    for name in (name for name in MULTIPLIERS if name in bounds):
        arrays[name] = _draw(bounds[name], tasks, rng, extreme)
    if robot.loaded is not None:
        arrays[PARAMETERS] = draw_parameters(robot, _draw(bounds[PARAMETERS], tasks, rng, extreme))
    if "h" in bounds:
        arrays["h"] = _draw(bounds["h"], tasks, rng, extreme)[:, 0]
    if forces is Forces.ANY:
        return arrays
    if forces is Forces.STEPS or domain.any_forces:
        return throw(robot, domain, arrays)
    return drive(robot, domain, arrays, random_shares(tasks, rng))[0]


def _positions(robot: Robot, domain: Domain, kind: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Return ``q`` (N, nq) of tasks, at the bounds for those of ``kind`` (N, 1) 0, and at zero for 2."""
    tasks, wraps = len(kind), np.array(domain.wraps)
    bounds = np.where(wraps[:, None], np.array([-np.pi, np.pi]), domain.bounds["q"])
    q = _draw(bounds, tasks, rng, kind == 0)
    if wraps.any():
        q[:, wraps] = rng.uniform(-np.pi, np.pi, (tasks, np.count_nonzero(wraps)))
    q[kind[:, 0] == 2] = np.clip(0.0, *bounds.T)
    for span in quaternions(robot):
        lengths = 1.0 + rng.uniform(-UNIT_SLACK, UNIT_SLACK, (tasks, 1))
        q[:, span] = lengths * _directions(rng, tasks, 4)
    return q


def _modes(arrays: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    """Return whether the base is held in tasks (N,), and its motion; of the held bases, half are at rest."""
    mode = rng.integers(4, size=len(arrays["q"]))
    still = mode == STILL
    moved = {name: arrays[name].copy() for name in ("v", "a", "base_a")}
    for motion in moved.values():
        motion[still, :6] = 0.0
    moved["base_a"][mode < HELD] = 0.0
    return {**moved, BASE_HELD: np.where(mode < HELD, 0.0, 1.0)}


def draw_parameters(robot: Robot, drawn: Array) -> Array:
    """Return the parameters (N, links, 10) of bodies from numbers (N, 10 links) within the bounds.

    An inertia that no body has is moved towards that of the URDF, by half of what is left at a time, and
    becomes that one if :data:`HALVINGS` are not enough.
    """
    parameters = drawn.reshape(len(drawn), -1, len(NUMBERS))
    nominal = nominal_parameters(robot)
    least = LEAST_MOMENT * _least_second_moment(nominal)
    for share in (*[0.5] * HALVINGS, 0.0):
        flat = _least_second_moment(parameters) < least
        moved = nominal[:, 4:] + share * (parameters[..., 4:] - nominal[:, 4:])
        parameters[..., 4:] = np.where(flat[..., None], moved, parameters[..., 4:])
    return parameters


def _least_second_moment(parameters: Array) -> Array:
    """Return the least principal second moment of mass of parameters (..., 10); no body's is negative."""
    xx, xy, xz, yy, yz, zz = np.moveaxis(parameters[..., 4:], -1, 0)
    inertia = np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), (0, 1), (-2, -1))
    moments = np.linalg.eigvalsh(inertia)
    return np.asarray(0.5 * moments.sum(axis=-1) - moments[..., -1])


def quaternions(robot: Robot) -> list[slice]:
    """Return the slices of ``q`` that are quaternions."""
    slices = []
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        part = body.joint.kind.quaternion
        if part is not None:
            slices.append(slice(span.start + part.start, span.start + part.stop))
    return slices


def _directions(rng: np.random.Generator, tasks: int, size: int) -> Array:
    """Return unit vectors (tasks, size): uniform on the sphere, with probability 1/8 along an axis."""
    vectors = rng.normal(size=(tasks, size))
    straight = rng.random(tasks) < 1 / 8
    axes = np.eye(size)[rng.integers(size, size=tasks)] * rng.choice([-1.0, 1.0], (tasks, 1))
    vectors[straight] = axes[straight]
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _draw(bounds: Array, tasks: int, rng: np.random.Generator, extreme: NDArray[np.bool_]) -> Array:
    """Draw numbers within the bounds; in ``extreme`` tasks (N, 1) all are at bounds."""
    shape = (tasks, len(bounds))
    lower, upper = bounds[:, 0], bounds[:, 1]
    uniform = rng.uniform(lower, upper, shape)
    corner = np.where(rng.random(shape) < 0.5, lower, upper)
    at_corner = (rng.random((tasks, 1)) < 0.5) & (rng.random(shape) < 0.5)
    return np.where(at_corner | extreme, corner, uniform)
