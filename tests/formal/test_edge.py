"""The parts of the edge are proven: each packet goes on once, in order, whole, and in time."""

from functools import partial

import pytest
from amaranth.hdl import Array, Assert, Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import wiring

from rbdhw.header import HEADER, HEADER_BITS, Status
from rbdhw.rtl.admission import Admission
from rbdhw.rtl.completion import Completion
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.lane import Lane
from rbdhw.rtl.merger import Merger
from rbdhw.rtl.stream import Assembler
from tests.support.edge import OPTIONS
from tests.support.formal import mutant, reach
from tests.support.ledger import Ledger, assert_kept, assert_moves
from tests.support.marks import long
from tests.support.two_functions import FUNCTIONS, INTERFACE

UNKNOWN = 31
INSIDE = 15
"""More packets than are ever inside a part."""


class IntakeHarness(Elaboratable):
    """Assembler and admission: any beats come, and cores and places are free when they like.

    A request is marked in its header and in its words. It is admitted for its function, with its words, as
    malformed where it is, and then recorded.
    """

    def __init__(self, block=Assembler, admission=Admission):
        self.blocks = block, admission
        names = "valid", "last", "pick", "odd"
        self.valid, self.last, self.pick, self.odd = (Signal(name=name) for name in names)
        self.kind, self.accepts, self.available = (
            Signal(bits, name=name) for name, bits in (("kind", 2), ("accepts", 2), ("available", 3))
        )
        self.ports = [self.valid, self.last, self.pick, self.odd, self.kind, self.accepts, self.available]

    def elaborate(self, _platform):
        m = Module()
        assembler, admission = (block(interface=INTERFACE) for block in self.blocks)
        m.submodules.assembler, m.submodules.admission = assembler, admission
        wiring.connect(m, assembler.o, admission.i)
        m.d.comb += [
            assembler.leaves.eq(admission.leaves),
            admission.accepts.eq(self.accepts),
            admission.available.eq(self.available),
        ]
        mark, enters = Signal(name="mark"), Signal(name="enters")
        leaves = admission.admit.any()
        ledger = Ledger(m, "tasks", INSIDE, mark, enters, leaves)
        first, kind, odd, bad = self._send(m, assembler, mark, enters)
        kept = Signal()
        m.d.comb += mark.eq(Mux(first, self.pick & ~ledger.used, kept))
        m.d.sync += kept.eq(mark)
        of, was_bad = Signal(2), Signal()
        with m.If(enters & mark):
            m.d.sync += [of.eq(kind), was_bad.eq(bad | odd)]
        task, admit = admission.i.p, admission.admit
        free = self.available & Cat(self.accepts, 1)
        with m.If(leaves):
            m.d.comb += [Assert((admit & (admit - 1))[:3] == 0), Assert(task.tag == ledger.expected)]
        with m.If(leaves & ledger.expected):
            m.d.comb += [
                Assert(admit == Array([1, 2, 4, 4])[of]),
                Assert(task.malformed == was_bad),
                Assert(was_bad | (task.words[:4] == 1)),
                Assert(was_bad | (of == 1) | (task.words[4:] == 0)),
            ]
        m.d.comb += Assert(self.last | assembler.i.ready)
        m.d.comb += Assert(leaves == (admission.i.valid & (task.select & free).any()))
        self._check_records(m, admission, task)
        # Whatever it is, a task leaves where every core and place is free, and the next one may come.
        assert_moves(m, free.all() & ~leaves & ((ledger.inside != 0) | self.valid & ~assembler.i.ready), 1)
        return m

    def _send(self, m, assembler, mark, enters):
        """Send beats; return whether it is the first, its kind, and whether status and length are wrong."""
        first, kind, odd = Signal(init=1), Signal(2), Signal()
        kept, kept_odd, sent = Signal(2), Signal(), Signal(2)
        taken = self.valid & assembler.i.ready
        code = Array(Const(code, 5) for code in (*(f.code for f in FUNCTIONS), UNKNOWN, UNKNOWN))[kind]
        status = Cat(odd, Const(0, HEADER["status"][1] - 1))
        beat = Cat(mark, Const(0, HEADER["tag"][1] - 1), code, Const(0, OPTIONS), status, mark)
        m.d.comb += [
            kind.eq(Mux(first, self.kind, kept)),
            odd.eq(Mux(first, self.odd, kept_odd)),
            assembler.i.p.data.eq(Mux(first, beat, 0)),
            assembler.i.p.last.eq(self.last),
            assembler.i.valid.eq(self.valid),
            enters.eq(taken & self.last),
        ]
        with m.If(taken):
            m.d.sync += [first.eq(self.last), kept.eq(kind), kept_odd.eq(odd)]
            m.d.sync += sent.eq(Mux(self.last, 0, sent + (sent != 3)))
        return first, kind, odd, (sent != Array([1, 0, sent, sent])[kind]) | kind[1]

    def _check_records(self, m, admission, task):
        """The record of a task follows its admission."""
        bits = later(m, Cat(admission.admit, task.tag[0], task.malformed), CHECKED, "record")
        record = admission.record
        m.d.comb += Assert(admission.recorded == bits[:3])
        with m.If(bits[:3].any()):
            m.d.comb += Assert(Cat(record.tag[0], record.malformed) == bits[3:])


