"""The serial edge as a whole: in the first cycles every packet has one answer, in order, and in time.

Any packets come, with pauses, and the receiver pauses as it likes. The core is any that has its results after
its latency: it passes the numbers of each link on. Memories for responses are as short as they may be.
"""

import contextlib
from unittest import mock

import pytest
from amaranth.hdl import Assert, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.header import HEADER, HEADER_BITS, Status
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import CODES
from rbdhw.rtl import column_reader, serial_request, serial_response, shell
from rbdhw.rtl.column_reader import NUMBER_LATENCY
from rbdhw.rtl.serial_core import SerialCore
from rbdhw.rtl.serial_edge import SerialEdge
from rbdhw.rtl.serial_layout import Reader
from rbdhw.rtl.shell import Accelerator
from tests.support.formal import bounded, mutant
from tests.support.ledger import Ledger, assert_moves
from tests.support.marks import long

LINKS, ARRAYS = 2, ("q", "v")
NUMBER, RESULT = Format(2, 0), Format(2 * len(ARRAYS), 0)
INPUTS = tuple(
    Word(f"{array}[{k}]", "", -1, NUMBER, 0, 1, LINKS * index + k)
    for index, array in enumerate(ARRAYS)
    for k in range(LINKS)
)
OUTPUTS = tuple(Word(f"fd.a[{k}]", "", -1, RESULT) for k in range(LINKS))
FUNCTION = FunctionWords("fd", INPUTS, OUTPUTS)
UNKNOWN = 31
INSIDE = 15
"""More packets than there are ever inside."""

SHORT = 2
"""The requests, and the responses, for which there is room."""

SLOWEST = 10
"""More cycles than a receiver that takes every beat ever waits for the next one."""


class Passing(SerialCore):
    """A core whose results are the numbers of each link; any that is not zero overflows."""

    def __init__(self):
        readers = [Reader(array, array, NUMBER.width, (True,) * LINKS) for array in ARRAYS]
        slots = [NUMBER.width] * len(INPUTS)
        cycles = NUMBER_LATENCY + LINKS - 1
        super().__init__(
            function="fd", readers=readers, slots=slots, width=RESULT.width, window=1, cycles=cycles
        )

    def elaborate(self, _platform):
        m = Module()
        link = Signal(range(LINKS))
        m.d.sync += link.eq(Mux(link == LINKS - 1, 0, link + 1))
        m.d.comb += [
            self.first.eq(1),
            self.phase_zero.eq(link == 0),
            self.begins.eq(link == NUMBER_LATENCY % LINKS),
            self.result.eq(self.numbers.as_value()),
            self.overflow.eq(self.result.any()),
        ]
        return m


