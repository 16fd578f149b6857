"""The block with registers, in Verilator: cocotbext-axi drives its streams and its registers."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from rbdhw.design.folder import Design, read, write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import CODES
from rbdhw.registers.map import COUNTERS, INTERRUPTS, MAGIC, Register, counter_address
from rbdhw.robots import path
from tests.support.block import beats_of, build_block, counter_steps, packets_of, simulate
from tests.support.disturbed import Disturbed, answered, disturbed
from tests.support.marks import long, quick_among

TASKS = 120
SIZE = 8
OPTIONS = BuildOptions(("id", "m"), width=18, data_width=8 * SIZE, ii=4, samples=64)
CLOCKS = tuple(
    {"clk": core, "stream_clk": stream} for core, stream in ((14, 22), (22, 14), (6, 62), (82, 10))
)
"""Periods in nanoseconds."""

FLAGGED = ("outside", "overflow", "malformed", "not_finite")
ENABLE, SOFT_RESET = 1, 2
IDLE, RESETTING, DROPPING = 1, 2, 4


def made(folder: Path, options: BuildOptions) -> tuple[Path, Design, Path]:
    """Return the folder of a design of the toy, the design, and the simulator of its block."""
    write(generate(path("toy"), options), folder / "design")
    (folder / "simulator").mkdir()
    return folder / "design", read(folder / "design"), build_block(folder / "design", folder / "simulator")


@pytest.fixture(scope="module")
def one_clock(tmp_path_factory):
    return made(tmp_path_factory.mktemp("block"), OPTIONS)


@pytest.fixture(scope="module")
def two_clocks(tmp_path_factory):
    return made(tmp_path_factory.mktemp("crossing"), replace(OPTIONS, stream_clock_mhz=100.0))


@pytest.fixture(scope="module")
def design(one_clock) -> Design:
    return one_clock[1]


@pytest.fixture(scope="module")
def block(one_clock) -> Path:
    return one_clock[2]


@pytest.fixture(scope="module")
def traffic(design) -> Disturbed:
    return disturbed(design, TASKS, 1)


def statuses(received: list[str]) -> list[int]:
    return [bytes.fromhex(text)[3] for text in received]


def good(design: Design, seed: int, tasks: int) -> tuple[list[str], set[str]]:
    """Return requests, and the right answers to them."""
    stream = disturbed(design, tasks, seed)
    return packets_of(stream.beats), {text.hex() for packets in stream.expected.values() for text in packets}


@pytest.mark.parametrize("stall", [long((0.5, 0.2)), (0.1, 0.7), long((0.0, 0.0))])
def test_answers_are_those_of_the_model_and_are_counted(block, design, traffic, stall) -> None:
    steps = [
        ["stall", *stall],
        ["send", packets_of(traffic.beats)],
        ["receive", TASKS],
        ["read", Register.STATUS],
        *counter_steps(),
        ["received"],
    ]
    _, _, received, status, *counts, rest = simulate(block, steps)
    assert rest == []
    assert status == IDLE
    assert answered(design, beats_of(received, SIZE)) == traffic.expected
    counted = dict(zip(COUNTERS, counts, strict=True))
    assert counted["requests"] == counted["answers"] == TASKS
    assert counted["request_beats"] == len(traffic.beats.last)
    assert counted["answer_beats"] == sum(len(text) // 2 // SIZE for text in received)
    for bit, name in enumerate(FLAGGED):
        assert counted[name] == sum(value >> bit & 1 for value in statuses(received)), name
    assert counted["outside"] > 0
    assert counted["malformed"] > 0
    assert counted["cycles"] > counted["busy_cycles"] > TASKS
    assert counted["answer_waits"] > 0 or stall[1] == 0.0
    assert counted["request_waits"] > 0


def test_registers_say_which_design_it_is(one_clock) -> None:
    _, design, block = one_clock
    addresses = [Register.MAGIC, Register.STREAMS, Register.FUNCTIONS, Register.INTERVAL, Register.CORE_CLOCK]
    identity = [Register.IDENTITY + 4 * k for k in range(8)]
    words = simulate(block, [["read", address] for address in [*addresses, *identity]])
    functions = sum(1 << CODES[name] for name in OPTIONS.functions)
    assert words[:5] == [MAGIC, SIZE | 1 << 8, functions, 4, round(design.manifest["clock_mhz"] * 1000)]
    assert "".join(f"{word:08x}" for word in words[5:]) == design.manifest["identity"]


def test_requests_wait_while_it_is_not_enabled(block, design) -> None:
    """The packet that has begun is taken to its end; the others follow when it is enabled again."""
    sent, expected = good(design, 3, 12)
    steps = [
        ["stall", 0.9, 0.0],
        ["send", sent],
        ["wait", 30],
        ["write", Register.CONTROL, 0],
        ["until", Register.STATUS, 0xFFFF0001, IDLE],
        ["received"],
        ["wait", 300],
        ["received"],
        ["count", counter_address("requests")],
        ["write", Register.CONTROL, ENABLE],
    ]
    before = simulate(block, steps)
    early, later, taken = before[5], before[7], before[8]
    assert later == []
    assert 0 < len(early) == taken < len(sent)
    *_, late = simulate(block, [*steps, ["receive", len(sent) - len(early)]])
    assert set(early) | set(late) == expected


def test_interrupts_tell_of_answers(block, design) -> None:
    sent, _ = good(design, 4, 6)
    bits = {name: 1 << bit for bit, name in enumerate(INTERRUPTS)}
    steps = [
        ["read", Register.INTERRUPT_STATUS],
        ["write", Register.INTERRUPT_ENABLE, bits["idle"]],
        ["send", sent],
        ["until_interrupt"],
        ["received"],
        ["read", Register.INTERRUPT_STATUS],
        ["write", Register.INTERRUPT_STATUS, 15],
        ["read", Register.INTERRUPT_STATUS],
        ["interrupt_line"],
        ["write", Register.INTERRUPT_ENABLE, bits["reset_done"]],
        ["write", Register.CONTROL, ENABLE | SOFT_RESET],
        ["until_interrupt"],
        ["read", Register.STATUS],
    ]
    results = simulate(block, steps)
    assert results[0] == 0
    flagged = any(statuses(results[4]))
    assert results[5] == bits["answer"] | bits["idle"] | bits["flagged"] * flagged
    assert results[7:9] == [0, 0]
    assert results[12] == IDLE


@pytest.mark.parametrize(
    ("seed", "clocks"),
    [
        (0, None),
        long(3, CLOCKS[0]),
        *(long(*case) for case in [(1, None), (2, None), (4, CLOCKS[1]), (5, CLOCKS[2]), (6, CLOCKS[3])]),
    ],
)
def test_no_answer_is_wrong_after_a_soft_reset(request, seed, clocks) -> None:
    """It comes while requests and answers move. A cut answer is longer than any; later tasks are answered."""
    _, design, block = request.getfixturevalue("one_clock" if clocks is None else "two_clocks")
    sent, expected = good(design, 10 + seed, 40)
    again, later = good(design, 20 + seed, 10)
    steps = [
        ["stall", 0.2, 0.6],
        ["send", sent[:20]],
        ["wait", 40 + 17 * seed],
        ["write", Register.CONTROL, ENABLE | SOFT_RESET],
        ["until", Register.STATUS, RESETTING, 0],
        ["send", sent[20:]],
        ["wait", 3000],
        ["until", Register.STATUS, 0xFFFF0001 | RESETTING | DROPPING, IDLE],
        ["received"],
        ["send", again],
        ["receive", len(again)],
        ["read", Register.STATUS],
    ]
    results = simulate(block, steps, clocks, seed)
    longest = max(len(text) for text in expected | later)
    cut = [text for text in results[8] if text not in expected]
    assert len(cut) <= 1
    assert all(len(text) > longest for text in cut)
    assert 20 < len(results[8]) < 40
    assert set(results[10]) == later
    assert results[11] == IDLE


@pytest.mark.parametrize(
    ("clocks", "stall"),
    quick_among(product(CLOCKS, ((0.0, 0.0), (0.4, 0.6))), (CLOCKS[1], (0.0, 0.0))),
)
def test_clocks_are_crossed_without_a_loss(two_clocks, traffic, clocks, stall) -> None:
    _, design, block = two_clocks
    steps = [
        ["stall", *stall],
        ["send", packets_of(traffic.beats)],
        ["receive", TASKS],
        *counter_steps(),
        ["received"],
    ]
    _, _, received, *counts, rest = simulate(block, steps, clocks, seed=1, reset_cycles=1)
    assert rest == []
    assert answered(design, beats_of(received, SIZE)) == traffic.expected
    counted = dict(zip(COUNTERS, counts, strict=True))
    assert counted["requests"] == counted["answers"] == TASKS
