"""The bit-exact program: the graph with every number an integer of known format.

This is the contract between the evaluator (:mod:`rbdhw.fixed.evaluate`) and the hardware: both do what
an :class:`Operation` says, bit for bit.

An operand is its value's integer moved by ``shift`` bits (left, or right with the low bits cut), negated
if ``negative``. A sum adds its operands, a product multiplies them, a scale multiplies by the integer
``constant``, a choice takes one; then ``drop`` low bits are rounded away
(:func:`rbdhw.fixed.format.round_half_up`) and the result wraps to ``format``. Where ``checked``, a result
that does not fit flags the tasks of the functions that it reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from rbdhw.fixed.format import Format, align, round_half_up
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.trigonometry import TrigonometrySpec
from rbdhw.scalar import Region

MOST_WIDTH = 63
"""Bits of the widest value: the evaluator has its integers in 64."""

MOST_SHIFT = MOST_WIDTH
"""The largest shift of an operand, either way; to the right it leaves no more than the sign of any value."""


class Kind(StrEnum):
    """What an operation does."""

    INPUT = "input"
    """The word called ``name``."""
    CONSTANT = "constant"
    ADD = "add"
    """One operand or two."""
    MULTIPLY = "multiply"
    SCALE = "scale"
    SIN = "sin"
    """Of the operand, an angle in turns, plus ``constant`` steps of the trigonometry unit's phase."""
    COS = "cos"
    RECIPROCAL = "reciprocal"
    """One over the operand, shifted by ``constant``, as the reciprocal unit computes it.

    What does not fit saturates instead of wrapping; the reciprocal of zero is the largest integer.
    """
    DOT = "dot"
    """The sum of the products of its operands in pairs; the first has the product's sign and shift."""
    SELECT = "select"
    """The second operand where the first, a flag, is 1; the third where it is 0."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An earlier value as an operation takes it."""

    value: int
    negative: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """One integer operation; its result is the value of the same index."""

    kind: Kind
    operands: tuple[Operand, ...]
    format: Format
    region: Region
    constant: int = 0
    drop: int = 0
    checked: bool = False
    name: str = ""

    @property
    def pairs(self) -> Iterator[tuple[Operand, int, int]]:
        """Of a sum of products: each product's sign and shift, and its two factors."""
        for k in range(0, len(self.operands), 2):
            first, second = self.operands[k : k + 2]
            yield first, first.value, second.value


@dataclass(frozen=True)
class Word:
    """A number at the accelerator's edge.

    ``name`` is the graph's (``q[0]``, ``id.tau[0]``), ``unit`` what one stands for. For an input,
    ``lowest`` and ``highest`` are the integers of the declared domain; outside them the task is flagged.
    An angle without limits has none: it wraps. ``slot`` is the word's place in a packet: words of
    different functions may share one (accelerations and forces), which is as wide as the widest of them.
    """

    name: str
    unit: str
    value: int
    format: Format
    lowest: int | None = None
    highest: int | None = None
    slot: int = 0


@dataclass(frozen=True)
class Flag:
    """An input operation of 0 or 1 that the core derives from a task's header.

    ``name`` is one of :data:`rbdhw.protocol.FLAGS`; ``functions`` are those whose tasks raise it, only
    with the option EXTENDED where ``optional``.
    """

    name: str
    value: int
    functions: tuple[str, ...]
    optional: bool


