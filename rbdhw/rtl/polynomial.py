"""What units that evaluate polynomials have in common: tables of coefficients, and Horner's rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib.memory import Memory

from rbdhw.fixed.polynomial import coefficient_width
from rbdhw.rtl.delay import after
from rbdhw.rtl.multiplier import addend_delay, multiply_add

BLOCK_BITS = 8192
"""The bits from which on a table is kept out of look-up tables: half of the smallest block RAM."""


def pack(row: Sequence[int], widths: Sequence[int]) -> int:
    """Return integers side by side in two's complement, the first in the lowest bits."""
    word, position = 0, 0
    for number, width in zip(row, widths, strict=True):
        word |= (number & ((1 << width) - 1)) << position
        position += width
    return word


def coefficients(m: Module, name: str, columns: Sequence[Any], segment: Any) -> list[Any]:
    """Return the coefficients of a segment by power, one cycle later, from a table of these columns."""
    widths = [coefficient_width(column) for column in columns]
    words = [pack([int(c) for c in row], widths) for row in zip(*columns, strict=True)]
    attributes = {"rom_style": "block"} if sum(widths) * len(words) >= BLOCK_BITS else {}
    m.submodules[name] = memory = Memory(
        shape=unsigned(sum(widths)), depth=len(words), init=words, attrs=attributes
    )
    port = memory.read_port(domain="sync")
    m.d.comb += port.addr.eq(segment)
    ends = [sum(widths[: k + 1]) for k in range(len(widths))]
    return [port.data[end - width : end].as_signed() for width, end in zip(widths, ends, strict=True)]


def horner_step(
    m: Module,
    unit: Any,  # with the pipeline `registers` of a product, and the device's `primitive`
    names: tuple[str, str],  # of the product, and of the coefficient that waits for it
    total: Any,
    rest: Any,
    coefficient: Any,
    drop: int,  # the low bits that are cut
) -> Any:
    """Return the coefficient plus total times rest, with the low bits cut."""
    product, waiting = names
    later = addend_delay(unit.registers, (len(total), len(rest)), unit.primitive)
    (coefficient,) = after(m, later, **{waiting: coefficient})
    ways = {"registers": unit.registers, "primitive": unit.primitive}
    return multiply_add(m, product, total, rest, coefficient << drop, **ways) >> drop
