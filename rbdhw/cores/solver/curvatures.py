"""The curvatures of a goal: numbers of knots that stay the same in a solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.knot_rows import KnotRows
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.rtl.layouts import split_words


class Curvatures(wiring.Component):
    """Writes the curvatures of all rows of goals into the memory of a sweep, those of a column in turn."""

    def __init__(self, *, timing: SolverTiming) -> None:
        self.shape, self.sweep, self.turns = timing.shape, timing.sweep, timing.curvature_turns
        self.columns, shape = timing.curvature_columns, timing.shape
        self.words = [each.word for each in shape.curvatures]
        column = {"row": Out(range(self.sweep.rows)), "data": Out(signed(self.sweep.width))}
        super().__init__(
            {
                "start": In(1),
                "busy": Out(1),
                # A row of packed curvatures is there in the cycle after its problem and step.
                "problem": Out(range(shape.problems)),
                "step": Out(range(shape.knots)),
                "row": In(sum(word.format.width for word in self.words)),
                # The memory of the sweep: rows and numbers by column.
                "write_enable": Out(len(self.sweep.columns)),
                **{f"write_{port}_{k}": flow for k in self.columns for port, flow in column.items()},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        shape, sweep = self.shape, self.sweep
        turn, kept = Signal(range(self.turns), name="turn"), Signal.like(self.row, name="kept")
        rows, left = KnotRows(m, sweep), Signal(range(shape.problems * shape.knots))
        last = turn == self.turns - 1
        m.d.comb += self.busy.eq(1)
        with m.FSM(name="control"):
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [self.step.eq(shape.knots - 1), self.problem.eq(0)]
                m.d.sync += left.eq(shape.problems * shape.knots - 1)
                rows.reset()
                with m.If(self.start):
                    m.next = "READ"
            with m.State("READ"):
                self._take(m, kept)
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.sync += turn.eq(Mux(last, 0, turn + 1))
                self._write(m, turn, rows, split_words(self.words, kept))
                with m.If(last):
                    self._take(m, kept)
                    rows.advance()
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 0):
                        m.next = "IDLE"
        return m

    def _take(self, m: Module, kept: Any) -> None:
        """Take a row, and ask for the one after it, in the order of the sweep."""
        m.d.sync += [kept.eq(self.row), self.problem.eq(self.problem + 1)]
        with m.If(self.problem == self.shape.problems - 1):
            m.d.sync += [self.problem.eq(0), self.step.eq(self.step - 1)]

    def _write(self, m: Module, turn: Any, rows: KnotRows, numbers: Mapping[str, Any]) -> None:
        """Write a curvature of each column: of the knot of a step, or of the knot behind it."""
        sweep, enables = self.sweep, [Const(0)] * len(self.sweep.columns)
        behind = Signal.like(rows.row, name="row_behind")
        m.d.comb += behind.eq(rows.behind(rows.row, rows.begins))
        for column, items in self.columns.items():
            places = Array(Const(sweep.places[each.number][0]) for each in items)
            of_next = Array(Const(each.of_next_knot, 1) for each in items)
            row = Mux(of_next[turn], behind, rows.row) + places[turn]
            enables[column] = turn < len(items)
            m.d.comb += [
                getattr(self, f"write_row_{column}").eq(row),
                getattr(self, f"write_data_{column}").eq(
                    Array(numbers[each.word.name] for each in items)[turn]
                ),
            ]
        m.d.comb += self.write_enable.eq(Cat(enables))
