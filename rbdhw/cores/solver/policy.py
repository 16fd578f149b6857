"""The policies of a sweep as rows of gains and changes of forces, which a forward pass reads."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.solver.words import factor_values
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.feedback import GAIN
from rbdhw.rtl.delay import after
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.scaler import Scaler, scaler_cells


class PolicyRows(wiring.Component):
    """Takes policies, and writes the row of each some cycles later; only forces that change have gains."""

    def __init__(self, *, timing: SolverTiming) -> None:
        self.shape = shape = timing.shape
        sources = [word.format.width for word in shape.policy]
        factors = [factor.format.width for factor in shape.policy_factors]
        self.scalers = [Scaler(items=lane, sources=sources, factors=factors) for lane in timing.policy_lanes]
        self.latency = timing.policy
        terms = len(shape.followed)
        super().__init__(
            {
                "take": In(1),
                "problem": In(range(shape.problems)),
                "step": In(range(shape.knots)),
                "policy": In(sum(sources)),  # the packed policy
                # The words of `step` of its problem.
                "task": In(sum(word.format.width for word in shape.step.inputs)),
                "busy": Out(1),
                # A row: the gains of each force that changes, and the changes of all forces.
                "write_enable": Out(1),
                "write_problem": Out(range(shape.problems)),
                "write_step": Out(range(shape.knots)),
                "gains": Out(len(shape.feedback) * terms * GAIN.width),
                "changes": Out(sum(word.format.width for word in shape.taus)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        words = dict[str, Any]()
        factors = Cat(
            factor_values(self.shape.policy_factors, split_words(self.shape.step.inputs, self.task))
        )
        kept = Signal.like(self.policy, name="kept_policy"), Signal(len(factors), name="kept_factors")
        with m.If(self.take):
            m.d.sync += [kept[0].eq(self.policy), kept[1].eq(factors)]
        for k, scaler in enumerate(self.scalers):
            m.submodules[f"scaler_{k}"] = scaler
            m.d.comb += [scaler.start.eq(self.take), scaler.sources.eq(kept[0]), scaler.factors.eq(kept[1])]
            words |= self._gather(m, k, scaler)
        under_way = Signal(self.latency - 1, name="under_way")
        m.d.sync += under_way.eq(Cat(self.take, under_way))
        names = {"problem_of_row": self.problem, "step_of_row": self.step}
        problem, step = after(m, self.latency - 1, **names)
        m.d.comb += [
            self.busy.eq(under_way.any()),
            self.write_enable.eq(under_way[-1]),
            self.write_problem.eq(problem),
            self.write_step.eq(step),
        ]
        self._put_out(m, words)
        return m

    @staticmethod
    def _gather(m: Module, lane: int, scaler: Scaler) -> dict[str, Any]:
        """Shift gains and changes into registers as they come; return where each is in the end."""
        words: dict[str, Any] = {}
        first = 0
        for width, group in groupby(scaler.items, lambda item: item.target.width):
            items = list(group)
            gathered = Signal(len(items) * width, name=f"gathered_{lane}_{first}")
            belongs = (scaler.item >= first) & (scaler.item < first + len(items))
            with m.If(scaler.valid & belongs):
                m.d.sync += gathered.eq(Cat(gathered[width:], scaler.word[:width]))
            words |= {item.name: gathered[k * width : (k + 1) * width] for k, item in enumerate(items)}
            first += len(items)
        return words

    def _put_out(self, m: Module, words: dict[str, Any]) -> None:
        """Put out a row, with zeros for the changes of forces that do not change."""
        shape = self.shape
        gains = [words[each.stored(term)] for each in shape.feedback for term in each.terms]
        changes = (words.get(word.name, Const(0, word.format.width)) for word in shape.taus)
        m.d.comb += [self.gains.eq(Cat(gains)), self.changes.eq(Cat(changes))]


def policy_cells(timing: SolverTiming, fabric: Fabric) -> Cells:
    """Return the cells of rows of policies: the scalers, a policy that is kept, and a row."""
    shape = timing.shape
    kept = sum(word.format.width for word in shape.policy)
    row = sum(item.target.width for item in (*shape.gains, *shape.changes))
    cells = sum((scaler_cells(lane, fabric) for lane in timing.policy_lanes), Cells())
    return cells + Cells(flip_flops=kept + row)
