"""The curvatures of a goal: numbers of knots that stay the same in a solution."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.cores.sweep.array import SweepArray
from rbdhw.fixed.solver import SolverShape
from rbdhw.rtl.layouts import split_words


class Curvatures(wiring.Component):
    """Writes the curvatures of all rows of a goal into the memory of a sweep, one a cycle."""

    def __init__(self, *, shape: SolverShape, sweep: SweepArray) -> None:
        self.shape, self.sweep, self.items = shape, sweep, shape.curvatures
        super().__init__(
            {
                "start": In(1),
                "busy": Out(1),
                # A row of :meth:`packed` curvatures is there in the cycle after its step.
                "step": Out(range(shape.knots)),
                "row": In(len(self.items) * sweep.width),
                # The memory of the sweep.
                "write_enable": Out(len(sweep.columns)),
                "write_row": Out(range(sweep.rows)),
                "write_data": Out(signed(sweep.width)),
            }
        )

    def packed(self, curvatures: Any) -> Any:
        """Return a row in which all of the packed ``curvatures`` have the same width."""
        values = split_words([each.word for each in self.items], curvatures).values()
        return Cat(Cat(value, Const(0, self.sweep.width - len(value))) for value in values)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        turn, row = Signal(range(len(self.items))), Signal.like(self.row, name="kept")
        last = turn == len(self.items) - 1
        m.d.comb += self.write_data.eq(row[: self.sweep.width].as_signed())
        with m.FSM(name="control"):
            with m.State("IDLE"):
                m.d.sync += [self.step.eq(0), turn.eq(0)]
                with m.If(self.start):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.busy.eq(1)
                m.d.sync += row.eq(self.row)
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += self.busy.eq(1)
                m.d.sync += [row.eq(row >> self.sweep.width), turn.eq(turn + 1)]
                self._write(m, turn)
                with m.If(last):
                    m.d.sync += [turn.eq(0), self.step.eq(self.step + 1)]
                    m.next = "NEXT"
                    with m.If(self.step == self.shape.knots - 1):
                        m.next = "IDLE"
            with m.State("NEXT"):
                m.d.comb += self.busy.eq(1)
                m.next = "READ"
        return m

    def _write(self, m: Module, turn: Any) -> None:
        """Write the curvature at the turn; one that the sweep does not read has no place."""
        sweep, stride = self.sweep, self.sweep.between * self.sweep.rows_of_knot
        rows, enables = [], []
        for each in self.items:
            row, column = sweep.places.get(each.number, (0, None))
            rows.append(row - stride * each.of_next_knot)
            enables.append(0 if column is None else 1 << column)
        base = (self.shape.knots - self.step) * stride
        offsets = Array(Const(row, signed(row.bit_length() + 1)) for row in rows)
        m.d.comb += [
            self.write_enable.eq(Array(map(Const, enables))[turn]),
            self.write_row.eq(base + offsets[turn]),
        ]
