"""The same algorithms in one uniform format, at its most exact.

Every operand of a product, input, result and constant is a word of this format. Of all designs with such
words, this is the most exact:

- Angles are in radians. Sine and cosine are those of the word's angle, reduced to one turn without error and
  rounded to the nearest word.
- Products and sums are exact in an accumulator of 64 bits, and sums pass on unrounded. A value is rounded
  once to the nearest word where it is a factor, a divisor or a result.
- Powers of two scale by shifts of the accumulator.
- Reciprocals are rounded to the nearest word.

A task is flagged if a word or an accumulator overflows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import kind_of, results_of
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.fixed.format import Format, Integers, round_half_up, wrap
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import record
from rbdhw.model.interface import unflatten
from rbdhw.protocol import NEXT_STATE, flag_values
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

ACCUMULATOR_BITS = 64

CHUNK = 1024
"""Tasks that are computed at a time."""


@dataclass(frozen=True)
class Grid:
    """The words of N tasks: their format, and per task (N,) whether any value overflowed."""

    word: Format
    overflow: NDArray[np.bool_]

    @property
    def accumulator(self) -> Format:
        """The format of sums of products: twice as many fractional bits as a word."""
        return Format(ACCUMULATOR_BITS, 2 * self.word.binary_point)

    def flag(self, tasks: NDArray[np.bool_]) -> None:
        np.logical_or(self.overflow, tasks, out=self.overflow)

    def nearest(self, value: float) -> Integers:
        """Return a constant's nearest word."""
        return np.asarray(round(value * 2**self.word.binary_point), dtype=np.int64)


class Uniform:
    """Numbers of N tasks: ``exact`` (N,) in units of the accumulator, ``word`` (N,) in units of words."""

    __array_ufunc__ = None
    __slots__ = ("_word", "exact", "grid")

    def __init__(self, exact: Integers, grid: Grid) -> None:
        self.exact = exact
        self.grid = grid
        self._word: Integers | None = None

    @classmethod
    def nearest(cls, values: Array, grid: Grid) -> Uniform:
        """Return the words nearest to real values; values out of range are flagged."""
        word = grid.word
        limited = np.clip(np.ldexp(values, word.binary_point), word.lowest - 1, word.highest + 1)
        return cls(np.floor(limited + 0.5).astype(np.int64) << word.binary_point, grid)

    @property
    def word(self) -> Integers:
        """The nearest words (N,), ties upward; values out of range wrap and are flagged."""
        if self._word is None:
            full = round_half_up(self.exact, self.grid.word.binary_point)
            self._word = wrap(full, self.grid.word.width)
            self.grid.flag(self._word != full)
        return self._word

    def __add__(self, other: Uniform | float) -> Uniform:
        term = (
            other.exact
            if isinstance(other, Uniform)
            else self.grid.nearest(other) << self.grid.word.binary_point
        )
        total = self.exact + term
        self.grid.flag(((self.exact ^ total) & (term ^ total)) < 0)
        return Uniform(total, self.grid)

    __radd__ = __add__

    def __neg__(self) -> Uniform:
        return Uniform(-self.exact, self.grid)

    def __sub__(self, other: Uniform | float) -> Uniform:
        return self + -other

    def __rsub__(self, other: float) -> Uniform:
        return -self + other

    def __mul__(self, other: Uniform | float) -> Uniform | float:
        if isinstance(other, Uniform):
            return Uniform(self.word * other.word, self.grid)
        if other == 0.0:
            return 0.0
        if abs(math.frexp(other)[0]) == 0.5:
            return self._shift(math.frexp(other)[1] - 1, other < 0.0)
        return Uniform(self.word * self.grid.nearest(other), self.grid)

    __rmul__ = __mul__

    def reciprocal(self) -> Uniform:
        """Return ``1 / self``; zero overflows."""
        with np.errstate(divide="ignore"):
            return Uniform.nearest(1.0 / self.grid.word.real(self.word), self.grid)

    def _shift(self, places: int, negative: bool) -> Uniform:
        """Return the number times a power of two, negated on request."""
        if places <= 1 - ACCUMULATOR_BITS:
            return Uniform(np.zeros_like(self.exact), self.grid)
        moved = self.exact << places if places >= 0 else round_half_up(self.exact, -places)
        if places > 0:
            self.grid.flag(moved >> places != self.exact)
        return Uniform(-moved if negative else moved, self.grid)


