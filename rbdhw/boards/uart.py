"""An asynchronous serial port: eight data bits, least significant first, no parity, one stop bit (8N1)."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Component, In, Out

from rbdhw.errors import InputError, told_apart

BAUD = 921_600
"""Bits per second on every board: the fastest common rate that both boards' USB bridges support."""

MIN_DIVISOR = 8

# With this many, rounding to whole cycles changes a bit's duration by at most 2 %.
FEWEST_CYCLES = 25


def bit_cycles(clock_hz: float, baud: int = BAUD) -> int:
    """Return the clock cycles of one bit at ``baud`` bits per second, accurate to 2 %.

    Raises InputError for a clock that is too slow for this accuracy.
    """
    if clock_hz < FEWEST_CYCLES * baud:
        asked, least = told_apart(clock_hz / 1e6, FEWEST_CYCLES * baud / 1e6)
        reason = f"{asked} MHz is too slow for a serial line of {baud} bits a second"
        raise InputError("clock", reason, f"at least {least} MHz")
    return round(clock_hz / baud)


class UartReceiver(Component):
    """Receives bytes from a serial line; a byte with a low stop bit is dropped.

    Parameters
    ----------
    divisor : int
        Cycles per bit, at least eight (:func:`bit_cycles`); ValueError for fewer.

    Members
    -------
    rx : In(1)
        The line, asynchronous to the clock.
    o : Out(stream.Signature(8, always_ready=True))
        Bytes, each valid for one cycle in the middle of its stop bit.
    """

    def __init__(self, *, divisor: int) -> None:
        if divisor < MIN_DIVISOR:
            raise ValueError(f"divisor: is {divisor}; expected {MIN_DIVISOR} or more")
        self.divisor = divisor
        super().__init__({"rx": In(1, init=1), "o": Out(stream.Signature(8, always_ready=True))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        timer = Signal(range(self.divisor))
        position = Signal(range(10))
        shift = Signal(8)
        m.d.comb += self.o.payload.eq(shift)
        with m.FSM():
            with m.State("idle"):
                m.d.sync += [timer.eq(self.divisor // 2 - 1), position.eq(0)]
                with m.If(~line):
                    m.next = "bits"
            with m.State("bits"):
                m.d.sync += timer.eq(timer - 1)
                with m.If(timer == 0):
                    m.d.sync += [timer.eq(self.divisor - 1), position.eq(position + 1)]
                    with m.If(position == 9):
                        m.d.comb += self.o.valid.eq(line)
                        m.next = "stop"
                    with m.Elif(position != 0):
                        m.d.sync += shift.eq(Cat(shift[1:], line))
                    with m.Elif(line):
                        m.next = "idle"
            with m.State("stop"), m.If(line):
                m.next = "idle"
        return m


class UartTransmitter(Component):
    """Sends bytes on a serial line, which is high when idle.

    Parameters
    ----------
    divisor : int
        Cycles per bit, at least eight (:func:`bit_cycles`); ValueError for fewer.

    Members
    -------
    i : In(stream.Signature(8))
        Bytes; one is accepted while the line is idle, so at most every ten bits.
    tx : Out(1)
        The line.
    """

    def __init__(self, *, divisor: int) -> None:
        if divisor < MIN_DIVISOR:
            raise ValueError(f"divisor: is {divisor}; expected {MIN_DIVISOR} or more")
        self.divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        timer = Signal(range(self.divisor))
        left = Signal(range(11))
        shift = Signal(9, init=0x1FF)
        m.d.comb += self.i.ready.eq((left == 0) & (timer == 0))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Elif(left != 0):
            m.d.sync += [
                self.tx.eq(shift[0]),
                shift.eq(Cat(shift[1:], Const(1))),
                left.eq(left - 1),
                timer.eq(self.divisor - 1),
            ]
        with m.Elif(self.i.valid):
            m.d.sync += [
                self.tx.eq(0),
                shift.eq(Cat(self.i.payload, Const(1))),
                left.eq(9),
                timer.eq(self.divisor - 1),
            ]
        return m
