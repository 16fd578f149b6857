"""Packets over a serial line, the board's side: conversion between bytes of frames and beats of packets.

:mod:`rbdhw.boards.serial_link` defines the frames and is the model of both components here.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.crc.catalog import CRC16_IBM_3740
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rbdhw.boards.serial_link import BEAT_BYTES, CRC_BYTES, END, ESCAPE, ESCAPED_END, ESCAPED_ESCAPE

BEAT_BITS = 8 * BEAT_BYTES

DEPTH = 1024
"""Beats of requests that can wait for the accelerator; also the longest request."""

BEAT = data.StructLayout({"data": BEAT_BITS, "last": 1})
"""A beat of an AXI4-Stream: TDATA and TLAST."""


class Deframer(Component):
    """Decodes the bytes of a line to the beats of valid packets; an invalid frame is dropped as a whole.

    A packet is offered only after its last byte has arrived and its CRC is correct. Raises ValueError if
    ``depth`` is not a power of two, or below 2.

    Parameters
    ----------
    depth : int
        Beats of the buffer, a power of two. A packet larger than the free space is dropped.

    Members
    -------
    i : In(stream.Signature(8, always_ready=True))
        Bytes.
    o : Out(stream.Signature(BEAT))
        Beats; ``last`` marks the last beat of a packet.
    discarded : Out(1)
        High for one cycle when a frame is dropped.
    """

    def __init__(self, *, depth: int = DEPTH) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth: is {depth}; expected a power of two, 2 or more")
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(8, always_ready=True)),
                "o": Out(stream.Signature(BEAT)),
                "discarded": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        m.submodules.unstuff = unstuff = _Unstuff()
        m.submodules.assemble = assemble = _Assemble()
        m.submodules.buffer = buffer = _PacketBuffer(self.depth)
        m.d.comb += [
            unstuff.byte.eq(self.i.payload),
            unstuff.valid.eq(self.i.valid),
            assemble.byte.eq(unstuff.plain),
            assemble.valid.eq(unstuff.plain_valid),
            assemble.end.eq(unstuff.end),
            buffer.beat.eq(assemble.beat),
            buffer.write.eq(assemble.write | (unstuff.end & assemble.whole & ~unstuff.broken)),
            buffer.keep.eq(unstuff.end & assemble.whole & ~unstuff.broken),
            buffer.drop.eq(unstuff.end & ~(assemble.whole & ~unstuff.broken)),
            self.discarded.eq(unstuff.end & ~buffer.kept & ~(assemble.empty & ~unstuff.broken)),
        ]
        m.d.comb += [
            self.o.payload.eq(buffer.o.payload),
            self.o.valid.eq(buffer.o.valid),
            buffer.o.ready.eq(self.o.ready),
        ]
        return m


class _Unstuff(Component):
    """Removes the escapes of a frame, combinationally. ``broken`` is valid with ``end``."""

    def __init__(self) -> None:
        super().__init__(
            {
                "byte": In(8),
                "valid": In(1),
                "plain": Out(8),
                "plain_valid": Out(1),
                "end": Out(1),
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        escaped = Signal()
        wrong = Signal()
        m.d.comb += [self.plain.eq(self.byte), self.broken.eq(wrong | escaped)]
        with m.If(self.valid & (self.byte == END)):
            m.d.comb += self.end.eq(1)
            m.d.sync += [escaped.eq(0), wrong.eq(0)]
        with m.Elif(self.valid & escaped):
            m.d.comb += self.plain_valid.eq(1)
            m.d.sync += escaped.eq(0)
            with m.Switch(self.byte):
                with m.Case(ESCAPED_END):
                    m.d.comb += self.plain.eq(END)
                with m.Case(ESCAPED_ESCAPE):
                    m.d.comb += self.plain.eq(ESCAPE)
                with m.Default():
                    m.d.sync += wrong.eq(1)
        with m.Elif(self.valid & (self.byte == ESCAPE)):
            m.d.sync += escaped.eq(1)
        with m.Elif(self.valid):
            m.d.comb += self.plain_valid.eq(1)
        return m


class _Assemble(Component):
    """Splits the plain bytes of a frame into beats and CRC.

    The last beat is held back until ``end``, which identifies it as the last. With ``end``, ``whole`` states
    that the frame had at least one beat and a correct CRC, and ``empty`` that it had no byte at all.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "byte": In(8),
                "valid": In(1),
                "end": In(1),
                "beat": Out(BEAT),
                "write": Out(1),
                "whole": Out(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.submodules.crc = crc = CRC16_IBM_3740(data_width=8).create()
        m.d.comb += [crc.data.eq(self.byte), crc.valid.eq(self.valid), crc.start.eq(self.end)]

        late = Signal(8 * CRC_BYTES)  # the last two bytes, which may be the CRC
        count = Signal(range(CRC_BYTES + 1))
        shift = Signal(BEAT_BITS)
        position = Signal(range(BEAT_BYTES))
        held = Signal()
        m.d.comb += [
            self.beat.data.eq(shift),
            self.beat.last.eq(self.end),
            self.write.eq(self.valid & held & (count == CRC_BYTES)),
            self.whole.eq(held & crc.match_detected),
            self.empty.eq(count == 0),
        ]
        with m.If(self.end):
            m.d.sync += [count.eq(0), position.eq(0), held.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += late.eq(Cat(late[8:], self.byte))
            with m.If(count != CRC_BYTES):
                m.d.sync += count.eq(count + 1)
            with m.Else():
                m.d.sync += [
                    shift.eq(Cat(shift[8:], late[:8])),
                    position.eq(position + 1),
                    held.eq(position == BEAT_BYTES - 1),
                ]
        return m


class _PacketBuffer(Component):
    """A queue of beats in which the newest packet can be revoked.

    ``write`` appends a beat. ``keep``, together with the last write, releases the packet for reading;
    ``drop`` revokes it. ``kept`` answers ``keep`` in the same cycle: it is low if the packet did not fit,
    which also revokes it.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        super().__init__(
            {
                "beat": In(BEAT),
                "write": In(1),
                "keep": In(1),
                "drop": In(1),
                "kept": Out(1),
                "o": Out(stream.Signature(BEAT)),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.submodules.memory = memory = Memory(shape=BEAT, depth=self.depth, init=[])
        write_port = memory.write_port()
        read_port = memory.read_port()
        # One bit more than an address, to distinguish full from empty.
        written = Signal(range(2 * self.depth))
        kept = Signal(range(2 * self.depth))
        read = Signal(range(2 * self.depth))
        start = Signal.like(kept)  # of the packet after this one
        overrun = Signal()
        fits = Signal()
        m.d.comb += [
            fits.eq(~overrun & ((written ^ read) != self.depth)),
            self.kept.eq(self.keep & fits),
            write_port.addr.eq(written),
            write_port.data.eq(self.beat),
            write_port.en.eq(self.write & fits),
        ]
        with m.If(self.keep | self.drop):
            m.d.comb += start.eq(Mux(self.kept, written + 1, kept))
            m.d.sync += [written.eq(start), kept.eq(start), overrun.eq(0)]
        with m.Elif(self.write):
            m.d.sync += [written.eq(written + fits), overrun.eq(~fits)]

        # The memory's output is slow, so a register follows it.
        fetched = Signal()
        moves = Signal()
        m.d.comb += [
            moves.eq(self.o.ready | ~self.o.valid),
            read_port.addr.eq(read),
            read_port.en.eq((read != kept) & (moves | ~fetched)),
        ]
        with m.If(moves):
            m.d.sync += [self.o.payload.eq(read_port.data), self.o.valid.eq(fetched), fetched.eq(0)]
        with m.If(read_port.en):
            m.d.sync += [read.eq(read + 1), fetched.eq(1)]
        return m


class Framer(Component):
    """Encodes packets: from beats to the bytes of frames, each END, beats, CRC, END.

    Members
    -------
    i : In(stream.Signature(BEAT))
        Beats; ``last`` marks the last beat of a packet.
    o : Out(stream.Signature(8))
        Bytes.
    """

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(BEAT)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.submodules.stuff = stuff = _Stuff()
        m.submodules.crc = crc = CRC16_IBM_3740(data_width=8).create()
        m.d.comb += [
            self.o.payload.eq(stuff.o.payload),
            self.o.valid.eq(stuff.o.valid),
            stuff.o.ready.eq(self.o.ready),
            crc.data.eq(stuff.byte),
        ]
        position = Signal(range(BEAT_BYTES))
        with m.FSM():
            with m.State("begin"):
                m.d.comb += [
                    stuff.byte.eq(END),
                    stuff.mark.eq(1),
                    stuff.valid.eq(self.i.valid),
                    crc.start.eq(1),
                ]
                with m.If(stuff.taken):
                    m.next = "beats"
            with m.State("beats"):
                m.d.comb += [
                    stuff.byte.eq(self.i.payload.data.word_select(position, 8)),
                    stuff.valid.eq(self.i.valid),
                    crc.valid.eq(stuff.taken),
                    self.i.ready.eq(stuff.taken & (position == BEAT_BYTES - 1)),
                ]
                with m.If(stuff.taken):
                    m.d.sync += position.eq(position + 1)
                with m.If(self.i.ready & self.i.payload.last):
                    m.next = "crc high"
            for state, byte, successor in (
                ("crc high", crc.crc[8:], "crc low"),
                ("crc low", crc.crc[:8], "end"),
                ("end", END, "begin"),
            ):
                with m.State(state):
                    m.d.comb += [stuff.byte.eq(byte), stuff.mark.eq(state == "end"), stuff.valid.eq(1)]
                    with m.If(stuff.taken):
                        m.next = successor
        return m


class _Stuff(Component):
    """Writes a byte, escaped if necessary unless it is a ``mark``; combinational.

    ``taken`` is high in the cycle in which ``byte`` has been written completely.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "byte": In(8),
                "mark": In(1),
                "valid": In(1),
                "taken": Out(1),
                "o": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        special = Signal()
        second = Signal()
        m.d.comb += [
            special.eq(~self.mark & ((self.byte == END) | (self.byte == ESCAPE))),
            self.o.valid.eq(self.valid),
            self.o.payload.eq(self.byte),
            self.taken.eq(self.o.valid & self.o.ready & ~(special & ~second)),
        ]
        with m.If(special & second):
            m.d.comb += self.o.payload.eq(Mux(self.byte == END, ESCAPED_END, ESCAPED_ESCAPE))
        with m.Elif(special):
            m.d.comb += self.o.payload.eq(ESCAPE)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += second.eq(special & ~second)
        return m
