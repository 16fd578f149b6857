"""A register slice that adds no latency."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells


class SkidBuffer(wiring.Component):
    """Ends the combinational path of ``ready``: what comes while the output waits is kept.

    A beat passes in the cycle in which it comes, unless one waits.
    ``i.ready`` is a register, which is 0 in reset.
    """

    def __init__(self, *, layout: data.StructLayout) -> None:
        self.layout = layout
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        kept = Signal(self.layout, reset_less=True)
        full = Signal()
        waits = self.o.valid & ~self.o.ready
        m.d.comb += [
            self.o.valid.eq(full | self.i.valid & self.i.ready),
            self.o.p.eq(Mux(full, kept, self.i.p)),
        ]
        m.d.sync += [full.eq(waits), self.i.ready.eq(~waits)]
        with m.If(self.i.ready):
            m.d.sync += kept.eq(self.i.p)
        return m


def skid_buffer_cells(bits: int) -> Cells:
    """Return the register of a beat of so many bits, and the choice between it and the input."""
    return Cells(luts=bits + 2, flip_flops=bits + 2)
