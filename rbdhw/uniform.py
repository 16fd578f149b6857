"""The same algorithms in uniform Q16.16: what per-signal formats are compared with.

Every number has 32 bits, 16 of them fractional; products and reciprocals are rounded to nearest, and what
does not fit is flagged. Sine and cosine are rounded from double precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain import graph_inputs
from rbdhw.fixed.format import Format, Integers, round_half_up, wrapped
from rbdhw.protocol import SYMMETRIC, flag_values
from rbdhw.robot.model import Robot
from rbdhw.sim import golden
from rbdhw.sim.errors import relative_errors
from rbdhw.tracing import Algorithms, record

Array = NDArray[np.float64]

Q16_16 = Format(32, 16)


@dataclass
class Overflow:
    """Per task (N,), whether any value did not fit."""

    seen: NDArray[np.bool_]


class Uniform:
    """Numbers of N tasks, (N,) integers in steps of 2**-16."""

    __array_ufunc__ = None

    def __init__(self, full: Integers, overflow: Overflow) -> None:
        self.value = wrapped(full, Q16_16.width)
        self.overflow = overflow
        overflow.seen |= self.value != full

    def __add__(self, other: Uniform | float) -> Uniform:
        return Uniform(self.value + self._integers(other), self.overflow)

    __radd__ = __add__

    def __neg__(self) -> Uniform:
        return Uniform(-self.value, self.overflow)

    def __sub__(self, other: Uniform | float) -> Uniform:
        return Uniform(self.value - self._integers(other), self.overflow)

    def __rsub__(self, other: float) -> Uniform:
        return -self + other

    def __mul__(self, other: Uniform | float) -> Uniform | float:
        if isinstance(other, float) and abs(other) in (0.0, 1.0):
            return 0.0 if other == 0.0 else (self if other == 1.0 else -self)
        product = self.value * self._integers(other)
        return Uniform(round_half_up(product, Q16_16.binary_point), self.overflow)

    __rmul__ = __mul__

    def reciprocal(self) -> Uniform:
        """``1 / self``; of zero it does not fit."""
        with np.errstate(divide="ignore"):
            inverse = np.rint(2.0 ** (2 * Q16_16.binary_point) / self.value)
        limited = np.clip(inverse, Q16_16.lowest - 1, Q16_16.highest + 1)
        return Uniform(limited.astype(np.int64), self.overflow)

    def _integers(self, other: Uniform | float) -> Integers:
        if isinstance(other, Uniform):
            return other.value
        return np.asarray(round(other * 2**Q16_16.binary_point), dtype=np.int64)


@dataclass
class _Recorder:
    """Computes at once, where a :class:`rbdhw.graph.trace.Recorder` takes down."""

    inputs: Mapping[str, Array]
    flags: Mapping[str, bool]
    overflow: Overflow
    results: dict[str, Array] = field(default_factory=dict)

    def input(self, name: str) -> Uniform | bool | None:
        if name in self.flags:
            return self.flags[name]
        return self._rounded(self.inputs[name]) if name in self.inputs else None

    def cos_sin(self, turns: Uniform, offset: float) -> tuple[Uniform, Uniform]:
        angle = 2.0 * np.pi * (Q16_16.real(turns.value) + offset)
        return self._rounded(np.cos(angle)), self._rounded(np.sin(angle))

    def select(self, flag: bool, a: Uniform | float, b: Uniform | float) -> Uniform | float:
        return a if flag else b

    def output(self, name: str, value: Uniform | float) -> None:
        known = Q16_16.real(value.value) if isinstance(value, Uniform) else np.float64(value)
        self.results[name] = np.broadcast_to(known, self.overflow.seen.shape)

    def _rounded(self, values: Array) -> Uniform:
        full = np.floor(np.ldexp(values, Q16_16.binary_point) + 0.5).astype(np.int64)
        return Uniform(full, self.overflow)


def evaluate_uniform(
    robot: Robot,
    function: str,
    inputs: Mapping[str, Array],
    flags: Mapping[str, bool],
    algorithms: Algorithms,
    fext: Sequence[int] = (),
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """One function's results in Q16.16 by name, and which tasks overflowed.

    Parameters
    ----------
    robot
        A robot whose axes are all z.
    inputs
        By the names and in the units of a graph's inputs, (N,) each.
    """
    tasks = len(next(iter(inputs.values())))
    recorder = _Recorder(inputs, flags, Overflow(np.zeros(tasks, np.bool_)))
    record(recorder, robot, (function,), fext, algorithms)
    return recorder.results, recorder.overflow.seen


def uniform_errors(
    source: Robot, robot: Robot, function: str, arrays: Mapping[str, Array], algorithms: Algorithms
) -> Array:
    """Relative errors (tasks,) of those tasks whose numbers all fit, against the golden model.

    Parameters
    ----------
    source, robot
        The robot as it was given, and as it is computed with (all axes z).
    arrays
        Of the user's interface.
    """
    inputs = graph_inputs(source, arrays)
    named, overflow = evaluate_uniform(robot, function, inputs, flag_values(function, False), algorithms)
    reference = golden.evaluate(source, function, arrays)
    results = {name: np.zeros_like(array) for name, array in reference.items()}
    for name, values in named.items():
        array, _, index = name.partition(".")[2].rstrip("]").partition("[")
        place = tuple(int(number) for number in index.split(","))
        if array in results:
            entries = np.moveaxis(results[array], 0, -1)
            entries[place] = values
            if array in SYMMETRIC:
                entries[place[::-1]] = values
    return relative_errors(results, reference)[~overflow]
