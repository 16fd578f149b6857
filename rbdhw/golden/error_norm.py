"""The error of results relative to the golden model's.

The results of most functions have one norm. A step in time changes a state by little, and what matters is
the error relative to that change. So the results of an integrator are *measured* as rates: ``x_next`` minus
the state before the step, ``A`` minus the identity, and ``B``, over the time step (``B`` of the configuration
over its square). The rows of configurations and those of velocities are parts with norms of their own, and
the error is that of the worst part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.protocol import FUNCTIONS, NEXT_STATE
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

NORM = "Frobenius norm of a task's whole result, relative to golden's or to the floor, the larger"
"""A description of :func:`relative_errors` for the manifest."""


@dataclass(frozen=True)
class Part:
    """Rows of an array of results that have a norm of their own.

    Parameters
    ----------
    name
        The key of its floor: ``dstep.A.q``.
    array, rows
        The array and its rows.
    power
        The power of the time step over which its changes are measured.
    """

    name: str
    array: str
    rows: slice
    power: int


def parts_of(robot: Robot, function: str) -> tuple[Part, ...]:
    """Return the parts of an integrator's results; no parts for other functions."""
    if not FUNCTIONS[function].integrates:
        return ()
    found = []
    for array in FUNCTIONS[function].outputs:
        rows = robot.nq if array == NEXT_STATE else robot.nv
        power = 2 if array == "B" else 1
        found.append(Part(f"{function}.{array}.q", array, slice(0, rows), power))
        found.append(Part(f"{function}.{array}.v", array, slice(rows, rows + robot.nv), 1))
    return tuple(found)


def origin_of(robot: Robot, array: str, tasks: Mapping[str, Array]) -> Array:
    """Return what an integrator's array would be after no time, (N, ...) or without the axis of tasks."""
    if array == NEXT_STATE:
        return np.hstack([tasks["q"], tasks["v"]])
    return np.eye(2 * robot.nv) if array == "A" else np.zeros((2 * robot.nv, robot.nv))


def time_step(robot: Robot, tasks: Mapping[str, Array]) -> Array:
    """Return the time step of tasks (N,): the robot's, or each task's own."""
    return tasks["h"] if robot.time_step is None else np.full(len(tasks["q"]), robot.time_step)


def measure(
    robot: Robot, function: str, tasks: Mapping[str, Array], results: Mapping[str, Array]
) -> dict[str, dict[str, Array]]:
    """Return results, by the key of their floor, as their errors are measured; the arrays are (N, ...)."""
    parts = parts_of(robot, function)
    if not parts:
        return {function: dict(results)}
    h = time_step(robot, tasks)
    found = {}
    for part in parts:
        change = results[part.array] - origin_of(robot, part.array, tasks)
        scale = np.power(h, -part.power).reshape(-1, *[1] * (change.ndim - 1))
        found[part.name] = {part.array: scale * change[:, part.rows]}
    return found


def function_errors(
    robot: Robot,
    function: str,
    tasks: Mapping[str, Array],
    results: Mapping[str, Array],
    reference: Mapping[str, Array],
    floors: Mapping[str, float],
) -> Array:
    """Return for each task (N,) the relative error of a function's results, of the worst part if it has any.

    Parameters
    ----------
    floors
        The least norm to divide by, by function or by :attr:`Part.name`.
    """
    found = measure(robot, function, tasks, results)
    expected = measure(robot, function, tasks, reference)
    errors = [relative_errors(found[key], expected[key], floors[key]) for key in expected]
    return np.asarray(np.max(errors, axis=0))


def relative_errors(
    results: Mapping[str, Array], reference: Mapping[str, Array], floor: float = 0.0
) -> Array:
    """Return for each task (N,) the Frobenius norm of the differences over that of the reference.

    The norms are over all arrays together.

    Parameters
    ----------
    floor
        The least norm of the reference to divide by, in the unit of the results. If it is zero and the
        reference is zero, the error is zero for zero results and infinite for others.
    """
    difference = norms({name: results[name] - reference[name] for name in reference})
    size = np.maximum(norms(reference), floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0.0, 0.0, difference / size)


def norms(arrays: Mapping[str, Array]) -> Array:
    """Return for each task (N,) the Frobenius norm of all arrays together."""
    rows = [array.reshape(len(array), -1) for array in arrays.values()]
    found: Array = np.linalg.norm(np.hstack(rows), axis=1)
    return found
