"""Register accesses among the packets of a link that has no bus, the board's side.

:mod:`rbdhw.boards.serial_link` defines the packets and is the model of the component here.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from rbdhw.boards.framing import BEAT
from rbdhw.boards.serial_link import CODE_BITS, CODE_MASK, MALFORMED, WRITE
from rbdhw.rtl.registers import AXI4_LITE

_MASTER = {port: member.flip() for port, member in AXI4_LITE.items()}


class RegisterBridge(Component):
    """Takes register accesses out of the requests, performs them, and puts their answers among the others.

    All other packets pass in the cycle in which they come. An access holds the requests behind it up, but no
    answer.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(BEAT)),
                "o": Out(stream.Signature(BEAT)),
                "requests": Out(stream.Signature(BEAT)),
                "answers": In(stream.Signature(BEAT)),
                **_MASTER,
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        self._header = Signal(32)
        self._address = Signal(32)
        self._word = Signal(32)
        self._malformed = Signal()
        self._answered = Signal()
        self._answering = Signal()
        m.d.comb += [
            self.s_axi_araddr.eq(self._address),
            self.s_axi_awaddr.eq(self._address),
            self.s_axi_wdata.eq(self._word),
            self.s_axi_wstrb.eq(15),
            self.requests.p.eq(self.i.p),
        ]
        self._add_answers(m)
        with m.FSM():
            self._add_request(m)
            self._add_access(m)
        return m

    def _add_request(self, m: Module) -> None:
        """Pass packets on, or take the beats of an access."""
        inside = Signal()
        is_access = ~inside & (self.i.p.data & CODE_MASK == CODE_BITS)
        last = self.i.p.last
        with m.State("packets"):
            m.d.comb += [
                self.requests.valid.eq(self.i.valid & ~is_access),
                self.i.ready.eq(is_access | self.requests.ready),
            ]
            with m.If(self.i.valid & self.i.ready & ~is_access):
                m.d.sync += inside.eq(~last)
            with m.If(self.i.valid & is_access):
                m.d.sync += [self._header.eq(self.i.p.data), self._malformed.eq(last)]
                m.next = "address"
                with m.If(last):
                    m.next = "answer"
        with m.State("address"):
            m.d.comb += self.i.ready.eq(1)
            with m.If(self.i.valid):
                m.d.sync += [self._address.eq(self.i.p.data), self._malformed.eq(last == self._header[WRITE])]
                with m.If(last):
                    m.next = "read"
                    with m.If(self._header[WRITE]):
                        m.next = "answer"
                with m.Else():
                    m.next = "word"
        with m.State("word"):
            m.d.comb += self.i.ready.eq(1)
            with m.If(self.i.valid):
                m.d.sync += [self._word.eq(self.i.p.data), self._malformed.eq(self._malformed | ~last)]
                with m.If(last):
                    m.next = "write"
                    with m.If(self._malformed):
                        m.next = "answer"

    def _add_access(self, m: Module) -> None:
        """Read or write the register, and wait for the answer to be sent."""
        done = Signal(2)
        with m.State("read"):
            m.d.comb += [self.s_axi_arvalid.eq(~done[0]), self.s_axi_rready.eq(1)]
            with m.If(self.s_axi_arvalid & self.s_axi_arready):
                m.d.sync += done[0].eq(1)
            with m.If(self.s_axi_rvalid):
                m.d.sync += [self._word.eq(self.s_axi_rdata), done.eq(0)]
                m.next = "answer"
        with m.State("write"):
            m.d.comb += [
                self.s_axi_awvalid.eq(~done[0]),
                self.s_axi_wvalid.eq(~done[1]),
                self.s_axi_bready.eq(1),
            ]
            with m.If(self.s_axi_awvalid & self.s_axi_awready):
                m.d.sync += done[0].eq(1)
            with m.If(self.s_axi_wvalid & self.s_axi_wready):
                m.d.sync += done[1].eq(1)
            with m.If(self.s_axi_bvalid):
                m.d.sync += done.eq(0)
                m.next = "answer"
        with m.State("answer"):
            m.d.comb += self._answering.eq(1)
            with m.If(self._answered):
                m.next = "packets"

    def _add_answers(self, m: Module) -> None:
        """Send answers whole, one after the other: those of the accelerator, and those to accesses."""
        others = Signal()
        second = Signal()
        replying = self._answering & ~others
        header = self._header | self._malformed << MALFORMED
        word = Mux(self._malformed, 0, self._word)
        moves = self.o.valid & self.o.ready
        m.d.comb += [
            self.o.valid.eq(replying | self.answers.valid),
            self.answers.ready.eq(~replying & self.o.ready),
            self.o.p.eq(self.answers.p),
            self._answered.eq(replying & second & moves),
        ]
        with m.If(replying):
            m.d.comb += [self.o.p.data.eq(Mux(second, word, header)), self.o.p.last.eq(second)]
            m.d.sync += second.eq(second ^ moves)
        with m.Else():
            # An answer that was offered is not exchanged for another.
            m.d.sync += others.eq(self.o.valid & ~(moves & self.o.p.last) | others & ~self.o.valid)
