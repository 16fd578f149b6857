# amaranth: UnusedElaboratable=no
# ruff: noqa: ERA001 (the line above is for Amaranth)
"""The accelerator around a core with known results."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from rbdhw.config import DATA_WIDTHS
from rbdhw.interface import FunctionWords, Interface
from rbdhw.protocol import CODES
from rbdhw.rtl.completion import RECORDED, buffer_depth, streams
from rbdhw.rtl.shell import Accelerator, packet_latency
from rbdhw.rtl.verilog import to_verilog
from tests.support.combinations import pairwise
from tests.support.edge import (
    DFD,
    DIFD,
    EXTENDED,
    FUNCTIONS,
    ID,
    LATENCIES,
    MALFORMED,
    OUTSIDE,
    OVERFLOW,
    Bench,
    FakeCore,
    Packet,
    Task,
    by_function,
    payload_bits,
    response,
    unloaded_latencies,
    words,
)


def core_of(
    ii: int = 1, latencies: dict[str, int] | None = None, functions: tuple[FunctionWords, ...] = FUNCTIONS
) -> FakeCore:
    return known_core(ii, tuple((latencies or LATENCIES).items()), functions)


@lru_cache(16)
def known_core(
    ii: int, latencies: tuple[tuple[str, int], ...], functions: tuple[FunctionWords, ...]
) -> FakeCore:
    return FakeCore(ii=ii, functions=functions, latencies=dict(latencies))


@lru_cache(16)
def accelerator(core: FakeCore, width: int) -> Accelerator:
    return Accelerator(cores=[core], interface=Interface(core.order, width))


def answering(bits: int) -> FunctionWords:
    """Return ``id`` with ``bits`` bits of results."""
    return FunctionWords("id", ID.inputs, words(bits))


def good_tasks(count: int, seed: int, functions: tuple[FunctionWords, ...] = FUNCTIONS) -> list[Task]:
    """Return tasks of random functions, options and words, numbered by their tags."""
    rng = random.Random(seed)
    tasks = []
    for tag in range(count):
        function = rng.choice(functions)
        options = rng.choice([0, EXTENDED]) if function.extensible else 0
        payload = rng.getrandbits(payload_bits(function, options, functions))
        tasks.append(Task(tag, function.code, payload, options))
    return tasks


def any_tasks(count: int, seed: int, width: int) -> list[Task]:
    """Return tasks of which a third is malformed, in every way."""
    rng = random.Random(seed)
    tasks = good_tasks(count, seed)
    for task in tasks:
        match rng.randrange(15):
            case 0:
                task.surplus = rng.choice([1, 2, 9])
            case 1:
                task.surplus = -rng.randrange(len(task.packet(width)))
            case 2:
                task.status = 1 << rng.randrange(8)
            case 3:
                task.code, task.surplus = rng.choice([1, 3, 7, 15]), rng.randrange(5)
            case 4:
                task.options |= rng.choice([2, 4, 6])
    return tasks


def expected(tasks: list[Task], width: int, core: FakeCore) -> dict[int, list[Packet]]:
    return by_function(response(task, width, core) for task in tasks)


@pytest.mark.parametrize(
    ("ii", "traffic", "width"), list(pairwise((1, 3), ((0.4, 1.0), (1.0, 0.3), (0.6, 0.6)), DATA_WIDTHS))
)
def test_every_task_is_answered_in_order(ii: int, traffic: tuple[float, float], width: int) -> None:
    core = core_of(ii)
    tasks = any_tasks(120, seed=width + ii, width=width)
    bench = Bench(accelerator(core, width), *traffic, seed=ii)
    packets = bench.run([task.packet(width) for task in tasks], cycles=8000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, width, core)


@pytest.mark.parametrize("latencies", [(0, 0), (1, 3), (2, 1), (33, 5), (64, 61)])
@pytest.mark.parametrize("ii", [1, 5])
def test_latencies(latencies: tuple[int, int], ii: int) -> None:
    core = core_of(ii, {"id": latencies[0], "dfd": latencies[1], "difd": latencies[1]})
    tasks = any_tasks(80, seed=sum(latencies), width=64)
    bench = Bench(accelerator(core, 64), 0.9, 0.8)
    packets = bench.run([task.packet(64) for task in tasks], cycles=4000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, 64, core)


@pytest.mark.parametrize("latency", [0, 3, 40, 125])
@pytest.mark.parametrize("ii", [1, 2, 7, 8])
def test_one_task_starts_every_initiation_interval(ii: int, latency: int) -> None:
    core = core_of(ii, {"id": latency}, (ID,))
    tasks = good_tasks(150, 3, (ID,))
    bench = Bench(accelerator(core, 128))
    packets = bench.run([task.packet(128, (ID,)) for task in tasks], cycles=4000, expected=150)
    assert packets == [response(task, 128, core, (ID,)) for task in tasks]
    cycles = [cycle for cycle, _ in bench.beats]
    assert cycles == list(range(cycles[0], cycles[0] + 150 * ii, ii))


@pytest.mark.parametrize("ii", [1, 2])
def test_all_functions_share_the_full_rate(ii: int) -> None:
    core = core_of(ii, {"id": 21, "dfd": 43, "difd": 30})
    tasks = good_tasks(400, 4)
    bench = Bench(accelerator(core, 256))
    packets = bench.run([task.packet(256) for task in tasks], cycles=2000, expected=400)
    assert by_function(packets) == expected(tasks, 256, core)
    cycles = [cycle for cycle, _ in bench.sent[100:]]
    assert cycles == list(range(cycles[0], cycles[0] + 300 * ii, ii))


@pytest.mark.parametrize("ii", [1, 2, 3])
def test_narrow_requests_are_taken_without_a_pause(ii: int) -> None:
    functions = (answering(20),)
    core = core_of(ii, {"id": 9}, functions)
    tasks = good_tasks(200, 5, functions)
    bench = Bench(accelerator(core, 32))
    packets = bench.run([task.packet(32, functions) for task in tasks], cycles=2000, expected=200)
    assert packets == [response(task, 32, core, functions) for task in tasks]
    assert len(bench.sent) == 600
    assert bench.sent[-1][0] - bench.sent[0][0] <= 600 + ii


def test_narrow_responses_leave_without_a_pause() -> None:
    functions = (answering(200),)
    core = core_of(2, {"id": 9}, functions)
    tasks = good_tasks(100, 6, functions)
    bench = Bench(accelerator(core, 32))
    packets = bench.run([task.packet(32, functions) for task in tasks], cycles=2000, expected=100)
    assert packets == [response(task, 32, core, functions) for task in tasks]
    assert bench.beats[-1][0] - bench.beats[0][0] == 100 * 8 - 1


@pytest.mark.parametrize(("valid", "ready"), [(1.0, 1.0), (0.7, 0.4)])
@pytest.mark.parametrize("latency", [RECORDED - 1, RECORDED, 40])
@pytest.mark.parametrize("ii", [9, 10, 16])
def test_long_responses_wait_in_beats(ii: int, latency: int, valid: float, ready: float) -> None:
    """Ten beats do so at an interval of ten or more, if the task's record is available in time."""
    function = replace(DFD, outputs=words(150), optional_outputs=words(130))
    core = core_of(ii, {"dfd": latency}, (function,))
    top = accelerator(core, 32)
    assert top.interface.response_beats(function, extended=True) == 10
    assert streams(top.interface, function, latency, ii) == (ii >= 10 and latency >= RECORDED)
    tasks = good_tasks(60, ii, (function,))
    bench = Bench(top, valid, ready, seed=latency)
    packets = bench.run([task.packet(32, (function,)) for task in tasks], cycles=4000, expected=60)
    assert packets == [response(task, 32, core, (function,)) for task in tasks]
    if ready == 1.0 and ii >= 10:
        ends = [cycle for cycle, (_, last) in bench.beats if last][20:]
        assert ends[-1] - ends[0] == ii * (len(ends) - 1)


