"""What stands at the ports is proven through soft resets: gates, and queues between two clocks.

Two clocks are modelled as enables of one, which come in any order.
"""

from functools import partial
from itertools import pairwise
from unittest import mock

import pytest
from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    DomainRenamer,
    Elaboratable,
    EnableInserter,
    Fragment,
    Module,
    Mux,
    ResetInserter,
    ResetSignal,
    Signal,
)

from rbdhw.rtl import crossing
from rbdhw.rtl.crossing import CORE, STREAM, AsyncQueue
from rbdhw.rtl.gates import AnswerGate, RequestGate
from rbdhw.rtl.layouts import beat_layout
from tests.support.formal import mutant, reach
from tests.support.ledger import Ledger, assert_kept, assert_moves
from tests.support.marks import long
from tests.support.two_functions import INTERFACE

LONGEST = 2
"""The beats of the longest answer."""


def soft_reset(m, restart):
    """Return the resets that follow a request, as in ``accelerator_axi``: of gates, and of the core."""
    asked, core_reset = Signal(init=1), Signal(init=1)
    m.d.sync += [asked.eq(restart), core_reset.eq(asked)]
    return asked | core_reset, core_reset


class RequestGateHarness(Elaboratable):
    """Requests of any length come at any time; the core takes beats, and is reset, when it likes."""

    def __init__(self, block=RequestGate):
        self.block = block
        names = "valid", "last", "ready", "enable", "ask"
        self.valid, self.last, self.ready, self.enable, self.ask = (Signal(name=name) for name in names)
        self.ports = [self.valid, self.last, self.ready, self.enable, self.ask]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(interface=INTERFACE)
        restart, first, inside = Signal(), Signal(init=1), Signal()
        resetting, core_reset = soft_reset(m, restart)
        taken, passed = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
        m.d.comb += [
            restart.eq(self.ask & ~resetting),
            dut.i.valid.eq(self.valid),
            dut.i.p.last.eq(self.last),
            dut.i.p.data.eq(first),
            dut.o.ready.eq(self.ready),
            dut.enable.eq(self.enable),
            dut.restart.eq(restart),
            dut.resetting.eq(resetting),
        ]
        cut = Signal()
        with m.If(taken):
            m.d.sync += first.eq(self.last)
        with m.If(passed):
            m.d.sync += inside.eq(~self.last)
        with m.If(core_reset):
            m.d.sync += inside.eq(0)
        # The request that a reset finds begun, until its end.
        after = Mux(taken, ~self.last, ~first)
        m.d.sync += cut.eq((restart | cut) & after)
        m.d.comb += [
            Assert(~passed | ~resetting),
            Assert(~passed | (dut.o.p.data == ~inside)),  # whole requests behind every reset
            Assert(~passed | inside | self.enable),
            Assert(~taken | passed | cut),  # nothing but the rest of a request that was cut is lost
            Assert(dut.taken == passed),
            Assert(dut.entered == (passed & self.last)),
            Assert(dut.dropping == cut),
            Assert(dut.i.ready | ~((self.enable | inside) & self.ready) | resetting),
        ]
        return m


class AnswerGateHarness(Elaboratable):
    """Answers of one or two beats come at any time; a reset of the core cuts them."""

    def __init__(self, block=AnswerGate):
        self.block = block
        names = "valid", "long", "ready", "ask", "pick"
        self.valid, self.long, self.ready, self.ask, self.pick = (Signal(name=name) for name in names)
        self.ports = [self.valid, self.long, self.ready, self.ask, self.pick]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(interface=INTERFACE)
        restart, second, mark, kept = Signal(), Signal(), Signal(name="mark"), Signal()
        resetting, core_reset = soft_reset(m, restart)
        taken, last = dut.i.valid & dut.i.ready, second | ~self.long
        moves, sent = dut.o.valid & self.ready, Signal(range(LONGEST + 2))
        ledger = Ledger(m, "answers", 2, mark, taken & last, dut.left)
        m.d.comb += [
            restart.eq(self.ask & ~resetting),
            mark.eq(Mux(second, kept, self.pick & ~ledger.used)),
            dut.i.valid.eq(self.valid & ~core_reset),
            dut.i.p.last.eq(last),
            dut.i.p.data.eq(Cat(mark, second)),
            dut.o.ready.eq(self.ready),
            dut.restart.eq(restart),
            dut.resetting.eq(resetting),
        ]
        with m.If(taken):
            m.d.sync += [second.eq(~last), kept.eq(mark)]
        with m.If(core_reset):
            m.d.sync += second.eq(0)
        with m.If(moves):
            m.d.sync += sent.eq(Mux(dut.o.p.last, 0, sent + 1))
        ends = dut.o.valid & dut.o.p.last
        whole = (dut.o.p.data[0] == ledger.expected) & (dut.o.p.data[1] == (sent == 1)) & (sent < LONGEST)
        m.d.comb += [
            Assert(~(dut.left | dut.waits) | (ends & whole)),
            Assert(dut.left == (ends & self.ready & (sent < LONGEST))),
            Assert(~ends | (sent <= LONGEST)),  # one that was cut is longer than any, by a beat
            Assert(~resetting | ~taken),
            Assert((dut.left | dut.waits) == (ends & (sent < LONGEST))),
        ]
        assert_kept(m, dut.o)
        return m


