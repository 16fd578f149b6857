"""A core with known results that takes numbers link by link, its packets, and the answers to them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from amaranth.hdl import Module, Mux, Signal

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.single_precision import from_singles, to_singles
from rbdhw.header import HEADER_BITS
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import CODES
from rbdhw.rtl.column_reader import NUMBER_LATENCY
from rbdhw.rtl.serial_core import SerialCore
from rbdhw.rtl.serial_layout import Reader
from rbdhw.rtl.shell import Accelerator
from tests.support.edge import (
    HIGH_CODE,
    MALFORMED,
    NOT_FINITE,
    OUTSIDE,
    OVERFLOW,
    Packet,
    as_beats,
    code_of,
    header_of,
)

CODE = CODES["fd"]

RESULT = Format(15, 4)

VELOCITY = Format(9, 4)

FORCE = Format(12, 3)

FACTORS = {"turn": 3, "slide": 5, "v": 7, "tau": 11}
"""The inputs of a link, and their factors in its result."""

Bounds = tuple[int, int] | None


VELOCITY, FORCE = Format(9, 4), Format(12, 3)


@dataclass(frozen=True)
class Link:
    """The words of a link; without bounds ``q`` is an angle that wraps."""

    q: Format
    q_bounds: Bounds = None
    v: Format = VELOCITY
    v_bounds: Bounds = (-100, 90)
    tau: Format = FORCE
    tau_bounds: Bounds = (-2048, 2047)

    @property
    def slides(self) -> bool:
        return self.q_bounds is not None


TURNS = Link(Format(11, 11))
SLIDES = Link(Format(13, 5), (-3000, 3500))

CHAINS: dict[str, tuple[Link, ...]] = {
    "equal": (TURNS,) * 5,
    "mixed": (TURNS, SLIDES, TURNS, Link(Format(13, 5), (-4096, 3900), v_bounds=(-50, 255))),
    "wide": (Link(Format(36, 30), (-(1 << 34), 1 << 33), Format(34, 20), (-(1 << 33), 5), Format(40, 3)),)
    * 3,
    "aligned": (Link(Format(32, 32), v=Format(32, 5), tau=Format(32, 3)),) * 3,
}


def function_of(chain: str, result: Format = RESULT) -> FunctionWords:
    """Return the words of forward dynamics of a chain."""
    links = CHAINS[chain]
    words = [
        (f"{array}[{k}]", getattr(link, array), getattr(link, f"{array}_bounds"))
        for array in ("q", "v", "tau")
        for k, link in enumerate(links)
    ]
    return FunctionWords(
        "fd",
        tuple(
            Word(name, "", -1, number_format, *(bounds or (None, None)), slot)
            for slot, (name, number_format, bounds) in enumerate(words)
        ),
        tuple(Word(f"fd.a[{k}]", "", -1, result) for k in range(len(links))),
    )


class FakeSerialCore(SerialCore):
    """A core with a known answer.

    The result of a link depends on its numbers and on those of the links before it; some overflow.
    """

    def __init__(self, *, chain: str, window: int, delay: int, result: Format = RESULT) -> None:
        links = CHAINS[chain]
        slides = tuple(link.slides for link in links)
        everywhere = (True,) * len(links)
        self.window, self.delay = window, delay
        self.function = function_of(chain, result)
        self.before = -(-NUMBER_LATENCY // window)
        widths = {name: max(getattr(link, name).width for link in links) for name in ("q", "v", "tau")}
        self.arrays = ("q", "q", "v", "tau")
        masks = (tuple(not slide for slide in slides), slides, everywhere, everywhere)
        readers = [
            Reader(name, array, widths[array], mask)
            for name, array, mask in zip(FACTORS, self.arrays, masks, strict=True)
            if any(mask)
        ]
        super().__init__(
            function="fd",
            readers=readers,
            slots=[word.format.width for word in self.function.inputs],
            width=result.width,
            window=window,
            cycles=(self.before + delay + len(links) - 1) * window,
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        slot, count = Signal(range(self.window)), Signal(range(self.links))
        last = slot == self.window - 1
        m.d.sync += slot.eq(Mux(last, 0, slot + 1))
        with m.If(last):
            m.d.sync += count.eq(Mux(count == self.links - 1, 0, count + 1))
        m.d.comb += [
            self.first.eq(slot == 0),
            self.phase_zero.eq(self.first & (count == 0)),
            self.begins.eq(self.first & (count == (self.before + self.delay) % self.links)),
        ]
        begun = count == self.before % self.links
        sums, flags = Signal(self.width), Signal()
        now, flag = Signal.like(sums), Signal()
        total = Mux(begun, 0, sums) + 1
        for reader in self.readers:
            total += FACTORS[reader.name] * self.numbers[reader.name].as_signed()
        m.d.comb += [now.eq(total), flag.eq((now[:3].all()) | Mux(begun, 0, flags))]
        results, overflows = [now], [flag]
        with m.If(self.first):
            m.d.sync += [sums.eq(now), flags.eq(flag)]
            for k in range(self.delay):
                results.append(Signal.like(now, name=f"result_{k}"))
                overflows.append(Signal(name=f"overflow_{k}"))
                m.d.sync += [results[-1].eq(results[-2]), overflows[-1].eq(overflows[-2])]
        m.d.comb += [self.result.eq(results[-1]), self.overflow.eq(overflows[-1])]
        return m

    def answer(self, numbers: Sequence[int]) -> tuple[list[int], bool]:
        """Return the results of a task, whose words are in the order of slots, and whether one overflowed."""
        results, total, overflow = [], 0, False
        for k in range(self.links):
            q, v, tau = (numbers[k + self.links * array] for array in range(3))
            slides = any(reader.name == "slide" and reader.links[k] for reader in self.readers)
            total += 1 + (5 if slides else 3) * q + 7 * v + 11 * tau
            overflow |= total & 7 == 7
            value = total & (1 << self.width) - 1
            results.append(value - (value >> self.width - 1 << self.width))
        return results, overflow


@dataclass
class Task:
    """A request of integers, or of singles, with missing (-) or surplus (+) beats."""

    tag: int
    numbers: list[int]
    code: int = CODE
    options: int = 0
    status: int = 0
    surplus: int = 0

    @property
    def header(self) -> int:
        return header_of(self.tag, self.code, self.options)

    @property
    def malformed(self) -> bool:
        return bool(self.options & ~HIGH_CODE or self.status or self.surplus)

    def packet(self, interface: Interface) -> Packet:
        """Return the beats."""
        (function,) = interface.functions
        bits, position = self.header | self.status << 24, HEADER_BITS
        for number, width in zip(self.numbers, interface.request_widths("fd"), strict=True):
            bits |= (number & (1 << width) - 1) << position
            position += width
        return as_beats(bits, interface.request_beats(function, False) + self.surplus, interface.data_width)

    def response(self, interface: Interface, core: FakeSerialCore) -> Packet:
        """Return the expected beats."""
        if code_of(self.header) != interface.functions[0].code:
            return [self.header | MALFORMED << 24]
        (function,) = interface.functions
        status, results = MALFORMED, [0] * core.links
        if not self.malformed:
            status, results = self._answer(interface, core)
        bits, position = self.header | status << 24, HEADER_BITS
        for result, width in zip(results, interface.response_widths("fd"), strict=True):
            bits |= (result & (1 << width) - 1) << position
            position += width
        return as_beats(bits, interface.response_beats(function, False), interface.data_width)

    def _answer(self, interface: Interface, core: FakeSerialCore) -> tuple[int, list[int]]:
        (function,) = interface.functions
        fields, status = list(self.numbers), 0
        if interface.converts:
            for k, word in enumerate(function.inputs):
                single = np.array([self.numbers[k]], np.uint32)
                field = Format(interface.request_field, word.format.binary_point)
                number, refused = from_singles(single, field, wraps=word.lowest is None)
                fields[k] = int(number[0])
                status |= NOT_FINITE * int(refused[0])
        if status:
            return status, [0] * core.links
        for word, field in zip(function.inputs, fields, strict=True):
            if word.lowest is not None and word.highest is not None:
                status |= OUTSIDE * (not word.lowest <= field <= word.highest)
        words = [_low(field, word.format.width) for word, field in zip(function.inputs, fields, strict=True)]
        results, overflow = core.answer(words)
        if interface.converts:
            (point,) = {word.format.binary_point for word in function.outputs}
            results = to_singles(np.array(results), point).tolist()
        return status | OVERFLOW * overflow, results


def _low(value: int, width: int) -> int:
    low = value & (1 << width) - 1
    return low - (low >> width - 1 << width)


def any_tasks(interface: Interface, count: int, seed: int) -> list[Task]:
    """Return random tasks: half of them good, some outside the domain, and a few malformed or not finite."""
    rng = random.Random(seed)
    (function,) = interface.functions
    beats = interface.request_beats(function, False)
    tasks = []
    for tag in range(count):
        task = Task(tag, [_number(rng, word, interface.converts) for word in function.inputs])
        spoilt = rng.randrange(len(function.inputs))
        word = function.inputs[spoilt]
        match rng.randrange(16):
            case 0:
                task.code = rng.choice([CODE + 1, 31])
                task.surplus = rng.choice([0, 1 - beats])
            case 1:
                task.surplus = rng.choice([-1, 1, 2, 1 - beats] if beats > 1 else [1, 3])
            case 2:
                task.options = rng.randrange(1, 8)
            case 3:
                task.status = 1 << rng.randrange(8)
            case 4 | 5 | 6 if word.lowest is not None and word.highest is not None:
                beyond = rng.choice([word.lowest - 1, word.highest + 1])
                if interface.converts:
                    task.numbers[spoilt] = int(to_singles(np.array([beyond]), word.format.binary_point)[0])
                elif word.format.lowest <= beyond <= word.format.highest:
                    task.numbers[spoilt] = beyond
            case 7 if interface.converts:
                task.numbers[spoilt] = rng.choice([0x7F800000, 0xFFC00000, 1])
        tasks.append(task)
    return tasks


def _number(rng: random.Random, word: Word, single: bool) -> int:
    low = word.format.lowest if word.lowest is None else word.lowest
    high = word.format.highest if word.highest is None else word.highest
    value = rng.choice([low, high, *(rng.randint(low, high) for _ in range(6))])
    if not single:
        return value
    if word.lowest is None:
        value += rng.choice([0, 5, -3]) << word.format.width
    return int(to_singles(np.array([value]), word.format.binary_point)[0])


@lru_cache(32)
def serial_accelerator(
    chain: str,
    window: int,
    data_width: int,
    *,
    number: str = "fixed",
    delay: int = 9,
    result: Format = RESULT,
    copies: int = 1,
    streams: int = 1,
) -> Accelerator:
    """Return an accelerator of fake cores."""
    cores = [FakeSerialCore(chain=chain, window=window, delay=delay, result=result) for _ in range(copies)]
    return Accelerator(
        cores=cores, interface=Interface((cores[0].function,), data_width, number, streams=streams)
    )
