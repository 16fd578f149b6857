"""The same algorithms in uniform Q16.16 at its most exact, for comparison with per-signal formats.

Every operand of a product, input, result and constant is a word of 32 bits, 16 of them fractional. Of all
designs with such words, this is the most exact:

- Angles are in radians. Sine and cosine are those of the word's angle, reduced to one turn without error and
  rounded to the nearest word.
- Products and sums are exact in an accumulator of 64 bits, 32 of them fractional, and sums pass on unrounded.
  A value is rounded once to the nearest word where it is a factor, a divisor or a result.
- Powers of two scale by shifts of the accumulator.
- Reciprocals are rounded to the nearest word.
- Each function uses the combination of algorithms with the least median error.

A task is flagged if a word or an accumulator overflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.fixed.format import Format, Integers, round_half_up, wrap
from rbdhw.frontend.algorithms import NEEDED_BY
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.functions import record
from rbdhw.golden.error_norm import function_errors
from rbdhw.model.interface import unflatten
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.protocol import flag_values
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

Q16_16 = Format(32, 16)

ACCUMULATOR = Format(64, 2 * Q16_16.binary_point)
"""The format of sums of products: twice as many fractional bits as a word."""

CHUNK = 1024
"""Tasks that are computed at a time."""

TRIALS = 256
"""Tasks for the comparison of algorithms."""


@dataclass
class Q16Overflow:
    """Per task (N,), whether any value overflowed."""

    seen: NDArray[np.bool_]


class Uniform:
    """Numbers of N tasks: ``exact`` (N,) in units of the accumulator, ``word`` (N,) in units of Q16.16."""

    __array_ufunc__ = None
    __slots__ = ("_word", "exact", "overflow")

    def __init__(self, exact: Integers, overflow: Q16Overflow) -> None:
        self.exact = exact
        self.overflow = overflow
        self._word: Integers | None = None

    @classmethod
    def nearest(cls, values: Array, overflow: Q16Overflow) -> Uniform:
        """Return the words nearest to real values; values out of range are flagged."""
        limited = np.clip(np.ldexp(values, Q16_16.binary_point), Q16_16.lowest - 1, Q16_16.highest + 1)
        return cls(_exact(np.floor(limited + 0.5).astype(np.int64)), overflow)

    @property
    def word(self) -> Integers:
        """The nearest words (N,), ties upward; values out of range wrap and are flagged."""
        if self._word is None:
            full = round_half_up(self.exact, ACCUMULATOR.binary_point - Q16_16.binary_point)
            self._word = wrap(full, Q16_16.width)
            self.overflow.seen |= self._word != full
        return self._word

    def __add__(self, other: Uniform | float) -> Uniform:
        term = other.exact if isinstance(other, Uniform) else _exact(_word(other))
        total = self.exact + term
        self.overflow.seen |= ((self.exact ^ total) & (term ^ total)) < 0
        return Uniform(total, self.overflow)

    __radd__ = __add__

    def __neg__(self) -> Uniform:
        return Uniform(-self.exact, self.overflow)

    def __sub__(self, other: Uniform | float) -> Uniform:
        return self + -other

    def __rsub__(self, other: float) -> Uniform:
        return -self + other

    def __mul__(self, other: Uniform | float) -> Uniform | float:
        if isinstance(other, Uniform):
            return Uniform(self.word * other.word, self.overflow)
        if other == 0.0:
            return 0.0
        if abs(math.frexp(other)[0]) == 0.5:
            return self._shift(math.frexp(other)[1] - 1, other < 0.0)
        return Uniform(self.word * _word(other), self.overflow)

    __rmul__ = __mul__

    def reciprocal(self) -> Uniform:
        """Return ``1 / self``; zero overflows."""
        with np.errstate(divide="ignore"):
            return Uniform.nearest(1.0 / Q16_16.real(self.word), self.overflow)

    def _shift(self, places: int, negative: bool) -> Uniform:
        """Return the number times a power of two, negated on request."""
        if places <= 1 - ACCUMULATOR.width:
            return Uniform(np.zeros_like(self.exact), self.overflow)
        moved = self.exact << places if places >= 0 else round_half_up(self.exact, -places)
        if places > 0:
            self.overflow.seen |= moved >> places != self.exact
        return Uniform(-moved if negative else moved, self.overflow)


@dataclass(frozen=True)
class _Angle:
    """A multiple of an angle: ``factor`` turns per turn, of an angle in radians."""

    radians: Uniform
    factor: float = 1.0

    def __mul__(self, other: float) -> _Angle:
        return _Angle(self.radians, self.factor * other)

    __rmul__ = __mul__

    def __add__(self, other: float) -> Uniform | float:
        """Return a shift (m) by a prismatic joint that mimics a revolute one."""
        return self.radians * (self.factor / (2.0 * math.pi)) + other

    @property
    def real(self) -> Array:
        """The angles in radians, without further rounding."""
        return self.factor * Q16_16.real(self.radians.word)


@dataclass
class _Recorder:
    """Computes the operations that a :class:`rbdhw.graph.trace.Recorder` would record.

    ``inputs`` are in the graph's units, except ``angles``, in radians.
    """

    inputs: Mapping[str, Array]
    angles: Mapping[str, Array]
    flags: Mapping[str, bool]
    overflow: Q16Overflow
    results: dict[str, Array] = field(default_factory=dict)

    def input(self, name: str) -> Uniform | _Angle | bool | None:
        if name in self.flags:
            return self.flags[name]
        if name in self.angles:
            return _Angle(Uniform.nearest(self.angles[name], self.overflow))
        return Uniform.nearest(self.inputs[name], self.overflow) if name in self.inputs else None

    def cos_sin(self, turns: Uniform | _Angle | float, offset: float) -> tuple[Uniform, Uniform]:
        if isinstance(turns, Uniform):
            angle = 2.0 * np.pi * ACCUMULATOR.real(turns.exact)
        elif isinstance(turns, _Angle):
            angle = turns.real
        else:
            angle = np.full(self.overflow.seen.shape, 2.0 * np.pi * turns)
        angle = angle + 2.0 * np.pi * offset
        return Uniform.nearest(np.cos(angle), self.overflow), Uniform.nearest(np.sin(angle), self.overflow)

    def select(self, flag: bool, a: Uniform | float, b: Uniform | float) -> Uniform | float:
        return a if flag else b

    def output(self, name: str, value: Uniform | float) -> None:
        known = Q16_16.real(value.word) if isinstance(value, Uniform) else np.float64(value)
        self.results[name] = np.broadcast_to(known, self.overflow.seen.shape)


def evaluate_uniform(
    source: Robot,
    robot: Robot,
    function: str,
    arrays: Mapping[str, Array],
    algorithms: Algorithms,
    fext: Sequence[int] = (),
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return one function's results in Q16.16, in golden's arrays, and which tasks (N,) overflowed.

    Parameters
    ----------
    source, robot
        The robot as given, and as computed with (elementary, all axes z).
    arrays
        The user's arrays, as for :func:`rbdhw.golden.dynamics.evaluate`.
    fext
        The bodies of ``robot`` with an external force.
    """
    parts = [
        _evaluate_tasks(source, robot, function, part, algorithms, fext) for part in _chunks(arrays, CHUNK)
    ]
    names = parts[0][0]
    results = {name: np.concatenate([named[name] for named, _ in parts]) for name in names}
    return results, np.concatenate([overflow for _, overflow in parts])


