"""Tasks outside their domain, or with numbers that are not finite: they are flagged and leave others alone.

The numbers of a task are limited to the domain before any engine sees them, so the answer is that of the
nearest task inside. Without a domain the limit is :data:`rbdhw.runtime.number_bounds.TASK_NUMBER`. A task
with a number that is not finite has no answer: its results are not a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.errors import InputError, unknown
from rbdhw.fixed.format import Integers
from rbdhw.model.arrays import check_arrays
from rbdhw.model.packets import NOT_FINITE, OUTSIDE, OVERFLOW
from rbdhw.protocol import BASE_HELD, CONTACT, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import nominal_parameters
from rbdhw.robot.unit_length import off_unit, unit_vectors
from rbdhw.runtime.number_bounds import TASK_NUMBER

Array = NDArray[np.float64]

LIMIT, REFUSE = WAYS = ("limit", "refuse")
"""What becomes of tasks outside: they are limited and flagged, or an error is raised."""

ROUNDING = 1e-9
"""How far a number may be outside of its bounds, relative to the larger, by rounding."""


@dataclass(frozen=True)
class Limited:
    """The checked arrays of N tasks."""

    arrays: dict[str, Array]
    """Within the domain."""
    asked: dict[str, Array]
    """As they were, but for tasks with a number that is not finite."""
    status: Integers
    """(N,): why they differ."""

    def flagged(self, status: Integers, results: Mapping[str, NDArray[Any]]) -> Integers:
        """Return the status (N,) beside an engine's; results (N, ...) without an answer become NaN."""
        damaged = self.status == NOT_FINITE
        if damaged.any():
            for array in results.values():
                array[damaged] = np.nan
        return np.where(damaged, NOT_FINITE, status | self.status)


def check_way(way: str) -> None:
    """Refuse what is none of :data:`WAYS`."""
    if way not in WAYS:
        raise unknown("outside", way, WAYS)


def limit_tasks(
    robot: Robot, fext: Sequence[int], domain: Domain | None, arrays: Mapping[str, Array], way: str = LIMIT
) -> Limited:
    """Return N tasks of the user, in either layout of ``q``, within the domain; see :func:`check_arrays`.

    Raises
    ------
    InputError
        An array is unusable; or, if the ``way`` is to refuse, a number is outside.
    """
    kept, status = (arrays, 0) if way == REFUSE else _without_damage(robot, arrays)
    checked = check_arrays(robot, fext, kept)
    asked = dict(checked)
    flags = np.zeros(len(checked["q"]), np.int64) | status | OVERFLOW * off_unit(robot, kept["q"])
    for vector in unit_vectors(robot, robot.nq):
        off = vector.off(checked["q"])
        if off.any():
            checked["q"] = checked["q"].copy()
            checked["q"][off, vector.columns] /= vector.lengths(checked["q"])[off, np.newaxis]
    for name in checked.keys() - {BASE_HELD, CONTACT, PARAMETERS}:
        lowest, highest = limits_of(robot, domain, name)
        outside = (checked[name] < lowest) | (checked[name] > highest)
        if not outside.any():
            continue
        if way == REFUSE:
            raise _refusal(name, checked[name], outside, lowest, highest)
        flags |= OUTSIDE * outside.reshape(len(flags), -1).any(axis=1)
        checked[name] = np.clip(checked[name], *limits_of(robot, domain, name, slack=0.0))
    return Limited(checked, asked, np.where(flags & NOT_FINITE, NOT_FINITE, flags))


def limits_of(robot: Robot, domain: Domain | None, name: str, slack: float = ROUNDING) -> tuple[Array, Array]:
    """Return the limits of an array's numbers, for the shape of one task, with a slack for rounding.

    An angle without limits has none, and neither has a quaternion, whose length is one.
    """
    if domain is None or name not in domain.bounds:
        return np.asarray(-TASK_NUMBER), np.asarray(TASK_NUMBER)
    lowest, highest = np.array(domain.bounds[name], np.float64).T
    if name == "q":
        free = np.array(domain.wraps)
        for vector in unit_vectors(robot, robot.nq):
            free[vector.columns] = True
        lowest[free], highest[free] = -np.inf, np.inf
    room = slack * np.nan_to_num(np.maximum(np.abs(lowest), np.abs(highest)), posinf=0.0)
    shape = {"h": (), "Minv": (robot.nv, robot.nv)}.get(name, lowest.shape)
    return (lowest - room).reshape(shape), (highest + room).reshape(shape)


def _without_damage(robot: Robot, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], Integers]:
    """Return arrays (N, ...) with a task at rest in place of each with NaN or infinity, and their status."""
    if arrays["q"].ndim != 2:
        return dict(arrays), np.array(0)  # which is refused
    tasks = len(arrays["q"])
    damaged = np.zeros(tasks, np.bool_)
    beyond = damaged.copy()
    for array in (array for array in arrays.values() if array.shape[:1] == (tasks,)):
        rows = np.abs(array).max(axis=tuple(range(1, array.ndim)), initial=0.0)
        damaged |= ~np.isfinite(rows)
        beyond |= rows > TASK_NUMBER
    kept = dict(arrays)
    for name in arrays if damaged.any() else ():
        kept[name] = np.where(damaged.reshape(-1, *[1] * (arrays[name].ndim - 1)), 0.0, arrays[name])
    if damaged.any():
        for vector in unit_vectors(robot, kept["q"].shape[1]):
            kept["q"][damaged, vector.columns.start if vector.circle else vector.columns.stop - 1] = 1.0
        if PARAMETERS in kept:
            kept[PARAMETERS][damaged] = nominal_parameters(robot)
    if beyond.any():
        kept = {name: np.clip(array, -TASK_NUMBER, TASK_NUMBER) for name, array in kept.items()}
    return kept, NOT_FINITE * damaged | OUTSIDE * beyond


def _refusal(
    name: str, array: Array, outside: NDArray[np.bool_], lowest: Array, highest: Array
) -> InputError:
    row, *column = np.argwhere(outside)[0].tolist()
    where = ", ".join([f"array '{name}'", f"row {row}", *([f"column {column[0]}"] if column else [])])
    low, high = (np.broadcast_to(limit, array.shape)[row, *column] for limit in (lowest, highest))
    return InputError(where, f"{array[row, *column]:g}", f"{low:g} to {high:g}", "widen the domain")
