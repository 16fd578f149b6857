"""The edge as a whole: in the first cycles every packet has one answer, in its function's order, in time.

Any packets come, with pauses, and the receiver pauses as it likes. The core is any that has its results after
its latency: it passes a task's word on. Queues are as short as they may be; that longer ones keep what they
hold is proven for the parts, in any number of cycles. Here it is seen that they are connected.
"""

from unittest import mock

import pytest
from amaranth.hdl import Array, Assert, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import HEADER, HEADER_BITS, Status
from rbdhw.rtl import edge, shell
from rbdhw.rtl.shell import Accelerator
from tests.support.edge import OPTIONS, words
from tests.support.formal import bounded, mutant
from tests.support.ledger import Ledger, assert_moves

FUNCTIONS = FunctionWords("id", words(2), words(2)), FunctionWords("m", words(2), words(36))
INTERFACE = Interface(FUNCTIONS, 64)
BEATS = [INTERFACE.response_beats(function, False) for function in FUNCTIONS] + [1]
UNKNOWN = 31
INSIDE = 15
"""More packets than there are ever inside."""

CYCLES = 14
"""Cycles after a reset; more take a solver too long."""

SLOWEST = 10
"""More cycles than a receiver that takes every beat ever waits for the next one."""


class Passing(wiring.Component):
    """A core that passes the lowest bit of a task's words on."""

    def __init__(self, latency, ii):
        self.ii, self._latency = ii, latency
        self.names, self.slots = tuple(f.name for f in FUNCTIONS), INTERFACE.slots
        results = {f"result_{f.name}": Out(f.result_bits) for f in FUNCTIONS}
        overflows = {f"overflow_{f.name}": Out(1) for f in FUNCTIONS}
        super().__init__(
            {"phase_zero": Out(1), "payload": In(sum(self.slots)), "functions": In(2), "options": In(OPTIONS)}
            | results
            | overflows
        )

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
    """An accelerator between free streams. One packet of the function ``watched`` is marked."""

    def __init__(self, watched=0, latency=1, ii=1, change=None):
        self.watched, self.core = watched, Passing(latency, ii)
        names = "valid", "last", "pick", "ready"
        self.valid, self.last, self.pick, self.ready = (Signal(name=name) for name in names)
        self.kind = Signal(2, name="kind")
        self.ports = [self.valid, self.last, self.pick, self.ready, self.kind]
        accelerator = Accelerator(cores=[self.core], interface=INTERFACE)
        short = {"places": lambda *_: 2, "WITHOUT_RESULTS_DEPTH": 2}
        with mock.patch.multiple(edge, **short), mock.patch.object(shell, "Edge", edge.Edge) as patched:
            if change is not None:
                shell.Edge = mutant(patched, *change)
            self.fragment = Fragment.get(accelerator, None)
        self.dut = accelerator

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut, dut = self.fragment, self.dut
        m.d.comb += [dut.s_axis_tvalid.eq(self.valid), dut.s_axis_tlast.eq(self.last)]
        m.d.comb += dut.m_axis_tready.eq(self.ready)
        mark, enters, leaves = Signal(name="mark"), Signal(3), Signal(3)
        own = enters[self.watched], leaves[self.watched]
        ledger = Ledger(m, "watched", INSIDE, mark, *own)
        rest = [k for k in range(3) if k != self.watched]
        others = [Ledger(m, f"others_{k}", INSIDE, 0, enters[k], leaves[k]) for k in rest]
        kind, kept, good = self._send(m, mark, enters)
        was_good = Signal()
        with m.If(enters[self.watched] & mark):
            m.d.sync += was_good.eq(good)
        moves = self._receive(m, ledger.expected, was_good, leaves)
        m.d.comb += mark.eq(Mux(kept[0], kept[1], self.pick & ~ledger.used & (kind == self.watched)))
        inside = (ledger.inside != 0) | (others[0].inside != 0) | (others[1].inside != 0)
        assert_moves(m, self.ready & ~moves & inside, SLOWEST)
        return m

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
        dut, place, of = self.dut, Signal(1), Signal(2)
        moves = dut.m_axis_tvalid & self.ready
        header = {name: dut.m_axis_tdata[low : low + width] for name, (low, width) in HEADER.items()}
        # Few bits tell the packets apart: that the others go the same way is seen in simulation.
        low = header["function"][:2]
        kind = Mux(place != 0, of, Mux(low == 0, 0, Mux(low == 2, 1, 2)))
        malformed = header["status"][Status.MALFORMED]
        m.d.comb += leaves.eq(Mux(moves & dut.m_axis_tlast, Array([1, 2, 4, 4])[kind], 0))
        with m.If(moves):
            m.d.sync += [place.eq(~dut.m_axis_tlast), of.eq(kind)]
        with m.If(dut.m_axis_tvalid):
            m.d.comb += Assert(dut.m_axis_tlast == (Array([*BEATS, 1])[kind] == place + 1))
        with m.If(dut.m_axis_tvalid & (place == 0) & (kind == self.watched)):
            m.d.comb += Assert(header["tag"][0] == expected)
        with m.If(dut.m_axis_tvalid & (place == 0) & (kind == self.watched) & expected):
            computes = good if self.watched < 2 else Const(0, 1)
            m.d.comb += [
                Assert(malformed == ~computes),
                Assert(header["status"][Status.OVERFLOW] == computes),
                Assert(dut.m_axis_tdata[HEADER_BITS] == computes),
            ]
        return moves


CASES = [{}, {"watched": 1}, {"watched": 2}, {"latency": 2, "ii": 2}]

MUTANTS = [
    ("admission.available[k].eq(completion.available)", "admission.available[k].eq(1)"),
    ("completion.start.eq(entrance.start[k])", "completion.start.eq(entrance.start.any())"),
    ("completion.recorded.eq(admission.recorded[k])", "completion.recorded.eq(admission.recorded.any())"),
]


@pytest.mark.verify
@pytest.mark.parametrize("case", CASES)
def test_every_packet_has_one_answer(tmp_path, case):
    bounded(EdgeHarness(**case), tmp_path, CYCLES).assert_proven()


@pytest.mark.verify
@pytest.mark.parametrize("change", MUTANTS)
def test_a_wrong_connection_is_refuted_with_a_trace(tmp_path, change):
    bounded(EdgeHarness(change=change), tmp_path, CYCLES).assert_refuted()
