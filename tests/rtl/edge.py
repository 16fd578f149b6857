"""What the tests of the edge share: a core with a known answer, packets, and sources and sinks of beats."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.rtl.packet import Function

OUTSIDE, OVERFLOW, MALFORMED = 1, 2, 4


def words(*widths: int, bounds: dict[int, tuple[int, int]] | None = None) -> tuple[Word, ...]:
    """Input words of these widths; those in ``bounds`` have a domain."""
    domain = bounds or {}
    return tuple(
        Word(f"x[{i}]", "", i, Format(width, 0), *domain.get(i, (None, None)))
        for i, width in enumerate(widths)
    )


FUNCTIONS = (
    Function("id", 0, words(12, 18, 5, bounds={0: (-1000, 900), 2: (-16, 9)})),
    Function("did", 4, words(12, 18, 5, 20, 50, bounds={0: (-1000, 900), 2: (-16, 9), 3: (-7, 500_000)})),
)

BITS = max(function.input_bits for function in FUNCTIONS)


@dataclass(frozen=True)
class Tap:
    """Where a function's results leave the fake core."""

    latency: int
    bits: int


TAPS = {"id": Tap(7, 30), "did": Tap(12, 77)}


class FakeCore(wiring.Component):
    """Answers with the payload repeated and inverted in turn, if it came in phase; overflows for some."""

    def __init__(self, *, ii: int, bits: int, taps: dict[str, Tap]) -> None:
        self.ii = ii
        self.bits = bits
        self.taps = taps
        ports: dict[str, Any] = {"phase_zero": Out(1), "payload": In(bits)}
        for name, tap in taps.items():
            ports |= {f"overflow_{name}": Out(1), f"result_{name}": Out(tap.bits)}
        super().__init__(ports)

    def latency(self, function: str) -> int:
        return self.taps[function].latency

    def result_bits(self, function: str) -> int:
        return self.taps[function].bits

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        phase = Signal(range(self.ii))
        m.d.sync += phase.eq(0)
        with m.If(phase != self.ii - 1):
            m.d.sync += phase.eq(phase + 1)
        m.d.comb += self.phase_zero.eq(phase == 0)
        line = [self.payload & self.phase_zero.replicate(self.bits)]
        for k in range(max(tap.latency for tap in self.taps.values())):
            line.append(Signal(self.bits, name=f"line_{k}", reset_less=True))
            m.d.sync += line[-1].eq(line[-2])
        for name, tap in self.taps.items():
            value = line[tap.latency]
            repeated = Cat([value, ~value] * tap.bits)[: tap.bits]
            m.d.comb += getattr(self, f"result_{name}").eq(repeated)
            m.d.comb += getattr(self, f"overflow_{name}").eq(value[:2].all())
        return m

    def answer(self, name: str, payload: int) -> tuple[int, bool]:
        """The result and the overflow flag."""
        mask = (1 << self.bits) - 1
        pair = payload | (payload ^ mask) << self.bits
        bits = self.taps[name].bits
        repeats = bits // (2 * self.bits) + 1
        repeated = sum(pair << (2 * self.bits * k) for k in range(repeats))
        return repeated & ((1 << bits) - 1), payload & 3 == 3


Packet = list[int]
Beat = tuple[int, bool]


