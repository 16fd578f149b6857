"""The reciprocal unit: one over a positive number."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.reciprocal import GUARD, ReciprocalSpec
from rbdhw.rtl.trigonometry import packed, registered

SHIFT_BITS = 9
"""Bits of the shift that comes with an operand: binary points lie within some hundred bits."""


class ReciprocalUnit(wiring.Component):
    """Computes what :func:`rbdhw.fixed.reciprocal.reciprocal` does; takes an operand every cycle.

    Parameters
    ----------
    spec
        Widths, tables and order of the polynomial.

    Members
    -------
    x : In
        The operand.
    shift : In
        The right shift of the result where the operand's leading one is bit 0.
    y : Out
        The result, ``latency`` cycles later, behind a shifter and an adder.
    """

    def __init__(self, spec: ReciprocalSpec) -> None:
        self.spec = spec
        super().__init__(
            {
                "x": In(signed(spec.width)),
                "shift": In(signed(SHIFT_BITS)),
                "y": Out(signed(spec.result_bits + 3)),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from the operand to the result."""
        return 1 + self.spec.order

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spec = self.spec
        mantissa, leading = self._normalised(m)
        positive: Any = ~self.x[-1] & self.x.any()
        by: Any = self._limited(m, leading)
        for _ in range(self.latency):
            positive = registered(m, positive, unsigned(1))
            by = registered(m, by, by.shape())
        inverse = self._polynomial(m, mantissa)
        shifted = Signal(spec.result_bits + 1)
        m.d.comb += shifted.eq(inverse >> by)
        rounded = (shifted + 1) >> 1
        m.d.comb += self.y.eq(Mux(positive, rounded, 1 << (spec.result_bits + 1)))
        return m

    def _normalised(self, m: Module) -> tuple[Any, Any]:
        """The operand with its leading one shifted out at the top, and that one's place.

        The operand is shifted by powers of two from the largest on, wherever its top bits are zeros.
        """
        places = self.spec.width - 2
        value: Any = self.x[: places + 1]
        moved: list[Any] = []
        step = 1 << (places.bit_length() - 1)
        while step:
            empty = Signal(name=f"empty_{step}")
            shifted = Signal(places + 1, name=f"normalised_{step}")
            m.d.comb += empty.eq(~value[-step:].any())
            m.d.comb += shifted.eq(Mux(empty, value << step, value))
            moved.insert(0, empty)
            value, step = shifted, step >> 1
        return value[:places], places - Cat(moved)

    def _limited(self, m: Module, leading: Any) -> Any:
        """The shift within its bounds, less the one that rounds."""
        largest = self.spec.largest_shift
        wanted = Signal(signed(SHIFT_BITS + 1))
        by = Signal(range(largest))
        m.d.comb += wanted.eq(self.shift + leading)
        m.d.comb += by.eq(Mux(wanted < 1, 0, Mux(wanted > largest, largest - 1, wanted - 1)))
        return by

    def _polynomial(self, m: Module, mantissa: Any) -> Any:
        """Horner's rule in the rest, a register after each power; the mantissa's reciprocal."""
        spec = self.spec
        rest: Any = Cat(mantissa[: spec.rest_bits - 1], ~mantissa[spec.rest_bits - 1]).as_signed()
        rest = registered(m, rest, signed(spec.rest_bits))
        coefficients = self._table(m, mantissa[spec.rest_bits :])
        total = coefficients[-1]
        for power in reversed(range(1, spec.order)):
            inner = coefficients[power] + (total * rest >> spec.product_cut)
            total = registered(m, inner, inner.shape())
            rest = registered(m, rest, rest.shape())
            coefficients = [registered(m, c, c.shape()) for c in coefficients[:power]]
        full = (coefficients[0] << spec.product_cut) + total * rest
        return registered(m, full >> (spec.product_cut + GUARD), unsigned(spec.result_bits + 1))

    def _table(self, m: Module, index: Any) -> list[Any]:
        """The coefficients of the mantissa's segment, a cycle later, by power."""
        widths = [int(abs(column).max()).bit_length() + 1 for column in self.spec.tables]
        words = [packed([int(c) for c in row], widths) for row in zip(*self.spec.tables, strict=True)]
        m.submodules.table = memory = Memory(shape=unsigned(sum(widths)), depth=len(words), init=words)
        port = memory.read_port(domain="sync")
        m.d.comb += port.addr.eq(index)
        ends = [sum(widths[: k + 1]) for k in range(len(widths))]
        return [port.data[end - width : end].as_signed() for width, end in zip(widths, ends, strict=True)]
