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

from rbdhw.arrays import MULTIPLIERS, WordName
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import quaternions
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import encode
from rbdhw.protocol import BASE_HELD, CONTACT, FUNCTIONS, HOLDING, PARAMETERS, flag_values
from rbdhw.robot.coordinates import CoordinateEntry, configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.parameters import held_bounds
from rbdhw.robot.pinocchio import UNIT_SLACK
from rbdhw.robot.unit_length import unit_vectors

Array = NDArray[np.float64]
Tasks = Mapping[str, Array]

OUTSIDE, OVERFLOW = "outside", "overflow"
"""The names of the status bits that causes belong to."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

_JOINT_ENTRIES = {
    "q": "position",
    "v": "velocity",
    "a": "acceleration",
    "tau": "effort",
    **dict.fromkeys(MULTIPLIERS, "multiplier"),
}
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

_UNIT_LENGTH = "bring [x y z w] to unit length"

_WIDER = "widen the domain by generate's --domain file"
"""What to change where a value overflows."""

_FASTER = "widen acceleration, or set any_forces = true, in generate's --domain file"
"""The same where forces may have accelerated the robot beyond the domain."""

_REMEDIES = {
    "gravity": "generate with the larger --gravity",
    "Minv": "expected the inverse of a mass matrix of this robot",
    BASE_HELD: "set it to 1 to hold the base, or to 0 to let it float",
    HOLDING: "widen damping, velocity_gain or position_gain in [contacts] of generate's --domain file",
    CONTACT: "set it to 1 for a contact, or to 0 for none",
}
"""What to change where no domain file has the bounds of an array."""


@dataclass(frozen=True)
class Cause:
    """One cause of flagged tasks of a function, and what to change."""

    function: str
    status: str
    """The status bit: :data:`OUTSIDE` or :data:`OVERFLOW`."""
    signal: str
    """The input: array, index and joint in the user's terms; or the submodule and value that overflowed."""
    tasks: int
    """The number of tasks. A task with several overflows counts for the first one."""
    task: int
    """The row of the task that exceeded the bounds by the most."""
    value: float
    lower: float
    upper: float
    unit: str
    """The unit of the value and of its bounds."""
    remedy: str
    step: int | None = None
    """Of a rollout: its first flagged step, from 1 on."""

    @property
    def excess(self) -> float:
        """The distance of the value from the bounds, relative to their width."""
        beyond = max(self.value - self.upper, self.lower - self.value, 0.0)
        return beyond / max(self.upper - self.lower, math.ulp(1.0))

    @property
    def text(self) -> str:
        unit = "" if self.unit in ("1", "") else f" {self.unit}"
        bounds = f"{self.lower:.6g} to {self.upper:.6g}{unit}"
        head = "outside the domain" if self.status == OUTSIDE else "overflow"
        kind = "task" if self.step is None else "rollout"
        many = f"1 {kind}" if self.tasks == 1 else f"{self.tasks} {kind}s, this the farthest"
        at = f"task {self.task}" if self.step is None else f"rollout {self.task}, step {self.step}"
        worst = f"is {self.value:.6g}{unit} in {at}, expected {bounds}"
        return f"{self.function}: {head}: {self.signal} {worst} ({many}); {self.remedy}"

    def json(self) -> dict[str, Any]:
        return vars(self) | {"text": self.text}


def diagnose(
    model: AcceleratorModel,
    function: str,
    arrays: Tasks,
    extended: bool = False,
    rows: Integers | None = None,
) -> tuple[Cause, ...]:
    """Return the causes for which the model flags tasks of the user, the most frequent first.

    The causes have the task numbers ``rows``, by default the places in ``arrays``.

    Raises
    ------
    InputError
        For a number that is not finite.
    """
    tasks = len(arrays["q"])
    if not tasks:
        return ()
    numbers = np.arange(tasks) if rows is None else rows
    words = encode(model, function, arrays, extended)
    causes = explain(model, function, words, graph_inputs(model.robot, arrays), extended)
    return order_causes(replace(cause, task=int(numbers[cause.task])) for cause in causes)


def explain_circles(robot: Robot, function: str, q: Array) -> list[Cause]:
    """Return the causes of tasks (N,) that are flagged for cosines and sines of the user's ``q``."""
    bounds, remedy = (1.0 - UNIT_SLACK, 1.0 + UNIT_SLACK), "bring [cosine sine] to unit length"
    return [
        _cause(function, OVERFLOW, f"length of the {unit.name}", off, unit.lengths(q), bounds, "1", remedy)
        for unit in unit_vectors(robot, q.shape[1])
        if unit.circle and (off := unit.off(q)).any()
    ]