class _Resets(Elaboratable):
    """The resets of both clocks, in their domains."""

    def __init__(self, start, function):
        self.start, self.function = start, function
        self.resetting, self.core_reset = Signal(name="resetting"), Signal(name="core_reset")

    def elaborate(self, _platform):
        m = Module()
        resetting, core_reset = self.function(m, self.start)
        m.d.comb += [self.resetting.eq(resetting), self.core_reset.eq(core_reset)]
        return m


class CrossingHarness(Elaboratable):
    """Beats enter at one clock and leave at the other. Both ends begin empty, as after every reset."""

    depth = 4

    def __init__(self, block=AsyncQueue):
        self.block = block
        names = "valid", "ready", "pick", "entry", "exit"
        self.valid, self.ready, self.pick, self.entry, self.exit = (Signal(name=name) for name in names)
        self.ports = [self.valid, self.ready, self.pick, self.entry, self.exit]

    def elaborate(self, _platform):
        m = Module()
        m.d.comb += Assume(~ResetSignal())
        queue, inner, registers = open_queue(self.block, (STREAM, CORE), self.depth)
        m.submodules.queue = _on_one_clock(inner, {STREAM: self.entry, CORE: self.exit})
        mark = Signal(name="mark")
        enters = self.entry & queue.i.valid & queue.i.ready
        leaves = self.exit & queue.o.valid & self.ready
        ledger = Ledger(m, "beats", self.depth + 1, mark, enters, leaves)
        m.d.comb += [
            queue.i.valid.eq(self.valid),
            queue.i.p.data.eq(mark),
            queue.o.ready.eq(self.ready),
            mark.eq(self.pick & ~ledger.used),
        ]
        with m.If(leaves):
            m.d.comb += Assert(queue.o.p.data == ledger.expected)
        assert_moves(m, self.ready & ~queue.o.valid & (ledger.inside != 0), 3, self.exit)
        self._assert_order(m, registers, ledger.inside - queue.o.valid)
        return m

    def _assert_order(self, m, registers, kept):
        """What each side has seen of the other's pointer lies behind it, and all lie within the depth."""
        order = [binary(registers[name]) for name in ("seen_taken_1", "seen_taken_0", "taken_gray")]
        order += [binary(registers[name]) for name in ("seen_written_1", "seen_written_0", "written_gray")]
        bits = self.depth.bit_length()
        steps = [(after - before)[:bits] for before, after in pairwise(order)]
        m.d.comb += [
            Assert(sum(steps[1:], steps[0]) <= self.depth),
            Assert(order[2] == registers["taken"]),
            Assert(order[5] == registers["written"]),
            Assert(kept == (order[5] - order[2])[:bits]),
        ]


class CrossingResetHarness(Elaboratable):
    """Resets are asked for when nothing is reset, and the streams' own comes at any time.

    At the end of each, both ends are as after power-up.

    ``inward`` is whether beats go to the core.
    """

    depth = 4

    def __init__(self, inward=True, block=crossing.reset_across):
        self.inward, self.block = inward, block
        names = "valid", "ready", "ask", "power", "stream", "core"
        self.valid, self.ready, self.ask, self.power, self.stream, self.core = (
            Signal(name=name) for name in names
        )
        self.ports = [self.valid, self.ready, self.ask, self.power, self.stream, self.core]

    def elaborate(self, _platform):
        m = Module()
        m.d.comb += Assume(~ResetSignal())
        ends, ticks = (
            (STREAM, CORE) if self.inward else (CORE, STREAM),
            {STREAM: self.stream, CORE: self.core},
        )
        queue, inner, registers = open_queue(AsyncQueue, ends, self.depth)
        resets = _Resets(Signal(name="start"), self.block)
        resetting, core_reset = resets.resetting, resets.core_reset
        m.submodules.resets = _on_one_clock(
            ResetInserter({"sync": self.power})(resets), {"sync": self.stream, CORE: self.core}
        )
        by = {STREAM: self.power | resetting, CORE: core_reset}
        m.submodules.queue = _on_one_clock(ResetInserter(by)(inner), ticks)
        m.d.comb += [
            resets.start.eq(self.ask & ~resetting),
            queue.i.valid.eq(self.valid & ~resetting),
            queue.o.ready.eq(self.ready),
        ]
        # The core's reset may end a cycle of the core later; its end of the queue still stands still.
        was_resetting, late = Signal(init=1), Signal()
        m.d.sync += [was_resetting.eq(resetting), late.eq(core_reset & ~resetting & self.core)]
        pointers = ("taken", "taken_gray") if self.inward else ("written", "written_gray")
        moved = Cat(registers[name] for name in pointers).any() | (queue.o.valid & self.inward)
        with m.If(was_resetting & ~resetting):
            m.d.comb += Assert(~Cat(*registers.values()).any() & ~queue.o.valid)
        with m.If(core_reset & ~resetting):
            m.d.comb += [Assert(~moved), Assert(~late)]
        return m