@pytest.mark.parametrize("latency", [0, 1, 2, 3, 30])
def test_latency_of_the_edge(latency: int) -> None:
    """Two beats are sent and one received; the record of a task takes two cycles."""
    dut = accelerator(core_of(1, {"id": latency}, (ID,)), 64)
    assert packet_latency(dut.interface, ID, latency) == 6 + max(latency, 2)
    assert unloaded_latencies(dut, Task(1, ID.code, 0).packet(64, (ID,)), 1) == [6 + max(latency, 2)] * 2


@pytest.mark.parametrize(("place", "ii", "width"), list(pairwise(range(3), (1, 3, 10), DATA_WIDTHS)))
def test_the_phase_and_the_turn_add_to_the_latency_of_a_task_alone(place: int, ii: int, width: int) -> None:
    """Each phase has its own wait. After a reset the turn is the first function's."""
    functions = (ID, replace(DFD, outputs=words(150), optional_outputs=words(130)), DIFD)
    function = functions[place]
    core = core_of(ii, functions=functions)
    dut = accelerator(core, width)
    least = packet_latency(dut.interface, function, LATENCIES[function.name])
    first, *others = unloaded_latencies(dut, Task(1, function.code, 0).packet(width, functions), ii)
    assert sorted(others) == list(range(least, least + ii))
    assert least + (place > 0) <= first < least + ii + (place > 0)
    if width == 32 and place == 1:
        assert streams(dut.interface, function, LATENCIES["dfd"], ii) == (ii == 10)


