"""The cost of rollouts in hardware."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.cost import WEIGHTED, cost_format
from rbdhw.fixed.rollout import RolloutShape, rollout_terms
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import COST, LOAD_COST
from rbdhw.rtl.cost import StageCost, cost_cells, cost_latency
from rbdhw.rtl.delay import register
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.rtl.rows import loaded_words


class CostHardware(PartHardware):
    """The cost of the last step, added to that of the steps before."""

    name = COST

    def fields(self, step: FunctionWords, shape: RolloutShape) -> dict[str, int]:
        """Return that a rollout has a cost so far, and whether answers have the state beside it."""
        return {"extended": 1, "cost": cost_format(len(rollout_terms(step, shape)), shape.horizon).width - 1}

    def latency(self, step: FunctionWords, shape: RolloutShape) -> int:
        """Return the cycles until a cost is added."""
        return cost_latency(len(rollout_terms(step, shape))) + 1

    def results(self, m: Module, between: Between, cycles: int) -> dict[str, Any]:
        """Return the cost of the rollout so far; before the first step there is none."""
        entry = between.entry
        m.submodules.stage_cost = stage = StageCost(
            terms=rollout_terms(between.step, between.shape),
            words=loaded_words(between.interface, LOAD_COST),
        )
        m.d.comb += [
            stage.values.eq(Cat(entry.state, entry.forces)),
            stage.row.eq(between.rows[LOAD_COST]),
            between.addresses[LOAD_COST].eq(entry.done - 1),
        ]
        waited = between.later("stage", stage.cost, cycles - 1 - stage.latency)
        before = between.later("before", Cat(entry.done != 0, entry.cost), cycles - 1)
        total = before[1:] + Mux(before[0], waited, Const(0, 1))
        return {"cost": register(m, "cost", total, len(entry.cost))}

    def products(self, step: FunctionWords, shape: RolloutShape) -> list[tuple[int, int]]:
        """Return those of errors and weights, and squares."""
        square = WEIGHTED.width, WEIGHTED.width
        return [
            widths
            for term in rollout_terms(step, shape)
            for widths in ((term.error_bits, WEIGHTED.width), square)
        ]

    def cells(self, step: FunctionWords, shape: RolloutShape, _fabric: Fabric) -> Cells:
        """Return the cells of all terms."""
        cells = Cells()
        for term in rollout_terms(step, shape):
            cells += cost_cells(term)
        return cells