def _evaluate_tasks(
    source: Robot,
    robot: Robot,
    function: str,
    arrays: Mapping[str, Array],
    algorithms: Algorithms,
    fext: Sequence[int],
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """See :func:`evaluate_uniform`."""
    tasks = len(arrays["q"])
    angles = {f"q[{k}]": arrays["q"][:, k] for k in _angles(source)}
    flags = flag_values(function, extended=False)
    recorder = _Recorder(graph_inputs(source, arrays), angles, flags, Q16Overflow(np.zeros(tasks, np.bool_)))
    record(recorder, robot, (function,), fext, algorithms)
    shapes = golden.evaluate(source, function, {name: array[:1] for name, array in arrays.items()})
    results = {name: np.zeros((tasks, *array.shape[1:])) for name, array in shapes.items()}
    unflatten(results, recorder.results.items())
    return results, recorder.overflow.seen


def uniform_errors(
    source: Robot, robot: Robot, function: str, arrays: Mapping[str, Array], floors: Mapping[str, float]
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return relative errors (tasks,) of the best algorithms against golden, and which tasks overflowed.

    The errors are by result. See :func:`evaluate_uniform` and
    :func:`rbdhw.golden.error_norm.function_errors` for the parameters.
    """
    reference = golden.evaluate(source, function, arrays)
    algorithms = best_algorithms(source, robot, function, arrays, reference, floors)
    results, overflow = evaluate_uniform(source, robot, function, arrays, algorithms)
    return function_errors(source, function, arrays, results, reference, floors), overflow


def best_algorithms(
    source: Robot,
    robot: Robot,
    function: str,
    arrays: Mapping[str, Array],
    reference: Mapping[str, Array],
    floors: Mapping[str, float],
) -> Algorithms:
    """Return the algorithms with the least median error in the first :data:`TRIALS` tasks.

    The error of a task is that of its worst result, and infinite if the task overflows. ``reference`` has the
    golden results of the tasks.
    """
    first, right = (next(_chunks(part, TRIALS)) for part in (arrays, reference))

    def median(algorithms: Algorithms) -> float:
        results, overflow = evaluate_uniform(source, robot, function, first, algorithms)
        errors = function_errors(source, function, first, results, right, floors)
        return float(np.median(np.where(overflow, np.inf, np.max([*errors.values()], axis=0))))

    return min(combinations(robot, function), key=median)


def combinations(robot: Robot, function: str) -> list[Algorithms]:
    """Return all combinations of algorithms that compute a function of a robot.

    Propagation and constraint forces need no inverse, so they are combined with the default one only.
    """
    names = [
        alternatives if function in NEEDED_BY[step] else alternatives[:1]
        for step, alternatives in ALGORITHMS.items()
    ]
    every = (Algorithms(**dict(zip(ALGORITHMS, chosen, strict=True))) for chosen in product(*names))
    possible = [algorithms for algorithms in every if algorithms.possible_for(robot)]
    plain = DEFAULT.inverse, DEFAULT.products
    return [
        algorithms
        for algorithms in possible
        if algorithms.forward == "inverse" or (algorithms.inverse, algorithms.products) == plain
    ]


def _chunks(arrays: Mapping[str, Array], size: int) -> Iterator[dict[str, Array]]:
    for start in range(0, len(next(iter(arrays.values()))), size):
        yield {name: array[start : start + size] for name, array in arrays.items()}


def _angles(robot: Robot) -> Iterator[int]:
    """Yield the configuration coordinates that are angles."""
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.mimic is None:
            indices = range(robot.nq)[span]
            yield from (k for k, angle in zip(indices, body.joint.kind.angles, strict=True) if angle)


def _word(value: float) -> Integers:
    """Return a constant's nearest word."""
    return np.asarray(round(value * 2**Q16_16.binary_point), dtype=np.int64)


def _exact(word: Integers) -> Integers:
    """Return a word in units of the accumulator."""
    return word << (ACCUMULATOR.binary_point - Q16_16.binary_point)
