"""Rollouts in the accelerator with a core of known results: reset, and what is refused."""

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Program
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.interface import FunctionWords
from rbdhw.model.program_interface import program_interface
from rbdhw.protocol import CODES, COST, LOAD, LOAD_COST, LOAD_RESIDUAL, ROLLOUT, ROLLOUT_PARTS
from rbdhw.rtl.rollout import flights
from rbdhw.rtl.shell import Accelerator
from tests.support.edge import FakeCore
from tests.support.marks import long
from tests.support.reset_bench import ResetBench, drive
from tests.support.rollout_edge import HORIZON, ROWS, STEP, WIDTH, rollouts
from tests.support.simulation import Simulation


def packet(function: str, tag: int, parts: tuple[str, ...] = (), **numbers: int) -> list[tuple[int, bool]]:
    """Return a request of one or more beats."""
    interface = rollouts(parts)
    bits, position = tag | CODES[function] << 16, 32
    values = {word.slot: numbers.get(word.name, 0) for word in interface.inputs(function)}
    for slot, width in enumerate(interface.request_widths(function)):
        bits |= (values.get(slot, 0) & (1 << width) - 1) << position
        position += width
    count = -(-position // WIDTH)
    return [(bits >> k * WIDTH & (1 << WIDTH) - 1, k == count - 1) for k in range(count)]


def job(rng: random.Random, parts: tuple[str, ...]) -> list[tuple[int, bool]]:
    """Return rows, rollouts of them, and steps between."""
    beats = []
    for row in range(3):
        numbers = {"tau[0]": rng.randrange(30), "std[0]": rng.randrange(9), "row": row}
        beats += packet(LOAD, row, parts, **numbers)
        if COST in parts:
            names = ("x_weight[0]", "x_weight[1]", "tau_weight[0]", "y[0]", "y_weight[0]", "y_weight[1]")
            weights = {name: rng.randrange(999) for name in names}
            beats += packet(LOAD_COST, row, parts, **weights, row=row)
    for row in range(ROWS if COST in parts else 0):
        numbers = {"C[0]": rng.randrange(1 << 16), "C[1]": rng.randrange(1 << 16), "row": row}
        beats += packet(LOAD_RESIDUAL, row, parts, **numbers)
    for tag in range(6):
        numbers = {"q[0]": rng.randrange(90), "v[0]": rng.randrange(90)}
        beats += packet("step", tag, parts, **numbers)
        numbers |= {"steps": rng.randrange(1, 4), "every": rng.randrange(3), "seed": rng.randrange(99)}
        beats += packet(ROLLOUT, tag, parts, **numbers)
    return beats


def simulated(dut: Accelerator, beats: list[tuple[int, bool]], cycles: int) -> list[Any]:
    """Return what :func:`drive` does of an accelerator after power-up."""
    taken: list[Any] = []

    async def testbench(ctx: Any) -> None:
        taken.extend(await drive(ctx, dut, beats, cycles))

    Simulation(dut).run(testbench)
    return taken


@pytest.mark.parametrize("parts", [long(()), tuple(ROLLOUT_PARTS)])
def test_after_a_reset_in_the_middle_of_rollouts_all_is_as_after_power_up(parts: tuple[str, ...]) -> None:
    core = FakeCore(ii=2, functions=(STEP,), latencies={"step": 9})
    dut = Accelerator(cores=[core], interface=rollouts(parts))
    bench = ResetBench(dut)
    answers: list[list[Any]] = []

    async def testbench(ctx: Any) -> None:
        for cycles in (0, 17, 73):
            await drive(ctx, dut, job(random.Random(cycles), parts), cycles)
            await bench.restart(ctx)
            unloaded = packet(ROLLOUT, 77, parts, steps=1)
            answers.append(await drive(ctx, dut, unloaded + job(random.Random(1), parts), 320))

    Simulation(bench).run(testbench)
    first, *others = answers
    malformed = 77 | CODES[ROLLOUT] << 16 | 4 << 24
    assert malformed in [data for _, data, _ in first]
    assert sum(last for _, _, last in first) > 3 + 12
    assert others == [first] * len(others)


def low(number: int, width: int) -> int:
    """Return the low bits of a number, with their sign."""
    return (number & (1 << width) - 1) - (1 << width if number >> width - 1 & 1 else 0)


def expected(core: FakeCore, step: FunctionWords, rows: list[int], q: int, v: int) -> tuple[int, int, int]:
    """Return the status, the first flagged step and the packed state after all rows.

    A result has 14 bits, two of them behind the binary point. It goes back into nine bits.
    """
    status = first = packed = 0
    exceeds = False
    for k, tau in enumerate(rows):
        outside = exceeds or not (-128 <= q <= 128 and -128 <= v <= 128)
        payload = q & 511 | (v & 511) << 9 | (tau & 127) << 18
        packed, overflow = core.answer(step, payload, 0)
        rounded = [low(packed >> start, 14) + 2 >> 2 for start in (0, 14)]
        q, v = (low(number, 9) for number in rounded)
        exceeds = rounded != [q, v]
        now = outside | overflow << 1
        status, first = status | now, first or (k + 1 if now else 0)
    return status, first, packed


def test_states_that_do_not_fit_are_flagged_in_the_next_step() -> None:
    """Also those that lie in the domain when their upper bits are lost."""
    step = replace(STEP, outputs=tuple(replace(word, format=Format(14, 2)) for word in STEP.outputs))
    core = FakeCore(ii=2, functions=(step,), latencies={"step": 9})
    program = Program((), step.inputs, (), {"step": step.outputs}, None, None, (9, 9))
    interface = program_interface([program], WIDTH, rollout=RolloutShape(HORIZON, 1, "step"))
    dut = Accelerator(cores=[core], interface=interface)
    rng, rows = random.Random(3), [5, -9, 17]
    states = [(rng.randrange(-128, 129), rng.randrange(-128, 129)) for _ in range(45)]
    beats = [
        beat for row, tau in enumerate(rows) for beat in packet(LOAD, row, **{"tau[0]": tau, "row": row})
    ]
    for tag, (q, v) in enumerate(states):
        beats += packet(ROLLOUT, tag, steps=1 + tag % 3, **{"q[0]": q, "v[0]": v})
    answers, came = [], []
    for _, beat, last in simulated(dut, beats, 700):
        came.append(beat)
        if last:
            answers.append(sum(beat << WIDTH * k for k, beat in enumerate(came)))
            came.clear()
    by_tag = {answer & 0xFFFF: answer for answer in answers if answer >> 16 & 31 == CODES[ROLLOUT]}
    assert sorted(by_tag) == list(range(len(states)))
    flagged = 0
    for tag, (q, v) in enumerate(states):
        steps = 1 + tag % 3
        status, first, packed = expected(core, step, rows[:steps], q, v)
        words = packed & (1 << 28) - 1 | steps << 28 | first << 32
        assert by_tag[tag] == tag | CODES[ROLLOUT] << 16 | status << 24 | words << 32
        flagged += first > 1
    assert flagged


@pytest.mark.parametrize(("ii", "latency", "period"), [long(1, 9, 10), (4, 9, 12)])
def test_a_rollout_alone_passes_by_the_queue(ii: int, latency: int, period: int) -> None:
    """A step starts in the cycle behind the one in which the result of the step before arrives."""
    core = FakeCore(ii=ii, functions=(STEP,), latencies={"step": latency})
    dut = Accelerator(cores=[core], interface=rollouts())
    beats = [beat for row in range(HORIZON) for beat in packet(LOAD, row, row=row)]
    beats += packet(ROLLOUT, 77, steps=HORIZON, every=1)
    header = 77 | CODES[ROLLOUT] << 16
    came = [cycle for cycle, beat, _ in simulated(dut, beats, 120) if beat & (1 << 21) - 1 == header]
    _, *others = came  # the first one may wait for the answer of the last row
    assert [later - earlier for earlier, later in pairwise(others)] == [period] * (HORIZON - 2)


def test_enough_rollouts_fill_a_core() -> None:
    assert flights(22, 1) == 27
    assert flights(22, 8) == 6
