"""Random states of a robot, in which the numbers of a graph are compared (:mod:`rbdhw.passes.merge`)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rbdhw.protocol import CHOICES
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

STATES = 8

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
    return {
        name: rng.permutation(flags).astype(float)
        if name in CHOICES
        else coordinates.get(name, rng.uniform(-1.0, 1.0, STATES))
        for name in names
    }
