"""Numbers times factors, one after the other: the twin of :mod:`rbdhw.fixed.scaled`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.scaled import Scaled
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.delay import delayed, register

LATENCY = 4
"""The cycles from a number's turn to its word: a choice, a product, a rounded shift, and a limit."""


def product_widths(items: Sequence[Scaled]) -> tuple[int, int]:
    """Return the operand widths of the product of a scaler of these items, whose numbers may be negated."""
    return 1 + max(item.source.width for item in items), max(item.factor.width for item in items)


def scaler_cells(items: Sequence[Scaled], fabric: Fabric) -> Cells:
    """Return the cells of a scaler without its product: choices, a rounded shift, and a limit."""
    value, factor = product_widths(items)
    product, word = value + factor, max(item.target.width for item in items)
    choices = {value: len(items), factor: len({item.by for item in items})}
    luts = sum(fabric.multiplexer(count, width) for width, count in choices.items())
    luts += value * any(item.negative for item in items)
    luts += fabric.multiplexer(len({item.drop for item in items}), product) + product
    turns = LATENCY * (len(items) - 1).bit_length()
    luts += 2 * fabric.check(product) + 2 * word  # a limit
    return Cells(luts, value + factor + product + word + turns)


class Scaler(wiring.Component):
    """Computes the words of ``items`` in order, one in each cycle after ``start``.

    ``sources`` and ``factors`` are the widths of the numbers of which they are products.
    """

    def __init__(self, *, items: Sequence[Scaled], sources: Sequence[int], factors: Sequence[int]) -> None:
        self.items = tuple(items)
        self.source_widths, self.factor_widths = tuple(sources), tuple(factors)
        self.width = max(item.target.width for item in items)
        super().__init__(
            {
                "start": In(1),  # begins with the first item in the next cycle
                # The packed numbers, which stay until the last item has had its turn.
                "sources": In(sum(sources)),
                "factors": In(sum(factors)),
                # A word, limited to its format, whether its product exceeds that, and the number of its item.
                "valid": Out(1),
                "word": Out(signed(self.width)),
                "beyond": Out(1),
                "item": Out(range(len(items))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        running, turn = Signal(), Signal.like(self.item)
        last = turn == len(self.items) - 1
        with m.If(self.start):
            m.d.sync += [running.eq(1), turn.eq(0)]
        with m.Elif(running):
            m.d.sync += [running.eq(~last), turn.eq(Mux(last, 0, turn + 1))]
        turns = [turn]
        for k in range(LATENCY):
            turns.append(register(m, f"turn_{k + 1}", turns[-1], turn.shape()))
        m.d.comb += [self.valid.eq(delayed(m, running, LATENCY)), self.item.eq(turns[-1])]
        self._limit(m, self._shift(m, self._product(m, turns), turns[2]), turns[3])
        return m

    def _product(self, m: Module, turns: Sequence[Any]) -> Any:
        values = [each.as_signed() for each in split_sum(m, self.sources, self.source_widths)]
        factors = [each.as_signed() for each in split_sum(m, self.factors, self.factor_widths)]
        width, most = product_widths(self.items)
        signs = [-values[item.place] if item.negative else values[item.place] for item in self.items]
        value = register(m, "value", Array(signs)[turns[0]], signed(width))
        factor = register(m, "factor", Array(factors[item.by] for item in self.items)[turns[0]], signed(most))
        return register(m, "product", value * factor, signed(width + most))

    def _shift(self, m: Module, product: Any, turn: Any) -> Any:
        """Return the rounded product, a cycle later."""
        drops = [item.drop for item in self.items]
        padding = max(0, 1 - min(drops))
        kept = Cat(Const(0, padding), product).as_signed() >> self._table(
            turn, [d + padding - 1 for d in drops]
        )
        return register(m, "rounded", (kept + 1) >> 1, signed(len(kept) + 1))

    def _limit(self, m: Module, exact: Any, turn: Any) -> None:
        ones = (1 << len(exact)) - 1
        above = self._table(turn, [ones ^ ((1 << item.target.width - 1) - 1) for item in self.items])
        high = exact.as_unsigned() & above
        beyond = Signal(name="exceeds")
        m.d.comb += beyond.eq(high.any() & (high != above))
        limited = Mux(beyond, Mux(exact[-1], above, ~above), exact)[: self.width].as_signed()
        m.d.comb += [
            self.word.eq(register(m, "limited", limited, signed(self.width))),
            self.beyond.eq(register(m, "beyond_limit", beyond, 1)),
        ]

    @staticmethod
    def _table(turn: Any, numbers: Sequence[int]) -> Any:
        width = max(max(numbers).bit_length(), 1)
        return Array(Const(number, width) for number in numbers)[turn]
