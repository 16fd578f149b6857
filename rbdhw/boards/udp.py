"""The shell between an accelerator and Ethernet: the frames of a serial line, in UDP datagrams.

A datagram holds bytes of the line that :mod:`rbdhw.boards.serial_link` describes, best a whole frame: what
breaks a datagram also breaks the check of its frame. Each answer is a datagram, or several if it is longer
than one, to the host from which the last request came.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import Component, In, Out, connect

from rbdhw.boards.framing import DEPTH, Deframer, Framer
from rbdhw.boards.serial_link import END
from rbdhw.boards.udp_core import MODULE

LONGEST = 1472
"""The most bytes of a datagram in a frame of Ethernet."""

WAITING = 16
"""The datagrams that can wait to be sent."""

_BYTE = data.StructLayout({"data": 8, "last": 1})


class Datagrams(Component):
    """Collects the bytes of frames, until their length is known.

    Members
    -------
    i : In(stream.Signature(8))
        The bytes of frames, each between two ENDs.
    o : Out(stream.Signature(StructLayout))
        The bytes of datagrams; ``last`` marks the last one.
    length : Out(16)
        The length of the datagram at ``o``.
    """

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(_BYTE)), "length": Out(16)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        m.submodules.bytes = held = SyncFIFOBuffered(width=_BYTE.size, depth=2048)
        m.submodules.lengths = lengths = SyncFIFOBuffered(width=16, depth=WAITING)
        count = Signal(16)  # of the bytes before this one
        ends = Signal()
        m.d.comb += [
            ends.eq((self.i.payload == END) & (count != 0) | (count == LONGEST - 1)),
            self.i.ready.eq(held.w_rdy & lengths.w_rdy),
            held.w_data.eq(Cat(self.i.payload, ends)),
            held.w_en.eq(self.i.valid & self.i.ready),
            lengths.w_data.eq(count + 1),
            lengths.w_en.eq(held.w_en & ends),
            self.o.payload.eq(held.r_data),
            self.o.valid.eq(held.r_rdy & lengths.r_rdy),
            self.length.eq(lengths.r_data),
            held.r_en.eq(self.o.valid & self.o.ready),
            lengths.r_en.eq(held.r_en & self.o.payload.last),
        ]
        with m.If(held.w_en):
            m.d.sync += count.eq(count + 1)
            with m.If(ends):
                m.d.sync += count.eq(0)
        return m


class UdpShell(Component):
    """An accelerator behind LiteEth (:mod:`rbdhw.boards.udp_core`).

    Parameters
    ----------
    accelerator : Component
        A component with the members of :class:`~rbdhw.boards.shell.AcceleratorInstance`.
    depth : int
        Beats of requests that can wait for the accelerator, a power of two; also the longest request.

    Members
    -------
    mii_rx_clk, ..., mii_tx_data
        The pins of the MII.
    discarded : Out(1)
        High for one cycle when a frame is dropped.
    """

    def __init__(self, accelerator: Component, *, depth: int = DEPTH) -> None:
        self.accelerator = accelerator
        self.deframer = Deframer(depth=depth)
        self.framer = Framer()
        self.datagrams = Datagrams()
        super().__init__(
            {
                "mii_rx_clk": In(1),
                "mii_rx_dv": In(1),
                "mii_rx_data": In(4),
                "mii_tx_clk": In(1),
                "mii_tx_en": Out(1),
                "mii_tx_data": Out(4),
                "discarded": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.submodules.deframer = self.deframer
        m.submodules.core = self.accelerator
        m.submodules.framer = self.framer
        m.submodules.datagrams = datagrams = self.datagrams
        connect(m, self.deframer.o, self.accelerator.i)
        connect(m, self.accelerator.o, self.framer.i)
        connect(m, self.framer.o, datagrams.i)
        address, port = Signal(32), Signal(16)
        host_address, host_port = Signal(32), Signal(16)
        with m.If(self.deframer.i.valid):
            m.d.sync += [host_address.eq(address), host_port.eq(port)]
        m.d.comb += self.discarded.eq(self.deframer.discarded)
        m.submodules.udp = Instance(
            MODULE,
            i_udp_clk=ClockSignal(),
            i_mii_rx_clk=self.mii_rx_clk,
            i_mii_rx_dv=self.mii_rx_dv,
            i_mii_rx_data=self.mii_rx_data,
            i_mii_tx_clk=self.mii_tx_clk,
            o_mii_tx_en=self.mii_tx_en,
            o_mii_tx_data=self.mii_tx_data,
            o_udp_rx_valid=self.deframer.i.valid,
            o_udp_rx_data=self.deframer.i.payload,
            o_udp_rx_ip=address,
            o_udp_rx_port=port,
            i_udp_tx_valid=datagrams.o.valid,
            o_udp_tx_ready=datagrams.o.ready,
            i_udp_tx_data=datagrams.o.payload.data,
            i_udp_tx_last=datagrams.o.payload.last,
            i_udp_tx_length=datagrams.length,
            i_udp_tx_ip=host_address,
            i_udp_tx_port=host_port,
        )
        return m
