"""Sums that keep all their bits, so that what reads them rounds instead: products, and other sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbdhw.fixed.block_sum import PRODUCTS
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation, Program, adds_half


def keep_sums(program: Program, ports: tuple[int, int]) -> Program:
    """Return a program in which sums keep all bits where rounding them would take more than a carry chain.

    Products read them on the first of the ``ports``, or other sums do. Both drop as many bits more.
    """
    operations = list(program.operations)
    for value in range(len(operations)):
        total = operations[value]  # with what sums before it have left it to round
        if adds_half(total) and value not in program.results:
            width = exact_width(operations, total)
            readers = program.readers.get(value, ())
            if all(_takes(operations, reader, value, width, ports) for reader in readers):
                keep_bits(operations, value, readers)
    return replace(program, operations=tuple(operations))


def exact_width(operations: Sequence[Operation], total: Operation) -> int:
    """Return the bits that hold every sum of two numbers: one more where both lowest numbers are negated."""
    widths = (operations[operand.value].format.width + operand.shift for operand in total.operands)
    return max(1, *widths) + 1 + all(operand.negative for operand in total.operands)


def keep_bits(operations: list[Operation], value: int, readers: Sequence[int]) -> None:
    """Keep all bits of a sum, which its readers drop with theirs. Where it was checked, they are."""
    total = operations[value]
    exact = Format(exact_width(operations, total), total.format.binary_point + total.drop)
    operations[value] = replace(total, format=exact, drop=0, checked=False)
    for reader in readers:
        made = operations[reader]
        checked = made.checked or total.checked
        if made.kind in PRODUCTS:
            operations[reader] = replace(made, drop=made.drop + total.drop, checked=checked)
            continue
        shifts = [operand.shift - total.drop for operand in made.operands if operand.value == value]
        finer = max([0, *(-shift for shift in shifts if shift + total.drop >= 0)])
        operands = tuple(_finer(o, finer - total.drop * (o.value == value)) for o in made.operands)
        operations[reader] = replace(made, operands=operands, drop=made.drop + finer, checked=checked)


def _finer(operand: Operand, by: int) -> Operand:
    return replace(operand, shift=operand.shift + by)


def _takes(
    operations: Sequence[Operation], reader: int, value: int, width: int, ports: tuple[int, int]
) -> bool:
    """Return whether a reader of a sum can read it with more bits."""
    operation = operations[reader]
    fits = operation.kind is Kind.ADD or other_width(operations, operation, value) <= ports[1]
    return width <= ports[0] and fits


def other_width(operations: Sequence[Operation], product: Operation, value: int) -> float:
    """Return the width of the other factor of a product with a value; infinite if there is none."""
    read = [operand.value for operand in product.operands]
    if product.kind not in PRODUCTS or read.count(value) > 1 or Operand(value) not in product.operands:
        return float("inf")
    if product.kind is Kind.SCALE:
        return product.constant.bit_length() + 1
    (other,) = (factor for factor in read if factor != value)
    return operations[other].format.width
