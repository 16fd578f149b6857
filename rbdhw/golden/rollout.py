"""Rollouts in double precision: steps of semi-implicit Euler, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.golden.dynamics import evaluate
from rbdhw.golden.spatial import Array
from rbdhw.robot.model import Robot


def rollout(
    robot: Robot,
    arrays: Mapping[str, Array],
    efforts: Array,
    feedback: tuple[Array, Array] | None,
    wraps: Array,
) -> tuple[Array, Array]:
    """Return the states (N, K, nq + nv) after each of K steps, and the forces (N, K, nv) of the steps.

    Parameters
    ----------
    arrays
        ``tau`` are the forces of the steps: (K, nv) for all N tasks, or (N, K, nv). The others are those of
        the function ``step`` in the first state.
    efforts
        The bounds (nv, 2) to which forces are limited.
    feedback
        The nominal states (K, nq + nv), and the gains (K, nv, nq + nv): times the error of the state before a
        step they are added to its forces. None without feedback.
    wraps
        As those of :func:`errors_of`.
    """
    state = {name: array for name, array in arrays.items() if name != "tau"}
    commands = np.broadcast_to(arrays["tau"], (len(state["v"]), *arrays["tau"].shape[-2:]))
    states, forces = [], []
    for k in range(commands.shape[1]):
        added = 0.0
        if feedback is not None:
            nominal, gains = feedback
            added = errors_of(np.hstack([state["q"], state["v"]]), nominal[k], wraps) @ gains[k].T
        limited = np.clip(commands[:, k] + added, efforts[:, 0], efforts[:, 1])
        after = evaluate(robot, "step", state | {"tau": limited})["x_next"]
        state |= {"q": after[:, : robot.nq], "v": after[:, robot.nq :]}
        states.append(after)
        forces.append(limited)
    return np.stack(states, axis=1), np.stack(forces, axis=1)


def errors_of(states: Array, reference: Array, wraps: Array) -> Array:
    """Return states (..., nq + nv) less their references, element by element.

    ``wraps`` (nq,) are the angles without limits, whose errors are at most half a turn.
    """
    errors, nq = states - reference, len(wraps)
    errors[..., :nq] -= np.where(wraps, 2.0 * np.pi * np.round(errors[..., :nq] / (2.0 * np.pi)), 0.0)
    return np.asarray(errors)


def cost(states: Array, forces: Array, costs: tuple[Array, Array, Array], wraps: Array) -> Array:
    """Return the costs (N,) of all steps, from the states (N, K, nq + nv) and the forces (N, K, nv).

    ``costs`` are the references (K, nq + nv), the weights of squared errors, of the same shape, and those of
    squared forces, (K, nv). ``wraps`` are those of :func:`errors_of`.
    """
    reference, state_weights, force_weights = costs
    total = np.sum(state_weights * errors_of(states, reference, wraps) ** 2, axis=(1, 2))
    return np.asarray(total + np.sum(force_weights * forces**2, axis=(-2, -1)))
