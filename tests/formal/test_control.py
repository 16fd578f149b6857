"""Blocks of control are proven for any inputs in any number of cycles; mutations of each are refuted."""

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from rbdhw.rtl.arbiter import Arbiter
from rbdhw.rtl.completion import Credits
from rbdhw.rtl.layouts import beat_layout
from rbdhw.rtl.packet_turns import Collector, Distributor
from rbdhw.rtl.skid_buffer import SkidBuffer
from rbdhw.rtl.turns import Turns
from tests.support.formal import mutant, path_with_tools, reach
from tests.support.ledger import Ledger, assert_kept
from tests.support.marks import long

NUMBER = 4
"""Bits of the numbers that tell beats apart; more than are ever inside."""


class SkidBufferHarness(Elaboratable):
    """Beats are numbered as they enter, and leave in this order; the buffer holds one at most."""

    def __init__(self, block=SkidBuffer):
        self.block, self.ports = block, [Signal(name="valid"), Signal(name="ready")]

    def elaborate(self, _platform):
        m = Module()
        valid, ready = self.ports
        m.submodules.dut = dut = self.block(layout=data.StructLayout({"number": NUMBER}))
        entered, left, running = Signal(NUMBER), Signal(NUMBER), Signal()
        taken = Signal()
        m.d.comb += [dut.i.valid.eq(valid), dut.o.ready.eq(ready), dut.i.p.number.eq(entered)]
        m.d.sync += [running.eq(1), taken.eq(ready)]
        with m.If(valid & dut.i.ready):
            m.d.sync += entered.eq(entered + 1)
        with m.If(dut.o.valid & ready):
            m.d.sync += left.eq(left + 1)
        inside = Signal(NUMBER)
        m.d.comb += inside.eq(entered - left)
        with m.If(dut.o.valid):
            m.d.comb += Assert(dut.o.p.number == left)
        m.d.comb += [
            Assert(inside == (running & ~dut.i.ready)),  # nothing is lost or doubled
            Assert(dut.o.valid | (inside == 0)),  # what is inside is offered
            Assert(dut.i.ready | ~taken),  # a receiver that takes lets the next beat in
        ]
        return m


class CreditsHarness(Elaboratable):
    """Places are taken only if one is available, and given only if one is taken."""

    depth = 4

    def __init__(self, block=Credits):
        self.block, self.ports = block, [Signal(name="take"), Signal(name="give")]

    def elaborate(self, _platform):
        m = Module()
        take, give = self.ports
        m.submodules.dut = dut = self.block(depth=self.depth)
        taken = Signal(range(self.depth + 1))
        m.d.comb += [
            dut.take.eq(take),
            dut.give.eq(give),
            Assume(~take | dut.available),
            Assume(~give | (taken != 0)),
        ]
        m.d.sync += taken.eq(taken + take - give)
        m.d.comb += [
            Assert(taken + dut.count == self.depth),  # no place is lost or invented
            Assert(dut.available == (taken < self.depth)),
        ]
        return m


class ArbiterHarness(Elaboratable):
    """Edges keep offering until they are admitted; the lane accepts whenever it likes."""

    edges = 3

    def __init__(self, block=Arbiter):
        self.block = block
        self.ports = [Signal(self.edges, name="offered"), Signal(name="accepts")]

    def elaborate(self, _platform):
        m = Module()
        offered, accepts = self.ports
        m.submodules.dut = dut = self.block(edges=self.edges, bits=2, functions=1)
        served, waiting = Signal(self.edges), Signal(self.edges)
        m.d.comb += dut.accepts.eq(accepts)
        for k, edge in enumerate(dut.each):
            others = Signal(range(self.edges + 1), name=f"others_{k}")
            ahead = Signal(range(2 * self.edges), name=f"ahead_{k}")
            m.d.comb += [
                edge.offered.eq(offered[k]),
                edge.select.eq(1),
                edge.words.eq(k),
                served[k].eq(offered[k] & edge.accepts),
                edge.admit.eq(served[k]),
                Assume(offered[k] | ~waiting[k]),
                ahead.eq(Mux(dut.turn <= k, k - dut.turn, k + self.edges - dut.turn)),
                # Each task of another edge brings the turn nearer.
                Assert(others + ahead <= self.edges - 1),
            ]
            m.d.sync += waiting[k].eq(offered[k] & ~served[k])
            with m.If(~offered[k] | served[k]):
                m.d.sync += others.eq(0)
            with m.Elif(served.any()):
                m.d.sync += others.eq(others + 1)
            with m.If(served[k]):
                m.d.comb += [Assert(dut.admit == 1), Assert(dut.words == Cat(Const(k, 2), Const(k, 2)))]
        m.d.comb += [
            Assert(dut.turn < self.edges),
            Assert((served & (served - 1))[: self.edges] == 0),  # one task a cycle
            Assert(served.any() == (offered.any() & accepts)),  # no cycle is wasted
        ]
        return m


