"""The shell between an accelerator and a board: its streams on a serial port, and the top module."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Instance, Module, ResetSignal, Signal
from amaranth.lib import io, stream
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from rbdhw.boards.framing import BEAT, BEAT_BITS, DEPTH, Deframer, Framer
from rbdhw.boards.register_bridge import RegisterBridge
from rbdhw.boards.uart import UartReceiver, UartTransmitter
from rbdhw.rtl.registers import AXI4_LITE
from rbdhw.verilog_names import DEFAULT_NAME

TDATA = BEAT_BITS
"""The stream width that a board needs."""


class AcceleratorInstance(Component):
    """The generated block ``accelerator_axi`` in the domain ``sync``, its registers among the packets."""

    def __init__(self, name: str = DEFAULT_NAME) -> None:
        self.name = name
        """The module of the accelerator in it."""
        super().__init__({"i": In(stream.Signature(BEAT)), "o": Out(stream.Signature(BEAT))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        m.submodules.bridge = bridge = RegisterBridge()
        connect(m, flipped(self.i), bridge.i)
        connect(m, bridge.o, flipped(self.o))
        ways = {In: "i", Out: "o"}
        registers = {
            f"{ways[member.flow]}_{port}": getattr(bridge, port) for port, member in AXI4_LITE.items()
        }
        m.submodules.accelerator = Instance(
            f"{self.name}_axi",
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_s_axis_tdata=bridge.requests.payload.data,
            i_s_axis_tvalid=bridge.requests.valid,
            o_s_axis_tready=bridge.requests.ready,
            i_s_axis_tlast=bridge.requests.payload.last,
            o_m_axis_tdata=bridge.answers.payload.data,
            o_m_axis_tvalid=bridge.answers.valid,
            i_m_axis_tready=bridge.answers.ready,
            o_m_axis_tlast=bridge.answers.payload.last,
            **registers,
        )
        return m


class UartShell(Component):
    """An accelerator on a serial line, with the frames of :mod:`rbdhw.boards.serial_link`.

    Parameters
    ----------
    accelerator : Component
        A component with the members of :class:`AcceleratorInstance`.
    divisor : int
        Cycles per bit (:func:`~rbdhw.boards.uart.bit_cycles`).
    depth : int
        Beats of requests that can wait for the accelerator, a power of two; also the longest request.

    Members
    -------
    rx : In(1)
        The line from the host.
    tx : Out(1)
        The line to the host.
    discarded : Out(1)
        High for one cycle when a frame is dropped.
    """

    def __init__(self, accelerator: Component, *, divisor: int, depth: int = DEPTH) -> None:
        self.accelerator = accelerator
        self.receiver = UartReceiver(divisor=divisor)
        self.deframer = Deframer(depth=depth)
        self.framer = Framer()
        self.transmitter = UartTransmitter(divisor=divisor)
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "discarded": Out(1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.submodules.receiver = self.receiver
        m.submodules.deframer = self.deframer
        m.submodules.core = self.accelerator
        m.submodules.framer = self.framer
        m.submodules.transmitter = self.transmitter
        connect(m, self.receiver.o, self.deframer.i)
        connect(m, self.deframer.o, self.accelerator.i)
        connect(m, self.accelerator.o, self.framer.i)
        connect(m, self.framer.o, self.transmitter.i)
        m.d.comb += [
            self.receiver.rx.eq(self.rx),
            self.tx.eq(self.transmitter.tx),
            self.discarded.eq(self.deframer.discarded),
        ]
        return m


class BoardTop(Elaboratable):
    """The top module of a board: its clock, and the shell on its ``uart``.

    ``led`` 0 lights after a dropped frame, until reset.

    Parameters
    ----------
    clock : Elaboratable
        Drives the clock and the reset of the domain ``sync``.
    divisor : int
        Clock cycles per bit on the line.
    name : str
        The module of the accelerator.
    """

    def __init__(self, *, clock: Any, divisor: int, name: str) -> None:
        self.clock = clock
        self.divisor = divisor
        self.name = name

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = ClockDomain("sync")
        m.submodules.clock = self.clock
        m.submodules.shell = shell = UartShell(AcceleratorInstance(self.name), divisor=self.divisor)
        uart = platform.request("uart", dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.submodules.led = led = io.Buffer("o", platform.request("led", 0, dir="-"))
        m.d.comb += [shell.rx.eq(rx.i), tx.o.eq(shell.tx)]
        discarded = Signal()
        with m.If(shell.discarded):
            m.d.sync += discarded.eq(1)
        m.d.comb += led.o.eq(discarded)
        return m
