"""The cost of a step in hardware: the twin of :mod:`rbdhw.fixed.cost`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells
from rbdhw.fixed.cost import COST_POINT, SQUARE_DROP, WEIGHTED, CostTerm
from rbdhw.fixed.program import Word
from rbdhw.rtl.adder_tree import add_up, sum_latency
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.state_error import ERROR_CYCLES, error

SQUARED = ERROR_CYCLES + 3
"""Cycles until the squares are there: an error, its product, the rounded product, the square."""


def cost_latency(terms: int) -> int:
    """Return the cycles from a state to the cost of the step before it."""
    return SQUARED + sum_latency(terms) + 1


class StageCost(wiring.Component):
    """Computes the cost of a step, every cycle."""

    def __init__(
        self,
        *,
        terms: tuple[CostTerm, ...],  # the terms
        # The words of a row of references and weights, in the order in which they are stored.
        words: tuple[Word, ...],
    ) -> None:
        self.terms = terms
        self.words = words
        self.latency = cost_latency(len(terms))
        super().__init__(
            {
                # The words of the terms, packed in their order.
                "values": In(sum(term.word.format.width for term in terms)),
                "row": In(sum(word.format.width for word in words)),  # the row, packed, one cycle later
                # The cost, `cost_latency` cycles after `values`.
                "cost": Out(COST_POINT + len(terms).bit_length()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        row = split_words(self.words, self.row)
        values = split_words([term.word for term in self.terms], self.values)
        numbers = [self._square(m, k, term, values[term.word.name], row) for k, term in enumerate(self.terms)]
        rounded = add_up(m, "sum", numbers) + half(SQUARE_DROP) >> SQUARE_DROP
        m.d.comb += self.cost.eq(register(m, "rounded", rounded, len(self.cost)))
        return m

    def _square(self, m: Module, k: int, term: CostTerm, value: Any, row: Mapping[str, Any]) -> Any:
        """Return the square of a weighted error."""
        reference = Const(0, 1) if term.reference is None else row[term.reference]
        difference = error(m, str(k), term, value, reference)
        weight = register(m, f"weight_{k}", row[term.weight], signed(WEIGHTED.width))
        product = register(m, f"product_{k}", difference * weight, signed(term.error_bits + WEIGHTED.width))
        weighted = product + half(term.weighted_drop) >> term.weighted_drop
        weighted = register(m, f"weighted_{k}", weighted, signed(WEIGHTED.width))
        return register(m, f"square_{k}", weighted * weighted, 2 * WEIGHTED.width)


def cost_cells(term: CostTerm) -> Cells:
    """Return the cells of a term's error, its products and its share of the sum."""
    return Cells(
        luts=term.bits + WEIGHTED.width + 2 * WEIGHTED.width,
        flip_flops=2 * term.bits + 6 * WEIGHTED.width,
    )
