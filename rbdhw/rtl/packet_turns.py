"""Packets take turns: they go to several outputs in turn, and come from several inputs in the same order."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.layouts import beat_layout


class Distributor(wiring.Component):
    """Gives packet k to output k modulo ``copies``."""

    def __init__(self, *, layout: Any, copies: int) -> None:
        self.copies = copies
        super().__init__(
            {"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout)).array(copies)}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        turn = _turn(m, self.copies, self.i)
        for k in range(self.copies):
            m.d.comb += [self.o[k].p.eq(self.i.p), self.o[k].valid.eq(self.i.valid & turn[k])]
            with m.If(turn[k]):
                m.d.comb += self.i.ready.eq(self.o[k].ready)
        return m


class Collector(wiring.Component):
    """Takes packet k from input k modulo ``copies``; its output is registered."""

    latency = 1
    """Cycles from a beat to the same beat at the output."""

    def __init__(self, *, bits: int, copies: int) -> None:
        self.bits = bits
        self.copies = copies
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(bits))).array(copies),
                "o": Out(stream.Signature(beat_layout(bits))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        taken = stream.Signature(beat_layout(self.bits)).create()
        turn = _turn(m, self.copies, taken)
        beat = Signal(beat_layout(self.bits), reset_less=True)
        m.d.comb += [taken.ready.eq(~self.o.valid | self.o.ready), self.o.p.eq(beat)]
        for k in range(self.copies):
            m.d.comb += self.i[k].ready.eq(taken.ready & turn[k])
            with m.If(turn[k]):
                m.d.comb += [taken.p.eq(self.i[k].p), taken.valid.eq(self.i[k].valid)]
        with m.If(taken.ready):
            m.d.sync += [self.o.valid.eq(taken.valid), beat.eq(taken.p)]
        return m


def _turn(m: Module, copies: int, packets: Any) -> Signal:
    """Return, one-hot, whose turn it is; it passes on with the last beat of each packet."""
    turn = Signal(copies, name="turn", init=1)
    with m.If(packets.valid & packets.ready & packets.p.last):
        m.d.sync += turn.eq(turn.rotate_left(1))
    return turn