@dataclass(frozen=True)
class _Angle:
    """A multiple of an angle: ``factor`` turns per turn, of an angle in radians."""

    radians: Uniform
    factor: float = 1.0

    def __mul__(self, other: float) -> _Angle:
        return _Angle(self.radians, self.factor * other)

    __rmul__ = __mul__

    def __add__(self, other: Uniform | float) -> Uniform:
        """Return the turns, to the accumulator's last bit, and another number: a change, or an offset (m)."""
        grid = self.radians.grid
        turns = np.ldexp(self.real / (2.0 * math.pi), grid.accumulator.binary_point)
        return Uniform(np.rint(turns).astype(np.int64), grid) + other

    __radd__ = __add__

    @property
    def real(self) -> Array:
        """The angles in radians, without further rounding."""
        return self.factor * self.radians.grid.word.real(self.radians.word)


@dataclass
class _Recorder:
    """Computes the operations that a :class:`rbdhw.graph.trace.Recorder` would record.

    ``inputs`` are in the graph's units, except ``angles``, in radians, as results are whose turns the graph
    has.
    """

    inputs: Mapping[str, Array]
    angles: Mapping[str, Array]
    turns: Collection[str]
    flags: Mapping[str, bool]
    grid: Grid
    results: dict[str, Array] = field(default_factory=dict)

    def input(self, name: str) -> Uniform | _Angle | bool | None:
        if name in self.flags:
            return self.flags[name]
        if name in self.angles:
            return _Angle(Uniform.nearest(self.angles[name], self.grid))
        return Uniform.nearest(self.inputs[name], self.grid) if name in self.inputs else None

    def cos_sin(self, turns: Uniform | _Angle | float, offset: float) -> tuple[Uniform, Uniform]:
        if isinstance(turns, Uniform):
            angle = 2.0 * np.pi * self.grid.accumulator.real(turns.exact)
        elif isinstance(turns, _Angle):
            angle = turns.real
        else:
            angle = np.full(self.grid.overflow.shape, 2.0 * np.pi * turns)
        angle = angle + 2.0 * np.pi * offset
        return Uniform.nearest(np.cos(angle), self.grid), Uniform.nearest(np.sin(angle), self.grid)

    def select(self, flag: bool, a: Uniform | float, b: Uniform | float) -> Uniform | float:
        return a if flag else b

    def rounded(self, value: Uniform | float) -> Uniform | float:
        """Return the number itself: factors are words anyway."""
        return value

    def output(self, name: str, value: Uniform | float) -> None:
        if isinstance(value, Uniform) and name in self.turns:
            real = 2.0 * math.pi * self.grid.accumulator.real(value.exact)
            value = Uniform.nearest(real, self.grid)
        known = self.grid.word.real(value.word) if isinstance(value, Uniform) else np.float64(value)
        self.results[name] = np.broadcast_to(known, self.grid.overflow.shape)


def evaluate_uniform(
    source: Robot,
    robot: Robot,
    function: str,
    arrays: Mapping[str, Array],
    algorithms: Algorithms,
    word: Format,
    fext: Sequence[int] = (),
    *,
    extended: bool = False,
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return one function's results, in golden's arrays, and which tasks (N,) overflowed.

    Parameters
    ----------
    source, robot
        The robot as given, and as computed with (elementary, all axes z).
    arrays
        The user's arrays, as for :func:`rbdhw.golden.evaluation.evaluate`.
    word
        The format of all words, of at most 32 bits.
    fext
        The bodies of ``robot`` with an external force.
    extended
        Whether optional results are computed, too.
    """
    parts = [
        _evaluate_tasks(source, robot, function, part, algorithms, word, fext, extended)
        for part in chunks(arrays, CHUNK)
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
    word: Format,
    fext: Sequence[int],
    extended: bool,
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """See :func:`evaluate_uniform`."""
    tasks = len(arrays["q"])
    angles = {f"q[{k}]": arrays["q"][:, k] for k in _angles(source)}
    turns = [f"{function}.{NEXT_STATE}[{k}]" for k in _angles(source)]
    flags = flag_values(function, extended)
    grid = Grid(word, np.zeros(tasks, np.bool_))
    recorder = _Recorder(graph_inputs(source, arrays), angles, turns, flags, grid)
    record(recorder, robot, (function,), fext, algorithms)
    names = results_of(function, source.sizes, extended)
    shapes = {name: kind_of(name, function).shape(source.sizes) for name in names}
    results = {name: np.zeros((tasks, *shape)) for name, shape in shapes.items()}
    unflatten(results, recorder.results.items(), source.nv)
    return results, grid.overflow


def chunks(arrays: Mapping[str, Array], size: int) -> Iterator[dict[str, Array]]:
    """Yield arrays of at most so many tasks each."""
    for start in range(0, len(next(iter(arrays.values()))), size):
        yield {name: array[start : start + size] for name, array in arrays.items()}


def _angles(robot: Robot) -> Iterator[int]:
    """Yield the configuration coordinates that are angles."""
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        if body.joint.mimic is None:
            indices = range(robot.nq)[span]
            yield from (k for k, angle in zip(indices, body.joint.kind.angles, strict=True) if angle)