def alone(task: Task, width: int = 32) -> Packet:
    """Return the response to a task between two valid ones, which must be answered too."""
    core = core_of()
    others = Task(1, DIFD.code, 12 << 60, EXTENDED), Task(3, DFD.code, 3 << 30)
    packets = [others[0].packet(width), task.packet(width), others[1].packet(width)]
    answers = Bench(accelerator(core, width)).run(packets, cycles=200, expected=3)
    found = {packet[0] & 0xFFFF: packet for packet in answers}
    assert (found.pop(1), found.pop(3)) == tuple(response(other, width, core) for other in others)
    (answer,) = found.values()
    return answer


ZEROS = [0, 0, 0]
"""The three beats of words in a response of ``difd``, and of ``dfd`` without its options, at 32 bits."""


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (Task(0xBEEF, 6, 3, surplus=1), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=40), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=-1), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=-2), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, status=1), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, status=0x80), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, options=2), [0x0446BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, options=4), [0x0486BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, options=EXTENDED, surplus=-1), [0x0426BEEF, *ZEROS]),
        (Task(0xBEEF, 6, 3, surplus=2), [0x0406BEEF, *ZEROS]),
        (Task(0xBEEF, 5, 3, options=EXTENDED, surplus=1), [0x0425BEEF, *ZEROS, 0, 0]),
        (Task(0xBEEF, 5, 3, options=EXTENDED | 4, surplus=1), [0x04A5BEEF, *ZEROS, 0, 0]),
        (Task(0xBEEF, 0, 3, options=EXTENDED), [0x0420BEEF, 0]),
        (Task(0xBEEF, 0, 3, surplus=-2), [0x0400BEEF, 0]),
        (Task(0xBEEF, 3, 0), [0x0403BEEF]),
        (Task(0xBEEF, 3, 0, surplus=2), [0x0403BEEF]),
        (Task(0xBEEF, 15, 0, options=5, status=7, surplus=9), [0x04AFBEEF]),
    ],
)
def test_malformed(task: Task, answer: Packet) -> None:
    assert alone(task) == answer


@pytest.mark.parametrize("width", [32, 64, 512])
@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (0, 0),
        (900, 0),
        (-1000 & 0xFFF, 0),
        (901, OUTSIDE),
        (-1001 & 0xFFF, OVERFLOW | OUTSIDE),
        (0x803, OVERFLOW | OUTSIDE),
        (3, OVERFLOW),
        (9 << 30, 0),
        (10 << 30, OUTSIDE),
        (0x1F << 30, 0),
        (500_000 << 35, 0),
        (500_001 << 35, OUTSIDE),
        (0xFFFF9 << 35, 0),
        (0xFFFF8 << 35, OUTSIDE),
        (0x3FFFF << 12, 0),
    ],
)
def test_status(payload: int, status: int, width: int) -> None:
    header = alone(Task(0x1234, 6, payload), width)[0] & 0xFFFF_FFFF
    assert header == status << 24 | 6 << 16 | 0x1234


