"""The bit-exact program: the graph with every number an integer of known format.

It is the contract between the evaluator (:mod:`rbdhw.fixed.evaluate`) and the hardware: both implement every
:class:`Operation` bit for bit.

An operand is the integer of its value, shifted by ``shift`` bits (left, or right with the low bits cut), and
negated if ``negative``. A sum adds its operands, a product multiplies them, a scale multiplies by the integer
``constant``, and a choice selects one. Then ``drop`` low bits are rounded away
(:func:`rbdhw.fixed.format.round_half_up`) and the result wraps to ``format``. If an operation is ``checked``,
a result that does not fit flags the tasks of the functions that depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from rbdhw.arrays import Element, WordName, is_optional
from rbdhw.fixed.format import Format, align, round_half_up
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.fixed.trigonometry import TrigonometrySpec
from rbdhw.scalar import Region

INTEGER_BITS = 64
"""The bits of the integers with which the evaluator and the C of a program compute."""

MOST_WIDTH = INTEGER_BITS - 1
"""The width of the widest value."""

MOST_SHIFT = MOST_WIDTH
"""The largest shift of an operand in either direction; to the right it leaves only the sign of any value."""


class Kind(StrEnum):
    """The kind of an operation."""

    INPUT = "input"
    """The input word called ``name``."""
    CONSTANT = "constant"
    ADD = "add"
    """The sum of one or two operands."""
    MULTIPLY = "multiply"
    SCALE = "scale"
    SIN = "sin"
    """The sine of the operand, an angle in turns, plus ``constant`` steps of the unit's phase."""
    COS = "cos"
    RECIPROCAL = "reciprocal"
    """One over the operand, shifted by ``constant``, as the reciprocal unit computes it.

    A result that does not fit saturates instead of wrapping; the reciprocal of zero is the largest integer.
    """
    DOT = "dot"
    """The sum of products of operands in pairs; the first of each pair has the product's sign and shift."""
    SELECT = "select"
    """The second operand if the first, a flag, is 1; the third if it is 0."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A reference to an earlier value with a sign and a shift."""

    value: int
    negative: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """One integer operation; its result is the value with the same index."""

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
        """For a sum of products: sign and shift of each product, and its two factors."""
        for k in range(0, len(self.operands), 2):
            first, second = self.operands[k : k + 2]
            yield first, first.value, second.value


def room_for_half(operands: Sequence[Operand], drop: int) -> list[int]:
    """Return the operands of a sum with zeros below, into which half of the bits to be dropped fits."""
    return [k for k, operand in enumerate(operands) if not operand.negative and operand.shift >= drop > 0]


def adds_half(operation: Operation) -> bool:
    """Return whether a sum that rounds adds three numbers: two and half of the bits to be dropped."""
    two = operation.kind is Kind.ADD and len(operation.operands) == 2
    return two and operation.drop > 0 and not room_for_half(operation.operands, operation.drop)


@dataclass(frozen=True)
class Word:
    """A number at the accelerator's interface.

    ``name`` is the graph's (``q[0]``, ``id.tau[0]``), and ``unit`` is the unit of the real value. For an
    input, ``lowest`` and ``highest`` are the integers of the declared domain; outside of them the task is
    flagged. They are None for an angle without limits, which wraps. ``slot`` is the word's place in a packet.
    Words of different functions (accelerations and forces) may share a slot, which is as wide as the widest.
    ``also`` are the other elements of the function's results that have a result's value, or its negative.
    """

    name: str
    unit: str
    value: int
    format: Format
    lowest: int | None = None
    highest: int | None = None
    slot: int = 0
    also: tuple[Element, ...] = ()

    @property
    def array(self) -> str:
        return WordName.parse(self.name).array

    @property
    def elements(self) -> tuple[Element, ...]:
        """The elements that the word names: its own, then the others."""
        return (Element(self.name), *self.also)


@dataclass(frozen=True)
class Flag:
    """An input operation of 0 or 1 that the core derives from a task's header.

    ``name`` is one of :data:`rbdhw.protocol.FLAGS`. The tasks of ``functions`` set it; if ``optional``, only
    with the option EXTENDED.
    """

    name: str
    value: int
    functions: tuple[str, ...]
    optional: bool


