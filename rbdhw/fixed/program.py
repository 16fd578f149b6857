"""The bit-exact program: the graph with every number an integer of known format.

This is the contract between the evaluator (:mod:`rbdhw.fixed.evaluate`) and the hardware: both do what
an :class:`Operation` says, bit for bit.

An operand is its value's integer moved by ``shift`` bits (left, or right with the low bits cut), negated
if ``negative``. A sum adds its operands, a product multiplies them, a scale multiplies by the integer
``constant``; then ``drop`` low bits are rounded away (:func:`rbdhw.fixed.format.round_half_up`) and the
result wraps to ``format``. Where ``checked``, a result that does not fit flags the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rbdhw.fixed.format import Format, aligned, round_half_up
from rbdhw.fixed.trigonometry import TrigonometrySpec
from rbdhw.scalar import Region


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


@dataclass(frozen=True)
class Word:
    """A number at the accelerator's edge.

    ``name`` is the graph's (``q[0]``, ``id.tau[0]``), ``unit`` what one stands for. For an input,
    ``lowest`` and ``highest`` are the integers of the declared domain; outside them the task is flagged.
    An angle without limits has none: it wraps.
    """

    name: str
    unit: str
    value: int
    format: Format
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True)
class Program:
    """Operations in order, the input words, and the output words of each function.

    ``port_widths`` are those of a multiplier: of each product one operand fits the first, the other
    the second.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[Word, ...]
    outputs: dict[str, tuple[Word, ...]]
    trigonometry: TrigonometrySpec
    port_widths: tuple[int, int]


Interval = tuple[int, int]


def exact_interval(operation: Operation, intervals: list[Interval]) -> Interval:
    """Bounds of an arithmetic operation's result before it wraps, from bounds of all earlier values."""
    low, high = 0, 0
    bounds = [_operand_interval(operand, intervals) for operand in operation.operands]
    match operation.kind:
        case Kind.ADD:
            low, high = sum(b[0] for b in bounds), sum(b[1] for b in bounds)
        case Kind.MULTIPLY:
            corners = [x * y for x in bounds[0] for y in bounds[1]]
            low, high = min(corners), max(corners)
        case Kind.SCALE:
            corners = [x * operation.constant for x in bounds[0]]
            low, high = min(corners), max(corners)
        case _:
            return operation.format.lowest, operation.format.highest
    return round_half_up(low, operation.drop), round_half_up(high, operation.drop)


def _operand_interval(operand: Operand, intervals: list[Interval]) -> Interval:
    low, high = (aligned(bound, operand.shift) for bound in intervals[operand.value])
    return (-high, -low) if operand.negative else (low, high)
