"""What surrounds an accelerator, its completions and its parts in proofs: any packets come at any time.

The core is any that has its results after its latency: it passes a task's word on.
"""

from unittest import mock

from amaranth.hdl import Array, Assert, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.header import HEADER, HEADER_BITS, Status
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl import edge, ports, shell
from rbdhw.rtl.completion import Completion
from rbdhw.rtl.edge import Edge
from rbdhw.rtl.shell import Accelerator
from tests.support.contracts import CompletionContract, StandIn, Wire
from tests.support.edge import OPTIONS, words
from tests.support.formal import mutant
from tests.support.ledger import Ledger, assert_moves

FUNCTIONS = FunctionWords("id", words(2), words(2)), FunctionWords("m", words(2), words(36))
INTERFACE = Interface(FUNCTIONS, 64)
BEATS = [INTERFACE.response_beats(function, False) for function in FUNCTIONS] + [1]
UNKNOWN = 31
INSIDE = 15
"""More packets than there are ever inside."""

CODES = (*(function.code for function in FUNCTIONS), UNKNOWN)

PACE = 10
"""More cycles than a receiver that takes every beat ever waits for the next one, by the contracts."""

SLOWEST = 10
"""More cycles than a receiver that takes every beat ever waits for the next one."""


class Passing(wiring.Component):
    """A core that passes the lowest bit of a task's words on."""

    def __init__(self, latency, ii, functions=FUNCTIONS):
        self.ii, self._latency = ii, latency
        self.names, self.slots = tuple(f.name for f in functions), INTERFACE.slots
        results = {f"result_{f.name}": Out(f.result_bits) for f in functions}
        overflows = {f"overflow_{f.name}": Out(1) for f in functions}
        task = {"payload": sum(self.slots), "functions": len(functions), "options": OPTIONS}
        inputs = {name: In(bits) for name, bits in task.items()}
        super().__init__({"phase_zero": Out(1)} | inputs | results | overflows)

    def latency(self, _name):
        return self._latency

    def result_bits(self, name):
        return next(f.result_bits for f in FUNCTIONS if f.name == name)

    def elaborate(self, _platform):
        m = Module()
        phase = Signal(range(max(self.ii, 2)))
        m.d.sync += phase.eq(Mux(phase == self.ii - 1, 0, phase + 1))
        m.d.comb += self.phase_zero.eq(phase == 0)
        bit = self.payload[0]
        for k in range(self._latency):
            after = Signal(name=f"after_{k}")
            m.d.sync += after.eq(bit)
            bit = after
        for name in self.names:
            m.d.comb += [getattr(self, f"result_{name}").eq(bit), getattr(self, f"overflow_{name}").eq(bit)]
        return m


