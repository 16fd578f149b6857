"""Sums that the pre-adders of blocks compute in front of multipliers: exact, so products alone round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rbdhw.fixed.block_sum import PRODUCTS
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation, Program


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


def pre_sums(program: Program, ports: tuple[int, int]) -> dict[int, list[int]]:
    """Return the sums that products alone read, and that fit the first port of their blocks, with these.

    The other factors fit the second port, and are none of these sums. Pre-adders do not negate both operands.
    """
    results = {word.value for words in program.outputs.values() for word in words}
    readers: dict[int, list[int]] = defaultdict(list)
    for i, operation in enumerate(program.operations):
        for operand in operation.operands:
            readers[operand.value].append(i)
    sums: dict[int, list[int]] = {}
    taken: set[int] = set()
    for value, operation in reversed([*enumerate(program.operations)]):
        if operation.kind is Kind.ADD and len(operation.operands) == 2 and value not in results:
            fits = exact_width(program, operation) <= ports[0]
            adds = not all(operand.negative for operand in operation.operands)
            products = readers[value]
            alone = all(_other_width(program, product, value) <= ports[1] for product in products)
            if products and fits and adds and alone and taken.isdisjoint(products):
                sums[value] = products
                taken.update(products)
    return sums


def exact_width(program: Program, operation: Operation) -> int:
    """Return the bits of a sum of two numbers, of which at most one is negated."""
    widths = (
        program.operations[operand.value].format.width + operand.shift for operand in operation.operands
    )
    return max(max(width, 1) for width in widths) + 1


def _other_width(program: Program, product: int, value: int) -> float:
    """Return the width of the other factor of a product with a value; infinite if there is none."""
    operation = program.operations[product]
    read = [operand.value for operand in operation.operands]
    if operation.kind not in PRODUCTS or read.count(value) > 1 or Operand(value) not in operation.operands:
        return float("inf")
    if operation.kind is Kind.SCALE:
        return operation.constant.bit_length() + 1
    (other,) = (factor for factor in read if factor != value)
    return program.operations[other].format.width


def keep_bits(program: Program, sums: Mapping[int, Sequence[int]]) -> Program:
    """Return a program in which sums keep all bits, which the products that read them drop with theirs.

    Where a sum was checked, its products are.
    """
    operations = list(program.operations)
    for value, products in sums.items():
        total = operations[value]
        kept = Format(exact_width(program, total), total.format.binary_point + total.drop)
        operations[value] = replace(total, format=kept, drop=0, checked=False)
        for product in products:
            made = operations[product]
            checked = made.checked or total.checked
            operations[product] = replace(made, drop=made.drop + total.drop, checked=checked)
    return replace(program, operations=tuple(operations))
