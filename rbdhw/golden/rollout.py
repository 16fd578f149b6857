"""Rollouts in double precision: steps of semi-implicit Euler, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rbdhw.golden.evaluation import evaluate
from rbdhw.golden.kinematics import placements
from rbdhw.golden.spatial import Array
from rbdhw.robot.model import Robot


def rollout(
    robot: Robot,
    function: str,
    arrays: Mapping[str, Array],
    rows: Sequence[Mapping[str, Array]],
    commands: Callable[[int, Array], Array],
    efforts: Array,
) -> tuple[Array, Array]:
    """Return the states (N, K, nq + nv) after each of K steps, and the forces (N, K, nv) of the steps.

    ``arrays`` are those of the ``function`` in the first state of N tasks, without forces, and ``rows`` those
    that all tasks share in each step. ``commands`` are the forces (N, nv) of a step, counted from 0, in the
    state (N, nq + nv) before it. ``efforts`` are the bounds (nv, 2) to which forces are limited.
    """
    state = dict(arrays)
    states, forces = [], []
    for k, row in enumerate(rows):
        shared = {name: np.tile(array, (len(state["q"]), 1)) for name, array in row.items()}
        asked = commands(k, np.hstack([state["q"], state["v"]]))
        limited = np.clip(asked, efforts[:, 0], efforts[:, 1])
        after = evaluate(robot, function, state | shared | {"tau": limited})["x_next"]
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


class Residuals(NamedTuple):
    """Residuals C e - y of the errors e of a state, and the weights W of their squares."""

    C: Array  # (rows, nq + nv)
    y: Array  # (K, rows)
    W: Array  # (K, rows)


class Positions(NamedTuple):
    """References of frames' positions, and the weights of the squares of differences, (K, frames, 3) each."""

    reference: Array
    weights: Array


class Costs(NamedTuple):
    """References (K, nq + nv), weights of squared errors, and those of squared forces, (K, nv)."""

    reference: Array
    state_weights: Array
    force_weights: Array
    residuals: Residuals | None = None
    positions: Positions | None = None


def cost(states: Array, forces: Array, costs: Costs, wraps: Array) -> Array:
    """Return the costs (N,) of all steps, from the states (N, K, nq + nv) and the forces (N, K, nv).

    Those of frames' positions are left out (:func:`position_cost`).

    ``wraps`` are those of :func:`errors_of`.
    """
    errors = errors_of(states, costs.reference, wraps)
    total = np.sum(costs.state_weights * errors**2, axis=(1, 2))
    total = total + np.sum(costs.force_weights * forces**2, axis=(-2, -1))
    if costs.residuals is not None:
        C, y, W = costs.residuals
        total = total + np.sum(W * (errors @ C.T - y) ** 2, axis=(1, 2))
    return np.asarray(total)


def position_cost(robot: Robot, states: Array, positions: Positions) -> Array:
    """Return the costs (N,) of frames' positions in the states (N, K, nq + nv) of all steps."""
    poses = placements(robot, states[..., : robot.nq].reshape(-1, robot.nq))
    errors = poses[:, :, :3, 3].reshape(*states.shape[:2], -1, 3) - positions.reference
    return np.asarray(np.sum(positions.weights * errors**2, axis=(1, 2, 3)))
