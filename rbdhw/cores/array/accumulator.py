"""A multiply-accumulate unit: one product a cycle, one sum after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Const, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.array.control import Sequencer, places
from rbdhw.fixed.program import Operand
from rbdhw.rtl.add_subtract import add_subtract
from rbdhw.rtl.arithmetic import align, half
from rbdhw.rtl.multiplexer import multiplex
from rbdhw.rtl.multiplier import multiply_add
from rbdhw.target import Primitive


@dataclass(frozen=True)
class TermControl:
    """How a product enters the sum: its sign, its shift, and whether more products of the same sum follow.

    ``width`` are the bits of the sum's result.
    """

    negative: bool
    shift: int
    more: bool
    width: int


class Accumulator(wiring.Component):
    """A multiplier, an aligner and a register of the sum.

    ``o`` is the rounded sum, as wide as the widest result, ``latency`` cycles after the last operands ``a``
    and ``b``. With it ``overflow`` states whether it exceeds the width of its own result.
    """

    def __init__(
        self,
        *,
        widths: tuple[int, int],  # bits of the operands
        sum_bits: int,
        drop: int,  # low bits of the sum that are rounded away
        ii: int,
        # By slot, how the product of the operands that arrive in that slot enters the sum. After an idle slot
        # a new sum begins.
        terms: Mapping[int, TermControl],
        registers: int,  # pipeline registers of each product, at least one
        sequencer: Sequencer,
        primitive: Primitive | None = None,
    ) -> None:
        self.sum_bits = sum_bits
        self.drop = drop
        self.ii = ii
        self.terms = terms
        self.registers = registers
        self.sequencer = sequencer
        self.primitive = primitive
        a, b = map(signed, widths)
        results = {"o": Out(signed(max(term.width for term in terms.values()))), "overflow": Out(1)}
        super().__init__({"a": In(a), "b": In(b), **sequencer.members, **results})

    @property
    def latency(self) -> int:
        """Cycles from the last operands of a sum to the result."""
        return self.registers + 1

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        sequencer = self.sequencer.inside(self)
        later = {(slot + self.registers) % self.ii: term for slot, term in self.terms.items()}
        product = multiply_add(
            m, "product", self.a, self.b, Const(0, 1), registers=self.registers, primitive=self.primitive
        )
        term = self._shift_product(m, sequencer, later, product)
        negative = sequencer.steps(m, "negative", {s: int(a.negative) for s, a in later.items()}, 1)
        more = sequencer.steps(m, "more", {s: int(a.more) for s, a in later.items()}, 1, other=0)
        start = half(self.drop)
        total = Signal(signed(self.sum_bits), init=start)
        following = add_subtract(m, "sum", total, term, negative, self.primitive)
        result = Signal(signed(self.sum_bits), reset_less=True)
        m.d.sync += [total.eq(following), result.eq(following)]
        with m.If(~more):
            m.d.sync += total.eq(start)
        self._results(m, sequencer, result)
        return m

    def _results(self, m: Module, sequencer: Sequencer, total: Any) -> None:
        """Take the result from a sum, with the width that it has in this slot."""
        widths = {
            (slot + self.latency) % self.ii: term.width for slot, term in self.terms.items() if not term.more
        }
        different = sorted(set(widths.values()))
        numbers = {slot: different.index(width) for slot, width in widths.items()}
        choice = sequencer.steps(m, "width", numbers, places(len(different)))
        with m.Switch(choice):
            for k, width in enumerate(different):
                above = total[self.drop + width - 1 :]
                with m.Case(k):
                    m.d.comb += [
                        self.o.eq(total[self.drop : self.drop + width].as_signed()),
                        self.overflow.eq(above.any() & ~above.all()),
                    ]

    def _shift_product(
        self, m: Module, sequencer: Sequencer, terms: Mapping[int, TermControl], product: Any
    ) -> Any:
        """Return the product, shifted as its slot requires."""
        shifts = sorted({term.shift for term in terms.values()})
        ways = []
        for shift in shifts:
            way = Signal(signed(self.sum_bits), name=f"moved_{shift}".replace("-", "right_"))
            m.d.comb += way.eq(align(product, Operand(0, shift=shift)))
            ways.append(way)
        if len(ways) == 1:
            return ways[0]
        numbers = {slot: shifts.index(term.shift) for slot, term in terms.items()}
        choice = sequencer.steps(m, "shift", numbers, places(len(shifts)))
        return multiplex(m, "moved", ways, choice, self.primitive)


def sum_bits(least: int, most: int) -> int:
    """Return the bits of a signed sum in the range ``least`` to ``most``."""
    return 1 + max(most.bit_length(), (~least).bit_length())