class Pair:
    """What a pair of streams brings and takes: any packets of the function, or of an unknown one."""

    def __init__(self, dut, number, prefixes):
        self._beats = dut.interface.request_beats(FUNCTION, False)
        names = "valid", "last", "known", "ready"
        self.ports = [Signal(name=f"{name}_{number}") for name in names]
        self.valid, self.last, self._pick_known, self.ready = self.ports
        self._request, self._response = (
            {name: getattr(dut, f"{prefix}_{name}") for name in ("tdata", "tvalid", "tready", "tlast")}
            for prefix in prefixes
        )
        self._name = f"{number}"

    def check(self, m, pick):
        """Check that the packet that is picked has its answer, and each other one has one without a mark."""
        request, response = self._request, self._response
        m.d.comb += [request["tvalid"].eq(self.valid), request["tlast"].eq(self.last)]
        m.d.comb += response["tready"].eq(self.ready)
        taken, moves = self.valid & request["tready"], response["tvalid"] & self.ready
        mark, enters, leaves = Signal(), taken & self.last, moves & response["tlast"]
        ledger = Ledger(m, self._name, INSIDE, mark, enters, leaves)
        good = self._send(m, taken, mark, pick & ~ledger.used)
        was_good = Signal()
        with m.If(enters & mark):
            m.d.sync += was_good.eq(good)
        self._receive(m, moves, ledger.expected, was_good)
        assert_moves(m, self.ready & ~moves & (ledger.inside != 0), SLOWEST)

    def _send(self, m, taken, mark, pick):
        """Send beats, whose numbers are ones if marked; return whether the packet is well with this one."""
        data, beat, marked, was_known = self._request["tdata"], Signal(2), Signal(), Signal()
        known, first = Signal(), beat == 0
        low, bits = HEADER["function"]
        header = Cat(mark.replicate(low), Mux(known, Const(CODES["fd"], bits), UNKNOWN))
        header = Cat(header, Const(0, HEADER_BITS - low - bits))
        m.d.comb += [
            known.eq(Mux(first, self._pick_known, was_known)),
            mark.eq(Mux(first, pick, marked)),
            data.eq(mark.replicate(len(data))),
        ]
        with m.If(first):
            m.d.comb += data[:HEADER_BITS].eq(header)
        with m.If(taken):
            m.d.sync += [was_known.eq(known), marked.eq(mark)]
            m.d.sync += beat.eq(Mux(self.last, 0, beat + (beat != self._beats)))
        return known & (beat == self._beats - 1)

    def _receive(self, m, moves, expected, good):
        """Check each beat: its place, and that all that a request brings comes back."""
        data, last, valid = (self._response[name] for name in ("tdata", "tlast", "tvalid"))
        header = {name: data[low : low + width] for name, (low, width) in HEADER.items()}
        beat, marked, unknown = Signal(), expected & good, header["function"] == UNKNOWN
        results = marked.replicate(LINKS * RESULT.width)
        with m.If(moves):
            m.d.sync += beat.eq(~last)
        with m.If(valid & (beat == 0)):
            m.d.comb += [
                Assert(header["tag"] == expected.replicate(HEADER["tag"][1])),
                Assert(last == ((self._beats == 1) | unknown)),
                Assert(header["status"][Status.OUTSIDE] == marked),
                Assert(header["status"][Status.OVERFLOW] == marked),
                Assert(~expected | (header["status"][Status.MALFORMED] == ~good)),
                Assert(data[HEADER_BITS:] == (results if self._beats == 1 else 0)),
            ]
        with m.If(valid & (beat == 1)):
            m.d.comb += [Assert(last), Assert(data == results)]


class SerialHarness(Elaboratable):
    """An accelerator between free pairs of streams. One packet of the first pair is marked."""

    def __init__(self, width=64, copies=1, streams=1, change=None):
        interface = Interface((FUNCTION,), width, streams=streams)
        self.dut = Accelerator(cores=[Passing() for _ in range(copies)], interface=interface)
        edge = SerialEdge if change is None else mutant(SerialEdge, *change)
        with contextlib.ExitStack() as short:
            for module in (column_reader, serial_request, serial_response):
                short.enter_context(mock.patch.object(module, "WAITING", SHORT))
            short.enter_context(mock.patch.dict(edge.__init__.__globals__, places=lambda *_: SHORT))
            short.enter_context(mock.patch.object(shell, "SerialEdge", edge))
            self.fragment = Fragment.get(self.dut, None)
        self.pick = Signal(name="pick")
        self._pairs = [Pair(self.dut, k, prefixes) for k, prefixes in enumerate(interface.ports)]
        self.ports = [self.pick, *(port for pair in self._pairs for port in pair.ports)]

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = self.fragment
        for k, pair in enumerate(self._pairs):
            pair.check(m, self.pick if k == 0 else Const(0, 1))
        return m


CASES = [
    (12, {}),
    long(14, {}),
    long(12, {"width": 32}),
    long(12, {"copies": 2}),
    long(11, {"streams": 2}),
]

MUTANTS = [
    long("request.start.eq(self.starts[k])", "request.start.eq(core.phase_zero)"),
    long("response.checked.eq(request.checked)", "response.checked.eq(self.starts[k])"),
]


@pytest.mark.parametrize(("cycles", "case"), CASES)
def test_every_packet_has_one_answer(tmp_path, cycles, case):
    bounded(SerialHarness(**case), tmp_path, cycles).assert_proven()


@pytest.mark.parametrize(("right", "wrong"), MUTANTS)
def test_a_wrong_connection_is_refuted_with_a_trace(tmp_path, right, wrong):
    bounded(SerialHarness(change=(right, wrong)), tmp_path, 12).assert_refuted()
