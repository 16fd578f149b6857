"""The signs of quaternions in rollouts: an orientation has two, and an error is that of the nearer one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rbdhw.robot.model import Robot

Array = NDArray[np.float64]


def continuous(robot: Robot, states: Array) -> Array:
    """Return states (K, nq + nv) in which no quaternion changes to the sign that is farther."""
    found = states.copy()
    for before, row in pairwise(found):
        row[: robot.nq] *= nearer(robot, row[np.newaxis, : robot.nq], before[: robot.nq])[0]
    return found


def with_signs(states: Array, signs: Array | None) -> Array:
    """Return states (N, M, nq + nv) with the signs of the user's quaternions."""
    if signs is None:
        return states
    both = states.copy()
    both[..., : signs.shape[1]] *= signs[:, np.newaxis]
    return both


def nearer(robot: Robot, q: Array, reference: Array) -> Array:
    """Return signs (N, nq): those of quaternions of ``q`` (N, nq) make them the nearer to the reference's.

    The signs of other coordinates are one.
    """
    signs, product = np.ones_like(q), q * reference
    for body, own in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.mimic is None and (part := body.joint.kind.quaternion) is not None:
            place = slice(own.start + part.start, own.start + part.stop)
            signs[:, place] = np.where(np.sum(product[:, place], axis=1) < 0.0, -1.0, 1.0)[:, np.newaxis]
    return signs
