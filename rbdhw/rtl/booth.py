"""Products in look-up tables: Booth's rows, each chosen in the tables of the adder that adds it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.recoding import Booth
from rbdhw.rtl.arithmetic import Summand
from rbdhw.rtl.delay import after


class BoothMultiplier(wiring.Component):
    """A product in look-up tables plus half of the bits to be dropped, one per cycle.

    The sum ``o`` is there ``registers`` cycles after the operands ``a`` and ``b``.
    :class:`rbdhw.fixed.recoding.Booth` counts the same adders.

    Attributes
    ----------
    variant
        Multipliers of one variant are equal, and need to be converted once only (:mod:`rbdhw.rtl.hierarchy`).
    """

    def __init__(self, widths: tuple[int, int], drop: int, registers: int) -> None:
        self.booth = Booth.of(widths)
        self.drop = drop
        self.registers = registers
        self.variant = *widths, drop, registers
        a, b = (signed(width) for width in widths)
        super().__init__({"a": In(a), "b": In(b), "o": Out(signed(max(sum(widths), drop) + 1))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        narrow, wide = sorted((self.a, self.b), key=len)
        rows, breaks = self.booth.rows, self.booth.breaks(self.registers)
        middle = self.booth.levels - 1
        first = Summand(_completion(narrow, rows, self.drop), 0).named(m, "completion")
        second = _row(wide, narrow, middle).named(m, "row")
        for level in range(self.booth.levels):
            operands = {"wide": wide, "narrow": narrow, "first": first.value, "second": second.value}
            named = {f"{name}_{level}": value for name, value in operands.items()}
            wide, narrow, *sums = after(m, breaks.count(level), **named)
            first, second = Summand(sums[0], first.shift), Summand(sums[1], second.shift)
            if level < middle:
                first = first.plus(_row(wide, narrow, level)).named(m, f"first_sum_{level}")
            if level < rows - middle - 1:
                second = second.plus(_row(wide, narrow, middle + 1 + level)).named(m, f"second_sum_{level}")
        m.d.comb += self.o.eq(first.plus(second).value)
        return m


def _row(wide: Any, narrow: Any, k: int) -> Summand:
    """Return the multiple of the wider operand for a pair of bits; a negative one lacks a one to be exact."""
    high, middle, low = _digit(narrow, k)
    single, double = middle ^ low, (high ^ middle) & ~(middle ^ low)
    bits = len(wide) + 1
    once, twice = Cat(wide, wide[-1]), Cat(Const(0, 1), wide)
    multiple = (once & single.replicate(bits)) | (twice & double.replicate(bits))
    return Summand((multiple ^ _negative(narrow, k).replicate(bits)).as_signed(), 2 * k)


def _digit(narrow: Any, k: int) -> tuple[Any, Any, Any]:
    """Return three bits whose digit is the sum of the last two less twice the first."""
    high, middle = (narrow[min(2 * k + i, len(narrow) - 1)] for i in (1, 0))
    return high, middle, narrow[2 * k - 1] if k else Const(0, 1)


def _negative(narrow: Any, k: int) -> Any:
    high, middle, low = _digit(narrow, k)
    return high & ~(middle & low)


def _completion(narrow: Any, rows: int, drop: int) -> Any:
    """Return the ones that negative rows lack, plus half of ``drop`` bits.

    The ones are at even places. Where the half meets one of them, both take the odd place above, too.
    """
    bits = [bit for k in range(rows) for bit in (_negative(narrow, k), Const(0, 1))]
    bits += [Const(0, 1)] * (drop + 1 - len(bits))
    if drop:
        place = drop - 1
        meets = place % 2 == 0 and place < 2 * rows
        bits[place : place + 2] = [~bits[place], bits[place]] if meets else [Const(1, 1), bits[place + 1]]
    return Cat(*bits, Const(0, 1)).as_signed()
