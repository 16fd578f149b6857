"""Checks of the user's arrays of rollouts that several parts have."""

from __future__ import annotations

import numpy as np

from rbdhw.errors import InputError
from rbdhw.golden.tasks import with_unit_quaternions
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.packets import check_finite
from rbdhw.model.rollouts.data import Array
from rbdhw.model.rollouts.signs import continuous
from rbdhw.robot.model import Robot
from rbdhw.robot.unit_length import check_unit_lengths

ROUNDING = 1e-9
"""How far a number may be outside of its bounds, relative to the smaller, by rounding."""


def check_rows(name: str, given: Array, steps: int, lowest: Array, highest: Array) -> Array:
    """Return an array of rows (K, n) within bounds (n,); one row serves all steps."""
    array, size = as_numbers(f"array '{name}'", given), len(lowest)
    if array.shape not in ((size,), (steps, size)):
        expected = f"({steps}, {size}), or ({size},) for all steps"
        raise InputError(f"array '{name}'", f"shape {array.shape}", expected)
    check_finite(name, np.atleast_2d(array))
    rows = np.broadcast_to(array, (steps, size))
    slack = ROUNDING * np.minimum(np.abs(lowest), np.abs(highest))
    places = np.argwhere((rows < lowest - slack) | (rows > highest + slack))
    if len(places):
        row, column = places[0].tolist()
        where, found = f"array '{name}', row {row}, column {column}", f"{rows[row, column]:g}"
        raise InputError(where, found, f"{lowest[column]:g} to {highest[column]:g}")
    return rows


def check_reference(model: AcceleratorModel, name: str, given: Array | None, steps: int) -> Array:
    """Return references (K, nq + nv) of unit quaternions; without any, a state in the domain."""
    robot = model.robot
    bounds = [np.asarray(model.domain.bounds[own], np.float64) for own in ("q", "v")]
    bounds[0] = np.where(np.asarray(model.domain.wraps)[:, np.newaxis], [-np.inf, np.inf], bounds[0])
    lowest, highest = np.concatenate(bounds).T
    if given is None:
        nearest = np.clip(neutral_state(robot), lowest, highest)
        return np.broadcast_to(nearest, (steps, len(lowest)))
    rows = check_rows(name, given, steps, lowest, highest)
    try:
        check_unit_lengths(robot, rows[:, : robot.nq])
        q = with_unit_quaternions(robot, rows[:, : robot.nq])
    except InputError as error:
        raise error.within(f"array '{name}'") from None
    return continuous(robot, np.hstack([q, rows[:, robot.nq :]]))


def neutral_state(robot: Robot) -> Array:
    """Return the state (nq + nv,) of zeros, with quaternions of no rotation."""
    state = np.zeros(robot.nq + robot.nv)
    for body, own in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            state[own.stop - 1] = 1.0
    return state
