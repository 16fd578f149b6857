"""The cost of rollouts in hardware: the twin of :mod:`rbdhw.fixed.cost`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.cost import COST_POINT, SQUARE_DROP, WEIGHTED, CostTerm, cost_format
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, force_words, rollout_terms, row_inputs
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import COST, LOAD_COST
from rbdhw.rtl.arithmetic import add_up, half, sum_latency
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.rtl.rows import loaded_words
from rbdhw.rtl.state_error import ERROR_CYCLES, error

SQUARED = ERROR_CYCLES + 3
"""Cycles until the squares are there: an error, its product, the rounded product, the square."""


def cost_latency(terms: int) -> int:
    """Return the cycles from a state to the cost of the step before it."""
    return SQUARED + sum_latency(terms) + 1


class StageCost(wiring.Component):
    """Computes the cost of a step, every cycle.

    ``words`` are those of a row of references and weights, in the order in which they are stored.
    """

    def __init__(self, *, terms: tuple[CostTerm, ...], words: tuple[Word, ...]) -> None:
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
        reference = Const(0, 1) if term.reference is None else row[term.reference]
        difference = error(m, str(k), term, value, reference)
        weight = register(m, f"weight_{k}", row[term.weight], signed(WEIGHTED.width))
        product = register(m, f"product_{k}", difference * weight, signed(term.error_bits + WEIGHTED.width))
        weighted = product + half(term.weighted_drop) >> term.weighted_drop
        weighted = register(m, f"weighted_{k}", weighted, signed(WEIGHTED.width))
        return register(m, f"square_{k}", weighted * weighted, 2 * WEIGHTED.width)


class CostHardware(PartHardware):
    """The cost of the last step, added to that of the steps before."""

    name = COST

    def fields(self, step: FunctionWords, shape: RolloutShape) -> dict[str, int]:
        """Return that a rollout has a cost so far, and whether answers have the state beside it."""
        return {"extended": 1, "cost": cost_format(len(rollout_terms(step, shape)), shape.horizon).width - 1}

    def latency(self, step: FunctionWords, shape: RolloutShape) -> int:
        return cost_latency(len(rollout_terms(step, shape))) + 1

    def results(self, m: Module, between: Between, cycles: int) -> dict[str, Any]:
        """Return the cost of the rollout so far; before the first step there is none."""
        entry, step = between.entry, between.step
        driven = split_words(row_inputs(step), entry.forces)
        m.submodules.stage_cost = stage = StageCost(
            terms=rollout_terms(between.step, between.shape),
            words=loaded_words(between.interface, LOAD_COST),
        )
        m.d.comb += [
            stage.values.eq(Cat(entry.state, *(driven[word.name] for word in force_words(step)))),
            stage.row.eq(between.rows[LOAD_COST]),
            between.addresses[LOAD_COST].eq(entry.done - 1),
        ]
        waited = between.later("stage", stage.cost, cycles - 1 - stage.latency)
        before = between.later("before", Cat(entry.done != 0, entry.cost), cycles - 1)
        total = before[1:] + Mux(before[0], waited, Const(0, 1))
        return {"cost": register(m, "cost", total, len(entry.cost))}

    def products(self, step: FunctionWords, shape: RolloutShape) -> list[tuple[int, int]]:
        square = WEIGHTED.width, WEIGHTED.width
        return [
            widths
            for term in rollout_terms(step, shape)
            for widths in ((term.error_bits, WEIGHTED.width), square)
        ]

    def cells(self, step: FunctionWords, shape: RolloutShape, _fabric: Fabric) -> Cells:
        terms, width = rollout_terms(step, shape), WEIGHTED.width
        return Cells(
            luts=sum(term.bits + 3 * width for term in terms),
            flip_flops=sum(2 * term.bits + 6 * width for term in terms),
        )
