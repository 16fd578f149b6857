"""What a completion promises while its neighbours keep to what it expects, for proofs by parts.

A contract is used twice. Beside the block, its expectations are met and its promises are asserted. In place
of the block its promises are assumed, and its expectations are asserted: what is proven with the stand-in
holds with the block. Promises of a cycle follow from the expectations up to that cycle, so neither side
relies on what is to come (McMillan 1999).
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring

from rbdhw.header import HEADER, HEADER_BITS, Status
from rbdhw.rtl.completion import Completion
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.skid_buffer import SkidBuffer

SLOWEST = 5
"""The most cycles in which a completion of the cores here has tasks inside and offers no beat."""


class CompletionContract:
    """The contract of a completion whose tasks start when they are admitted, with functions of this code.

    ``mark`` and ``bad`` belong to the task that is admitted: whether it is the marked one, and whether it is
    malformed. The marked task overflows and has 1 as its result, unless it is malformed or of no function.

    ``expected`` and ``promised`` say whether either side has kept to the contract in this cycle.
    """

    def __init__(self, m, ports, code, mark, bad, timed):
        depth, out = ports.depth, ports.o
        self._m, self._ports, self._code = m, ports, code
        self._beats = ports.interface.response_beats(ports.function, False) if ports.function else 1
        self.inside, self.known, self.ahead = (
            Signal(range(depth + 2), name=name) for name in ("inside", "known", "ahead")
        )  # tasks, those of them with a record, and those before the marked one, which has one
        self.waits, self.was_bad = Signal(name="waits"), Signal(name="was_bad")
        self.sent = Signal(range(self._beats), name="sent")
        admitted = Cat(ports.admit, mark & ports.admit, bad & ports.admit)
        self.stages = [admitted]
        for k in range(max(CHECKED, ports.latency)):
            self.stages.append(Signal(3, name=f"admitted_{k}"))
            m.d.sync += self.stages[-1].eq(self.stages[-2])
        self.recorded, self.arrived = self.stages[CHECKED], self.stages[ports.latency]
        self.leaves = out.valid & out.ready & (self.sent == self._beats - 1)
        self.leaves_mark = self.leaves & self.waits & (self.ahead == 0)
        self._count(m, out.valid & out.ready)
        self.expected = self._expectations().all()
        self.promised = self._promises(out, timed).all()

    def _count(self, m, moves):
        m.d.sync += [
            self.inside.eq(self.inside + self._ports.admit - self.leaves),
            self.known.eq(self.known + self._ports.recorded - self.leaves),
        ]
        with m.If(moves):
            m.d.sync += self.sent.eq(Mux(self.leaves, 0, self.sent + 1))
        with m.If(self.leaves & self.waits):
            m.d.sync += [self.ahead.eq(self.ahead - 1), self.waits.eq(~self.leaves_mark)]
        with m.If(self.recorded[1]):
            m.d.sync += [self.waits.eq(1), self.ahead.eq(self.known - self.leaves)]
            m.d.sync += self.was_bad.eq(self.recorded[2])

    def _expectations(self):
        ports, record = self._ports, self._ports.record
        recorded, marked, bad = self.recorded
        well = self.arrived[1] & ~self.arrived[2] if ports.function else Const(0, 1)
        right = (record.tag[0] == marked) & (record.malformed == bad) & (record.function == self._code)
        return Cat(
            ports.available | ~ports.admit,
            ports.start == ports.admit,
            ports.recorded == recorded,
            ~recorded | right & (record.options == 0) & ~record.not_finite & ~record.outside,
            ~well | ports.result[:1].all() & ports.overflow,
            ~recorded | bad if ports.function is None else 1,
        )

    def _promises(self, out, timed):
        m, begins = self._m, out.valid & (self.sent == 0)
        waited, follows = Signal(name="waited"), Signal(name="follows")
        before = Signal.like(out.p.as_value(), name="before")
        m.d.sync += [
            waited.eq(out.valid & ~out.ready),
            before.eq(out.p.as_value()),
            follows.eq(self._ports.more & (~out.valid & (self.sent == 0) | self.leaves)),
        ]
        header = {name: out.p.data[low : low + width] for name, (low, width) in HEADER.items()}
        marked, computes = self.waits & (self.ahead == 0), ~self.was_bad & bool(self._ports.function)
        right = (header["status"][Status.MALFORMED] == ~computes[0]) & (out.p.data[HEADER_BITS] == computes)
        right &= header["status"][Status.OVERFLOW] == computes
        return Cat(
            self._ports.available | (self.inside >= self._ports.depth),
            ~self._ports.available | (self.inside <= self._ports.depth),  # one may be at the output
            ~out.valid | (self.known != 0) & (out.p.last == (self.sent == self._beats - 1)),
            ~waited | out.valid & (out.p.as_value() == before),
            ~follows | out.valid,
            ~begins | (header["tag"][0] == marked) & (header["function"] == self._code),
            ~(begins & marked) | right,
            self._is_in_time() if timed else 1,
        )

    def _is_in_time(self):
        silent = Signal(range(SLOWEST + 2), name="silent")
        self._m.d.sync += silent.eq(Mux(~self._ports.o.valid & (self.inside != 0), silent + 1, 0))
        return silent <= SLOWEST


class StandIn(Completion):
    """Takes the place of a completion: it does what it likes within the contract.

    The harness drives ``mark`` and ``bad``, and lets ``free`` be free. Of the data there is what is compared;
    no part of an edge looks at the rest.
    """

    def __init__(self, *, code, timed, **arguments):
        super().__init__(**arguments)
        self.code, self._timed = code, timed
        self.mark, self.bad = Signal(name="mark"), Signal(name="bad")
        self.free = Signal(8, name=f"free_{code}")

    def elaborate(self, _platform):
        m = Module()
        available, more, valid, last, tag, malformed, overflow, result = self.free
        header = {"tag": tag, "function": Const(self.code, HEADER["function"][1])}
        header["status"] = overflow << Status.OVERFLOW | malformed << Status.MALFORMED
        bits = (value << HEADER[name][0] for name, value in header.items())
        self.contract = CompletionContract(m, self, self.code, self.mark, self.bad, self._timed)
        m.d.comb += [
            Cat(self.available, self.more, self.o.valid, self.o.p.last).eq(Cat(available, more, valid, last)),
            self.o.p.data.eq(sum(bits, result << HEADER_BITS)),
            Assert(self.contract.expected),
            Assume(self.contract.promised),
        ]
        return m


class Wire(SkidBuffer):
    """Takes the place of a skid buffer: what is proven for any stream holds for one that comes from it."""

    def elaborate(self, _platform):
        m = Module()
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        return m
