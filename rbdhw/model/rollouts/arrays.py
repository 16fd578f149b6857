"""The arrays of rollouts beside those of ``step``: what a build takes, and whether they are usable."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.golden.dynamics import with_unit_quaternions
from rbdhw.golden.integrators import motion_of
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.packets import check_finite
from rbdhw.model.rollouts.evaluate import SEED
from rbdhw.model.rollouts.signs import continuous
from rbdhw.protocol import COST, GAINS, SAMPLES
from rbdhw.robot.model import Robot
from rbdhw.robot.unit_length import check_unit_lengths

Array = NDArray[np.float64]

MOST_SEED, MOST_SEED_OF_SINGLES = (1 << 31) - 1, 1 << 24
"""The largest seed. A single holds every integer up to the second."""


def check_samples(
    model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int, steps: int
) -> tuple[Array, Integers | None]:
    """Return the standard deviations (K, nv) and the seeds (N,), which are None if no samples are drawn.

    Raises
    ------
    InputError
        The build draws no samples, or an array is not usable.
    """
    assert model.interface.rollout is not None
    none = np.zeros((steps, model.robot.nv))
    if SAMPLES not in model.interface.rollout.parts:
        for name in ("std", SEED):
            if name in arrays:
                remedy = f"generate with --rollout {SAMPLES}"
                raise InputError(f"array '{name}'", "this build draws no samples", remedy=remedy)
        return none, None
    if "std" in arrays and SEED not in arrays:
        raise InputError(f"array '{SEED}'", "missing", "a seed for each rollout, or one for all")
    return _check_deviations(model, arrays.get("std", none), steps), _check_seeds(model, arrays, tasks)


def _check_deviations(model: AcceleratorModel, given: Array, steps: int) -> Array:
    """Return the standard deviations of each step."""
    most = np.abs(np.asarray(model.domain.bounds["tau"])).max(axis=1)
    return _check_rows("std", given, steps, np.zeros_like(most), most)


def _check_rows(name: str, given: Array, steps: int, lowest: Array, highest: Array) -> Array:
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


COSTS, FEEDBACK = ("x_ref", "Q", "R"), ("x_nominal", "K")

LARGEST_WEIGHT = 1e12
"""The largest weight of a cost."""

ROUNDING = 1e-9
"""How far a number may be outside of its bounds, relative to the smaller, by rounding."""


def check_costs(
    model: AcceleratorModel, arrays: Mapping[str, Array], steps: int
) -> tuple[Array, Array, Array] | None:
    """Return references (K, nq + nv), and weights of the state and of the forces (K, nv); None without costs.

    Raises
    ------
    InputError
        The build computes no costs, or an array is not usable.
    """
    assert model.interface.rollout is not None
    if COST not in model.interface.rollout.parts:
        for name in (name for name in COSTS if name in arrays):
            remedy = f"generate with --rollout {COST}"
            raise InputError(f"array '{name}'", "this build computes no costs", remedy=remedy)
        return None
    if "Q" in arrays and "x_ref" not in arrays:
        raise InputError("array 'x_ref'", "missing", "the state that is wanted, of each step or of all")
    none = np.zeros(model.robot.nq + model.robot.nv), np.zeros(model.robot.nv)
    reference = _check_reference(model, "x_ref", arrays.get("x_ref"), steps)
    weights = [
        _check_rows(name, arrays.get(name, zero), steps, zero, zero + LARGEST_WEIGHT)
        for name, zero in zip(("Q", "R"), none, strict=True)
    ]
    return reference, weights[0], weights[1]


def check_feedback(
    model: AcceleratorModel, arrays: Mapping[str, Array], steps: int
) -> tuple[Array, Array] | None:
    """Return nominal states (K, nq + nv) and their gains (K, nv, nq + nv); None without gains.

    The user's gains ``K`` are those of the tangent space, (K, nv, 2 nv) or (nv, 2 nv) for all steps. They are
    multiplied by the derivative of the difference of two states, at the nominal one.

    Raises
    ------
    InputError
        The build takes no gains, or an array is not usable.
    """
    assert model.interface.rollout is not None
    if GAINS not in model.interface.rollout.parts:
        for name in (name for name in FEEDBACK if name in arrays):
            remedy = f"generate with --rollout {GAINS}"
            raise InputError(f"array '{name}'", "this build takes no gains", remedy=remedy)
        return None
    if "K" in arrays and "x_nominal" not in arrays:
        raise InputError("array 'x_nominal'", "missing", "the state without feedback, of each step or of all")
    nominal = _check_reference(model, "x_nominal", arrays.get("x_nominal"), steps)
    shape = (model.robot.nv, 2 * model.robot.nv)
    gains = as_numbers("array 'K'", arrays.get("K", np.zeros(shape)))
    if gains.shape not in (shape, (steps, *shape)):
        expected = f"({steps}, {shape[0]}, {shape[1]}), or {shape} for all steps"
        raise InputError("array 'K'", f"shape {gains.shape}", expected)
    check_finite("K", gains.reshape(-1, shape[1]))
    return nominal, np.broadcast_to(gains, (steps, *shape)) @ tangent_of(model.robot, nominal)


def tangent_of(robot: Robot, states: Array) -> Array:
    """Return the derivative (N, 2 nv, nq + nv) of the difference of states, at the states (N, nq + nv)."""
    columns = [
        motion_of(robot, states, np.broadcast_to(change, states.shape)) for change in np.eye(states.shape[1])
    ]
    return np.stack(columns, axis=-1)


def _check_reference(model: AcceleratorModel, name: str, given: Array | None, steps: int) -> Array:
    """Return references (K, nq + nv) of unit quaternions; without any, a state in the domain."""
    robot = model.robot
    bounds = [np.asarray(model.domain.bounds[own], np.float64) for own in ("q", "v")]
    bounds[0] = np.where(np.asarray(model.domain.wraps)[:, np.newaxis], [-np.inf, np.inf], bounds[0])
    lowest, highest = np.concatenate(bounds).T
    if given is None:
        nearest = np.clip(_neutral(robot), lowest, highest)
        return np.broadcast_to(nearest, (steps, len(lowest)))
    rows = _check_rows(name, given, steps, lowest, highest)
    try:
        check_unit_lengths(robot, rows[:, : robot.nq])
        q = with_unit_quaternions(robot, rows[:, : robot.nq])
    except InputError as error:
        raise error.within(f"array '{name}'") from None
    return continuous(robot, np.hstack([q, rows[:, robot.nq :]]))


def _neutral(robot: Robot) -> Array:
    """Return the state (nq + nv,) of zeros, with quaternions of no rotation."""
    state = np.zeros(robot.nq + robot.nv)
    for body, own in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.kind.quaternion is not None:
            state[own.stop - 1] = 1.0
    return state


def _check_seeds(model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int) -> Integers:
    """Return the seed of each rollout."""
    given = as_numbers(f"array '{SEED}'", arrays.get(SEED, 0))
    if given.shape not in ((), (tasks,)):
        raise InputError(f"array '{SEED}'", f"shape {given.shape}", f"({tasks},), or one for all")
    most = MOST_SEED_OF_SINGLES if model.interface.converts else MOST_SEED
    seeds = np.broadcast_to(given, (tasks,))
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((seeds >= 0) & (seeds <= most) & (seeds == np.floor(seeds))))
    if len(bad):
        where, found = f"array '{SEED}', row {bad[0]}", f"{seeds[bad[0]]:g}"
        raise InputError(where, found, f"integers from 0 to {most}")
    return seeds.astype(np.int64)
