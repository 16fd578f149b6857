"""Causes of flagged tasks in the bit-exact model: an input outside its domain, or an internal overflow."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.design.folder import Design
from rbdhw.domain.bounds import QUATERNION_SLACK
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Integers, wrap
from rbdhw.protocol import PARAMETERS, flag_values
from rbdhw.robot.coordinates import Coordinate, configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import JointKind
from rbdhw.robot.parameters import held_bounds, held_values
from rbdhw.sim.packets import encode

Array = NDArray[np.float64]
Tasks = Mapping[str, Array]

OUTSIDE, OVERFLOW = "outside", "overflow"
"""The names of the status bits that causes belong to."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

_JOINT_ENTRIES = {"q": "position", "v": "velocity", "a": "acceleration", "tau": "effort"}
"""The entry of a joint's table in a domain file that bounds an array."""

_BASE_ENTRIES = {
    "v": ("linear_velocity", "angular_velocity"),
    "a": ("linear_acceleration", "angular_acceleration"),
    "tau": ("force", "moment"),
    "base_v": ("linear_velocity", "angular_velocity"),
    "base_a": ("linear_acceleration", "angular_acceleration"),
    "fext": ("force", "moment"),
}
"""The entries that bound a moving base or an external force: linear, then angular."""


@dataclass(frozen=True)
class Cause:
    """One cause of flagged tasks of a function.

    Parameters
    ----------
    function
        The function of the tasks.
    status
        The status bit: :data:`OUTSIDE` or :data:`OVERFLOW`.
    signal
        The input, as array, index and joint in the user's terms, or the submodule and value that overflowed.
    tasks
        The number of tasks. A task with several overflows counts for the first one.
    task, value
        The row of the task that exceeded the bounds by the most, and its value.
    lower, upper, unit
        The bounds, and the unit of all three.
    remedy
        What to change.
    """

    function: str
    status: str
    signal: str
    tasks: int
    task: int
    value: float
    lower: float
    upper: float
    unit: str
    remedy: str

    @property
    def excess(self) -> float:
        """The distance of the value from the bounds, relative to their width."""
        beyond = max(self.value - self.upper, self.lower - self.value, 0.0)
        return beyond / max(self.upper - self.lower, math.ulp(1.0))

    @property
    def text(self) -> str:
        """The cause in one line."""
        unit = "" if self.unit in ("1", "") else f" {self.unit}"
        bounds = f"{self.lower:.6g} to {self.upper:.6g}{unit}"
        head = "outside the domain" if self.status == OUTSIDE else "overflow"
        many = "1 task" if self.tasks == 1 else f"{self.tasks} tasks, this the farthest"
        worst = f"is {self.value:.6g}{unit} in task {self.task}, expected {bounds}"
        return f"{self.function}: {head}: {self.signal} {worst} ({many}); {self.remedy}"

    def json(self) -> dict[str, Any]:
        """Return the cause in the form of the JSON report."""
        return vars(self) | {"text": self.text}


def diagnose(
    design: Design, function: str, arrays: Tasks, extended: bool = False, rows: Integers | None = None
) -> tuple[Cause, ...]:
    """Return the causes for which the model flags these tasks, the most frequent first.

    Parameters
    ----------
    arrays
        The tasks, in the user's interface.
    rows
        The task numbers for the causes; by default their places in ``arrays``.

    Raises
    ------
    InputError
        For a number that is not finite.
    """
    tasks = len(arrays["q"])
    if not tasks:
        return ()
    numbers = np.arange(tasks) if rows is None else rows
    words = encode(design, function, arrays, extended)
    found = [
        *_outside(design, function, arrays, words, extended),
        *_overflows(design, function, arrays, words, extended),
    ]
    return order_causes(replace(cause, task=int(numbers[cause.task])) for cause in found)


