"""The signs of quaternions in rollouts: an orientation has two, and an error is that of the nearer one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rbdhw.model.rollouts.rows import Given
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]


def with_near_quaternions(robot: Robot, given: Given) -> Given:
    """Return rollouts whose first states have the quaternions near to the first reference's.

    That is the nominal state, or without feedback the reference of the cost; both are made near.
    """
    if robot.nq == robot.nv or (given.costs is None and given.feedback is None):
        return given
    costs, first = given.costs, None if given.feedback is None else given.feedback[0][:1, : robot.nq]
    if costs is not None:
        reference = costs[0][:1, : robot.nq]
        first = reference if first is None else first
        turned = with_signs(costs[0][np.newaxis], nearer(robot, reference, first))[0]
        costs = (turned, *costs[1:])
        first = turned[:1, : robot.nq] if given.feedback is None else first
    assert first is not None
    q = given.states["q"]
    signs = nearer(robot, q, first)
    return replace(given, states=given.states | {"q": q * signs}, costs=costs, signs=signs)


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