class TurnsHarness(Elaboratable):
    """Tasks are numbered; each completion answers its own in their order, when it likes."""

    copies = 3

    def __init__(self, block=Turns):
        self.block = block
        self.ports = [
            Signal(name="admit"),
            Signal(name="recorded"),
            Signal(name="ready"),
            Signal(self.copies),
        ]

    def elaborate(self, _platform):
        m = Module()
        admit, recorded, ready, valid = self.ports
        m.submodules.dut = dut = self.block(copies=self.copies, bits=8)
        m.d.comb += [dut.admit.eq(admit), dut.recorded.eq(recorded), dut.o.ready.eq(ready)]
        places = {"admitted": (admit, dut.admitted), "recorded": (recorded, dut.recorded_turn)}
        answered = Signal()
        places["answered"] = answered, dut.answered
        places = {name: self._place(m, name, *pair) for name, pair in places.items()}
        m.d.comb += answered.eq(dut.o.valid & ready & dut.o.p.last)
        for k in range(self.copies):
            m.d.comb += [dut.i[k].valid.eq(valid[k]), dut.i[k].p.data.eq(k), dut.i[k].p.last.eq(1)]
            m.d.comb += [
                Assert(dut.each_admit[k] == (admit & (places["admitted"] == k))),
                Assert(dut.each_recorded[k] == (recorded & (places["recorded"] == k))),
                Assert(dut.i[k].ready == (ready & (places["answered"] == k))),
            ]
        with m.If(dut.o.valid):
            m.d.comb += Assert(dut.o.p.data == places["answered"])
        m.d.comb += Assert(dut.o.valid == Array(valid)[places["answered"]])
        return m

    def _place(self, m, name, step, turn):
        """Return which completion is next: task k belongs to completion k modulo copies."""
        position = Signal(range(self.copies), name=f"next_{name}")
        with m.If(step):
            m.d.sync += position.eq(Mux(position == self.copies - 1, 0, position + 1))
        m.d.comb += Assert((turn == (1 << position)) & (position < self.copies))
        return position


class DistributorHarness(Elaboratable):
    """Packets of any length go to the outputs in turn."""

    copies = 3

    def __init__(self, block=Distributor):
        self.block = block
        self.valid, self.last, self.ready = Signal(name="valid"), Signal(name="last"), Signal(self.copies)
        self.ports = [self.valid, self.last, self.ready]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(layout=beat_layout(1), copies=self.copies)
        position = Signal(range(self.copies))
        ready = Array(self.ready)[position]
        m.d.comb += [dut.i.valid.eq(self.valid), dut.i.p.last.eq(self.last), Assert(dut.i.ready == ready)]
        with m.If(self.valid & ready & self.last):
            m.d.sync += position.eq(Mux(position == self.copies - 1, 0, position + 1))
        for k in range(self.copies):
            m.d.comb += [
                dut.o[k].ready.eq(self.ready[k]),
                Assert(dut.o[k].valid == (self.valid & (position == k))),
                Assert(dut.o[k].p.as_value() == dut.i.p.as_value()),
            ]
        return m


