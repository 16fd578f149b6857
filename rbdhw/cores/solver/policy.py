"""The policies of a sweep as rows of gains and changes of forces, which a forward pass reads."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.solver.words import factor_values
from rbdhw.fixed.feedback import GAIN
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.scaler import Scaler


class PolicyRows(wiring.Component):
    """Takes a policy, and writes its row some cycles later. Forces that do not change have zeros."""

    def __init__(self, *, timing: SolverTiming) -> None:
        self.shape = shape = timing.shape
        sources = [word.format.width for word in shape.policy]
        factors = [factor.format.width for factor in shape.policy_factors]
        self.scalers = [Scaler(items=lane, sources=sources, factors=factors) for lane in timing.policy_lanes]
        terms = len(shape.feedback[0].terms)
        super().__init__(
            {
                "take": In(1),
                "step": In(range(shape.knots)),
                "policy": In(sum(sources)),  # the packed policy
                "task": In(sum(word.format.width for word in shape.step.inputs)),  # the words of `step`
                "busy": Out(1),
                # A row: the gains of each force, and the changes of the forces.
                "write_enable": Out(1),
                "write_step": Out(range(shape.knots)),
                "gains": Out(len(shape.feedback) * terms * GAIN.width),
                "changes": Out(sum(word.format.width for word in shape.taus)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        kept, words = Signal.like(self.policy, name="kept_policy"), dict[str, Any]()
        factors = factor_values(self.shape.policy_factors, split_words(self.shape.step.inputs, self.task))
        with m.If(self.take):
            m.d.sync += [kept.eq(self.policy), self.write_step.eq(self.step)]
        for k, scaler in enumerate(self.scalers):
            m.submodules[f"scaler_{k}"] = scaler
            m.d.comb += [scaler.start.eq(self.take), scaler.sources.eq(kept), scaler.factors.eq(factors)]
            words |= self._gather(m, k, scaler)
        longest = self.scalers[0]
        m.d.sync += self.write_enable.eq(longest.valid & (longest.item == len(longest.items) - 1))
        with m.If(self.take):
            m.d.sync += self.busy.eq(1)
        with m.Elif(self.write_enable):
            m.d.sync += self.busy.eq(0)
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
        """Put out a row, with zeros for forces that do not change."""
        gains, changes = [], []
        for each in self.shape.feedback:
            gains += [words.get(each.stored(term), Const(0, GAIN.width)) for term in each.terms]
            changes.append(words.get(each.force.name, Const(0, each.force.format.width)))
        m.d.comb += [self.gains.eq(Cat(gains)), self.changes.eq(Cat(changes))]
