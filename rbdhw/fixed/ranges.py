"""Ranges of a program's integers in all tasks within the domain that raise no flag, and needless checks.

A value lies within what the exact results of its operation can be, and within its format, since a task in
which it overflows is flagged. What turns a vector by an angle, ``c x + s y``, is no longer than the vector::

    |c x + s y| <= sqrt(c^2 + s^2) sqrt(x^2 + y^2)

A value whose exact results all fit its format never overflows: nothing need check it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from rbdhw.fixed.format import round_half_up
from rbdhw.fixed.program import Interval, Kind, Operand, Operation, Program, exact_interval
from rbdhw.fixed.trigonometry import sine_error
from rbdhw.protocol import PARAMETERS, is_choice

OUTWARD = 1.0 + 1e-12
"""A factor that exceeds the rounding of a few operations in double precision."""


class Ranges:
    """The ranges of values of a program, added in its order.

    Flags have the values that ``decided`` gives; a choice by another one may be either. Words of parameters
    have the bounds of their domain only if ``parameters``: tasks do not tell whether those that were loaded
    are within.
    """

    def __init__(
        self, program: Program, decided: Mapping[int, bool] | None = None, *, parameters: bool = True
    ) -> None:
        self._program, self._decided = program, decided or {}
        self._words = {
            word.value: (word.lowest, word.highest)
            for word in program.inputs
            if word.lowest is not None and word.highest is not None
            if parameters or word.array != PARAMETERS
        }
        self._unit = 1.0 + sine_error(program.trigonometry)
        self._known: dict[int, Interval] = {}

    def __getitem__(self, i: int) -> Interval:
        return self._known[i]

    def add(self, i: int) -> bool:
        """Add the range of a value, whose operands have theirs; return whether it may overflow."""
        operation = self._program.operations[i]
        low, high = self._exact(i, operation)
        lowest, highest = operation.format.lowest, operation.format.highest
        self._known[i] = max(low, lowest), min(high, highest)
        return low < lowest or high > highest

    def _exact(self, i: int, operation: Operation) -> Interval:
        """Return bounds of a result before it wraps."""
        operands = operation.operands
        match operation.kind:
            case Kind.INPUT if i in self._decided:
                return int(self._decided[i]), int(self._decided[i])
            case Kind.INPUT if is_choice(operation.name):
                return 0, 1
            case Kind.INPUT if i in self._words:
                return self._words[i]
            case Kind.CONSTANT:
                return operation.constant, operation.constant
            case Kind.SIN | Kind.COS:
                most = math.floor(self._unit / operation.format.step)
                return -most, most
            case Kind.SELECT if operands[0].value in self._decided:
                chosen = operands[1 if self._decided[operands[0].value] else 2]
                taken = replace(operation, kind=Kind.ADD, operands=(chosen,))
                return exact_interval(taken, self._known)
        low, high = exact_interval(operation, self._known)
        if operation.kind is Kind.MULTIPLY and operands[0].value == operands[1].value:
            low = max(low, 0)
        longest = self._turned(operation)
        return (low, high) if longest is None else (max(low, -longest), min(high, longest))

    def _turned(self, operation: Operation) -> int | None:
        """Return a bound of the magnitude of a component of a turned vector; None for what is not one."""
        if operation.kind is not Kind.ADD or len(operation.operands) != 2:
            return None
        first, second = (self._part(operand) for operand in operation.operands)
        if first is None or second is None:
            return None
        (one, x), (other, y) = first, second
        if one.kind is other.kind or (one.operands, one.constant) != (other.operands, other.constant):
            return None
        # With an error e of both, the root of c^2 + s^2 is at most 1 + sqrt(2) e.
        length = (1.0 + 2.0 * (self._unit - 1.0)) * math.hypot(x, y)
        # Each product is rounded by half a step, and cut by at most one of the sum's.
        rounding = sum(math.ldexp(0.5, operand.shift) + 1.0 for operand in operation.operands)
        most = math.ceil(OUTWARD * (length + rounding))
        return round_half_up(most, operation.drop) + 1

    def _part(self, operand: Operand) -> tuple[Operation, float] | None:
        """Return the sine or cosine of a product, and the largest product at 1, as an integer of the sum."""
        product = self._program.operations[operand.value]
        if product.kind is not Kind.MULTIPLY:
            return None
        for factor, other in (product.operands, product.operands[::-1]):
            unit = self._program.operations[factor.value]
            if unit.kind in (Kind.SIN, Kind.COS):
                scale = math.ldexp(1.0, operand.shift - product.drop) / unit.format.step
                return unit, scale * max(map(abs, self._known[other.value]))
        return None


def drop_needless_checks(program: Program) -> Program:
    """Return the program without the checks of values that do not overflow in tasks within the domain.

    Whether such a task has a flag stays as it is; a task outside is flagged as such.
    """
    ranges = Ranges(program, parameters=False)
    operations = []
    for i, operation in enumerate(program.operations):
        overflows = ranges.add(i)
        operations.append(operation if overflows else replace(operation, checked=False))
    return replace(program, operations=tuple(operations), proven=True)
