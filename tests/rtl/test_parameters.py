"""Loaded parameters before cores with known results: several sets, loads among tasks of several functions."""

import random
from dataclasses import dataclass, field, replace

import pytest

from rbdhw.fixed.program import Word
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import LOAD_PARAMETERS
from rbdhw.rtl.shell import Accelerator
from tests.support.edge import (
    DFD,
    ID,
    LATENCIES,
    MALFORMED,
    OUTSIDE,
    OVERFLOW,
    Bench,
    FakeCore,
    Packet,
    as_beats,
    by_function,
    packed_bits,
)

WIDTHS = 12, 18, 5
INITIAL = 5
BOUNDS = (-100_000, 90_000)


def held(function: FunctionWords) -> FunctionWords:
    """Return a function whose second word is loaded."""
    first, parameter, *others = function.inputs
    bounded = replace(parameter, lowest=BOUNDS[0], highest=BOUNDS[1])
    return replace(function, inputs=(first, bounded, *others), optional_outputs=(), held=(bounded,))


FUNCTIONS = held(ID), held(DFD)
LOAD = FunctionWords(LOAD_PARAMETERS, FUNCTIONS[0].held, ())


@dataclass
class Sets:
    """What the hardware holds: the parameter and the number of loads of each set."""

    count: int
    values: list[int] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [INITIAL] * self.count
        self.loads = [0] * self.count

    def answer(self, core: FakeCore, function: FunctionWords, tag: int, payload: int, number: int) -> Packet:
        """Return the answer to a task or a load of a set, which may not be there."""
        known = number < self.count
        odd = self.loads[number if known else 0] % 2
        words = [payload & 0xFFF, payload >> 12 & 0x3FFFF, payload >> 30]
        value, status = 0, MALFORMED
        if known:
            if function is LOAD:
                self.values[number] = words[1]
                self.loads[number] += 1
            words[1] = self.values[number]
            value, overflow = (0, False) if function is LOAD else core.answer(function, join(words), 0)
            status = OVERFLOW * overflow | OUTSIDE * any(outside(word, words) for word in function.inputs)
        header, bits = tag | function.code << 16 | odd << 23 | status << 24, packed_bits(function.outputs)
        return as_beats(header | (value & (1 << bits) - 1) << 32, -(-(32 + bits) // 64), 64)


def join(words: list[int]) -> int:
    """Return the payload of words."""
    return words[0] | words[1] << 12 | words[2] << 30


def outside(word: Word, words: list[int]) -> bool:
    """Return whether the field of a word is outside its bounds."""
    value, width = words[word.slot], WIDTHS[word.slot]
    signed = value - (value >> width - 1 << width)
    return word.lowest is not None and word.highest is not None and not word.lowest <= signed <= word.highest


@pytest.mark.parametrize(
    ("count", "ii", "copies", "valid", "ready"), [(3, 1, 1, 1.0, 0.5), (4, 4, 2, 0.7, 0.9)]
)
def test_each_task_has_the_set_of_its_header(
    count: int, ii: int, copies: int, valid: float, ready: float
) -> None:
    """Loads come between tasks; a set that is not there changes nothing."""
    interface = Interface((*FUNCTIONS, LOAD), 64, parameters={"x[1]": INITIAL}, parameter_sets=count)
    cores = [FakeCore(ii=ii, functions=FUNCTIONS, latencies=LATENCIES) for _ in range(copies)]
    rng, sets = random.Random(count), Sets(count)
    packets, expected = [], []
    for tag in range(150):
        function = rng.choice((*FUNCTIONS, *FUNCTIONS, LOAD))
        number = rng.choice([*range(count), count, 129]) if tag % 8 == 0 else rng.randrange(count)
        payload = rng.getrandbits(30 if function is LOAD else 35)
        header = tag | function.code << 16 | number << 24
        packets.append(
            as_beats(header | payload << 32, -(-(32 + (30 if function is LOAD else 35)) // 64), 64)
        )
        expected.append(sets.answer(cores[0], function, tag, payload, number))
    bench = Bench(Accelerator(cores=cores, interface=interface), valid=valid, ready=ready)
    came = bench.run(packets, cycles=6000, expected=len(packets))
    assert by_function(came) == by_function(expected)
    assert min(sets.loads) > 2
