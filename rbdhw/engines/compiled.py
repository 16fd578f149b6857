"""Tasks through compiled libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from rbdhw.engines.engine import Answer, Array
from rbdhw.fixed.format import Integers
from rbdhw.protocol import PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import held_values, nominal_parameters
from rbdhw.software.arrays import Sides
from rbdhw.software.calls import Arrays


class Library(Protocol):
    """What compiled libraries have in common."""

    dtype: type[Any]

    def arrays(self, function: str) -> Sides:
        """Return the inputs and results of a function in the order of its parameters."""

    def compute(self, function: str, inputs: Arrays, outputs: Arrays) -> Integers | None:
        """Compute N tasks, and return their status (N,) if there is one."""


def compute(
    library: Library, robot: Robot, function: str, tasks: Mapping[str, Array], extended: bool
) -> Answer:
    """Compute checked tasks; without a status of the library it is zero."""
    inputs, outputs = library.arrays(function)
    held = held_arrays(robot, tasks)
    passed = {
        array.name: np.ascontiguousarray(held[array.name], library.dtype)
        for array in inputs
        if array.name in held
    }
    count = len(tasks["q"])
    results = {
        array.name: np.empty((count, *array.shape), library.dtype)
        for array in outputs
        if extended or not array.optional
    }
    status = library.compute(function, passed, results)
    return np.zeros(count, np.int64) if status is None else status, results


def held_arrays(robot: Robot, tasks: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return arrays with the numbers that are held in place of inertial parameters, if there are any."""
    if robot.loaded is None:
        return tasks
    nominal = nominal_parameters(robot)
    parameters = tasks.get(PARAMETERS, np.broadcast_to(nominal, (len(tasks["q"]), *nominal.shape)))
    return {**tasks, PARAMETERS: held_values(robot, parameters)}