POINTERS = ("written", "written_gray", "taken", "taken_gray")
SEEN = ("seen_taken_0", "seen_taken_1", "seen_written_0", "seen_written_1")


def open_queue(block, ends, depth):
    """Return a queue of this depth, its module, and its pointers by their names."""
    queue = block(layout=beat_layout(1), i_domain=ends[0], o_domain=ends[1])
    with mock.patch.object(crossing, "DEPTH", depth):
        fragment = Fragment.get(queue, None)
    signals = {
        s.name: s
        for statements in fragment.statements.values()
        for each in statements
        for s in each._lhs_signals()
    }
    return queue, fragment, {name: signals[name] for name in (*POINTERS, *SEEN)}


def binary(gray):
    """Return the number of a Gray code."""
    return Cat(gray[k:].xor() for k in range(len(gray)))


def _on_one_clock(block, ticks):
    """Return a block whose domains move when these signals are 1, all by one clock."""
    return DomainRenamer(dict.fromkeys((STREAM, CORE), "sync"))(EnableInserter(ticks)(block))


HARNESSES = {
    "requests": RequestGateHarness,
    "answers": AnswerGateHarness,
    "crossing": CrossingHarness,
    "resets to the core": CrossingResetHarness,
    "resets from the core": partial(CrossingResetHarness, inward=False),
}

MUTANTS = [
    ("requests", RequestGate, "(inside | self.enable)", "self.enable"),
    ("requests", RequestGate, "~self.resetting & ~self.dropping", "~self.dropping"),
    ("requests", RequestGate, "(self.restart | self.dropping) & after", "self.restart & after"),
    ("requests", RequestGate, "Mux(moves, ~self.i.p.last, inside)", "Mux(moves, ~self.i.p.last, 0)"),
    ("requests", RequestGate, "self.entered.eq(moves & is_open", "self.entered.eq(moves"),
    ("answers", AnswerGate, "index == longest", "index == longest - 1"),
    (
        "answers",
        AnswerGate,
        "self.left.eq(self.o.valid & self.o.ready & self.o.p.last & ~cut)",
        "self.left.eq(self.o.valid & self.o.ready & self.o.p.last)",
    ),
    ("answers", AnswerGate, "(self.restart | padding) & inside", "self.restart & inside"),
    ("answers", AnswerGate, "moving & ~padding & ~self.resetting", "moving & ~padding"),
    ("answers", AnswerGate, "Mux(loads, ~last, index != 0)", "Mux(loads, ~last, 0)"),
    ("crossing", AsyncQueue, "Const(3 << bits - 2, bits)", "Const(1 << bits - 1, bits)"),
    ("crossing", AsyncQueue, "taken_gray != seen_written", "taken_gray != written_gray"),
    ("crossing", AsyncQueue, "(~self.o.valid | self.o.ready) & (taken", "(taken"),
    ("resets to the core", crossing.reset_across, "core_reset.eq(asked != done)", "core_reset.eq(0)"),
    ("resets from the core", crossing.reset_across, "(turn != answered)", "0"),
    ("resets from the core", crossing.reset_across, "turn.eq(turn ^ cleared)", "turn.eq(turn)"),
]


@pytest.mark.parametrize("name", ["requests", *map(long, sorted({*HARNESSES} - {"requests"}))])
def test_a_block_is_proven(tmp_path, name):
    reach(HARNESSES[name](), tmp_path).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize(("name", "block", "right", "wrong"), MUTANTS)
def test_a_mutation_is_refuted_with_a_trace(tmp_path, name, block, right, wrong):
    reach(HARNESSES[name](block=mutant(block, right, wrong)), tmp_path).assert_refuted()