def explain(
    model: AcceleratorModel,
    function: str,
    words: Mapping[str, Integers],
    reals: Mapping[str, Array],
    extended: bool = False,
) -> list[Cause]:
    """Return the causes for which the model flags tasks with these input words (N,).

    ``reals`` are the numbers (N,) for which words stand, before they were limited, by name and in the units
    of words.
    """
    inputs = model.interface.inputs(function, extended)
    values = {word.name: _value(word, words, reals) for word in inputs}
    outside = _outside(model, function, words, values, extended)
    return [*outside, *_overflows(model, function, words, values, extended)]


def _value(word: Word, words: Mapping[str, Integers], reals: Mapping[str, Array]) -> Array:
    """Return the numbers (N,) of a word in the user's unit; of one that has a default, those of its words."""
    real = reals[word.name] if word.name in reals else word.format.real(words[word.name])
    return np.asarray(real * TURN if word.unit == "turn" else real, np.float64)


def merge_causes(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Merge causes of the same function, status and signal; tasks are added, the farthest value is kept."""
    merged: dict[tuple[str, str, str], Cause] = {}
    for cause in causes:
        key = cause.function, cause.status, cause.signal
        other = merged.get(key)
        if other is not None:
            worst = max(other, cause, key=lambda cause: cause.excess)
            cause = replace(worst, tasks=other.tasks + cause.tasks)
        merged[key] = cause
    return order_causes(merged.values())


def order_causes(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Return the causes ordered by their number of tasks, the most first."""
    return tuple(sorted(causes, key=lambda cause: (-cause.tasks, cause.function, cause.status, cause.signal)))


# Inputs outside their domain


def _outside(
    model: AcceleratorModel,
    function: str,
    words: Mapping[str, Integers],
    values: Mapping[str, Array],
    extended: bool,
) -> Iterator[Cause]:
    for word in model.interface.inputs(function, extended):
        if word.lowest is None or word.highest is None:
            continue
        out = (words[word.name] < word.lowest) | (words[word.name] > word.highest)
        if not np.any(out):
            continue
        element = WordName.parse(word.name)
        array, index = element.array, element.index
        signal, unit = f"{word.name}{_owner(model, array, index)}", {"turn": "rad"}.get(word.unit, word.unit)
        bounds, remedy = _bounds(model, array, index), _remedy(model, array, index)
        yield _cause(function, OUTSIDE, signal, out, values[word.name], bounds, unit, remedy)


def _bounds(model: AcceleratorModel, array: str, index: tuple[int, ...]) -> tuple[float, float]:
    """Return the domain of an input in the user's unit."""
    if array == PARAMETERS:
        low, high = held_bounds(model.robot)[index[0]].tolist()
        return low, high
    row = index[0] * model.robot.nv + index[1] if array == "Minv" else (0, *index)[-1]
    lower, upper = model.domain.bounds[array][row].tolist()
    return lower, upper


def _coordinate(model: AcceleratorModel, array: str, index: tuple[int, ...]) -> CoordinateEntry | None:
    """Return the coordinate of an element of q, v, a, tau or of multipliers; None for other arrays."""
    if array == "q":
        return configuration_coordinates(model.robot)[index[0]]
    return velocity_coordinates(model.robot)[index[0]] if array in _JOINT_ENTRIES else None


def _owner(model: AcceleratorModel, array: str, index: tuple[int, ...]) -> str:
    if array == "fext":
        return f" (link '{model.robot.bodies[index[0]].name}')"
    if array == PARAMETERS and model.robot.loaded is not None:
        return f" ({model.robot.loaded.names[index[0]]})"
    coordinate = _coordinate(model, array, index)
    return f" (joint '{coordinate.joint}'{coordinate.part and ', ' + coordinate.part})" if coordinate else ""


def _remedy(model: AcceleratorModel, array: str, index: tuple[int, ...]) -> str:
    """Return how to widen the bounds of an input in a domain file, or what else to change."""
    coordinate = _coordinate(model, array, index)
    if coordinate is not None:
        return _joint_remedy(coordinate, array, index)
    if array in _BASE_ENTRIES:
        table = "fext" if array == "fext" else "base"
        return f"widen {_entry(table, _BASE_ENTRIES[array][index[-1] // 3])}"
    if array == PARAMETERS:
        return "widen [parameters] in generate's --domain file"
    return f"widen {_entry('integration', 'time_step')}" if array == "h" else _REMEDIES[array]


def _joint_remedy(coordinate: CoordinateEntry, array: str, index: tuple[int, ...]) -> str:
    if array == "q" and coordinate.unit == "1":
        return _UNIT_LENGTH
    if coordinate.kind is not JointKind.FLOATING:
        return f"widen {_entry('joints.' + _key(coordinate.joint), _JOINT_ENTRIES[array])}"
    if array == "q":
        return "choose an origin nearer to the base"
    if array in MULTIPLIERS:
        return f"widen {_entry('default', _JOINT_ENTRIES[array])}"
    return f"widen {_entry('base', _BASE_ENTRIES[array][index[0] // 3])}"


def _entry(table: str, entry: str) -> str:
    return f"[{table}] {entry} in generate's --domain file"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


# Internal overflows


@dataclass(frozen=True)
class _Overflow:
    """A value, the tasks in which it was the first to overflow, and its integers before wrapping."""

    value: int
    tasks: NDArray[np.bool_]
    full: Integers


def _overflows(
    model: AcceleratorModel,
    function: str,
    words: Mapping[str, Integers],
    values: Mapping[str, Array],
    extended: bool,
) -> Iterator[Cause]:
    """Yield the causes of overflows.

    A quaternion that is too far from unit length explains the overflows of its task. For the other tasks the
    cause is the value that overflowed first.
    """
    first = _first_overflows(model, function, words, extended)
    if not first:
        return
    overflowed = np.any([overflow.tasks for overflow in first], axis=0)
    explained = np.zeros_like(overflowed)
    for joint, length in _quaternion_lengths(model, values).items():
        off = overflowed & (np.abs(length - 1.0) > UNIT_SLACK)
        if off.any():
            explained |= off
            bounds = 1.0 - UNIT_SLACK, 1.0 + UNIT_SLACK
            signal = f"quaternion length of joint '{joint}'"
            yield _cause(function, OVERFLOW, signal, off, length, bounds, "1", _UNIT_LENGTH)
    program = model.program_of(function)
    results = {word.value: word.name for word in program.outputs[function]}
    forced = function in FUNCTIONS and FUNCTIONS[function].takes_force  # those of rollouts are of many times
    remedy = _FASTER if forced and not model.domain.any_forces else _WIDER
    for overflow in first:
        over = overflow.tasks & ~explained
        if over.any():
            operation = program.operations[overflow.value]
            signal = results.get(overflow.value, f"value v{overflow.value} of {operation.region}")
            step, format_ = operation.format.step, operation.format
            bounds, reals = (format_.lowest * step, format_.highest * step), np.asarray(overflow.full * step)
            yield _cause(function, OVERFLOW, signal, over, reals, bounds, "", remedy)


def _first_overflows(
    model: AcceleratorModel, function: str, words: Mapping[str, Integers], extended: bool
) -> list[_Overflow]:
    program, tasks = model.program_of(function), len(next(iter(words.values())))
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
    brought = model.interface.inputs(function, extended)
    read = {word.name: wrap(words[word.name], word.format.width) for word in brought}
    evaluate(program, {**idle, **flags, **read}, (function,), watch)
    return first


def _cause(
    function: str,
    status: str,
    signal: str,
    over: NDArray[np.bool_],
    values: Array,
    bounds: tuple[float, float],
    unit: str,
    remedy: str,
) -> Cause:
    """Return the cause of tasks ``over`` (N,), from the values (N,) of a signal and its bounds."""
    lower, upper = bounds
    task = int(np.argmax(np.where(over, np.maximum(values - upper, lower - values), -np.inf)))
    count = int(np.count_nonzero(over))
    return Cause(function, status, signal, count, task, float(values[task]), lower, upper, unit, remedy)


def _quaternion_lengths(model: AcceleratorModel, values: Mapping[str, Array]) -> dict[str, Array]:
    """Return the lengths (N,) of the quaternions by joint, of those that the function reads."""
    coordinates, lengths = configuration_coordinates(model.robot), {}
    for span in quaternions(model.robot):
        elements = [f"q[{k}]" for k in range(span.start, span.stop)]
        if values.keys() >= set(elements):
            length = np.linalg.norm([values[name] for name in elements], axis=0)
            lengths[coordinates[span.start].joint] = length
    return lengths
