"""The arrays of a call, as tasks of a batch."""

from __future__ import annotations

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
    """Check that an array has the shape of a task, or that of a batch."""
    if shape not in (array.shape, array.shape[1:]):
        batch = f"(N, {', '.join(map(str, shape))})" if shape else "(N,)"
        expected = f"{shape} for one task, {batch} for N tasks"
        raise InputError(f"array '{name}'", f"shape {array.shape}", expected)


def as_batch(arrays: Mapping[str, Array]) -> tuple[dict[str, Array], bool]:
    """Return arrays with an axis of tasks, and whether none of them had one.

    Arrays of one task serve all tasks. Raises InputError if batches differ in length.
    """
    batches = {
        name: len(array) for name, array in arrays.items() if array.ndim > len(kind_of(name).dimensions)
    }
    if len(set(batches.values())) > 1:
        sizes = ", ".join(f"{size} of {name}" for name, size in batches.items())
        raise InputError("arrays", sizes, "as many tasks in each")
    tasks = next(iter(batches.values()), 1)
    batch = {
        name: array if name in batches else np.broadcast_to(array, (tasks, *array.shape))
        for name, array in arrays.items()
    }
    return batch, not batches
