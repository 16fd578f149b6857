"""Checks of the user's arrays of rollouts that several parts have, and the signs of quaternions.

An orientation has two quaternions, and an error is that of the nearer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from rbdhw.errors import InputError
from rbdhw.golden.tasks import with_unit_quaternions
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.packets import check_finite
from rbdhw.model.rollouts.data import Array
from rbdhw.robot.model import Robot
from rbdhw.robot.unit_length import check_unit_lengths

ROUNDING = 1e-9
"""How far a number may be outside of its bounds, relative to the smaller, by rounding."""


def check_first_states(q: Array) -> None:
    """Refuse rollouts without a configuration (N, nq) to begin with."""
    if not len(q):
        raise InputError("array 'q'", "no row", "a first state for each rollout")


def check_rows(name: str, values: Array, steps: int, lowest: Array, highest: Array) -> Array:
    """Return an array of rows (K, n) within bounds (n,); one row serves all steps."""
    array, size = as_numbers(f"array '{name}'", values), len(lowest)
    if array.shape not in ((size,), (steps, size)):
        expected = f"({steps}, {size}), or ({size},) for all steps"
        raise InputError(f"array '{name}'", f"shape {array.shape}", expected)
    check_finite(name, np.atleast_2d(array))
    rows = np.broadcast_to(array, (steps, size))
    slack = ROUNDING * np.minimum(np.abs(lowest), np.abs(highest))
    indices = np.argwhere((rows < lowest - slack) | (rows > highest + slack))
    if len(indices):
        row, column = indices[0].tolist()
        where, value = f"array '{name}', row {row}, column {column}", f"{rows[row, column]:g}"
        raise InputError(where, value, f"{lowest[column]:g} to {highest[column]:g}")
    return rows


def limit_references(model: AcceleratorModel, arrays: Mapping[str, Array]) -> tuple[int, dict[str, Array]]:
    """Return the first row of a reference with a number outside, from 1 on, or 0; and arrays within."""
    limited, late = dict(arrays), []
    lowest, highest = _state_bounds(model)
    for name in ("x_ref", "x_nominal"):
        rows = np.atleast_2d(as_numbers(f"array '{name}'", arrays.get(name, lowest)))
        if name in arrays and rows.shape[1:] == lowest.shape and np.isfinite(rows).all():
            slack = ROUNDING * np.minimum(np.abs(lowest), np.abs(highest))
            outside = ((rows < lowest - slack) | (rows > highest + slack)).any(axis=1)
            late += (np.flatnonzero(outside)[:1] + 1).tolist()
            limited[name] = np.clip(arrays[name], lowest, highest)
    return min(late, default=0), limited


def _state_bounds(model: AcceleratorModel) -> tuple[Array, Array]:
    """Return the bounds (nq + nv,) of references; angles without limits have none."""
    bounds = [np.asarray(model.domain.bounds[array], np.float64) for array in ("q", "v")]
    bounds[0] = np.where(np.asarray(model.domain.wraps)[:, np.newaxis], [-np.inf, np.inf], bounds[0])
    lowest, highest = np.concatenate(bounds).T
    return lowest, highest


def check_reference(model: AcceleratorModel, name: str, states: Array | None, steps: int) -> Array:
    """Return references (K, nq + nv) of unit quaternions; without any, a state in the domain."""
    robot = model.robot
    lowest, highest = _state_bounds(model)
    if states is None:
        nearest = np.clip(neutral_state(robot), lowest, highest)
        return np.broadcast_to(nearest, (steps, len(lowest)))
    rows = check_rows(name, states, steps, lowest, highest)
    try:
        check_unit_lengths(robot, rows[:, : robot.nq])
        q = with_unit_quaternions(robot, rows[:, : robot.nq])
    except InputError as error:
        raise error.within(f"array '{name}'") from None
    return continuous(robot, np.hstack([q, rows[:, robot.nq :]]))


def neutral_state(robot: Robot) -> Array:
    """Return the state (nq + nv,) of zeros, with quaternions of no rotation."""
    state = np.zeros(robot.nq + robot.nv)
    for body, coordinates in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            state[coordinates.stop - 1] = 1.0
    return state


def continuous(robot: Robot, states: Array) -> Array:
    """Return states (K, nq + nv) in which no quaternion changes to the sign that is farther."""
    states = states.copy()
    for before, row in pairwise(states):
        row[: robot.nq] *= nearer(robot, row[np.newaxis, : robot.nq], before[: robot.nq])[0]
    return states


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
    for body, coordinates in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.mimic is None and (part := body.joint.kind.quaternion) is not None:
            elements = slice(coordinates.start + part.start, coordinates.start + part.stop)
            dots = np.sum(product[:, elements], axis=1)
            signs[:, elements] = np.where(dots < 0.0, -1.0, 1.0)[:, np.newaxis]
    return signs
