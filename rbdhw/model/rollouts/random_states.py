"""Random states, and how far random rollouts are from the state that they keep to."""

from __future__ import annotations

import numpy as np

from rbdhw import golden
from rbdhw.domain.sampling import sample
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.rollouts.data import Array

NEAR = 0.05
"""How far first states are from the plan's, as a share of the way to a random one."""

NEARER = 0.25
"""The factor by which a rollout that leaves its domain starts nearer to its plan."""

SHAKEN = 0.05
"""The largest velocity that a plan's own forces cause in a step, as a share of the domain's."""


def random_states(model: AcceleratorModel, tasks: int, rng: np.random.Generator) -> Array:
    """Return random states (N, nq + nv) in the domain."""
    drawn = sample(model.robot, model.domain, tasks, rng, model.fext)
    return np.hstack([drawn["q"], drawn["v"]])


def of_unit_length(model: AcceleratorModel, states: Array) -> Array:
    """Return states (N, nq + nv) with quaternions of unit length."""
    q = golden.with_unit_quaternions(model.robot, states[:, : model.robot.nq])
    return np.hstack([q, states[:, model.robot.nq :]])


def speeds(model: AcceleratorModel) -> Array:
    """Return half of the range (nv,) of each velocity."""
    return np.asarray(np.diff(model.domain.bounds["v"], axis=1)[:, 0] / 2.0)


def longest_step(model: AcceleratorModel) -> float:
    """Return the longest time step."""
    return float(model.domain.bounds["h"][0, 1])
