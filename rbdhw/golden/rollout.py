"""Rollouts in double precision: steps of semi-implicit Euler, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.golden.dynamics import evaluate
from rbdhw.golden.spatial import Array
from rbdhw.robot.model import Robot


def rollout(robot: Robot, arrays: Mapping[str, Array], efforts: Array) -> Array:
    """Return the states (N, K, nq + nv) after each of K steps.

    Parameters
    ----------
    arrays
        ``tau`` are the forces of the steps: (K, nv) for all N tasks, or (N, K, nv). The others are those of
        the function ``step`` in the first state.
    efforts
        The bounds (nv, 2) to which forces are limited.
    """
    limited = np.clip(arrays["tau"], efforts[:, 0], efforts[:, 1])
    own = {name: array for name, array in arrays.items() if name != "tau"}
    forces = np.broadcast_to(limited, (len(own["v"]), *limited.shape[-2:]))
    states = []
    for k in range(forces.shape[1]):
        after = evaluate(robot, "step", own | {"tau": forces[:, k]})["x_next"]
        own |= {"q": after[:, : robot.nq], "v": after[:, robot.nq :]}
        states.append(after)
    return np.stack(states, axis=1)


def cost(states: Array, forces: Array, costs: tuple[Array, Array, Array], wraps: Array) -> Array:
    """Return the costs (N,) of all steps, from the states (N, K, nq + nv) and the forces.

    The forces are (K, nv) or (N, K, nv). ``costs`` are the references (K, nq + nv), the weights of squared
    errors, of the same shape, and those of squared forces, (K, nv). ``wraps`` (nq,) are the angles without
    limits, whose errors are at most half a turn.
    """
    reference, state_weights, force_weights = costs
    errors = states - reference
    nq = len(wraps)
    errors[..., :nq] -= np.where(wraps, 2.0 * np.pi * np.round(errors[..., :nq] / (2.0 * np.pi)), 0.0)
    total = np.sum(state_weights * errors**2, axis=(1, 2))
    return np.asarray(total + np.sum(force_weights * forces**2, axis=(-2, -1)))
