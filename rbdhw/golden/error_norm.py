"""The error of results relative to the golden model's.

Arrays of results have different units, and an error that is small beside one may be large beside another. So
the results of a function consist of *parts* (:func:`parts_of`), each with a norm, a floor and an error of its
own. A part is an array, or those of its elements that have one unit:

- ``kin``: the rotations and the positions of placements, the linear and the angular rows of twists;
- contacts: forces and moments, if there are any surfaces; the columns of derivatives by ``holding``;
- ``centroidal``: the linear and the angular rows;
- integrators: the rows of configurations (``q``) and those of velocities (``v``).

What a step in time changes in a state is little, and what matters is the error relative to that change. So
the results of an integrator are *measured* as rates: ``x_next`` minus the state before the step, ``A`` minus
the identity, and ``B``, over the time step (``B`` of the configuration over its square).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName, kind_of, results_of
from rbdhw.protocol import FUNCTIONS, NEXT_STATE, TRACKED, TRACKED_JACOBIAN
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

NORM = (
    "Frobenius norm of each result by itself, relative to golden's or to the result's floor, the larger; "
    "the largest over the results"
)
"""A description of :func:`function_errors` for the manifest."""


@dataclass(frozen=True)
class Part:
    """Elements of an array of results that have a norm of their own."""

    function: str
    array: str
    name: str
    """What the elements are, such as ``q``; empty if they are the whole array."""
    region: tuple[range, ...]
    """The indices of the elements along each axis of one task's array."""
    power: int = 0
    """The power of the time step over which its changes are measured."""

    @property
    def result(self) -> str:
        """The name among the function's results: ``da_dq``, or ``A.q``."""
        return f"{self.array}.{self.name}" if self.name else self.array

    def __str__(self) -> str:
        return f"{self.function}.{self.result}"

    def __contains__(self, word: WordName) -> bool:
        inside = (k in span for k, span in zip(word.index, self.region, strict=True))
        return (word.function, word.array) == (self.function, self.array) and all(inside)

    def of(self, values: Array) -> Array:
        """Return the part's elements of an array (N, ...) or (...) that ends with the axes of one task."""
        index: tuple[Any, ...] = (..., *(slice(span.start, span.stop) for span in self.region))
        return np.asarray(values[index], np.float64)


def parts_of(robot: Robot, function: str) -> tuple[Part, ...]:
    """Return the parts of a function's results, of the optional ones as well, in the order of the arrays."""
    arrays = results_of(function, robot.sizes, extended=True)
    return tuple(part for array in arrays for part in _split(robot, function, array))


def _split(robot: Robot, function: str, array: str) -> list[Part]:
    shape = kind_of(array, function).shape(robot.sizes)
    whole = [range(size) for size in shape]
    axis, ends = _cuts(robot, function, array)
    parts, start = [], 0
    for name, end in ends.items():
        region = (*whole[:axis], range(start, end), *whole[axis + 1 :])
        power = 0
        if FUNCTIONS[function].integrates:
            power = 2 if (array, name) == ("B", "q") else 1
        parts.append(Part(function, array, name, region, power))
        start = end
    return parts or [Part(function, array, "", tuple(whole))]


def _cuts(robot: Robot, function: str, array: str) -> tuple[int, dict[str, int]]:
    """Return the axis along which an array is split, and the end of each of its parts; none if it is not."""
    if array in (TRACKED, TRACKED_JACOBIAN):
        return 0, {}
    if FUNCTIONS[function].integrates:
        rows = robot.nq if array == NEXT_STATE else robot.nv
        return 0, {"q": rows, "v": rows + robot.nv}
    if array == "placement":
        return 2, {"rotation": 3, "position": 4}
    dimensions = kind_of(array, function).dimensions
    if "holding" in dimensions:
        loops = any(place.closes for place in robot.contacts.places)
        gains = {"velocity_gain": 2} | ({"position_gain": 3} if loops else {})
        return len(dimensions) - 1, {"damping": 1} | gains
    if "contacts" in dimensions and all(contact.kind == "point" for contact in robot.contacts.places):
        return 0, {}  # without moments
    if dimensions[:1] == (6,) and array in FUNCTIONS[function].outputs + FUNCTIONS[function].optional_outputs:
        return 0, {"linear": 3, "angular": 6}
    axis = dimensions.index(6) if 6 in dimensions[1:] else 0
    return (axis, {"linear": 3, "angular": 6} if axis else {})


def origin_of(robot: Robot, part: Part, tasks: Mapping[str, Array]) -> Array:
    """Return what is subtracted from an array before its norm is taken, (N, ...) or (...).

    That is the state before a step in time, and one for elements that are one in any case.
    """
    if part.array == NEXT_STATE:
        return np.hstack([tasks["q"], tasks["v"]])
    kind = kind_of(part.array, part.function)
    origin = np.zeros(kind.shape(robot.sizes))
    for index in kind.ones(origin.shape):
        origin[index] = 1.0
    return origin


def scale_of(robot: Robot, part: Part, tasks: Mapping[str, Array]) -> Array | float:
    """Return the factor that makes changes rates: a power of each task's time step (N,), or one."""
    return 1.0 if part.power == 0 else np.power(time_steps(robot, tasks), -part.power)


def time_steps(robot: Robot, tasks: Mapping[str, Array]) -> Array:
    """Return the time steps (N,) of tasks."""
    return tasks["h"] if robot.time_step is None else np.full(len(tasks["q"]), robot.time_step)


def measure(robot: Robot, part: Part, tasks: Mapping[str, Array], values: Array) -> Array:
    """Return a part of an array of results (N, ...) as its errors are measured."""
    change: Array = part.of(values) - part.of(origin_of(robot, part, tasks))
    scale = np.reshape(scale_of(robot, part, tasks), (-1, *[1] * (change.ndim - 1)))
    return scale * change


def function_errors(
    robot: Robot,
    function: str,
    tasks: Mapping[str, Array],
    results: Mapping[str, Array],
    reference: Mapping[str, Array],
    floors: Mapping[str, float],
) -> dict[str, Array]:
    """Return the relative error of each of a function's results in each task, (N,) by :attr:`Part.result`.

    ``results`` and ``reference`` are the arrays of results, (N, ...) each. Arrays that ``reference`` lacks
    have no errors. ``floors`` has the least norm to divide by, by the name of the part.
    """
    errors = {}
    for part in parts_of(robot, function):
        if (array := part.array) in reference:
            actual, expected = (
                {array: measure(robot, part, tasks, arrays[array])} for arrays in (results, reference)
            )
            errors[part.result] = relative_errors(actual, expected, floors[str(part)])
    return errors


def relative_errors(
    results: Mapping[str, Array], reference: Mapping[str, Array], floor: float = 0.0
) -> Array:
    """Return for each task (N,) the Frobenius norm of the differences over that of the reference.

    The norms are over all arrays together. ``floor`` is the least norm of the reference to divide by, in the
    unit of the results. If it is zero and the reference is zero, the error is zero for zero results and
    infinite for others.
    """
    difference = norms({name: results[name] - reference[name] for name in reference})
    size = np.maximum(norms(reference), floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0.0, 0.0, difference / size)


def norms(arrays: Mapping[str, Array]) -> Array:
    """Return for each task (N,) the Frobenius norm of all arrays together."""
    rows = [array.reshape(len(array), math.prod(array.shape[1:])) for array in arrays.values()]
    lengths: Array = np.linalg.norm(np.hstack(rows), axis=1)
    return lengths
