"""The expansion of a trajectory: the numbers of all knots, from a core for derivatives of steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.cores.solver.words import core_payload, factor_values
from rbdhw.rtl.delay import delayed
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.scaler import LATENCY, Scaler
from rbdhw.rtl.state_error import error


class Expansion(wiring.Component):
    """Writes the numbers of the knots of a trajectory into the memory of a sweep, from the last knot back.

    The derivatives of a step are computed while the numbers of the step behind it are written. So many knots
    are expanded ahead of a sweep that it never reads one that is not.
    """

    def __init__(self, *, timing: SolverTiming, slots: tuple[int, ...]) -> None:
        if timing.dstep <= LATENCY:
            raise ValueError(f"latency: is {timing.dstep}; expected more than {LATENCY}")
        self.shape, self.sweep, self.slots, self.latency = timing.shape, timing.sweep, slots, timing.dstep
        self._first_of_sweep = timing.shape.knots - timing.ahead  # the last step before a sweep may begin
        shape, sweep = timing.shape, timing.sweep
        outputs = [word.format.width for word in shape.dstep.outputs]
        self.lanes, sources = timing.lanes, [*outputs, *(format_.width for format_ in shape.errors)]
        factors = [factor.format.width for factor in shape.number_factors]
        self.scalers = [Scaler(items=lane.numbers, sources=sources, factors=factors) for lane in self.lanes]
        rows = (shape.alphas + 1) * (shape.knots + 1)
        super().__init__(
            {
                "start": In(1),
                "around": In(range(shape.alphas + 1)),  # the bank of the trajectory
                "task": In(sum(word.format.width for word in shape.step.inputs)),  # the words of `step`
                "busy": Out(1),
                "ahead": Out(1),  # whether a sweep may begin: all knots are there before it reads them
                "failed": Out(1),  # whether a number of the last expansion exceeds its format
                # The core.
                "phase_zero": In(1),
                "starts": Out(1),
                "payload": Out(sum(slots)),
                "result": In(sum(outputs)),
                "overflow": In(1),
                # Memories: a row is there in the cycle after its address.
                "read_row": Out(range(rows)),
                "row": In(sum(word.format.width for word in shape.trajectory)),
                "goal_step": Out(range(shape.knots)),
                "goal": In(sum(word.format.width for word in shape.goal)),
                # The memory of the sweep: rows and numbers by lane.
                "write_enable": Out(len(sweep.columns)),
                **{f"write_row_{k}": Out(range(sweep.rows)) for k in range(len(self.scalers))},
                **{f"write_data_{k}": Out(signed(sweep.width)) for k in range(len(self.scalers))},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for k, scaler in enumerate(self.scalers):
            m.submodules[f"scaler_{k}"] = scaler
        step, read = Signal(range(self.shape.knots)), Signal(range(self.shape.knots + 1), name="read")
        rows = Signal.like(self.row, name="here"), Signal.like(self.row, name="after")
        done = delayed(m, self.starts, self.latency)
        longest = self.scalers[0]
        written = longest.valid & (longest.item == len(longest.items) - 1)
        m.d.comb += [
            self.read_row.eq(self.around * (self.shape.knots + 1) + read),
            self.goal_step.eq(step),
            self.payload.eq(self._payload(rows[0])),
        ]
        self._control(m, step, read, rows, done, written)
        self._scale(m, step, rows, done, written)
        return m

    def _control(
        self, m: Module, step: Any, read: Any, rows: tuple[Any, Any], done: Any, written: Any
    ) -> None:
        """Read the rows after and before each step in turn, and start its derivatives."""
        (here, after), longest = rows, self.scalers[0]
        m.d.comb += self.busy.eq(1)
        with m.FSM(name="control"):
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [step.eq(self.shape.knots - 1), read.eq(self.shape.knots)]
                with m.If(self.start):
                    m.d.sync += [self.failed.eq(0), self.ahead.eq(0)]
                    m.next = "READ"
            with m.State("READ"):
                m.d.sync += read.eq(read - 1)
                m.next = "MOVE"
            with m.State("MOVE"):  # the row of `read + 1`; that of `read` is asked for
                m.d.sync += here.eq(self.row)
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.sync += [after.eq(here), here.eq(self.row)]
                m.next = "START"
            with m.State("START"), m.If(self.phase_zero & (longest.left <= self.latency - LATENCY)):
                m.d.comb += self.starts.eq(1)
                m.next = "WAIT"
            with m.State("WAIT"), m.If(done):
                m.d.sync += [step.eq(step - 1), read.eq(read - 1)]
                m.next = "NEXT"
                with m.If(step == 0):
                    m.next = "END"
            with m.State("NEXT"):
                m.next = "TAKE"
            with m.State("END"), m.If(written):
                m.next = "IDLE"

    def _payload(self, here: Any) -> Any:
        """Return the words of ``dstep`` in the core's slots."""
        shape = self.shape
        words = split_words(shape.step.inputs, self.task)
        row = split_words(shape.trajectory, here)
        named = dict(zip((state.word.name for state in shape.state), row.values(), strict=False))
        named |= {word.name: row[word.name] for word in shape.taus}
        return core_payload(shape.dstep, {**words, **named}, self.slots)

    def _scale(self, m: Module, step: Any, rows: tuple[Any, Any], done: Any, written: Any) -> None:
        """Keep the results of a step and what belongs to them, and write the numbers of both knots."""
        shape, sweep = self.shape, self.sweep
        goal = split_words(shape.goal, self.goal)
        sources = Cat(self.result, *self._errors(m, rows, goal))
        named = {**split_words(shape.step.inputs, self.task), **goal}
        factors = factor_values(shape.number_factors, named)
        stride = sweep.between * sweep.rows_of_knot
        base, is_ahead = Signal(range(sweep.rows)), Signal()
        kept = Signal.like(sources, name="kept_sources"), Signal.like(factors, name="kept_factors")
        with m.If(done):
            m.d.sync += [
                kept[0].eq(sources),
                kept[1].eq(factors),
                base.eq((shape.knots - step) * stride),
                is_ahead.eq(step <= self._first_of_sweep),
            ]
        with m.If(written & is_ahead):
            m.d.sync += self.ahead.eq(1)
        for scaler in self.scalers:
            m.d.comb += [scaler.start.eq(done), scaler.sources.eq(kept[0]), scaler.factors.eq(kept[1])]
        with m.If(done & self.overflow | Cat(each.valid & each.beyond for each in self.scalers).any()):
            m.d.sync += self.failed.eq(1)
        self._write(m, base, stride)

    def _errors(self, m: Module, rows: tuple[Any, Any], goal: Mapping[str, Any]) -> list[Any]:
        """Return the errors of all terms of the cost: of the state after a step, and of its forces."""
        shape = self.shape
        names = [term.word.name for term in shape.terms]
        here, after = (
            dict(zip(names, split_words(shape.trajectory, row).values(), strict=True)) for row in rows
        )
        values = after | {word.name: here[word.name] for word in shape.taus}
        references = (goal[name] for name in shape.references)
        return [
            error(m, str(k), term, values[term.word.name], reference)
            for k, (term, reference) in enumerate(zip(shape.terms, references, strict=True))
        ]

    def _write(self, m: Module, base: Any, stride: int) -> None:
        """Write numbers into their places in the sweep's memory; those that it does not read have none."""
        places, enabled = self.sweep.places, []
        for k, scaler in enumerate(self.scalers):
            items, turn = scaler.items, scaler.item
            rows = [places.get(item.name, (0, 0))[0] for item in items]
            later = [stride if self.shape.is_of_next_knot(item.name) else 0 for item in items]
            enables = [1 << places[item.name][1] if item.name in places else 0 for item in items]
            enabled.append(Mux(scaler.valid, Array(map(Const, enables))[turn], 0))
            row = base - Array(map(Const, later))[turn] + Array(map(Const, rows))[turn]
            m.d.comb += [
                getattr(self, f"write_row_{k}").eq(row),
                getattr(self, f"write_data_{k}").eq(scaler.word),
            ]
        m.d.comb += self.write_enable.eq(reduce(or_, enabled))
