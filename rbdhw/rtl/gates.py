"""The gates between the streams of ``accelerator_axi`` and its accelerator, where packets are counted.

A soft reset may come within a packet. The rest of a request that it cuts is dropped. An answer that it cuts
is made longer than any answer is, so that it cannot be taken for a good one.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.header import HEADER
from rbdhw.model.interface import Interface
from rbdhw.protocol import CODES, ROLLOUT
from rbdhw.rtl.layouts import REQUEST_HEADER, beat_layout, code_in

STATUS_BITS = 4
"""The bits of an answer's status that are counted."""


class RequestGate(wiring.Component):
    """Lets whole requests through while it is enabled, without a cycle of latency.

    ``i.ready`` depends on ``o.ready`` and on registers, and not on the beat.
    """

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        layout = beat_layout(interface.data_width)
        super().__init__(
            {
                "i": In(stream.Signature(layout)),
                "o": Out(stream.Signature(layout)),
                # Whether a request may begin.
                "enable": In(1),
                # High in the cycle before a soft reset of what is behind the gate, and in any reset of it.
                "restart": In(1),
                "resetting": In(1),
                # Whether the rest of a request that was cut is dropped.
                "dropping": Out(1),
                # Whether a beat is let through, and whether it is the last of its request.
                "taken": Out(1),
                "entered": Out(1),
                # Whether the request is a rollout.
                "rollout": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        inside = Signal()
        after = Signal()
        is_open = Signal()
        moves = self.i.valid & self.i.ready
        m.d.comb += [
            is_open.eq((inside | self.enable) & ~self.resetting & ~self.dropping),
            self.i.ready.eq(is_open & self.o.ready | self.dropping),
            self.o.valid.eq(self.i.valid & is_open),
            self.o.p.eq(self.i.p),
            self.taken.eq(moves & is_open),
            self.entered.eq(moves & is_open & self.i.p.last),
            after.eq(Mux(moves, ~self.i.p.last, inside)),
        ]
        m.d.sync += [inside.eq(after), self.dropping.eq((self.restart | self.dropping) & after)]
        if ROLLOUT in self.interface.codes:
            began = Signal()
            m.d.comb += self.rollout.eq(Mux(inside, began, _is_rollout(self.i.p)))
            with m.If(moves):
                m.d.sync += began.eq(self.rollout)
        return m


class AnswerGate(wiring.Component):
    """Holds answers in a register, so that a beat at the port stays; completes those that a reset cuts.

    All signals of ``o`` are registers.
    """

    latency = 1
    """Cycles from a beat to the same beat at the port."""

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        layout = beat_layout(interface.data_width)
        super().__init__(
            {
                "i": In(stream.Signature(layout)),
                "o": Out(stream.Signature(layout)),
                # High in the cycle before a soft reset of what is before the gate, and in any reset of it.
                "restart": In(1),
                "resetting": In(1),
                # Whether the last beat of a whole answer leaves, or waits to leave.
                "left": Out(1),
                "waits": Out(1),
                # That answer's status, and whether it is that of a rollout.
                "status": Out(STATUS_BITS),
                "rollout": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beat = Signal(self.o.p.shape(), reset_less=True)
        longest = max(self.interface.response_beats(f, x) for f, x in self.interface.modes())
        index = Signal(range(longest + 1))
        moving = ~self.o.valid | self.o.ready
        padding = Signal()
        cut = Signal()
        inside = Signal()
        loads = moving & (padding | self.i.valid & ~self.resetting)
        last = Mux(padding, index == longest, self.i.p.last)
        m.d.comb += [self.o.p.eq(beat), self.i.ready.eq(moving & ~padding & ~self.resetting)]
        with m.If(moving):
            m.d.sync += self.o.valid.eq(loads)
        with m.If(loads):
            m.d.sync += [beat.last.eq(last), cut.eq(padding), index.eq(Mux(last, 0, index + 1))]
        with m.If(self.i.ready):
            m.d.sync += beat.data.eq(self.i.p.data)
        m.d.comb += inside.eq(Mux(loads, ~last, index != 0))
        m.d.sync += padding.eq((self.restart | padding) & inside)
        self._add_record(m, cut)
        return m

    def _add_record(self, m: Module, cut: Any) -> None:
        """Say of each answer that leaves what its header said."""
        leaving = Signal()
        began = Signal(STATUS_BITS)
        first, width = HEADER["status"]
        status = self.o.p.data[first : first + width][:STATUS_BITS]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [leaving.eq(~self.o.p.last), began.eq(self.status)]
        m.d.comb += [
            self.left.eq(self.o.valid & self.o.ready & self.o.p.last & ~cut),
            self.waits.eq(self.o.valid & ~self.o.ready & self.o.p.last & ~cut),
            self.status.eq(Mux(leaving, began, status)),
        ]
        if ROLLOUT in self.interface.codes:
            rollout = Signal()
            m.d.comb += self.rollout.eq(Mux(leaving, rollout, _is_rollout(self.o.p)))
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += rollout.eq(self.rollout)


def _is_rollout(beat: Any) -> Any:
    """Return whether the packet that begins with a beat is that of a rollout."""
    header = data.View(REQUEST_HEADER, beat.data[: REQUEST_HEADER.size])
    return code_in(header) == CODES[ROLLOUT]
