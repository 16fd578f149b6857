"""A core with known results, packets, and sources and sinks of beats, for tests of the packet interface."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.header import HEADER
from rbdhw.model.interface import FunctionWords
from tests.support.reset_bench import ResetBench
from tests.support.simulation import Simulation

OUTSIDE, OVERFLOW, MALFORMED, NOT_FINITE = 1, 2, 4, 8
EXTENDED, HIGH_CODE = 1, 2
OPTIONS = HEADER["options"][1]

Bounds = dict[int, tuple[int, int]]


def words(*widths: int, bounds: Bounds | None = None, first: int = 0) -> tuple[Word, ...]:
    """Return words of these widths, in slots from ``first`` on; those in ``bounds`` have a domain."""
    domain = bounds or {}
    return tuple(
        Word(f"x[{i}]", "", i, Format(width, 0), *domain.get(i, (None, None)), i)
        for i, width in enumerate(widths, first)
    )


ID = FunctionWords("id", words(12, 18, 5, bounds={0: (-1000, 900), 2: (-16, 9)}), words(12, 18))
DFD = FunctionWords(
    "dfd",
    words(12, 18, 3, bounds={0: (-1000, 900), 2: (-2, 3)}),
    words(36, 41),
    optional_outputs=words(20, 33),
)
DIFD = FunctionWords(
    "difd",
    words(12, 18, 5, 20, bounds={0: (-1000, 900), 2: (-16, 9), 3: (-7, 500_000)}),
    words(77),
    optional_inputs=words(50, bounds={4: (-5, 5)}, first=4),
)
FUNCTIONS = (ID, DFD, DIFD)
"""``id`` and ``dfd`` share slot 2 with words of different widths and bounds; two have optional words."""

LATENCIES = {"id": 7, "dfd": 19, "difd": 12}


def slot_widths(functions: Iterable[FunctionWords]) -> list[int]:
    """Return the width of the widest word of each slot."""
    widest: dict[int, int] = {}
    for function in functions:
        for word in function.inputs + function.optional_inputs:
            widest[word.slot] = max(widest.get(word.slot, 0), word.format.width)
    return [widest[slot] for slot in range(len(widest))]


def packed_bits(output: Iterable[Word]) -> int:
    """Return the bits of packed output words."""
    return sum(word.format.width for word in output)


class FakeCore(wiring.Component):
    """A core with a known answer.

    It repeats what it was given (the function's share of the payload, the functions and the options), as it
    is and inverted in turn, if that came in phase; it overflows for some payloads. Its slots are those of
    ``layout``, by default of its own functions.
    """

    def __init__(
        self,
        *,
        ii: int,
        functions: tuple[FunctionWords, ...],
        latencies: dict[str, int],
        layout: tuple[FunctionWords, ...] = (),
    ) -> None:
        self.ii = ii
        self.order = functions
        self.latencies = latencies
        self.names = tuple(function.name for function in functions)
        self.layout = layout or functions
        self.slots = tuple(slot_widths(self.layout))
        self.bits = sum(self.slots)
        ports: dict[str, Any] = {
            "phase_zero": Out(1),
            "payload": In(self.bits),
            "functions": In(len(functions)),
            "options": In(OPTIONS),
        }
        for function in functions:
            ports |= {f"overflow_{function.name}": Out(1)}
            ports |= {f"result_{function.name}": Out(self.result_bits(function.name))}
        super().__init__(ports)

    def latency(self, function: str) -> int:
        return self.latencies[function]

    def result_bits(self, function: str) -> int:
        return sum(packed_bits(f.outputs + f.optional_outputs) for f in self.order if f.name == function)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        phase = Signal(range(self.ii))
        m.d.sync += phase.eq(0)
        with m.If(phase != self.ii - 1):
            m.d.sync += phase.eq(phase + 1)
        m.d.comb += self.phase_zero.eq(phase == 0)
        given = Cat(self.payload, self.functions, self.options)
        line = [given & self.phase_zero.replicate(len(given))]
        for k in range(max(self.latencies.values())):
            line.append(Signal(len(given), name=f"line_{k}", reset_less=True))
            m.d.sync += line[-1].eq(line[-2])
        for function in self.order:
            passed = line[self.latencies[function.name]]
            masks = [(1 << payload_bits(function, options, self.layout)) - 1 for options in (0, EXTENDED)]
            mask = Mux(passed[-OPTIONS], masks[1], masks[0])
            value = Cat((passed[: self.bits] & mask)[: self.bits], passed[self.bits :])
            bits = self.result_bits(function.name)
            repeated = Cat([value, ~value] * (bits // (2 * len(value)) + 1))[:bits]
            held = Signal.like(repeated, name=f"held_{function.name}", reset_less=True)
            result = getattr(self, f"result_{function.name}")
            m.d.comb += result.eq(held)
            with m.If(phase == self.latencies[function.name] % self.ii):
                m.d.comb += result.eq(repeated)
                m.d.sync += held.eq(repeated)
            m.d.comb += getattr(self, f"overflow_{function.name}").eq(value[:2].all())
        return m

    def answer(self, function: FunctionWords, payload: int, options: int) -> tuple[int, bool]:
        """Return the result and the overflow flag."""
        size = self.bits + len(self.order) + OPTIONS
        selected = 1 << self.order.index(function)
        given = payload | selected << self.bits | options << (self.bits + len(self.order))
        pair = given | (given ^ (1 << size) - 1) << size
        bits = self.result_bits(function.name)
        repeated = sum(pair << (2 * size * k) for k in range(bits // (2 * size) + 1))
        return repeated & ((1 << bits) - 1), payload & 3 == 3


Packet = list[int]
Beat = tuple[int, bool]


@dataclass
class Task:
    """A request, with missing (-) or surplus (+) beats."""

    tag: int
    code: int
    payload: int
    options: int = 0
    status: int = 0
    surplus: int = 0

    @property
    def header(self) -> int:
        """The header without the status."""
        return header_of(self.tag, self.code, self.options)

    def function(self, functions: Iterable[FunctionWords]) -> FunctionWords | None:
        """Return the function of its code, or None if that is unknown."""
        return {f.code: f for f in functions}.get(code_of(self.header))

    def malformed(self, functions: Iterable[FunctionWords]) -> bool:
        """Return whether it is to be refused."""
        function = self.function(functions)
        allowed = (0, EXTENDED) if function and function.extensible else (0,)
        options = self.options & ~HIGH_CODE
        return function is None or bool(self.status or self.surplus) or options not in allowed

    def packet(self, width: int, functions: tuple[FunctionWords, ...] = FUNCTIONS) -> Packet:
        """Return the beats; a task of an unknown function has one beat, plus ``surplus``."""
        function = self.function(functions)
        bits = payload_bits(function, self.options, functions) if function else 0
        count = -(-(32 + bits) // width) + self.surplus
        header = self.header | self.status << 24
        return as_beats(header | self.payload << 32, count, width)


def header_of(tag: int, code: int, options: int = 0) -> int:
    """Return a header with the status zero; its bit 22 is the highest bit of the code."""
    return tag | (code & 31) << 16 | (options | (code >> 5) * HIGH_CODE) << 21


def code_of(header: int) -> int:
    """Return the function's code in a header."""
    return header >> 16 & 31 | (header >> 22 & 1) << 5


def options_of(header: int) -> int:
    """Return the options in a header, of which one is the highest bit of the code."""
    return header >> 21 & 7


def payload_bits(function: FunctionWords, options: int, functions: tuple[FunctionWords, ...]) -> int:
    """Return the bits of a request's words."""
    inputs = function.inputs + (function.optional_inputs if options & EXTENDED else ())
    return sum(slot_widths(functions)[: max((word.slot + 1 for word in inputs), default=0)])


def as_beats(value: int, count: int, width: int) -> Packet:
    """Return the lowest beats of a number."""
    return [value >> (width * k) & ((1 << width) - 1) for k in range(count)]


def response(
    task: Task, width: int, core: FakeCore, functions: tuple[FunctionWords, ...] = FUNCTIONS
) -> Packet:
    """Return the expected response to a task."""
    function = task.function(functions)
    header = task.header
    if function is None:
        return [header | MALFORMED << 24]
    returned = function.outputs + (function.optional_outputs if task.options & EXTENDED else ())
    result, overflow = core.answer(function, task.payload, options_of(task.header))
    status = OVERFLOW * overflow | OUTSIDE * outside(function, task, functions)
    if task.malformed(functions):
        status, result = MALFORMED, 0
    bits = packed_bits(returned)
    value = header | status << 24 | (result & (1 << bits) - 1) << 32
    return as_beats(value, -(-(32 + bits) // width), width)


def outside(function: FunctionWords, task: Task, functions: tuple[FunctionWords, ...]) -> bool:
    """Return whether a field of the task's payload is outside its word's domain."""
    beyond = False
    widths = slot_widths(functions)
    for word in function.inputs + (function.optional_inputs if task.options & EXTENDED else ()):
        width = widths[word.slot]
        value = task.payload >> sum(widths[: word.slot]) & ((1 << width) - 1)
        value -= (value >> width - 1) << width
        if word.lowest is not None and word.highest is not None:
            beyond |= not word.lowest <= value <= word.highest
    return beyond


def by_function(packets: Iterable[Packet]) -> dict[int, list[Packet]]:
    """Return the packets of each function code, in order."""
    sorted_packets: dict[int, list[Packet]] = {}
    for packet in packets:
        sorted_packets.setdefault(code_of(packet[0]), []).append(packet)
    return sorted_packets


def collect(dut: Any, drive: Any, cycles: int) -> list[Beat]:
    """Return the beats that leave ``dut.o``; ``drive(ctx, cycle)`` sets the inputs of each cycle."""
    beats: list[Beat] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        for cycle in range(cycles):
            drive(ctx, cycle)
            if ctx.get(dut.o.valid):
                beats.append((ctx.get(dut.o.p.data), bool(ctx.get(dut.o.p.last))))
            await ctx.tick()

    Simulation(dut).run(bench)
    return beats


@dataclass
class Bench:
    """Drives an accelerator's ports; the beats out, and the numbers of the packets in, have their cycle.

    ``valid`` and ``ready`` are the probabilities of a beat offered and of one accepted in a cycle. The
    sink accepts nothing in the cycles of ``pause``. Reset is high in those of ``reset``: there nobody
    offers or accepts, and afterwards the source goes on with the packet after the one it was in. The source
    waits with each packet for its cycle in ``starts``. ``ports`` are the prefixes of its pair of streams.
    """

    dut: Any
    valid: float = 1.0
    ready: float = 1.0
    seed: int = 1
    pause: range = range(0)
    reset: range = range(0)
    starts: Sequence[int] = ()
    ports: tuple[str, str] = ("s_axis", "m_axis")
    sent: list[tuple[int, int]] = field(default_factory=list)
    beats: list[tuple[int, Beat]] = field(default_factory=list)

    def run(self, packets: list[Packet], *, cycles: int, expected: int | None = None) -> list[Packet]:
        """The packets out, after so many cycles or when ``expected`` of them are complete."""
        return run_together([self], [packets], cycles=cycles, expected=expected)[0]

    def request(self, name: str) -> Any:
        """The port of this name of the requests."""
        return getattr(self.dut, f"{self.ports[0]}_{name}")

    def response(self, name: str) -> Any:
        """The port of this name of the responses."""
        return getattr(self.dut, f"{self.ports[1]}_{name}")

    def packets(self, after: int = 0) -> list[Packet]:
        """The complete packets among the beats from cycle ``after`` on."""
        done: list[Packet] = [[]]
        for cycle, (value, last) in self.beats:
            if cycle >= after:
                done[-1].append(value)
                if last:
                    done.append([])
        return done[:-1]


def run_together(
    benches: Sequence[Bench], packets: Sequence[list[Packet]], *, cycles: int, expected: int | None = None
) -> list[list[Packet]]:
    """The packets out of each pair of streams of a device.

    They are those after so many cycles, or when ``expected`` of them are complete altogether.
    """
    simulation = _simulation_of(benches[0].dut)

    async def drive(ctx: Any) -> None:
        pairs = [(_Source(bench, sent), _Sink(bench)) for bench, sent in zip(benches, packets, strict=True)]
        reset = _Driver(simulation.component.reset)
        for cycle in range(cycles):
            reset.set(ctx, cycle in benches[0].reset)
            offered = [source.offer(ctx, cycle) for source, _ in pairs]
            for (source, sink), one in zip(pairs, offered, strict=True):
                sink.step(ctx, cycle)
                source.step(ctx, cycle, one)
            await ctx.tick()
            if sum(sink.complete for _, sink in pairs) == expected:
                return

    simulation.run(drive)
    return [bench.packets() for bench in benches]


def unloaded_latencies(
    dut: Any, packet: Packet, ii: int, period: int = 80, ports: tuple[str, str] = ("s_axis", "m_axis")
) -> list[int]:
    """Cycles from the first beat in to the last beat out of a packet that meets no other.

    It is sent once, and then at each phase of the interval; answers come within ``period`` cycles.
    """
    starts = [k * (period // ii * ii + 1) for k in range(ii + 1)]
    bench = Bench(dut, starts=starts, ports=ports)
    bench.run([packet] * len(starts), cycles=starts[-1] + period, expected=len(starts))
    ends = [cycle for cycle, (_, last) in bench.beats if last]
    firsts: dict[int, int] = {}
    for cycle, number in bench.sent:
        firsts.setdefault(number, cycle)
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
    return [end - first for end, first in zip(ends, firsts.values(), strict=True)]


class _Driver:
    """Drives a signal; the simulator would settle again after a value that is no other."""

    def __init__(self, signal: Any) -> None:
        self.signal = signal
        self.value: int | None = None

    def set(self, ctx: Any, value: int) -> None:
        if value != self.value:
            ctx.set(self.signal, value)
            self.value = value


class _Source:
    """Offers beats, and holds each until it is accepted."""

    def __init__(self, bench: Bench, packets: list[Packet]) -> None:
        self.bench = bench
        self.packets = packets
        self.rng = random.Random(bench.seed)
        self.number, self.beat, self.holding = 0, 0, False
        self.valid, self.data, self.last = (
            _Driver(bench.request(name)) for name in ("tvalid", "tdata", "tlast")
        )

    def offer(self, ctx: Any, cycle: int) -> bool:
        if cycle in self.bench.reset:
            self.number, self.beat, self.holding = self.number + (self.beat > 0), 0, False
        start = self.bench.starts[self.number] if self.number < len(self.bench.starts) else 0
        wanted = self.holding or (self.rng.random() < self.bench.valid and cycle >= start)
        offered = wanted and self.number < len(self.packets) and cycle not in self.bench.reset
        self.valid.set(ctx, offered)
        if offered:
            packet = self.packets[self.number]
            self.data.set(ctx, packet[self.beat])
            self.last.set(ctx, self.beat == len(packet) - 1)
        return offered

    def step(self, ctx: Any, cycle: int, offered: bool) -> None:
        taken = ctx.get(self.bench.request("tready"))
        # A register answers the first cycle of a reset in the second.
        assert not (taken and {cycle - 1, cycle} <= set(self.bench.reset)), "ready in reset"
        self.holding = offered and not taken
        if offered and taken:
            self.bench.sent.append((cycle, self.number))
            self.beat += 1
            if self.beat == len(self.packets[self.number]):
                self.number, self.beat = self.number + 1, 0


class _Sink:
    """Accepts beats, and checks that none is withdrawn."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.rng = random.Random(bench.seed + 1)
        self.ready = _Driver(bench.response("tready"))
        self.refused: Beat | None = None
        self.complete = 0

    def step(self, ctx: Any, cycle: int) -> None:
        port = self.bench.response
        in_reset = cycle in self.bench.reset
        accepts = self.rng.random() < self.bench.ready and not in_reset and cycle not in self.bench.pause
        self.ready.set(ctx, accepts)
        offered = ctx.get(port("tvalid"))
        shown = (ctx.get(port("tdata")), bool(ctx.get(port("tlast")))) if offered else (0, False)
        assert self.refused is None or in_reset or (offered and shown == self.refused), "a beat was withdrawn"
        self.refused = shown if offered and not accepts and not in_reset else None
        if offered and accepts:
            self.bench.beats.append((cycle, shown))
            self.complete += shown[1]


@lru_cache(16)
def _simulation_of(dut: Any) -> Simulation:
    """The simulation of a device: the same for all benches of the same one."""
    return Simulation(ResetBench(dut))