def statuses(tasks: list[Task], width: int = 64) -> list[int]:
    """Return the status of each task by tag."""
    core = core_of()
    packets = Bench(accelerator(core, width)).run(
        [t.packet(width) for t in tasks], cycles=100, expected=len(tasks)
    )
    found = {packet[0] & 0xFFFF: packet[0] >> 24 & 0xFF for packet in packets}
    return [found[task.tag] for task in tasks]


def test_a_function_looks_at_its_own_words_only() -> None:
    """Bits beyond its packet's, which the previous task left, have no effect."""
    beyond = 0xFFFF8 << 35
    tasks = [
        Task(0, 6, beyond),
        Task(1, 0, 0),
        Task(2, 6, beyond),
        Task(3, 6, 6 << 55, EXTENDED),
        Task(4, 6, 0),
    ]
    assert statuses(tasks) == [OUTSIDE, 0, OUTSIDE, OUTSIDE, 0]


def test_functions_that_share_a_slot_have_bounds_of_their_own() -> None:
    tasks = [Task(0, 0, 9 << 30), Task(1, 0, 10 << 30), Task(2, 5, 3 << 30), Task(3, 5, 4 << 30)]
    assert statuses(tasks) == [0, OUTSIDE, 0, OUTSIDE]


def test_a_field_wider_than_its_word_hides_nothing() -> None:
    """-8 and 11 are 0 and 3 in the three bits that the core reads."""
    tasks = [Task(0, 5, 24 << 30), Task(1, 5, 11 << 30), Task(2, 5, 30 << 30), Task(3, 5, 29 << 30)]
    assert statuses(tasks) == [OUTSIDE, OUTSIDE, 0, OUTSIDE]


def test_malformed_hides_other_status() -> None:
    assert alone(Task(9, 6, 0x803, status=2)) == [MALFORMED << 24 | 6 << 16 | 9, *ZEROS]


@pytest.mark.parametrize("width", [32, 128])
@pytest.mark.parametrize("ii", [1, 4])
def test_a_long_pause_of_the_sink_stops_the_source_and_loses_nothing(ii: int, width: int) -> None:
    core = core_of(ii)
    tasks = good_tasks(150, 7)
    bench = Bench(accelerator(core, width), pause=range(30, 1000))
    packets = bench.run([task.packet(width) for task in tasks], cycles=4000, expected=150)
    assert by_function(packets) == expected(tasks, width, core)
    places = sum(buffer_depth(latency, ii) for latency in LATENCIES.values())
    waiting = max(number for cycle, number in bench.sent if cycle < 1000)
    finished = sum(cycle < 30 for cycle, _ in bench.beats)
    assert waiting <= finished + places + 4
    assert not [cycle for cycle, _ in bench.sent if 300 <= cycle < 1000]


@pytest.mark.parametrize(
    "functions", [(FunctionWords("m", (), words(40)),), (ID, FunctionWords("m", (), words(40)))]
)
def test_a_function_may_take_no_words(functions: tuple[FunctionWords, ...]) -> None:
    core = core_of(1, {"id": 3, "m": 5}, functions)
    tasks = [Task(k, 2, 0) for k in range(5)]
    packets = Bench(accelerator(core, 32)).run(
        [t.packet(32, functions) for t in tasks], cycles=99, expected=5
    )
    assert packets == [response(task, 32, core, functions) for task in tasks]


@pytest.mark.parametrize(
    ("start", "length"), [*((start, 1) for start in (*range(2, 20), 200)), (4, 5), (11, 5), (200, 5)]
)
def test_reset_in_mid_stream(start: int, length: int) -> None:
    core = core_of(3)
    tasks = any_tasks(80, seed=start, width=32)
    reset = range(start, start + length)
    bench = Bench(accelerator(core, 32), 0.9, 0.7, seed=start, reset=reset)
    bench.run([task.packet(32) for task in tasks], cycles=900)
    after = min(number for cycle, number in bench.sent if cycle >= start)
    assert after < len(tasks) - 20
    answers = by_function(bench.packets(after=start))
    assert answers == expected(tasks[after:], 32, core)


