"""The places of knots in the memory of a sweep, one step after the other, from the last one back."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal

from rbdhw.cores.sweep.array import SweepArray


class KnotRows:
    """Says where the numbers of a step's knot begin, and those of the knot behind it.

    Steps of several problems take turns. A step ``begins`` a block if the knot behind it is in another one.
    """

    def __init__(self, m: Module, sweep: SweepArray) -> None:
        self._m, self._sweep, self._stride = m, sweep, sweep.between * sweep.rows_of_knot
        self.row = Signal(range(sweep.rows), name="row_of_knot")
        self._position = Signal(range(sweep.length), name="position_in_block")
        self._next_block = Signal(range(sweep.rows), name="row_of_next_block")
        self.begins = self._position == 0

    def reset(self) -> None:
        """Begin with the last step."""
        sweep = self._sweep
        row = sweep.row(sweep.sweeps.links - 2, 0)
        self._m.d.sync += [self.row.eq(row), self._position.eq(1 % sweep.length)]
        self._m.d.sync += self._next_block.eq((1 + (sweep.length == 1)) * sweep.rows_of_knot)

    def advance(self) -> None:
        """Go on to the next step in the order of the sweep."""
        m, rows = self._m, self._sweep.rows_of_knot
        if self._sweep.blocks == 1:
            m.d.sync += self.row.eq(self.row + rows)
            return
        m.d.sync += [self.row.eq(self.row + self._stride), self._position.eq(self._position + 1)]
        with m.If(self._position == self._sweep.length - 1):
            m.d.sync += [self.row.eq(self._next_block), self._position.eq(0)]
            m.d.sync += self._next_block.eq(self._next_block + rows)

    def behind(self, row: Any, begins: Any) -> Any:
        """Return the row of the knot behind a step, from that of the step's knot."""
        if self._sweep.blocks == 1:
            return row - self._stride
        last = (self._sweep.length - 1) * self._stride - self._sweep.rows_of_knot
        return row + Mux(begins, last, -self._stride)