@dataclass
class Task:
    """A request: what it says, and the beats it is missing (-) or has too many (+)."""

    tag: int
    code: int
    payload: int
    reserved: int = 0
    surplus: int = 0

    def packet(self, width: int, functions: Iterable[Function] = FUNCTIONS) -> Packet:
        """The beats; a task of an unknown function has one, and with it come ``surplus`` more."""
        bits = {f.code: f.input_bits for f in functions}.get(self.code, 0)
        count = -(-(32 + bits) // width) + self.surplus
        value = self.tag | self.code << 16 | self.reserved << 24 | self.payload << 32
        return [value >> (width * k) & ((1 << width) - 1) for k in range(count)]


def response(task: Task, width: int, core: FakeCore, functions: Iterable[Function] = FUNCTIONS) -> Packet:
    """The response that a task deserves."""
    function = {f.code: f for f in functions}.get(task.code)
    if function is None:
        return [task.tag | task.code << 16 | MALFORMED << 24]
    bits = core.taps[function.name].bits
    result, overflow = core.answer(function.name, task.payload)
    status = OVERFLOW * overflow | OUTSIDE * outside(function, task.payload)
    if task.reserved or task.surplus:
        status, result = MALFORMED, 0
    value = task.tag | task.code << 16 | status << 24 | result << 32
    return [value >> (width * k) & ((1 << width) - 1) for k in range(-(-(32 + bits) // width))]


def outside(function: Function, payload: int) -> bool:
    """Whether a word of the payload is outside its domain."""
    found = False
    for word in function.inputs:
        value = payload & ((1 << word.format.width) - 1)
        payload >>= word.format.width
        value -= (value > word.format.highest) << word.format.width
        if word.lowest is not None and word.highest is not None:
            found |= not word.lowest <= value <= word.highest
    return found


def by_function(packets: Iterable[Packet]) -> dict[int, list[Packet]]:
    """The packets of each function code, in order."""
    sorted_packets: dict[int, list[Packet]] = {}
    for packet in packets:
        sorted_packets.setdefault(packet[0] >> 16 & 0xFF, []).append(packet)
    return sorted_packets


@dataclass
class Bench:
    """Drives an accelerator's ports; the beats out, and the numbers of the packets in, have their cycle.

    ``valid`` and ``ready`` are the probabilities of a beat offered and of one accepted in a cycle. The
    sink accepts nothing in the cycles of ``pause``. Reset is high in those of ``reset``: there nobody
    offers or accepts, and afterwards the source goes on with the packet after the one it was in.
    """

    dut: Any
    valid: float = 1.0
    ready: float = 1.0
    seed: int = 1
    pause: range = range(0)
    reset: range = range(0)
    sent: list[tuple[int, int]] = field(default_factory=list)
    beats: list[tuple[int, Beat]] = field(default_factory=list)

    def run(self, packets: list[Packet], *, cycles: int, expected: int | None = None) -> list[Packet]:
        """The packets out, after so many cycles or when ``expected`` of them are complete."""
        top = _Top(self.dut)
        simulator = Simulator(top)
        simulator.add_clock(1e-8)

        async def bench(ctx: Any) -> None:
            source, sink = _Source(self, packets), _Sink(self)
            for cycle in range(cycles):
                ctx.set(top.reset, cycle in self.reset)
                offered = source.offer(ctx, cycle)
                sink.step(ctx, cycle)
                source.step(ctx, cycle, offered)
                await ctx.tick()
                if sum(last for _, (_, last) in self.beats) == expected:
                    return

        simulator.add_testbench(bench)
        simulator.run()
        return self.packets()

    def packets(self, after: int = 0) -> list[Packet]:
        """The complete packets among the beats from cycle ``after`` on."""
        done: list[Packet] = [[]]
        for cycle, (value, last) in self.beats:
            if cycle >= after:
                done[-1].append(value)
                if last:
                    done.append([])
        return done[:-1]


class _Source:
    """Offers beats, and holds each until it is taken."""

    def __init__(self, bench: Bench, packets: list[Packet]) -> None:
        self.bench = bench
        self.packets = packets
        self.rng = random.Random(bench.seed)
        self.number, self.beat, self.holding = 0, 0, False

    def offer(self, ctx: Any, cycle: int) -> bool:
        if cycle in self.bench.reset:
            self.number, self.beat, self.holding = self.number + (self.beat > 0), 0, False
        wanted = self.holding or self.rng.random() < self.bench.valid
        offered = wanted and self.number < len(self.packets) and cycle not in self.bench.reset
        ctx.set(self.bench.dut.s_axis_tvalid, offered)
        if offered:
            packet = self.packets[self.number]
            ctx.set(self.bench.dut.s_axis_tdata, packet[self.beat])
            ctx.set(self.bench.dut.s_axis_tlast, self.beat == len(packet) - 1)
        return offered

    def step(self, ctx: Any, cycle: int, offered: bool) -> None:
        taken = ctx.get(self.bench.dut.s_axis_tready)
        assert not (taken and cycle in self.bench.reset), "ready in reset"
        self.holding = offered and not taken
        if offered and taken:
            self.bench.sent.append((cycle, self.number))
            self.beat += 1
            if self.beat == len(self.packets[self.number]):
                self.number, self.beat = self.number + 1, 0


class _Sink:
    """Accepts beats, and sees that none is withdrawn."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.rng = random.Random(bench.seed + 1)
        self.refused: Beat | None = None

    def step(self, ctx: Any, cycle: int) -> None:
        dut = self.bench.dut
        in_reset = cycle in self.bench.reset
        accepts = self.rng.random() < self.bench.ready and not in_reset and cycle not in self.bench.pause
        ctx.set(dut.m_axis_tready, accepts)
        shown = (ctx.get(dut.m_axis_tdata), bool(ctx.get(dut.m_axis_tlast)))
        offered = ctx.get(dut.m_axis_tvalid)
        assert self.refused is None or in_reset or (offered and shown == self.refused), "a beat was withdrawn"
        self.refused = shown if offered and not accepts and not in_reset else None
        if offered and accepts:
            self.bench.beats.append((cycle, shown))


class _Top(Elaboratable):
    """The device with its reset in hand."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.reset = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        m.submodules.dut = self.dut
        m.d.comb += sync.rst.eq(self.reset)
        return m
