"""Random states of a robot, in which the numbers of a graph are compared (:mod:`rbdhw.passes.merge`)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rbdhw.protocol import CHOICES
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

STATES = 8

NEAR_STATES = 4
"""How many of these states come once more, near the zero position.

There long chains are stretched out, and values that are negligible in any other position are not.
"""

NEARNESS = 0.01
"""The share of the coordinates that remains near the zero position."""

EXCESS = 1e-5
"""How much the length of a quaternion may differ from one.

With other lengths, rotations would not be orthogonal. With exactly one, their normalization would be found to
have no effect.
"""


def random_states(robot: Robot, names: Iterable[str]) -> dict[str, Array]:
    """Return values of a graph's inputs in random states, always the same."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (robot.nq, STATES))
    for body, place in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            quaternion = q[place][body.joint.kind.quaternion]
            length = np.linalg.norm(quaternion, axis=0)
            quaternion *= rng.uniform(1.0 + EXCESS / 2.0, 1.0 + EXCESS, STATES) / length
    coordinates = {f"q[{k}]": values for k, values in enumerate(q)}
    flags = np.arange(STATES) % 2
    states = {
        name: rng.permutation(flags).astype(float)
        if name in CHOICES
        else coordinates.get(name, rng.uniform(-1.0, 1.0, STATES))
        for name in names
    }
    near = {f"q[{k}]": NEARNESS for k in single_coordinates(robot)}
    return {name: np.append(own, near.get(name, 1.0) * own[:NEAR_STATES]) for name, own in states.items()}


def single_coordinates(robot: Robot) -> list[int]:
    """Return the entries of ``q`` that are no part of a quaternion."""
    single = np.ones(robot.nq, np.bool_)
    for body, place in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            single[np.arange(robot.nq)[place][body.joint.kind.quaternion]] = False
    return np.flatnonzero(single).tolist()