def merge_causes(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Merge causes of the same function, status and signal; tasks are added, the farthest value is kept."""
    found: dict[tuple[str, str, str], Cause] = {}
    for cause in causes:
        key = cause.function, cause.status, cause.signal
        other = found.get(key)
        if other is None:
            found[key] = cause
        else:
            worst = max(other, cause, key=lambda own: own.excess)
            found[key] = replace(worst, tasks=other.tasks + cause.tasks)
    return order_causes(found.values())


def order_causes(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Return the causes ordered by their number of tasks, the most first."""
    return tuple(sorted(causes, key=lambda cause: (-cause.tasks, cause.function, cause.status, cause.signal)))


# Inputs outside their domain


def _outside(
    design: Design, function: str, arrays: Tasks, words: Mapping[str, Integers], extended: bool
) -> Iterator[Cause]:
    for word in design.interface.inputs(function, extended):
        if word.lowest is None or word.highest is None:
            continue
        low, high = words[word.name] < word.lowest, words[word.name] > word.highest
        if not np.any(low | high):
            continue
        array, index = _element(word.name)
        values = _values(design, arrays, array, index)
        lower, upper = _bounds(design, array, index)
        task = int(np.argmax(np.where(low | high, np.maximum(values - upper, lower - values), -np.inf)))
        yield Cause(
            function,
            OUTSIDE,
            f"{word.name}{_owner(design, array, index)}",
            int(np.count_nonzero(low | high)),
            task,
            float(values[task]),
            lower,
            upper,
            {"turn": "rad"}.get(word.unit, word.unit),
            _remedy(design, array, index),
        )


def _values(design: Design, arrays: Tasks, array: str, index: tuple[int, ...]) -> Array:
    """Return the values (N,) of an input in the user's unit, or of a number that is held of parameters."""
    given = held_values(design.robot, arrays[array]) if array == PARAMETERS else arrays[array]
    return np.asarray(np.moveaxis(given, 0, -1)[index], np.float64)


def _element(name: str) -> tuple[str, tuple[int, ...]]:
    """Return the array and index of an input word's name."""
    element = WordName.parse(name)
    return element.array, element.index


def _bounds(design: Design, array: str, index: tuple[int, ...]) -> tuple[float, float]:
    """Return the domain of an input in the user's unit."""
    if array == PARAMETERS:
        low, high = held_bounds(design.robot)[index[0]].tolist()
        return low, high
    row = index[0] * design.robot.nv + index[1] if array == "Minv" else (0, *index)[-1]
    lower, upper = design.domain.bounds[array][row].tolist()
    return lower, upper


def _coordinate(design: Design, array: str, index: tuple[int, ...]) -> Coordinate | None:
    """Return the coordinate of an element of q, v, a or tau; None for other arrays."""
    if array == "q":
        return configuration_coordinates(design.robot)[index[0]]
    return velocity_coordinates(design.robot)[index[0]] if array in _JOINT_ENTRIES else None


def _owner(design: Design, array: str, index: tuple[int, ...]) -> str:
    if array == "fext":
        return f" (link '{design.robot.bodies[index[0]].name}')"
    coordinate = _coordinate(design, array, index)
    return f" (joint '{coordinate.joint}'{coordinate.part and ', ' + coordinate.part})" if coordinate else ""


def _remedy(design: Design, array: str, index: tuple[int, ...]) -> str:
    """Return how to widen the bounds of an input in a domain file."""
    coordinate = _coordinate(design, array, index)
    if coordinate is not None and coordinate.kind is JointKind.FLOATING:
        return f"widen {_entry('base', _BASE_ENTRIES[array][index[0] // 3])}"
    if coordinate is not None:
        return f"widen {_entry('joints.' + _key(coordinate.joint), _JOINT_ENTRIES[array])}"
    if array in _BASE_ENTRIES:
        table = "fext" if array == "fext" else "base"
        return f"widen {_entry(table, _BASE_ENTRIES[array][index[-1] // 3])}"
    if array == "gravity":
        return "generate with the larger --gravity"
    if array == PARAMETERS:
        return "widen [parameters] in generate's --domain file"
    if array == "h":
        return f"widen {_entry('integration', 'time_step')}"
    return "expected the inverse of a mass matrix of this robot"


def _entry(table: str, entry: str) -> str:
    return f"[{table}] {entry} in generate's --domain file"


def _key(name: str) -> str:
    """Return a name as a key in TOML."""
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


# Internal overflows


@dataclass(frozen=True)
class _Overflow:
    """A value, the tasks in which it was the first to overflow, and its integers before wrapping."""

    value: int
    tasks: NDArray[np.bool_]
    full: Integers


def _overflows(
    design: Design, function: str, arrays: Tasks, words: Mapping[str, Integers], extended: bool
) -> Iterator[Cause]:
    """Yield the causes of overflows.

    A quaternion that is too far from unit length explains the overflows of its task. For the other tasks the
    cause is the value that overflowed first.
    """
    first = _first_overflows(design, function, words, extended)
    explained = np.zeros(len(arrays["q"]), np.bool_)
    overflowed = np.any([explained, *(found.tasks for found in first)], axis=0)
    for joint, length in _quaternion_lengths(design, arrays).items():
        off = overflowed & (np.abs(length - 1.0) > QUATERNION_SLACK)
        if off.any():
            explained |= off
            bounds = 1.0 - QUATERNION_SLACK, 1.0 + QUATERNION_SLACK
            signal = f"quaternion length of joint '{joint}'"
            yield _overflow(function, signal, off, length, bounds, "1", "bring [x y z w] to unit length")
    program = design.program_of(function)
    results = {word.value: word.name for word in program.outputs[function]}
    for found in first:
        over = found.tasks & ~explained
        if over.any():
            operation = program.operations[found.value]
            format_ = operation.format
            yield _overflow(
                function,
                results.get(found.value, f"value v{found.value} of {operation.region}"),
                over,
                np.asarray(found.full * format_.step, np.float64),
                (format_.lowest * format_.step, format_.highest * format_.step),
                "",
                "widen the domain by generate's --domain file",
            )


def _first_overflows(
    design: Design, function: str, words: Mapping[str, Integers], extended: bool
) -> list[_Overflow]:
    program, tasks = design.program_of(function), len(next(iter(words.values())))
    seen = np.zeros(tasks, np.bool_)
    first: list[_Overflow] = []

    def watch(i: int, full: Integers) -> None:
        format_ = program.operations[i].format
        fresh = np.broadcast_to((full < format_.lowest) | (full > format_.highest), tasks) & ~seen
        if fresh.any():
            first.append(_Overflow(i, fresh, np.broadcast_to(full, tasks)))
            seen[fresh] = True

    idle = {word.name: np.array(0) for word in program.inputs}
    flags = {name: np.array(int(value)) for name, value in flag_values(function, extended).items()}
    brought = design.interface.inputs(function, extended)
    taken = {word.name: wrap(words[word.name], word.format.width) for word in brought}
    evaluate(program, {**idle, **flags, **taken}, (function,), watch)
    return first


def _overflow(
    function: str,
    signal: str,
    over: NDArray[np.bool_],
    values: Array,
    bounds: tuple[float, float],
    unit: str,
    remedy: str,
) -> Cause:
    lower, upper = bounds
    task = int(np.argmax(np.where(over, np.maximum(values - upper, lower - values), -np.inf)))
    count = int(np.count_nonzero(over))
    return Cause(function, OVERFLOW, signal, count, task, float(values[task]), lower, upper, unit, remedy)


def _quaternion_lengths(design: Design, arrays: Tasks) -> dict[str, Array]:
    """Return the lengths of the quaternions by joint."""
    lengths = {}
    for body, place in zip(design.robot.bodies, design.robot.q_of, strict=True):
        part = body.joint.kind.quaternion
        if part is not None:
            lengths[body.joint.name] = np.linalg.norm(arrays["q"][:, place][:, part], axis=1)
    return lengths
