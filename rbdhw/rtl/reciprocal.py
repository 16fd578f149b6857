"""The reciprocal unit: 1 / x for fixed-point numbers of any format."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.polynomial import coefficient_width
from rbdhw.fixed.reciprocal import ReciprocalSpec
from rbdhw.rtl.delay import after, register
from rbdhw.rtl.polynomial import coefficients, horner_step
from rbdhw.target import Primitive

SHIFT_BITS = 9
"""Bits of an operand's shift: binary points lie within a few hundred bits."""

MOST_EXTRA = 3
"""The most registers that a slow device may need in addition to those of the tables and products."""


class ReciprocalUnit(wiring.Component):
    """Computes :func:`rbdhw.fixed.reciprocal.reciprocal`, one operand per cycle.

    Raises ValueError for a latency outside this range.
    """

    def __init__(
        self,
        spec: ReciprocalSpec,  # widths, tables and order of the polynomial
        # Cycles from the operand to the result: one for the tables, and for each power of the polynomial one
        # plus `registers`. Up to three more cycles register the count of leading zeros, then the magnitude
        # before it, then the result.
        latency: int,
        # Pipeline registers of each product, and the device's multiplier: see `multiplier`.
        registers: int = 0,
        primitive: Primitive | None = None,
    ) -> None:
        least = 1 + spec.order * (1 + registers)
        if not least <= latency <= least + MOST_EXTRA:
            raise ValueError(f"a reciprocal takes {least} to {least + MOST_EXTRA} cycles, not {latency}")
        self.spec = spec
        self.latency = latency
        self.registers = registers
        self.primitive = primitive
        self._extra = latency - least
        super().__init__(
            {
                "x": In(signed(spec.width)),
                # The right shift of the result for an operand whose leading one is bit 0.
                "shift": In(signed(SHIFT_BITS)),
                # The result, `latency` cycles later; unless registered, it comes from a shifter.
                "y": Out(signed(spec.result_bits + 3)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spec, extra = self.spec, self._extra
        negative: Any = self.x[-1]
        magnitude: Any = Signal(spec.width)
        m.d.comb += magnitude.eq(Mux(negative, -self.x, self.x))
        shift, negative, magnitude = after(
            m, extra >= 2, shift=self.shift, negative=negative, magnitude=magnitude
        )
        zeros: Any = Signal(range(spec.width))
        m.d.comb += zeros.eq(_leading_zeros(magnitude))
        shift, negative, magnitude, zeros = after(
            m, extra >= 1, shift=shift, negative=negative, magnitude=magnitude, zeros=zeros
        )
        empty = magnitude == 0
        shift, negative, empty, counted = after(
            m, 1, shift=shift, negative=negative, empty=empty, zeros=zeros
        )
        by = self._limit_shift(m, shift, counted)
        waiting = (spec.order - 1) * (1 + self.registers)
        by, negative, empty = after(m, waiting, by=by, negative=negative, empty=empty)
        half = Cat(by == k for k in range(1, spec.largest_shift + 1))
        rounding = half ^ negative.replicate(len(half) + 1).as_signed()
        inverse = self._polynomial(m, self._fraction(m, magnitude, zeros), rounding)
        by, negative, empty = after(m, self.registers, by=by, negative=negative, empty=empty)
        signed_inverse = inverse ^ negative.replicate(len(inverse)).as_signed()
        by, empty, inverse = after(m, 1, by=by, empty=empty, inverse=signed_inverse)
        result = Mux(empty, spec.beyond, inverse >> by)
        m.d.comb += self.y.eq(*after(m, extra == MOST_EXTRA, result=result))
        return m

    def _limit_shift(self, m: Module, shift: Any, zeros: Any) -> Any:
        """Return the right shift of the result, limited to 0 and to the shift that leaves nothing of it."""
        largest = self.spec.largest_shift
        wanted = Signal(signed(SHIFT_BITS + 1))
        by = Signal(range(largest + 1))
        m.d.comb += wanted.eq(shift + (self.spec.width - 1) - zeros)
        m.d.comb += by.eq(Mux(wanted < 0, 0, Mux(wanted > largest, largest, wanted)))
        return by

    def _fraction(self, m: Module, magnitude: Any, zeros: Any) -> Any:
        """Return the operand's bits below its leading one.

        The largest shifts come first: the higher bits of the count are known before the lower ones.
        """
        spec = self.spec
        for k, bit in reversed([*enumerate(zeros)]):
            shifted = Signal(spec.width, name=f"shifted_{k}")
            m.d.comb += shifted.eq(Mux(bit, magnitude << (1 << k), magnitude))
            magnitude = shifted
        below = Cat(Const(0, spec.result_bits), magnitude[:-1])
        return below[-spec.result_bits :]

    def _polynomial(self, m: Module, fraction: Any, addend: Any) -> Any:
        """Evaluate the polynomial by Horner's rule, with a register after each power but the last.

        ``addend`` arrives with the operands of the last product and is added to it.
        """
        spec = self.spec
        rest: Any = Cat(fraction[: spec.rest_bits - 1], ~fraction[spec.rest_bits - 1]).as_signed()
        (rest,) = after(m, 1, rest=rest)
        by_power = coefficients(m, "table", spec.tables, fraction[spec.rest_bits :])
        total = by_power[-1]
        for power in reversed(range(1, spec.order)):
            width, _ = spec.multipliers[power - 1]
            total = register(
                m, f"total_{power}", self._power(m, power, total, rest, by_power[power]), signed(width)
            )
            waiting = 1 + self.registers
            others = {f"coefficient_{k}": value for k, value in enumerate(by_power[:power])}
            rest, *by_power = after(m, waiting, rest=rest, **others)
        return self._power(m, 0, total, rest, by_power[0] + addend)

    def _power(self, m: Module, power: int, total: Any, rest: Any, coefficient: Any) -> Any:
        names = f"power_{power}", "coefficient"
        return horner_step(m, self, names, total, rest, coefficient, self.spec.rest_bits)


def _leading_zeros(bits: Any) -> Any:
    """Return the number of zeros above the leading one; arbitrary if there is no one."""
    below = (1 << (len(bits) - 1).bit_length()) - len(bits)
    count, _ = _count_zeros(Cat(Const(1, 1).replicate(below), bits))
    return count


def _count_zeros(bits: Any) -> tuple[Any, Any]:
    """Return the leading zeros of a non-zero number of ``2**k`` bits, and whether the number is zero."""
    if len(bits) == 1:
        return Const(0, 0), ~bits[0]
    middle = len(bits) // 2
    (low, low_empty), (high, high_empty) = (_count_zeros(half) for half in (bits[:middle], bits[middle:]))
    return Cat(Mux(high_empty, low, high), high_empty), high_empty & low_empty


def reciprocal_cells(unit: ReciprocalSpec, fabric: Fabric) -> Cells:
    """Return the cells of a unit with its table."""
    bits = sum(coefficient_width(column) for column in unit.tables)
    cells = fabric.reciprocal.cells(unit.width, unit.order)
    return cells + fabric.table(bits, len(unit.tables[0]))