def test_reset_during_a_pause_frees_every_place() -> None:
    core = core_of(1)
    tasks = good_tasks(200, 8)
    bench = Bench(accelerator(core, 128), pause=range(200), reset=range(150, 151))
    bench.run([task.packet(128) for task in tasks], cycles=800)
    after = min(number for cycle, number in bench.sent if cycle >= 150)
    assert by_function(bench.packets()) == expected(tasks[after:], 128, core)


VERILOG = """
from rbdhw.interface import Interface
from rbdhw.rtl.shell import Accelerator
from rbdhw.rtl.verilog import to_verilog
from tests.support.edge import FUNCTIONS, LATENCIES, FakeCore
core = FakeCore(ii=2, functions=FUNCTIONS, latencies=LATENCIES)
print(to_verilog(Accelerator(cores=[core], interface=Interface(FUNCTIONS, 64))))
"""


def test_verilog_has_the_ports_of_the_contract() -> None:
    text = to_verilog(accelerator(core_of(), 64))
    ports = re.findall(r"^  (input|output) (?:wire|reg) (\[63:0\] )?(\w+),?$", text.partition(");")[0], re.M)
    assert sorted(ports) == [
        ("input", "", "clk"),
        ("input", "", "m_axis_tready"),
        ("input", "", "rst"),
        ("input", "", "s_axis_tlast"),
        ("input", "", "s_axis_tvalid"),
        ("input", "[63:0] ", "s_axis_tdata"),
        ("output", "", "m_axis_tlast"),
        ("output", "", "m_axis_tvalid"),
        ("output", "", "s_axis_tready"),
        ("output", "[63:0] ", "m_axis_tdata"),
    ]
    modules = re.findall(r"^module (\w+)", text, re.MULTILINE)
    assert modules[0] == "accelerator"
    assert {"accelerator_core", "accelerator_completion_id", "accelerator_admission"} < set(modules)


def test_verilog_is_the_same_in_every_process() -> None:
    texts = [
        subprocess.run(
            [sys.executable, "-c", VERILOG],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert texts[0].startswith(b"module accelerator (")


def test_refuses_a_core_of_other_widths() -> None:
    narrow = core_of(functions=(ID,))
    text = "function dfd: is in no core; expected it in at least one"
    with pytest.raises(ValueError, match=f"^{text}$"):
        Accelerator(cores=[narrow], interface=Interface(FUNCTIONS, 32))
    text = "core: id of 30 bits; the function's outputs have 29"
    with pytest.raises(ValueError, match=f"^{text}$"):
        Accelerator(cores=[narrow], interface=Interface((replace(ID, outputs=words(29)),), 32))


def test_refuses_a_core_without_an_initiation_interval() -> None:
    core = FakeCore(ii=1, functions=FUNCTIONS, latencies=LATENCIES)
    core.ii = 0
    with pytest.raises(ValueError, match=r"^core: initiation interval is 0; expected at least 1$"):
        accelerator(core, 32)


def test_refuses_a_data_width_and_a_number() -> None:
    with pytest.raises(ValueError, match=r"^data width: is 48; expected one of 32, 64, 128, 256, 512, 1024$"):
        accelerator(core_of(), 48)
    with pytest.raises(ValueError, match=r"^number: is 'float64'; expected one of fixed, float32$"):
        Accelerator(cores=[core_of()], interface=Interface(FUNCTIONS, 64, number="float64"))


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        ((), "functions: none given; expected at least one"),
        (
            (ID, FunctionWords("id", words(3), words(3))),
            "functions: a name appears twice; expected each function once",
        ),
        (
            (FunctionWords("inverse", words(3), words(3)),),
            f"function 'inverse': unknown; expected one of {', '.join(CODES)}",
        ),
    ],
)
def test_refuses_functions(functions: tuple[FunctionWords, ...], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Accelerator(cores=[core_of()], interface=Interface(functions, 32))