class CompletionHarness(Elaboratable):
    """Tasks are admitted while there is room, start later, and have their results after the latency.

    The marked task has a mark in its record and in its result, which overflows. Any task may be malformed.
    """

    depth = 2

    def __init__(self, function=FUNCTIONS[0], latency=2, streams=False, pace=1, block=Completion):
        self.function, self.latency, self.streams, self.pace, self.block = (
            function,
            latency,
            streams,
            pace,
            block,
        )
        names = "wish", "pick", "bad", "begins", "ready"
        self.wish, self.pick, self.bad, self.begins, self.ready = (Signal(name=name) for name in names)
        self.ports = [self.wish, self.pick, self.bad, self.begins, self.ready]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(
            interface=INTERFACE,
            function=self.function,
            latency=self.latency,
            depth=self.depth,
            streams=self.streams,
        )
        mark, leaves = Signal(name="mark"), Signal(name="leaves")
        # A place is free again when the last beat is at the output.
        ledger = Ledger(m, "tasks", self.depth + 1, mark, dut.admit, leaves)
        record = dut.record
        m.d.comb += [
            dut.admit.eq(self.wish & dut.available),
            mark.eq(self.pick & ~ledger.used),
            dut.o.ready.eq(self.ready),
            leaves.eq(dut.o.valid & self.ready & dut.o.p.last),
        ]
        recorded = later(m, Cat(dut.admit, mark & dut.admit, self.bad), CHECKED, "recorded")
        m.d.comb += Cat(dut.recorded, record.tag[0], record.malformed).eq(recorded)
        waiting = self._compute(m, dut, mark)
        was_bad = Signal()
        with m.If(dut.admit & mark):
            m.d.sync += was_bad.eq(self.bad)
        self._check_beats(m, dut, ledger.expected, was_bad)
        moves = dut.o.valid & self.ready
        stuck = self.ready & ~moves & (ledger.inside > waiting)
        assert_moves(m, stuck, max(self.latency, CHECKED) + 5)
        return m

    def _compute(self, m, dut, mark):
        """Start tasks in order, ``pace`` cycles apart, and give their results; return how many wait."""
        if self.function is None:
            m.d.comb += dut.start.eq(dut.admit)
            return 0
        pause, starts, held = Signal(range(self.pace)), Signal(name="starts"), Signal()
        waiting = Ledger(m, "waiting", self.depth, mark, dut.admit, starts)
        m.d.comb += [starts.eq(self.begins & (waiting.inside != 0) & (pause == 0)), dut.start.eq(starts)]
        m.d.sync += pause.eq(Mux(starts, self.pace - 1, pause - (pause != 0)))
        arrives = later(m, Cat(starts, waiting.expected), self.latency, "arrives")
        bit = Mux(arrives[0], arrives[1], held)
        m.d.sync += held.eq(bit)
        m.d.comb += [dut.result.eq(bit), dut.overflow.eq(bit)]
        return waiting.inside

    def _check_beats(self, m, dut, marked, was_bad):
        beats = INTERFACE.response_beats(self.function, True) if self.function else 1
        sent = Signal(range(beats + 1))
        with m.If(dut.o.valid & self.ready):
            m.d.sync += sent.eq(Mux(dut.o.p.last, 0, sent + 1))
        header = {name: dut.o.p.data[low : low + width] for name, (low, width) in HEADER.items()}
        with m.If(dut.o.valid):
            m.d.comb += Assert(dut.o.p.last == (sent == beats - 1))
        with m.If(dut.o.valid & (sent == 0)):
            m.d.comb += Assert(header["tag"] == marked)
        with m.If(dut.o.valid & (sent == 0) & marked):
            computed = ~was_bad if self.function else 0
            m.d.comb += [
                Assert(header["status"][Status.MALFORMED] == was_bad),
                Assert(header["status"][Status.OVERFLOW] == computed),
                Assert(dut.o.p.data[HEADER_BITS:] == computed),
            ]
        assert_kept(m, dut.o)
        follows, between = Signal(), ~dut.o.valid & (sent == 0) | dut.o.valid & self.ready & dut.o.p.last
        m.d.sync += follows.eq(dut.more & between)
        m.d.comb += Assert(~follows | dut.o.valid)  # what the merger is told


