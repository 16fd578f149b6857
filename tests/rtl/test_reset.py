"""After a reset the accelerator behaves cycle by cycle as after power-up, whatever preceded the reset.

Each case uses one function alone, because others would hide a state that the reset leaves behind.
"""

import random
from typing import Any

import pytest

from rbdhw.cores.array.component import ArrayComponent
from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.fixed.program import Program
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import FUNCTIONS as ARRAYS
from rbdhw.rtl.completion import streams
from rbdhw.rtl.shell import Accelerator
from tests.support import singles
from tests.support.array_programs import array_of, mixed
from tests.support.builds import bound_of
from tests.support.edge import EXTENDED, FUNCTIONS, ID, LATENCIES, FakeCore, words
from tests.support.marks import long
from tests.support.mixed import mixed_program
from tests.support.reset_bench import ResetBench, drive
from tests.support.simulation import Simulation

WIDTH = 32
UNKNOWN = 15
NOT_A_NUMBER = 0x7FC00000
RESETS = 2
"""Resets before each function, each after a different number of cycles."""

TASKS = 3
"""Tasks after each reset."""

Beat = tuple[int, bool]


def functions_of(program: Program) -> tuple[FunctionWords, ...]:
    """Return the functions of a synthetic program, with the words in the packets of each."""

    def brought(names: tuple[str, ...]) -> Any:
        return tuple(word for word in program.inputs if word.name.partition("[")[0] in names)

    return tuple(
        FunctionWords(name, brought(ARRAYS[name].inputs), outputs, brought(ARRAYS[name].optional_inputs))
        for name, outputs in program.outputs.items()
    )


def fixed() -> Accelerator:
    core = FakeCore(ii=3, functions=FUNCTIONS, latencies=LATENCIES)
    return Accelerator(cores=[core], interface=Interface(FUNCTIONS, WIDTH))


def float32() -> Accelerator:
    return singles.accelerator(singles.core_of(3), WIDTH)


def standing() -> Accelerator:
    """Return responses of ten beats, whose results stay at the core's port until the last is taken."""
    functions = (ID, FunctionWords("fd", ID.inputs, words(*[32] * 9)))
    core = FakeCore(ii=12, functions=functions, latencies={"id": 7, "fd": 19})
    assert streams(Interface(functions, WIDTH), functions[1], 19, 12)
    return Accelerator(cores=[core], interface=Interface(functions, WIDTH))


def pipeline() -> Accelerator:
    program = mixed_program(12)
    return accelerator(PipelineComponent(program=program, bound=bound_of(program, "xcvu9p", 3)))


def array() -> Accelerator:
    program = mixed(12)
    return accelerator(ArrayComponent(program=program, array=array_of(program, 9), memory_stages=4))


def accelerator(core: Any) -> Accelerator:
    return Accelerator(cores=[core], interface=Interface(functions_of(core.program), WIDTH))


def packet(dut: Accelerator, code: int, tag: int, rng: random.Random, extended: bool = False) -> list[Beat]:
    """Return a valid task of small positive numbers, or one of an unknown function."""
    known = {function.code: function for function in dut.interface.functions}
    count = dut.interface.request_beats(known[code], extended) if code in known else 1
    numbers = [rng.randrange(1 << 10) for _ in range(count - 1)]
    if dut.interface.converts:
        numbers = [singles.single(float(number)) for number in numbers]
    header = tag | code << 16 | (EXTENDED if extended else 0) << 21
    return [(word, k == count - 1) for k, word in enumerate([header, *numbers])]


def noise(dut: Accelerator, rng: random.Random) -> list[Beat]:
    """Return a packet of any function and length, in which some singles are refused."""
    codes = [*(function.code for function in dut.interface.functions), UNKNOWN]
    beats = packet(dut, rng.choice(codes), rng.randrange(1 << 16), rng, rng.random() < 0.3)
    if rng.random() < 0.2:
        beats = beats[: rng.randrange(len(beats))] + [(rng.getrandbits(32), False)] * 3 + [(0, True)]
    header, *others = beats
    return [header, *((NOT_A_NUMBER if rng.random() < 0.2 else beat, last) for beat, last in others)]


@pytest.mark.parametrize("made", [long(fixed), long(float32), standing, long(pipeline), long(array)])
def test_after_a_reset_a_function_alone_is_answered_as_after_power_up(made) -> None:
    dut = made()
    bench = ResetBench(dut)
    codes = [*(function.code for function in dut.interface.functions), UNKNOWN]
    answers: dict[int, list[list[tuple[int, int, bool]]]] = {code: [] for code in codes}

    async def testbench(ctx: Any) -> None:
        for number in range(RESETS):
            for code in codes:
                rng = random.Random(f"{number} {code}")
                before = [beat for _ in range(40) for beat in noise(dut, rng)] if number else []
                await drive(ctx, dut, before, rng.randrange(25, 70) if number else 0, rng)
                await bench.restart(ctx)
                rng = random.Random(code)
                asked = [beat for tag in range(TASKS) for beat in packet(dut, code, tag, rng)]
                answers[code].append(await drive(ctx, dut, asked, 90))

    Simulation(bench).run(testbench)
    for code in codes:
        first, *others = answers[code]
        assert sum(last for _, _, last in first) == TASKS
        assert others == [first] * (RESETS - 1), f"function {code}"