@dataclass(frozen=True)
class Program:
    """Operations in order, the input words, the flags, and the output words of each function.

    ``port_widths`` are the operand widths of an ordinary multiplier: one operand of each product fits the
    first, the other the second, except for the products in ``wide``. If it is ``proven``, operations are
    checked only where they may overflow in tasks within the domain (:mod:`rbdhw.fixed.ranges`).
    """

    operations: tuple[Operation, ...]
    inputs: tuple[Word, ...]
    flags: tuple[Flag, ...]
    outputs: dict[str, tuple[Word, ...]]
    trigonometry: TrigonometrySpec
    reciprocal: ReciprocalSpec | None
    port_widths: tuple[int, int]
    proven: bool = field(default=False, kw_only=True)

    def origin(self, i: int) -> int | None:
        """Return the node of the graph that an operation computes; appended ones have higher numbers."""
        return i

    @property
    def plain(self) -> Program:
        """The program as a design's folder holds it."""
        return self

    def with_values(self, operations: Sequence[Operation], index: Mapping[int, int]) -> Program:
        """Return the program with other operations, where values have another ``index``."""
        return replace(
            self,
            operations=tuple(operations),
            inputs=tuple(replace(word, value=index[word.value]) for word in self.inputs),
            flags=tuple(replace(flag, value=index[flag.value]) for flag in self.flags),
            outputs={
                function: tuple(replace(word, value=index[word.value]) for word in words)
                for function, words in self.outputs.items()
            },
        )

    @cached_property
    def results(self) -> frozenset[int]:
        """The values that are results of functions."""
        return frozenset(word.value for words in self.outputs.values() for word in words)

    @cached_property
    def readers(self) -> Mapping[int, Sequence[int]]:
        """The operations that read each value that any reads."""
        readers: dict[int, list[int]] = {}
        for i, operation in enumerate(self.operations):
            for value in {operand.value for operand in operation.operands}:
                readers.setdefault(value, []).append(i)
        return readers

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The width of each slot of a request: that of the widest word in it."""
        widths = [0] * (1 + max((word.slot for word in self.inputs), default=-1))
        for word in self.inputs:
            widths[word.slot] = max(widths[word.slot], word.format.width)
        return tuple(widths)

    @cached_property
    def wrapping(self) -> frozenset[int]:
        """The operations that are not checked, though a task outside the domain may make them wrap."""
        if not self.proven:
            return frozenset()
        wrapping, intervals = set(), list[Interval]()
        for i, operation in enumerate(self.operations):
            exact, interval = checked(operation, intervals)
            intervals.append(interval)
            if exact.checked and not operation.checked:
                wrapping.add(i)
        return frozenset(wrapping)

    @cached_property
    def choosing_words(self) -> tuple[int, ...]:
        """The input words whose lowest bit chooses between values, as flags do."""
        choices = (operation for operation in self.operations if operation.kind is Kind.SELECT)
        choosing = {choice.operands[0].value for choice in choices}
        return tuple(sorted(choosing.intersection(word.value for word in self.inputs)))

    @cached_property
    def wide(self) -> dict[int, tuple[int, int]]:
        """Products too wide for an ordinary multiplier: the widths of their operands, the wider first."""
        products: dict[int, tuple[int, int]] = {}
        for i, operation in enumerate(self.operations):
            if operation.kind in (Kind.MULTIPLY, Kind.SCALE):
                widths = [self.operations[operand.value].format.width for operand in operation.operands]
                if operation.kind is Kind.SCALE:
                    widths.append(operation.constant.bit_length() + 1)
                second, first = sorted(widths)
                if first > self.port_widths[0] or second > self.port_widths[1]:
                    products[i] = first, second
        return products

    @cached_property
    def wide_port_widths(self) -> tuple[int, int]:
        """Operand widths of the multiplier that can compute every wide product."""
        first, second = zip(*self.wide.values(), strict=True)
        return max(first), max(second)

    def operations_of(self, function: str, optional: bool = True) -> frozenset[int]:
        """Return the operations on which a function's results depend, with the flags that it fixes.

        Without ``optional``, results that travel only on request are left out.
        """
        decided = {
            flag.value: function in flag.functions
            for flag in self.flags
            if not (flag.optional and function in flag.functions)
        }
        reached: set[int] = set()
        waiting = [word.value for word in self.outputs[function] if optional or not is_optional(word.name)]
        while waiting:
            i = waiting.pop()
            if i in reached:
                continue
            reached.add(i)
            operands = self.operations[i].operands
            if self.operations[i].kind is Kind.SELECT and operands[0].value in decided:
                operands = (operands[0], operands[1 if decided[operands[0].value] else 2])
            waiting.extend(operand.value for operand in operands)
        return frozenset(reached)

    def order(self, functions: tuple[str, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Return the operations that the functions need, each with the values not needed after it."""
        if functions not in self._orders:
            self._orders[functions] = self._order(functions)
        return self._orders[functions]

    @cached_property
    def _orders(self) -> dict[tuple[str, ...], tuple[tuple[int, tuple[int, ...]], ...]]:
        return {}

    def _order(self, functions: tuple[str, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
        needed: set[int] = set().union(*(self.operations_of(function) for function in functions))
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
    """Return bounds of an operation's result before it wraps, from bounds of all earlier values."""
    low, high = 0, 0
    bounds = [_shift_interval(operand, intervals[operand.value]) for operand in operation.operands]
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


def integer_bits(program: Program, operation: Operation) -> int:
    """Return the bits of the largest integer of an operation before its result is rounded."""
    if operation.kind in (Kind.SIN, Kind.COS, Kind.RECIPROCAL):
        return operation.format.width
    formats = {operand.value: program.operations[operand.value].format for operand in operation.operands}
    bounds = {value: (format_.lowest, format_.highest) for value, format_ in formats.items()}
    steps = [exact_interval(replace(operation, drop=0), bounds)]
    if operation.kind is not Kind.DOT:
        steps += [
            (align(low, operand.shift), align(high, operand.shift))
            for operand in operation.operands
            for low, high in [bounds[operand.value]]
        ]
    half = (1 << operation.drop) >> 1
    return 1 + max(max((~low).bit_length(), (high + half).bit_length()) for low, high in steps)


def checked(operation: Operation, intervals: Intervals) -> tuple[Operation, Interval]:
    """Return an operation that is checked if its result may not fit, and the bounds of its value."""
    low, high = exact_interval(operation, intervals)
    lowest, highest = operation.format.lowest, operation.format.highest
    if lowest <= low and high <= highest:
        return replace(operation, checked=False), (low, high)
    return replace(operation, checked=True), (lowest, highest)


def _shift_interval(operand: Operand, interval: Interval) -> Interval:
    low, high = (align(bound, operand.shift) for bound in interval)
    return (-high, -low) if operand.negative else (low, high)
