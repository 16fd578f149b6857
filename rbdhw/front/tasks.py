"""The arrays of a call, as tasks of a batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import kind_of
from rbdhw.errors import InputError
from rbdhw.model.arrays import as_numbers, check_taken, task_shapes
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]


def read_arrays(
    robot: Robot, function: str, arrays: Mapping[str, Any], without: tuple[str, ...] = ()
) -> dict[str, Array]:
    """Return the arrays of a call, each of one task or of a batch, as numbers.

    Arrays that are None are left out. ``without`` are those of the function that the call brings in another
    form. Raises InputError if an array is missing, is not taken by this build, holds something else than real
    numbers, or has the shape neither of a task nor of a batch.
    """
    brought = {name: array for name, array in arrays.items() if array is not None}
    numbers = {name: as_numbers(f"array '{name}'", array) for name, array in brought.items()}
    check_taken(robot, numbers, function)
    required = [name for name in golden.inputs_of(robot, function) if name not in without]
    for name in required:
        if name not in numbers:
            raise InputError(f"array '{name}'", "missing", f"{', '.join(required)} for {function}")
    columns = numbers["q"].shape[-1] if numbers["q"].ndim else 0
    shapes = task_shapes(robot, columns)
    for name, array in numbers.items():
        _check_shape(name, array, shapes[name])
    return numbers


def _check_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Check that an array has the shape of a task, or that of a batch, with any axes before."""
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        batch = f"(N, {', '.join(map(str, shape))})" if shape else "(N,)"
        expected = f"{shape} for one task, {batch} for N tasks"
        raise InputError(f"array '{name}'", f"shape {array.shape}", expected)


def as_batch(arrays: Mapping[str, Array]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return arrays with one axis of tasks, and the axes of tasks that they had.

    Arrays of one task serve all tasks. Raises InputError if the axes of batches differ.
    """
    axes = {name: array.shape[: array.ndim - len(kind_of(name).dimensions)] for name, array in arrays.items()}
    batches = {name: lead for name, lead in axes.items() if lead}
    if len(set(batches.values())) > 1:
        sizes = ", ".join(f"{'x'.join(map(str, lead))} of {name}" for name, lead in batches.items())
        raise InputError("arrays", sizes, "as many tasks in each")
    lead = next(iter(batches.values()), ())
    tasks = math.prod(lead)
    batch = {
        name: array.reshape(tasks, *array.shape[len(lead) :])
        if name in batches
        else np.broadcast_to(array, (tasks, *array.shape))
        for name, array in arrays.items()
    }
    return batch, lead


def with_axes(array: NDArray[Any], lead: tuple[int, ...]) -> Any:
    """Return results (N, ...) with the axes of tasks that a call had; those of one task without any."""
    return array.reshape(*lead, *array.shape[1:]) if lead else array[0]