class MergerHarness(Elaboratable):
    """Packets of two beats come at each input when it likes, or follow as told, with pauses inside."""

    quotas = (2, 1, 1)

    def __init__(self, watched=0, block=Merger):
        self.watched, self.block = watched, block
        self.pick, self.ready = Signal(name="pick"), Signal(name="ready")
        self.fresh, self.more = (Signal(len(self.quotas), name=name) for name in ("fresh", "more"))
        self.ports = [self.pick, self.ready, self.fresh, self.more]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(quotas=self.quotas, bits=3)
        mark, taken, valid = (
            Signal(bits, name=name) for bits, name in ((1, "mark"), (3, "taken"), (3, "valid"))
        )
        source, marked = dut.o.p.data[1:], dut.o.p.data[0]
        moves, second, of = dut.o.valid & self.ready, Signal(), Signal(2)
        back = moves & dut.o.p.last & (source == self.watched)
        ledger = Ledger(m, "watched", 2, mark, taken[self.watched], back)
        others = Ledger(m, "others", 2, 0, (taken & ~(1 << self.watched)).any(), moves & dut.o.p.last & ~back)
        m.d.comb += [dut.o.ready.eq(self.ready), dut.more.eq(self.more)]
        marks = [mark & (k == self.watched) for k in range(len(self.quotas))]
        pauses = Cat(self._offer(m, k, dut.i[k], taken[k], valid[k], each) for k, each in enumerate(marks))
        kept, inside = Signal(), Signal()
        m.d.comb += mark.eq(Mux(inside, kept, self.pick & ~ledger.used))
        with m.If(dut.i[self.watched].valid & dut.i[self.watched].ready):
            m.d.sync += [kept.eq(mark), inside.eq(~dut.i[self.watched].p.last)]
        with m.If(moves):
            m.d.sync += [second.eq(~dut.o.p.last), of.eq(source)]
        with m.If(dut.o.valid):
            m.d.comb += [Assert(dut.o.p.last == second), Assert(~second | (source == of))]
        with m.If(back):
            m.d.comb += Assert(marked == ledger.expected)
        assert_kept(m, dut.o)
        waits = valid.any() | (ledger.inside + others.inside != 0)
        assert_moves(m, self.ready & ~moves & waits & ~pauses.any(), 2)
        free = Cat(stream.ready for stream in dut.i)
        follows = Signal()
        m.d.sync += follows.eq(taken.any() & (valid & ~taken).any())
        m.d.comb += [Assert(~self.ready | free.any()), Assert(~(follows & self.ready) | (valid & free).any())]
        self._assert_served(m, taken, valid)
        return m

    def _offer(self, m, k, stream, taken, valid, mark):
        """Offer beats, the next packet at once if ``more`` said so; return whether a packet pauses."""
        second, kept = Signal(name=f"second_{k}"), Signal(name=f"kept_{k}")
        m.d.comb += [
            valid.eq(kept | self.fresh[k]),
            stream.valid.eq(valid),
            stream.p.data.eq(Cat(mark, Const(k, 2))),
            stream.p.last.eq(second),
            taken.eq(valid & stream.ready & second),
        ]
        m.d.sync += kept.eq(Mux(valid, ~stream.ready | (second & self.more[k]), ~second & self.more[k]))
        with m.If(valid & stream.ready):
            m.d.sync += second.eq(~second)
        return second & ~valid

    def _assert_served(self, m, taken, valid):
        """While an input waits, the others send the rest of a round and what is before it in the next."""
        others = [quota for k, quota in enumerate(self.quotas) if k != self.watched]
        most = 1 + sum(others) + sum(self.quotas[: self.watched])
        passed = Signal(range(most + 2))
        with m.If(~valid[self.watched] | taken[self.watched]):
            m.d.sync += passed.eq(0)
        with m.Elif(taken.any()):
            m.d.sync += passed.eq(passed + 1)
        m.d.comb += Assert(passed <= most)


