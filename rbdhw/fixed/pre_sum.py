"""Sums that the pre-adders of blocks compute in front of multipliers: exact, so products alone round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rbdhw.fixed.exact_sums import exact_width, keep_bits, other_width
from rbdhw.fixed.program import Kind, Operand, Program


@dataclass(frozen=True)
class PreSum:
    """A sum or difference of two numbers with all its bits, of which at most the second is subtracted."""

    first: Operand
    second: Operand

    @classmethod
    def of(cls, program: Program, value: int) -> PreSum:
        """Return the sum that a value is."""
        first, second = program.operations[value].operands
        return cls(second, first) if first.negative else cls(first, second)


def pre_sums(program: Program, ports: tuple[int, int]) -> dict[int, Sequence[int]]:
    """Return the sums that products alone read, and that fit the first port of their blocks, with these.

    The other factors fit the second port, and are none of these sums. Pre-adders do not negate both operands.
    """
    operations = program.operations
    sums: dict[int, Sequence[int]] = {}
    taken: set[int] = set()
    for value, total in reversed([*enumerate(operations)]):
        if total.kind is Kind.ADD and len(total.operands) == 2 and value not in program.results:
            fits = exact_width(operations, total) <= ports[0]
            adds = not all(operand.negative for operand in total.operands)
            products = program.readers.get(value, ())
            alone = all(other_width(operations, operations[p], value) <= ports[1] for p in products)
            if products and fits and adds and alone and taken.isdisjoint(products):
                sums[value] = products
                taken.update(products)
    return sums


def keep_pre_sums(program: Program, sums: Mapping[int, Sequence[int]]) -> Program:
    """Return a program in which these sums keep all bits."""
    operations = list(program.operations)
    for value, products in sums.items():
        keep_bits(operations, value, products)
    return replace(program, operations=tuple(operations))