@dataclass(frozen=True)
class Program:
    """Operations in order, the input words, the flags, and the output words of each function.

    ``port_widths`` are those of an ordinary multiplier: of each product one operand fits the first, the other
    the second, but of those in ``wide``.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[Word, ...]
    flags: tuple[Flag, ...]
    outputs: dict[str, tuple[Word, ...]]
    trigonometry: TrigonometrySpec
    reciprocal: ReciprocalSpec | None
    port_widths: tuple[int, int]

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The width of each slot of a request: that of the widest word that travels in it."""
        widths = [0] * (1 + max((word.slot for word in self.inputs), default=-1))
        for word in self.inputs:
            widths[word.slot] = max(widths[word.slot], word.format.width)
        return tuple(widths)

    @cached_property
    def wide(self) -> dict[int, tuple[int, int]]:
        """Products that no ordinary multiplier computes: the widths of their operands, the wider first."""
        found: dict[int, tuple[int, int]] = {}
        for i, operation in enumerate(self.operations):
            if operation.kind in (Kind.MULTIPLY, Kind.SCALE):
                widths = [self.operations[operand.value].format.width for operand in operation.operands]
                if operation.kind is Kind.SCALE:
                    widths.append(operation.constant.bit_length() + 1)
                second, first = sorted(widths)
                if first > self.port_widths[0] or second > self.port_widths[1]:
                    found[i] = first, second
        return found

    @cached_property
    def wide_port_widths(self) -> tuple[int, int]:
        """Operand widths of the multiplier that computes every wide product."""
        first, second = zip(*self.wide.values(), strict=True)
        return max(first), max(second)

    def reached(self, function: str) -> frozenset[int]:
        """The operations on which a function's results depend, flags that it decides taken into account."""
        decided = {
            flag.value: function in flag.functions
            for flag in self.flags
            if not (flag.optional and function in flag.functions)
        }
        found: set[int] = set()
        waiting = [word.value for word in self.outputs[function]]
        while waiting:
            i = waiting.pop()
            if i in found:
                continue
            found.add(i)
            operands = self.operations[i].operands
            if self.operations[i].kind is Kind.SELECT and operands[0].value in decided:
                operands = (operands[0], operands[1 if decided[operands[0].value] else 2])
            waiting.extend(operand.value for operand in operands)
        return frozenset(found)

    def order(self, functions: tuple[str, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The operations that the functions reach, each with the values that nothing needs after it."""
        if functions not in self._orders:
            self._orders[functions] = self._order(functions)
        return self._orders[functions]

    @cached_property
    def _orders(self) -> dict[tuple[str, ...], tuple[tuple[int, tuple[int, ...]], ...]]:
        return {}

    def _order(self, functions: tuple[str, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        needed: set[int] = set().union(*(self.reached(function) for function in functions))
        kept = {word.value for function in functions for word in self.outputs[function]}
        last: dict[int, int] = {}
        for i in sorted(needed):
            last.update((operand.value, i) for operand in self.operations[i].operands)
        dying: dict[int, list[int]] = {i: [] for i in needed}
        for value, i in last.items():
            if value in needed and value not in kept:
                dying[i].append(value)
        return tuple((i, tuple(dying[i])) for i in sorted(needed))


Interval = tuple[int, int]

Intervals = Sequence[Interval] | Mapping[int, Interval]
"""Bounds of values by their index."""


def exact_interval(operation: Operation, intervals: Intervals) -> Interval:
    """Bounds of an arithmetic operation's result before it wraps, from bounds of all earlier values."""
    low, high = 0, 0
    bounds = [_operand_interval(operand, intervals) for operand in operation.operands]
    match operation.kind:
        case Kind.ADD:
            low, high = sum(b[0] for b in bounds), sum(b[1] for b in bounds)
        case Kind.SELECT:
            low, high = min(b[0] for b in bounds[1:]), max(b[1] for b in bounds[1:])
        case Kind.MULTIPLY:
            corners = [x * y for x in bounds[0] for y in bounds[1]]
            low, high = min(corners), max(corners)
        case Kind.SCALE:
            corners = [x * operation.constant for x in bounds[0]]
            low, high = min(corners), max(corners)
        case Kind.DOT:
            for operand, first, second in operation.pairs:
                corners = [x * y for x in intervals[first] for y in intervals[second]]
                least, most = _shift_interval(operand, (min(corners), max(corners)))
                low, high = low + least, high + most
        case Kind.RECIPROCAL:
            return operation.format.lowest, operation.format.highest + 1
        case _:
            return operation.format.lowest, operation.format.highest
    return round_half_up(low, operation.drop), round_half_up(high, operation.drop)


def _operand_interval(operand: Operand, intervals: Intervals) -> Interval:
    return _shift_interval(operand, intervals[operand.value])


def _shift_interval(operand: Operand, interval: Interval) -> Interval:
    low, high = (align(bound, operand.shift) for bound in interval)
    return (-high, -low) if operand.negative else (low, high)