class CollectorHarness(Elaboratable):
    """Packets of any length come from the inputs in turn; beats leave once and in order."""

    copies = 3

    def __init__(self, block=Collector):
        self.block = block
        self.valid, self.last = Signal(self.copies, name="valid"), Signal(name="last")
        self.ready, self.pick = Signal(name="ready"), Signal(name="pick")
        self.ports = [self.valid, self.last, self.ready, self.pick]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(bits=1, copies=self.copies)
        position, taken, moves = Signal(range(self.copies)), Signal(), dut.o.valid & self.ready
        mark = Signal(name="mark")
        ledger = Ledger(m, "beats", 1, mark, taken, moves)
        free = ~dut.o.valid | self.ready
        m.d.comb += [dut.o.ready.eq(self.ready), taken.eq(Array(self.valid)[position] & free)]
        m.d.comb += mark.eq(self.pick & ~ledger.used)
        with m.If(taken & self.last):
            m.d.sync += position.eq(Mux(position == self.copies - 1, 0, position + 1))
        for k, stream in enumerate(dut.i):
            m.d.comb += [
                stream.valid.eq(self.valid[k]),
                stream.p.last.eq(self.last),
                stream.p.data.eq(mark & (position == k)),
                Assert(stream.ready == (free & (position == k))),
            ]
        m.d.comb += [
            Assert(dut.o.valid == (ledger.inside != 0)),
            Assert(~moves | (dut.o.p.data == ledger.expected)),
        ]
        assert_kept(m, dut.o)
        return m


MUTANTS = [
    (DistributorHarness, Distributor, "self.i.valid & turn[k]", "self.i.valid"),
    (CollectorHarness, Collector, "taken.ready & turn[k]", "taken.ready"),
    (CollectorHarness, Collector, "~self.o.valid | self.o.ready", "self.o.ready"),
    (CollectorHarness, Collector, "with m.If(taken.ready):", "with m.If(taken.valid):"),
    (SkidBufferHarness, SkidBuffer, "full.eq(waits)", "full.eq(0)"),
    (SkidBufferHarness, SkidBuffer, "Mux(full, kept, self.i.p)", "self.i.p"),
    (SkidBufferHarness, SkidBuffer, "with m.If(self.i.ready):", "with m.If(1):"),
    (CreditsHarness, Credits, "available.eq(count != 1)", "available.eq(count != 0)"),
    (CreditsHarness, Credits, "with m.If(self.take & ~self.give):", "with m.If(self.take):"),
    (ArbiterHarness, Arbiter, "turn.eq((k + 1) % self.edges)", "turn.eq(k)"),
    (ArbiterHarness, Arbiter, "self.accepts & ~before", "self.accepts"),
    (ArbiterHarness, Arbiter, "for k in reversed(order):", "for k in order:"),
    (TurnsHarness, Turns, "self.o.valid & self.o.ready & self.o.p.last", "self.o.valid & self.o.p.last"),
    (TurnsHarness, Turns, "self.o.ready & answered[k]", "self.o.ready"),
    (TurnsHarness, Turns, "turn.eq(turn.rotate_left(1))", "turn.eq(turn.rotate_left(2))"),
]

LONG = CreditsHarness, ArbiterHarness, TurnsHarness, DistributorHarness, CollectorHarness
HARNESSES = [SkidBufferHarness, *map(long, LONG)]


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_block_is_proven(tmp_path, harness):
    reach(harness(), tmp_path).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize(("harness", "block", "right", "wrong"), MUTANTS)
def test_a_mutation_is_refuted_with_a_trace(tmp_path, harness, block, right, wrong):
    reach(harness(mutant(block, right, wrong)), tmp_path).assert_refuted()


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr("tests.support.formal.SOLVER", "no-such-solver")
    with pytest.raises(
        RuntimeError, match=r"no-such-solver is missing; install it with pip install '\.\[prove\]'"
    ):
        path_with_tools()