class EdgeHarness(Elaboratable):
    """An accelerator between free streams. One packet of the function ``watched`` is marked.

    A ``change`` is a block, a text in its source, and another one in its place. So many tasks as ``waiting``
    wait before a core.
    """

    def __init__(self, watched=0, latency=1, ii=1, cores=(FUNCTIONS,), waiting=0, change=None):
        self.watched, self.waiting = watched, waiting
        names = "valid", "last", "pick", "ready"
        self.valid, self.last, self.pick, self.ready = (Signal(name=name) for name in names)
        self.kind = Signal(2, name="kind")
        self.ports = [self.valid, self.last, self.pick, self.ready, self.kind]
        made = [Passing(latency, ii, functions) for functions in cores]
        self.dut = Accelerator(cores=made, interface=INTERFACE)
        changes = self._changes()
        if change is not None and change[0] is not Edge:
            changes[change[0].__name__] = mutant(*change)
        of_shell = {"Edge": Edge, "waiting_places": changes["waiting_places"]}
        with mock.patch.multiple(edge, **changes), mock.patch.multiple(shell, **of_shell):
            if change is not None and change[0] is Edge:
                shell.Edge = mutant(*change)
            self.fragment = Fragment.get(self.dut, None)

    def _changes(self):
        waiting = {"waiting_places": lambda *_: self.waiting}
        return {"places": lambda *_: 2, "WITHOUT_RESULTS_DEPTH": 2} | waiting

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut, dut = self.fragment, self.dut
        m.d.comb += [dut.s_axis_tvalid.eq(self.valid), dut.s_axis_tlast.eq(self.last)]
        m.d.comb += dut.m_axis_tready.eq(self.ready)
        mark, enters, leaves = Signal(name="mark"), Signal(3), Signal(3)
        watched = enters[self.watched], leaves[self.watched]
        ledger = Ledger(m, "watched", INSIDE, mark, *watched)
        rest = [k for k in range(3) if k != self.watched]
        others = [Ledger(m, f"others_{k}", INSIDE, 0, enters[k], leaves[k]) for k in rest]
        moves = self._watch(m, ledger, mark, enters, leaves)
        inside = (ledger.inside != 0) | (others[0].inside != 0) | (others[1].inside != 0)
        assert_moves(m, self.ready & ~moves & inside, SLOWEST)
        return m

    def _watch(self, m, ledger, mark, enters, leaves):
        """Send packets and check those that leave; return whether a beat does."""
        kind, kept, good = self._send(m, mark, enters)
        self.was_good = Signal()
        with m.If(enters[self.watched] & mark):
            m.d.sync += self.was_good.eq(good)
        m.d.comb += mark.eq(Mux(kept[0], kept[1], self.pick & ~ledger.used & (kind == self.watched)))
        return self._receive(m, ledger.expected, self.was_good, leaves)

    def _send(self, m, mark, enters):
        """Send beats; return the packet's kind, whether one is inside with its mark, and if it is well."""
        inside, of, marked, more = Signal(), Signal(2), Signal(), Signal()
        kind = Signal(2, name="kind_now")
        taken = self.valid & self.dut.s_axis_tready
        code = Array(Const(code, 5) for code in (*(f.code for f in FUNCTIONS), UNKNOWN, UNKNOWN))[kind]
        first = Cat(mark, Const(0, HEADER["tag"][1] - 1), code, Const(0, OPTIONS + HEADER["status"][1]), mark)
        m.d.comb += [
            kind.eq(Mux(inside, of, self.kind)),
            self.dut.s_axis_tdata.eq(Mux(inside, 0, first)),
            enters.eq(Mux(taken & self.last, Array([1, 2, 4, 4])[kind], 0)),
        ]
        with m.If(taken):
            m.d.sync += [inside.eq(~self.last), of.eq(kind), marked.eq(mark)]
            m.d.sync += more.eq(~self.last)
        return kind, (inside, marked), ~more

    def _receive(self, m, expected, good, leaves):
        """Check beats; return whether one leaves."""
        dut, beat, of = self.dut, Signal(1), Signal(2)
        moves = dut.m_axis_tvalid & self.ready
        header = {name: dut.m_axis_tdata[low : low + width] for name, (low, width) in HEADER.items()}
        # Few bits tell the packets apart: that the others go the same way is seen in simulation.
        low = header["function"][:2]
        kind = self.kind_out = Mux(beat != 0, of, Mux(low == 0, 0, Mux(low == 2, 1, 2)))
        malformed = header["status"][Status.MALFORMED]
        m.d.comb += leaves.eq(Mux(moves & dut.m_axis_tlast, Array([1, 2, 4, 4])[kind], 0))
        with m.If(moves):
            m.d.sync += [beat.eq(~dut.m_axis_tlast), of.eq(kind)]
        with m.If(dut.m_axis_tvalid):
            m.d.comb += Assert(dut.m_axis_tlast == (Array([*BEATS, 1])[kind] == beat + 1))
        with m.If(dut.m_axis_tvalid & (beat == 0) & (kind == self.watched)):
            m.d.comb += Assert(header["tag"][0] == expected)
        with m.If(dut.m_axis_tvalid & (beat == 0) & (kind == self.watched) & expected):
            computes = good if self.watched < 2 else Const(0, 1)
            m.d.comb += [
                Assert(malformed == ~computes),
                Assert(header["status"][Status.OVERFLOW] == computes),
                Assert(dut.m_axis_tdata[HEADER_BITS] == computes),
            ]
        return moves


class CompletionHarness(Elaboratable):
    """A completion among neighbours that do what its contract expects, and else what they like."""

    def __init__(self, kind, latency=1, block=Completion):
        self.code, function = CODES[kind], (*FUNCTIONS, None)[kind]
        self.dut = block(interface=INTERFACE, function=function, latency=latency if function else 0, depth=2)
        names = "wish", "pick", "bad", "ready", "overflow"
        self.wish, self.pick, self.bad, self.ready, self.overflow = (Signal(name=name) for name in names)
        self.result = Signal.like(self.dut.result, name="result_of_core")
        self.ports = [self.wish, self.pick, self.bad, self.ready, self.overflow, self.result]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        used, bad = Signal(), self.bad if dut.function else Const(1, 1)
        mark = self.pick & ~used
        m.d.sync += used.eq(used | mark & dut.admit)
        contract = CompletionContract(m, dut, self.code, mark, bad, timed=True)
        admit, marked, malformed = contract.recorded
        well = contract.arrived[1] & ~contract.arrived[2]
        record = dut.record
        m.d.comb += [
            dut.admit.eq(self.wish & dut.available),
            dut.start.eq(dut.admit),
            dut.recorded.eq(admit),
            Cat(record.tag, record.malformed, record.function).eq(
                Cat(marked, Const(0, HEADER["tag"][1] - 1), malformed, Const(self.code, 5))
            ),
            dut.result.eq(self.result | well),
            dut.overflow.eq(self.overflow | well),
            dut.o.ready.eq(self.ready),
            Assert(contract.expected),
            Assert(contract.promised),
        ]
        return m


