"""Sums that the block of a product computes: both operations as one exact sum, equal in every bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation, Program

PRODUCTS = (Kind.MULTIPLY, Kind.SCALE)


@dataclass(frozen=True)
class BlockSum:
    """A sum of a product and an addend, of which bits are dropped once: ``± a b ± c + constant``.

    The product rounds ``d`` bits away, and the sum cuts ``k`` more and rounds ``s``. Cuts round down, so two
    in a row are one of all their bits: for a product that is added,

        ((a b + half_d >> d + k) + c + half_s) >> s = (a b + half_d + (c + half_s) 2^(d + k)) >> d + k + s,

    and for one that is subtracted ``-(x >> n)`` is ``-x + 2^n - 1 >> n``.
    """

    subtracts: bool
    """Whether the product is subtracted."""
    addend: Operand
    """The other operand of the sum; its shift to the left is part of ``place``."""
    place: int
    """The lowest bit of the addend within the product."""
    constant: int
    drop: int
    """The bits that are dropped of the exact sum."""
    aligned: int
    """The width of the addend without bits that a shift to the right cuts."""

    @classmethod
    def of(cls, program: Program, product: int, total: int) -> BlockSum | None:
        """Return a sum with the product that one of its operands is; None if that is shifted to the left."""
        made, summed = program.operations[product], program.operations[total]
        first, second = summed.operands
        read, other = (first, second) if first.value == product else (second, first)
        if read.shift > 0:
            return None
        cut = made.drop - read.shift
        constant = _half(made.drop)
        if read.negative:
            constant = (1 << cut) - 1 - constant
        width = program.operations[other.value].format.width
        return cls(
            read.negative,
            replace(other, shift=min(other.shift, 0)),
            cut + max(other.shift, 0),
            constant + (_half(summed.drop) << cut),
            cut + summed.drop,
            max(width + min(other.shift, 0), 1),
        )

    @property
    def below(self) -> bool:
        """Whether the constant fits into the zeros below an addend that is added."""
        return not self.addend.negative and self.constant < 1 << self.place


def _half(drop: int) -> int:
    return 1 << drop >> 1


def block_sums(program: Program) -> dict[int, list[tuple[int, BlockSum]]]:
    """Return the sums of two numbers that may be computed with a product, which nothing else reads.

    Each sum has one or two such products.
    """
    sums: dict[int, list[tuple[int, BlockSum]]] = {}
    for i, operation in enumerate(program.operations):
        summands = dict.fromkeys(operand.value for operand in operation.operands)
        if operation.kind is not Kind.ADD or len(summands) != 2:
            continue
        for product in summands:
            alone = program.readers[product] == [i] and product not in program.results
            if alone and program.operations[product].kind in PRODUCTS:
                total = BlockSum.of(program, product, i)
                if total is not None:
                    sums.setdefault(i, []).append((product, total))
    return sums


def widen_products(program: Program, pairs: Iterable[tuple[int, int]]) -> Program:
    """Return a program in which the products of block sums keep all bits, as they do in a block.

    ``pairs`` are products with their sums. Where a product was checked, its sum is.
    """
    operations = list(program.operations)
    for product, total in pairs:
        made = operations[product]
        width = max(_full_width(program, made) - made.drop, made.format.width)
        kept = Format(width, made.format.binary_point)
        operations[product] = replace(made, format=kept, checked=False)
        summed = operations[total]
        operations[total] = replace(summed, checked=summed.checked or made.checked)
    return replace(program, operations=tuple(operations))


def _full_width(program: Program, product: Operation) -> int:
    """Return the bits of a product, with one for the half that rounds it."""
    widths = [program.operations[operand.value].format.width for operand in product.operands]
    if product.kind is Kind.SCALE:
        widths.append(product.constant.bit_length() + 1)
    return sum(widths) + (product.drop > 0)
