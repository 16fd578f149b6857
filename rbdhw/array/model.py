"""The array's schedule: plain data that :mod:`rbdhw.array.placing` fills and the RTL is built from.

A task starts in cycle 0, tasks follow each other every ``ii`` cycles; what happens in cycle t uses its hardware
in slot ``t mod ii``. Every unit reads its operands from operand memories of its own, and every memory takes one
word a cycle, from one of the units that write to it. A value is written where it will be read in the cycle in
which it is computed, and never again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from rbdhw.fixed.program import Kind, Operation, Program


class Resource(StrEnum):
    """Kinds of units."""

    ACCUMULATOR = "accumulator"
    """Multiplies two operands and adds the product to a sum, every cycle."""
    TRIGONOMETRY = "trigonometry"
    RECIPROCAL = "reciprocal"
    SOURCE = "source"
    """Hands out the words of the task that started last, one a cycle."""


PORTS = {
    Resource.ACCUMULATOR: 2,
    Resource.TRIGONOMETRY: 1,
    Resource.RECIPROCAL: 1,
    Resource.SOURCE: 0,
}
"""Operand memories of a unit."""

READ = 1
"""Cycles from an operand's address to the operand."""

ACCUMULATE = 3
"""Cycles from an accumulator's operands to the sum: operands, product and sum wait in registers."""

WRITE = 1
"""Cycles from a result to the first in which it can be addressed in an operand memory."""


@dataclass(frozen=True, slots=True)
class Port:
    """An operand memory: that of operand ``index`` of a unit."""

    unit: int
    index: int


@dataclass(frozen=True, slots=True)
class Term:
    """A product that an accumulator adds up.

    ``operands`` are those at its first and second memory; ``shift`` moves the product to the sum's step.
    ``complement`` tells that the flag among the operands counts where it is 0.
    """

    operands: tuple[int, int]
    negative: bool
    shift: int
    complement: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What a unit does to compute values: from ``start`` on one term a cycle, or one operand.

    ``ready`` is the cycle in which the results stand at the unit's outputs, to be written at its end.
    """

    results: tuple[int, ...]
    resource: Resource
    unit: int
    start: int
    ready: int
    terms: tuple[Term, ...] = ()
    operand: int | None = None