class PartsHarness(EdgeHarness):
    """The edge with what keeps to the contract in place of its completions.

    Where the marked packet is, and how many are in which part, is asserted, too: it makes the proof easy.
    """

    timed = False

    def __init__(self, **arguments):
        self.parts = []
        with mock.patch.object(ports, "SkidBuffer", Wire):
            super().__init__(**arguments)
        self.ports += [part.free for part in self.parts]

    def _changes(self):
        return super()._changes() | {"Completion": self._stand_in}

    def _stand_in(self, *, function, **arguments):
        code = function.code if function else UNKNOWN
        self.parts.append(StandIn(code=code, timed=self.timed, function=function, **arguments))
        return self.parts[-1]

    def elaborate(self, _platform):
        m = Module()
        self._connect(m)
        mark, enters, leaves = Signal(name="mark"), Signal(3), Signal(3)
        ledger = Ledger(m, "watched", INSIDE, mark, enters[self.watched], leaves[self.watched])
        self._watch(m, ledger, mark, enters, leaves)
        self._count(m)
        self._follow(m, ledger, self._parts(self.watched))
        return m

    def _connect(self, m):
        m.submodules.dut, dut = self.fragment, self.dut
        self.admission = dut.edges[0].admission
        m.d.comb += [
            dut.s_axis_tvalid.eq(self.valid),
            dut.s_axis_tlast.eq(self.last),
            dut.m_axis_tready.eq(self.ready),
        ]
        for part in self.parts:
            m.d.comb += [part.mark.eq(self._task().tag[0]), part.bad.eq(self._task().malformed)]

    def _task(self):
        return self.admission.i.p

    def _at_output(self):
        """Return whether the last beat of a packet of the function is in the output register."""
        return self.dut.m_axis_tvalid & self.dut.m_axis_tlast & (self.kind_out == self.watched)

    def _of_records(self, part):
        return part.known + part.stages[1][0] + part.stages[2][0]

    def _follow(self, m, ledger, parts):
        """Assert where the marked packet is, how many are ahead of it, and whether it is malformed."""
        task, at_output, gone = self._task(), self._at_output(), Signal(name="gone")
        held, inside = self.admission.i.valid & task.select[self.watched], sum(part.inside for part in parts)
        leaves = Cat(part.leaves_mark for part in parts).any()
        m.d.sync += gone.eq(leaves | gone & ~(at_output & self.ready))
        places = [(held & task.tag[0], inside, task.malformed)]
        for k, part in enumerate(parts):
            first, second = part.stages[1], part.stages[2]
            places += [
                (first[1], self._before(k, part.known + second[0]), first[2]),
                (second[1], self._before(k, part.known), second[2]),
                (part.waits, self._before(k, part.ahead), part.was_bad),
            ]
            m.d.comb += Assert(~part.waits | (part.ahead < part.known))
        for here, ahead, bad in places:
            known = bad == ~self.was_good if self.watched < 2 else bad
            m.d.comb += Assert(~here | known & (ledger.ahead == ahead + at_output))
        m.d.comb += [
            Assert(ledger.inside == held + inside + at_output),
            Assert(ledger.waits == sum((here for here, _, _ in places), gone)),
            Assert(~gone | at_output & (ledger.ahead == 0)),
            Assert(ledger.used | ~ledger.waits),
        ]

    def _before(self, k, ahead):
        """Return how many packets are before one with so many before it in the part k of its function."""
        turns = self._turns(self.watched)
        return ahead if turns is None else 2 * ahead + ~turns.answered[k]

    def _count(self, m):
        """Assert that each part has its records, and each of two copies as many packets as turns say."""
        m.d.comb += [Assert(part.contract.inside == self._of_records(part.contract)) for part in self.parts]
        for k in range(len(FUNCTIONS)):
            turns = self._turns(k)
            if turns is None:
                continue
            (first, second), answered = self._parts(k), turns.answered[1]
            m.d.comb += [
                *(Assert(turn[0] != turn[1]) for turn in (turns.admitted, turns.recorded_turn)),
                Assert(turns.answered[0] != answered),
                Assert(first.inside - second.inside == turns.admitted[1] - answered),
                Assert(first.known - second.known == turns.recorded_turn[1] - answered),
            ]

    def _parts(self, k):
        return [part.contract for part in self.parts if part.code == CODES[k]]

    def _turns(self, k):
        """Return the turns of the copies of a function, if it has several."""
        completion = self.dut.edges[0].completions[k]
        return None if isinstance(completion, StandIn) else completion


class PaceHarness(PartsHarness):
    """The same, with all packets alike: how long a receiver waits, and that the first beat is taken."""

    timed = True

    def elaborate(self, _platform):
        m = Module()
        self._connect(m)
        self._count(m)
        self._send(m, Const(0, 1), Signal(3))
        dut = self.dut
        inside = self.admission.i.valid | dut.m_axis_tvalid
        inside |= Cat(part.contract.inside != 0 for part in self.parts).any()
        assert_moves(m, self.ready & ~dut.m_axis_tvalid & inside, PACE)
        m.d.comb += Assert(inside | dut.s_axis_tready)
        return m
