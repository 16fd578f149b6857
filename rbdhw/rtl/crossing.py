"""Crossings between two unrelated clocks: a queue of beats, and the reset that clears both of its ends.

``docs/interface.md`` says how to constrain them.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

SYNCHRONISER = {"ASYNC_REG": "TRUE"}
"""The attribute by which vendors' tools know the registers of a synchroniser, and place them together."""

STAGES = 2
"""The registers of a synchroniser."""

DEPTH = 16
"""The elements of a queue, more than arrive before it is known on the other side that one was taken."""

STREAM, CORE = "stream", "core"
"""The clock domains of both ends of a queue. That of the streams is in reset while the cores are."""

RESET_CYCLES = 3
"""The cycles for which the domain of the cores is in reset."""


def synchronise(m: Module, value: Any, domain: str, name: str, init: int = 0) -> Any:
    """Return a value, of which at most one bit changes at a time, in another clock domain."""
    for k in range(STAGES):
        held = Signal(len(value), name=f"{name}_{k}", init=init, reset_less=True, attrs=SYNCHRONISER)
        m.d[domain] += held.eq(value)
        value = held
    return value


def reset_across(m: Module, start: Any) -> tuple[Any, Any]:
    """Add a reset of both ends of all queues, after a reset of the domain ``sync`` and on request.

    The domain of the streams is in reset from beginning to end, that of the cores in between. A bit is
    inverted when the pointers of the streams are zero, and follows them to the cores. It comes back behind
    the pointers of the cores. So neither end leaves the reset before it has seen the other's zeros.

    Returns
    -------
    resetting, core_reset
        Whether the reset has not ended, in the domain ``sync``, and the reset of the domain of the cores.
    """
    fresh = Signal(init=1)
    cleared = Signal()
    turn = Signal(reset_less=True)
    core_reset = Signal(init=1, reset_less=True)
    resetting = Signal()
    asked = synchronise(m, turn, CORE, "asked")
    done = asked
    for k in range(RESET_CYCLES):
        held = Signal(name=f"done_{k}", reset_less=True)
        m.d[CORE] += held.eq(done)
        done = held
    answered = synchronise(m, done, "sync", "answered")
    m.d.comb += resetting.eq(fresh | cleared | (turn != answered))
    m.d[CORE] += core_reset.eq(asked != done)
    m.d.sync += [
        fresh.eq(0),
        cleared.eq((start | fresh) & ~cleared & (turn == answered)),
        turn.eq(turn ^ cleared),
    ]
    return resetting, core_reset


class AsyncQueue(wiring.Component):
    """A queue whose two ends belong to different clocks. Its pointers cross in Gray code.

    Both domains are reset together (:func:`reset_across`).

    ``i.ready`` depends on registers only, and ``o`` consists of registers.
    """

    def __init__(self, *, layout: data.StructLayout, i_domain: str, o_domain: str) -> None:
        self.layout = layout
        self.i_domain = i_domain
        self.o_domain = o_domain
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.layout, depth=DEPTH, init=[])
        write, read = memory.write_port(domain=self.i_domain), memory.read_port(domain="comb")
        bits = DEPTH.bit_length()
        written = Signal(bits)
        written_gray = Signal(bits)
        taken = Signal(bits)
        taken_gray = Signal(bits)
        beat = Signal(self.layout, reset_less=True)
        moving = Signal()
        seen_taken = synchronise(m, taken_gray, self.i_domain, "seen_taken")
        seen_written = synchronise(m, written_gray, self.o_domain, "seen_written")
        m.d.comb += [
            # Full: the pointers differ by the depth, which in Gray code are the two highest bits.
            self.i.ready.eq(written_gray != seen_taken ^ Const(3 << bits - 2, bits)),
            write.addr.eq(written),
            write.data.eq(self.i.p),
            write.en.eq(self.i.valid & self.i.ready),
            read.addr.eq(taken),
            self.o.p.eq(beat),
            moving.eq((~self.o.valid | self.o.ready) & (taken_gray != seen_written)),
        ]
        _advance(m, self.i_domain, written, written_gray, write.en)
        _advance(m, self.o_domain, taken, taken_gray, moving)
        with m.If(self.o.ready):
            m.d[self.o_domain] += self.o.valid.eq(0)
        with m.If(moving):
            m.d[self.o_domain] += [self.o.valid.eq(1), beat.eq(read.data)]
        return m


def _advance(m: Module, domain: str, pointer: Any, gray: Any, moves: Any) -> None:
    """Advance a pointer and its Gray code."""
    following = (pointer + 1)[: len(pointer)]
    with m.If(moves):
        m.d[domain] += [pointer.eq(following), gray.eq(following ^ following[1:])]
