"""The curvatures of a goal: numbers of knots that stay the same in a solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.rtl.layouts import split_words


class Curvatures(wiring.Component):
    """Writes the curvatures of all rows of goals into the memory of a sweep, those of a column in turn."""

    def __init__(self, *, timing: SolverTiming) -> None:
        self.shape, self.sweep, self.turns = timing.shape, timing.sweep, timing.curvature_turns
        self.columns, shape = timing.curvature_columns, timing.shape
        self._stride = self.sweep.between * self.sweep.rows_of_knot
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
        first, left = Signal(range(sweep.rows), name="first_row"), Signal(range(shape.problems * shape.knots))
        last = turn == self.turns - 1
        m.d.comb += self.busy.eq(1)
        with m.FSM(name="control"):
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [self.step.eq(shape.knots - 1), self.problem.eq(0)]
                m.d.sync += [
                    first.eq(sweep.row(shape.knots - 1, 0)),
                    left.eq(shape.problems * shape.knots - 1),
                ]
                with m.If(self.start):
                    m.next = "READ"
            with m.State("READ"):
                self._take(m, kept)
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.sync += turn.eq(Mux(last, 0, turn + 1))
                self._write(m, turn, first, split_words(self.words, kept))
                with m.If(last):
                    self._take(m, kept)
                    m.d.sync += [first.eq(first + sweep.rows_of_knot), left.eq(left - 1)]
                    with m.If(left == 0):
                        m.next = "IDLE"
        return m

    def _take(self, m: Module, kept: Any) -> None:
        """Take a row, and ask for the one after it, in the order of the sweep."""
        m.d.sync += [kept.eq(self.row), self.problem.eq(self.problem + 1)]
        with m.If(self.problem == self.shape.problems - 1):
            m.d.sync += [self.problem.eq(0), self.step.eq(self.step - 1)]

    def _write(self, m: Module, turn: Any, first: Any, numbers: Mapping[str, Any]) -> None:
        """Write a curvature of each column; ``first`` is the first row of the knot before the step."""
        sweep, enables = self.sweep, [Const(0)] * len(self.sweep.columns)
        for column, items in self.columns.items():
            rows = [sweep.places[each.number][0] for each in items]
            offsets = [row - self._stride * each.of_next_knot for row, each in zip(rows, items, strict=True)]
            enables[column] = turn < len(items)
            m.d.comb += [
                getattr(self, f"write_row_{column}").eq(first + Array(map(_signed, offsets))[turn]),
                getattr(self, f"write_data_{column}").eq(
                    Array(numbers[each.word.name] for each in items)[turn]
                ),
            ]
        m.d.comb += self.write_enable.eq(Cat(enables))


def _signed(number: int) -> Const:
    return Const(number, signed(number.bit_length() + 1))
