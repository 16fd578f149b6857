"""Random states of a robot, in which the numbers of a graph are compared (:mod:`rbdhw.passes.merge`)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rbdhw.protocol import is_choice
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

STATES = 8
"""The states in any position, unless choices take more."""

MOST_CHOICES = 8
"""The choices of which each combination has a state; further ones are random."""

NEAR_STATES = 4
"""The further states near the zero position. There long chains are stretched out, and values that are
negligible in any other position are not."""

NEARNESS = 0.01
"""The largest coordinate near the zero position; quaternions are anywhere."""

EXCESS = 1e-5
"""How much the length of a quaternion may differ from one. With other lengths, rotations would not be
orthogonal. With exactly one, their normalization would be found to have no effect."""


def random_states(robot: Robot, names: Iterable[str]) -> dict[str, Array]:
    """Return values of a graph's inputs in random states, always the same."""
    rng, inputs = np.random.default_rng(0), list(names)
    choices = sum(map(is_choice, inputs))
    anywhere = _draw(robot, inputs, max(STATES, 1 << min(choices, MOST_CHOICES)), 1.0, rng)
    near = _draw(robot, inputs, NEAR_STATES, NEARNESS, rng)
    return {name: np.append(anywhere[name], near[name]) for name in inputs}


def _draw(
    robot: Robot, names: list[str], states: int, largest: float, rng: np.random.Generator
) -> dict[str, Array]:
    """Return values in random states with coordinates up to ``largest``."""
    q = rng.uniform(-1.0, 1.0, (robot.nq, states))
    single = np.ones(robot.nq, np.bool_)
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            quaternion = q[span][body.joint.kind.quaternion]
            length = np.linalg.norm(quaternion, axis=0)
            quaternion *= rng.uniform(1.0 + EXCESS / 2.0, 1.0 + EXCESS, states) / length
            single[span][body.joint.kind.quaternion] = False
    q[single] *= largest
    coordinates = {f"q[{k}]": values for k, values in enumerate(q)}
    choices = (name for name in names if is_choice(name))
    bits = {
        name: np.arange(states) >> k & 1 if k < MOST_CHOICES else rng.integers(2, size=states)
        for k, name in enumerate(choices)
    }
    return {
        name: bits[name].astype(float)
        if name in bits
        else coordinates.get(name, rng.uniform(-1.0, 1.0, states))
        for name in names
    }
