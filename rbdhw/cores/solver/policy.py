"""The policies of a sweep as rows of gains and changes of forces, which a forward pass reads."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.words import factor_values
from rbdhw.fixed.feedback import GAIN
from rbdhw.fixed.solver import SolverShape
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.scaler import Scaler


class PolicyRows(wiring.Component):
    """Takes a policy, and writes its row some cycles later. Forces that do not change have zeros."""

    def __init__(self, *, shape: SolverShape) -> None:
        self.shape = shape
        self.scaler = Scaler(
            items=(*shape.gains, *shape.changes),
            sources=[word.format.width for word in shape.policy],
            factors=[factor.format.width for factor in shape.policy_factors],
        )
        terms = len(shape.feedback[0].terms)
        super().__init__(
            {
                "take": In(1),
                "step": In(range(shape.knots)),
                "policy": In(sum(word.format.width for word in shape.policy)),  # the packed policy
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
        m.submodules.scaler = scaler = self.scaler
        task = split_words(self.shape.step.inputs, self.task)
        m.d.comb += scaler.factors.eq(factor_values(self.shape.policy_factors, task))
        with m.If(self.take):
            m.d.sync += [scaler.sources.eq(self.policy), self.write_step.eq(self.step)]
        last = scaler.valid & (scaler.item == len(scaler.items) - 1)
        m.d.comb += scaler.start.eq(self.take)
        m.d.sync += self.write_enable.eq(last)
        with m.If(self.take):
            m.d.sync += self.busy.eq(1)
        with m.Elif(self.write_enable):
            m.d.sync += self.busy.eq(0)
        self._gather(m)
        return m

    def _gather(self, m: Module) -> None:
        """Shift gains and changes into registers as they come; the first of each ends lowest."""
        shape, scaler = self.shape, self.scaler
        widest = max(item.target.width for item in shape.changes)
        gains = Signal(len(shape.gains) * GAIN.width, name="gathered_gains")
        changes = Signal(len(shape.changes) * widest, name="gathered_changes")
        is_change = scaler.item >= len(shape.gains)
        for gathered, width, belongs in ((gains, GAIN.width, ~is_change), (changes, widest, is_change)):
            word = Cat(scaler.word[:width], Const(0, max(width - scaler.width, 0)))
            with m.If(scaler.valid & belongs):
                m.d.sync += gathered.eq(Cat(gathered[width:], word))
        of_force = len(shape.feedback[0].terms) * GAIN.width
        rows, moved = [], []
        for each in shape.feedback:
            width = each.force.format.width
            if each in shape.changed:
                k = shape.changed.index(each)
                rows.append(gains[k * of_force : (k + 1) * of_force])
                moved.append(changes[k * widest : k * widest + width])
            else:
                rows.append(Const(0, of_force))
                moved.append(Const(0, width))
        m.d.comb += [self.gains.eq(Cat(rows)), self.changes.eq(Cat(moved))]