class LaneHarness(Elaboratable):
    """Tasks are admitted while the lane accepts, and start at once when the core is free."""

    def __init__(self, block=Lane):
        self.block = block
        self.wish, self.pick, self.free = (Signal(name=name) for name in ("wish", "pick", "free"))
        self.ports = [self.wish, self.pick, self.free]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(bits=1, functions=1, places=3)
        enters, starts, mark = self.wish & dut.accepts, dut.start, Signal(name="mark")
        ledger = Ledger(m, "tasks", 4, mark, enters, starts)
        m.d.comb += [
            mark.eq(self.pick & ~ledger.used),
            dut.select.eq(1),
            dut.words.eq(mark),
            dut.admit.eq(enters),
            dut.phase_zero.eq(self.free),
        ]
        with m.If(starts):
            m.d.comb += [Assert(self.free), Assert(dut.core_words == ledger.expected)]
        assert_moves(m, self.free & ~starts & (ledger.inside != 0), 1)
        m.d.comb += Assert(dut.accepts | (ledger.inside >= 3))
        return m


def later(m, bits, cycles, name):
    """Return bits some cycles later."""
    for k in range(cycles):
        held = Signal(len(bits), name=f"{name}_{k}")
        m.d.sync += held.eq(bits)
        bits = held
    return bits


HARNESSES = {
    "intake": IntakeHarness,
    "results": CompletionHarness,
    "results at once": partial(CompletionHarness, latency=0),
    "beats": partial(CompletionHarness, latency=4, streams=True, pace=2),
    "refusals": partial(CompletionHarness, function=None),
    "merger": MergerHarness,
    "merger's last": partial(MergerHarness, watched=2),
    "lane": LaneHarness,
}

MUTANTS = [
    ("intake", Assembler, "free = ~self.o.valid | self.leaves", "free = C(1, 1)"),
    ("intake", Assembler, "~self.i.p.last | free", "free"),
    ("intake", Assembler, "~(known & fits).any() | unknown", "~(known & fits).any()"),
    ("intake", Assembler, "index.eq(0), self", "self"),
    ("results", Completion, "self.more.eq(response.valid)", "self.more.eq(1)"),
    ("results", Completion, "places.give.eq(response.ready)", "places.give.eq(response.valid)"),
    ("results at once", Completion, "records.r_rdy & ready", "ready"),
    ("results", Completion, "overflow & counts", "overflow"),
    ("beats", Completion, "queue.level > 1", "queue.level > 0"),
    ("beats", Completion, "with m.If(response.ready):", "with m.If(done):"),
    ("beats", Completion, "queue.r_rdy & self.o.ready & self.o.p.last", "queue.r_rdy & self.o.p.last"),
    ("results", Completion, "response.empty.eq(~counts)", "response.empty.eq(0)"),
    ("merger", Merger, "inside.eq(~offered.last)", "inside.eq(0)"),
    ("merger", Merger, "free = ~self.o.valid | self.o.ready", "free = ~self.o.valid"),
    ("merger", Merger, "Mux(granted[k], self.more[k], self.i[k].valid)", "self.i[k].valid"),
    ("merger's last", Merger, "left[k].eq(left[k] - 1)", "left[k].eq(left[k])"),
    ("merger's last", Merger, "Mux(goes_on, entitled, waiting)", "waiting"),
    ("lane", Lane, "starts = queue.r_rdy & self.phase_zero", "starts = queue.r_rdy"),
    ("lane", Lane, "queue.w_en.eq(self.admit.any())", "queue.w_en.eq(1)"),
    ("lane", Lane, "self.accepts.eq(queue.w_rdy)", "self.accepts.eq(1)"),
]


@pytest.mark.parametrize("name", ["lane", *map(long, sorted({*HARNESSES} - {"lane"}))])
def test_a_part_is_proven(tmp_path, name):
    reach(HARNESSES[name](), tmp_path).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize(("name", "block", "right", "wrong"), MUTANTS)
def test_a_mutation_is_refuted_with_a_trace(tmp_path, name, block, right, wrong):
    reach(HARNESSES[name](block=mutant(block, right, wrong)), tmp_path).assert_refuted()
