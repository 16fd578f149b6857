"""Tasks of singles, and the accelerator with known results that answers them."""

from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.single_precision import from_singles, to_singles
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.shell import Accelerator
from tests.support.edge import (
    EXTENDED,
    HIGH_CODE,
    MALFORMED,
    NOT_FINITE,
    OUTSIDE,
    OVERFLOW,
    FakeCore,
    Packet,
    as_beats,
    code_of,
    header_of,
    options_of,
    slot_widths,
)


def word(slot: int, width: int, binary_point: int, *bounds: int) -> Word:
    return Word(f"x[{slot}]", "", slot, Format(width, binary_point), *(bounds or (None, None)), slot)


ID = FunctionWords(
    "id",
    (word(0, 12, 3, -1000, 900), word(1, 18, 10, -99_999, 99_999), word(2, 9, 9)),
    (word(0, 12, 5), word(1, 30, 20)),
)


DFD = FunctionWords(
    "dfd",
    (word(0, 12, 3, -1000, 900), word(1, 18, 10, -99_999, 99_999), word(2, 3, 1, -2, 3)),
    (word(0, 36, 7), word(1, 12, -2), word(2, 33, 33)),
    optional_outputs=(word(3, 20, 10), word(4, 35, 4)),
)


DIFD = FunctionWords(
    "difd",
    (word(0, 12, 3, -1000, 900), word(1, 18, 10, -99_999, 99_999), word(2, 9, 9)),
    (word(0, 36, 30),),
    optional_inputs=(word(3, 34, 20, -(1 << 32), 1 << 32), word(4, 12, 3, -9, 9)),
)


FUNCTIONS = (ID, DFD, DIFD)


BY_CODE = {function.code: function for function in FUNCTIONS}


LATENCIES = {"id": 7, "dfd": 19, "difd": 12}


FIELD = 34


NONE = (0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC00000, 1, 0x80000001)
"""Infinities, not-a-numbers and subnormals."""


def single(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


@dataclass
class Task:
    """A request of singles, with missing (-) or surplus (+) beats."""

    tag: int
    code: int
    singles: list[int]
    options: int = 0
    status: int = 0
    surplus: int = 0
    padding: list[int] = field(default_factory=lambda: [0x7FC00000] * 15)

    @property
    def header(self) -> int:
        return header_of(self.tag, self.code, self.options)

    def packet(self, width: int) -> Packet:
        """Return the beats; in the last beat the space after the numbers is filled with refused singles."""
        lanes = [self.header | self.status << 24, *self.singles]
        beats = -(-32 * len(lanes) // width)
        value = sum(lane << (32 * k) for k, lane in enumerate(lanes + self.padding))
        return as_beats(value & (1 << beats * width) - 1, beats + self.surplus, width)

    @property
    def malformed(self) -> bool:
        function = BY_CODE.get(code_of(self.header))
        allowed = (0, EXTENDED) if function and function.extensible else (0,)
        return (
            function is None or bool(self.status or self.surplus) or self.options & ~HIGH_CODE not in allowed
        )

    def response(self, width: int, core: FakeCore) -> Packet:
        """Return the expected response."""
        function = BY_CODE.get(code_of(self.header))
        if function is None:
            return [self.header | MALFORMED << 24]
        returned = function.returned(bool(self.options & EXTENDED and function.extensible))
        status, singles = MALFORMED, [0] * len(returned)
        if not self.malformed:
            status, singles = self.answer(function, core)
        lanes = [self.header | status << 24, *singles, *[0] * 16]
        count = -(-32 * (1 + len(returned)) // width)
        return as_beats(sum(lane << (32 * k) for k, lane in enumerate(lanes)), count, width)

    def answer(self, function: FunctionWords, core: FakeCore) -> tuple[int, list[int]]:
        """Return status and singles of a well-formed task."""
        returned = function.returned(bool(self.options))
        payload, position, status = 0, 0, 0
        for word, bits, width in zip(
            function.brought(bool(self.options)), self.singles, slot_widths(FUNCTIONS), strict=False
        ):
            chosen = Format(FIELD, word.format.binary_point)
            number, refused = from_singles(np.array([bits], np.uint32), chosen, wraps=word.lowest is None)
            status |= NOT_FINITE * int(refused[0])
            if word.lowest is not None and word.highest is not None:
                status |= OUTSIDE * (not word.lowest <= number[0] <= word.highest)
            payload |= (int(number[0]) & (1 << width) - 1) << position
            position += width
        if status & NOT_FINITE:
            return NOT_FINITE, [0] * len(returned)
        result, overflow = core.answer(function, payload, options_of(self.header))
        singles = []
        for word in returned:
            value = result & (1 << word.format.width) - 1
            value -= (value >> word.format.width - 1) << word.format.width
            result >>= word.format.width
            singles.append(int(to_singles(np.array([value]), word.format.binary_point)[0]))
        return status | OVERFLOW * overflow, singles


@cache
def core_of(ii: int = 1) -> FakeCore:
    return FakeCore(ii=ii, functions=FUNCTIONS, latencies=LATENCIES)


@lru_cache(16)
def accelerator(core: FakeCore, width: int) -> Accelerator:
    return Accelerator(cores=[core], interface=Interface(core.order, width, number="float32"))
