# amaranth: UnusedElaboratable=no
# ruff: noqa: ERA001 (the line above is for Amaranth)
"""The accelerator around a core whose answers are known."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rbdhw.rtl.completion import buffer_depth
from rbdhw.rtl.packet import DATA_WIDTHS, Function
from rbdhw.rtl.shell import Accelerator, to_verilog
from tests.rtl.edge import (
    BITS,
    FUNCTIONS,
    MALFORMED,
    OUTSIDE,
    OVERFLOW,
    TAPS,
    Bench,
    FakeCore,
    Packet,
    Tap,
    Task,
    by_function,
    response,
    words,
)

ID, DID = FUNCTIONS


def core_of(ii: int = 1, taps: dict[str, Tap] | None = None, bits: int = BITS) -> FakeCore:
    return FakeCore(ii=ii, bits=bits, taps=taps or TAPS)


def accelerator(core: FakeCore, width: int, functions: tuple[Function, ...] = FUNCTIONS) -> Accelerator:
    return Accelerator(core=core, functions=functions, data_width=width)


def good_tasks(count: int, seed: int, functions: tuple[Function, ...] = FUNCTIONS) -> list[Task]:
    """Tasks of random functions and words, numbered by their tags."""
    rng = random.Random(seed)
    chosen = [rng.choice(functions) for _ in range(count)]
    return [Task(k, f.code, rng.getrandbits(f.input_bits)) for k, f in enumerate(chosen)]


def any_tasks(count: int, seed: int, width: int) -> list[Task]:
    """A third of them malformed, in every way."""
    rng = random.Random(seed)
    tasks = good_tasks(count, seed)
    for task in tasks:
        match rng.randrange(12):
            case 0:
                task.surplus = rng.choice([1, 2, 9])
            case 1:
                task.surplus = -rng.randrange(len(task.packet(width)))
            case 2:
                task.reserved = 1 << rng.randrange(8)
            case 3:
                task.code, task.surplus = rng.choice([1, 3, 5, 255]), rng.randrange(5)
    return tasks


def expected(tasks: list[Task], width: int, core: FakeCore) -> dict[int, list[Packet]]:
    return by_function(response(task, width, core) for task in tasks)


@pytest.mark.parametrize(("valid", "ready"), [(0.4, 1.0), (1.0, 0.3), (0.6, 0.6)])
@pytest.mark.parametrize("ii", [1, 3])
@pytest.mark.parametrize("width", DATA_WIDTHS)
def test_every_task_is_answered_in_order(width: int, ii: int, valid: float, ready: float) -> None:
    core = core_of(ii)
    tasks = any_tasks(120, seed=width + ii, width=width)
    bench = Bench(accelerator(core, width), valid, ready, seed=ii)
    packets = bench.run([task.packet(width) for task in tasks], cycles=8000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, width, core)


@pytest.mark.parametrize("latencies", [(0, 0), (1, 3), (2, 1), (33, 5), (64, 61)])
@pytest.mark.parametrize("ii", [1, 5])
def test_latencies(latencies: tuple[int, int], ii: int) -> None:
    core = core_of(ii, {"id": Tap(latencies[0], 30), "did": Tap(latencies[1], 1)})
    tasks = any_tasks(80, seed=sum(latencies), width=64)
    bench = Bench(accelerator(core, 64), 0.9, 0.8)
    packets = bench.run([task.packet(64) for task in tasks], cycles=4000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, 64, core)


@pytest.mark.parametrize("latency", [0, 3, 40, 125])
@pytest.mark.parametrize("ii", [1, 2, 7, 8])
def test_one_task_starts_every_initiation_interval(ii: int, latency: int) -> None:
    core = core_of(ii, {"id": Tap(latency, 30)}, ID.input_bits)
    tasks = good_tasks(150, 3, (ID,))
    bench = Bench(accelerator(core, 128, (ID,)))
    packets = bench.run([task.packet(128) for task in tasks], cycles=4000, expected=150)
    assert packets == [response(task, 128, core) for task in tasks]
    cycles = [cycle for cycle, _ in bench.beats]
    assert cycles == list(range(cycles[0], cycles[0] + 150 * ii, ii))


@pytest.mark.parametrize("ii", [1, 2])
def test_two_functions_share_the_full_rate(ii: int) -> None:
    core = core_of(ii, {"id": Tap(21, 30), "did": Tap(43, 77)})
    tasks = good_tasks(400, 4)
    bench = Bench(accelerator(core, 256))
    packets = bench.run([task.packet(256) for task in tasks], cycles=2000, expected=400)
    assert by_function(packets) == expected(tasks, 256, core)
    cycles = [cycle for cycle, _ in bench.sent[100:]]
    assert cycles == list(range(cycles[0], cycles[0] + 300 * ii, ii))


@pytest.mark.parametrize("ii", [1, 2, 3])
def test_narrow_requests_are_taken_without_a_pause(ii: int) -> None:
    core = core_of(ii, {"id": Tap(9, 20)}, ID.input_bits)
    tasks = good_tasks(200, 5, (ID,))
    bench = Bench(accelerator(core, 32, (ID,)))
    packets = bench.run([task.packet(32) for task in tasks], cycles=2000, expected=200)
    assert packets == [response(task, 32, core) for task in tasks]
    assert len(bench.sent) == 600
    assert bench.sent[-1][0] - bench.sent[0][0] <= 600 + ii


def test_narrow_responses_leave_without_a_pause() -> None:
    core = core_of(2, {"id": Tap(9, 200)}, ID.input_bits)
    tasks = good_tasks(100, 6, (ID,))
    bench = Bench(accelerator(core, 32, (ID,)))
    packets = bench.run([task.packet(32) for task in tasks], cycles=2000, expected=100)
    assert packets == [response(task, 32, core) for task in tasks]
    assert bench.beats[-1][0] - bench.beats[0][0] == 100 * 8 - 1


@pytest.mark.parametrize("latency", [2, 7, 30])
def test_latency_of_the_edge(latency: int) -> None:
    core = core_of(1, {"id": Tap(latency, 30)}, ID.input_bits)
    bench = Bench(accelerator(core, 32, (ID,)))
    bench.run([Task(1, ID.code, 0).packet(32)], cycles=100, expected=1)
    assert bench.beats[0][0] - bench.sent[-1][0] == 5 + latency


def alone(task: Task, width: int = 32) -> Packet:
    """The response to a task between two good ones, which must be answered too."""
    core = core_of()
    others = Task(1, DID.code, 12 << 60), Task(3, DID.code, 34 << 50)
    packets = [others[0].packet(width), task.packet(width), others[1].packet(width)]
    answers = Bench(accelerator(core, width)).run(packets, cycles=200, expected=3)
    found = {packet[0] & 0xFFFF: packet for packet in answers}
    assert (found.pop(1), found.pop(3)) == tuple(response(other, width, core) for other in others)
    (answer,) = found.values()
    return answer


ZEROS = [0, 0, 0]
"""The three beats of words of a response of `did` at 32 bits."""


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (Task(0xBEEF, 4, 3, surplus=1), [0x0404BEEF, *ZEROS]),
        (Task(0xBEEF, 4, 3, surplus=40), [0x0404BEEF, *ZEROS]),
        (Task(0xBEEF, 4, 3, surplus=-1), [0x0404BEEF, *ZEROS]),
        (Task(0xBEEF, 4, 3, surplus=-2), [0x0404BEEF, *ZEROS]),
        (Task(0xBEEF, 4, 3, reserved=1), [0x0404BEEF, *ZEROS]),
        (Task(0xBEEF, 4, 3, reserved=0x80), [0x0404BEEF, *ZEROS]),
        (Task(0xBEEF, 0, 3, surplus=-2), [0x0400BEEF, 0]),
        (Task(0xBEEF, 3, 0), [0x0403BEEF]),
        (Task(0xBEEF, 3, 0, surplus=2), [0x0403BEEF]),
        (Task(0xBEEF, 255, 0, reserved=7, surplus=9), [0x04FFBEEF]),
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
    header = alone(Task(0x1234, 4, payload), width)[0] & 0xFFFF_FFFF
    assert header == status << 24 | 4 << 16 | 0x1234


def test_a_function_looks_at_its_own_words_only() -> None:
    """Bits beyond its packet's, left over from the task before, do not count."""
    core = core_of()
    tasks = [Task(0, 4, 0xFFFF8 << 35), Task(1, 0, 0), Task(2, 4, 0xFFFF8 << 35)]
    packets = Bench(accelerator(core, 64)).run([t.packet(64) for t in tasks], cycles=100, expected=3)
    assert sorted((p[0] & 0xFFFF, p[0] >> 24 & 0xFF) for p in packets) == [(0, OUTSIDE), (1, 0), (2, OUTSIDE)]


def test_malformed_hides_other_status() -> None:
    assert alone(Task(9, 4, 0x803, reserved=2)) == [MALFORMED << 24 | 4 << 16 | 9, *ZEROS]


@pytest.mark.parametrize("width", [32, 128])
@pytest.mark.parametrize("ii", [1, 4])
def test_a_long_pause_of_the_sink_stops_the_source_and_loses_nothing(ii: int, width: int) -> None:
    core = core_of(ii)
    tasks = good_tasks(150, 7)
    bench = Bench(accelerator(core, width), pause=range(30, 1000))
    packets = bench.run([task.packet(width) for task in tasks], cycles=4000, expected=150)
    assert by_function(packets) == expected(tasks, width, core)
    places = sum(buffer_depth(tap.latency, ii) for tap in TAPS.values())
    waiting = max(number for cycle, number in bench.sent if cycle < 1000)
    finished = sum(cycle < 30 for cycle, _ in bench.beats)
    assert waiting <= finished + places + 4
    assert not [cycle for cycle, _ in bench.sent if 300 <= cycle < 1000]


@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("start", [*range(2, 20), 200])
def test_reset_in_mid_stream(start: int, length: int) -> None:
    core = core_of(3)
    tasks = any_tasks(90, seed=start, width=32)
    reset = range(start, start + length)
    bench = Bench(accelerator(core, 32), 0.9, 0.7, seed=start, reset=reset)
    bench.run([task.packet(32) for task in tasks], cycles=1000)
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
from rbdhw.rtl.shell import Accelerator, to_verilog
from tests.rtl.edge import BITS, FUNCTIONS, TAPS, FakeCore
core = FakeCore(ii=2, bits=BITS, taps=TAPS)
print(to_verilog(Accelerator(core=core, functions=FUNCTIONS, data_width=64)))
"""


def test_verilog_has_the_ports_of_the_contract() -> None:
    text = to_verilog(accelerator(core_of(), 64))
    top = text[text.index("module accelerator(") :]
    ports = re.findall(r"^  (input|output) (\[63:0\] )?(\w+);$", top[: top.index("endmodule")], re.MULTILINE)
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
    modules = re.findall(r"^module (?:\\)?([\w.]+)", text, re.MULTILINE)
    assert modules[0] == "accelerator"
    assert {"accelerator.core", "accelerator.completion_id", "accelerator.admission"} < set(modules)


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
    assert texts[0].startswith(b"/* Generated by")


def test_refuses_a_core_of_another_width() -> None:
    with pytest.raises(
        ValueError, match=r"^core: payload of 104 bits; the widest function's inputs have 105$"
    ):
        accelerator(core_of(bits=104), 32)


def test_refuses_a_core_without_an_initiation_interval() -> None:
    core = core_of()
    core.ii = 0
    with pytest.raises(ValueError, match=r"^core: initiation interval 0; at least 1 was expected$"):
        accelerator(core, 32)


def test_refuses_a_data_width() -> None:
    with pytest.raises(ValueError, match=r"^data width 48: expected one of 32, 64, 128, 256, 512$"):
        accelerator(core_of(), 48)


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        ((), "functions: at least one was expected"),
        ((ID, Function("id", 1, words(3))), "functions: a name appears twice"),
        ((ID, Function("m", 0, words(3))), "functions: a code appears twice"),
        ((Function("m", 256, words(3)),), "function 'm': code 256 does not fit 8 bits"),
        ((Function("m", -1, words(3)),), "function 'm': code -1 does not fit 8 bits"),
        ((Function("m", 2, ()),), "function 'm': at least one input word was expected"),
    ],
)
def test_refuses_functions(functions: tuple[Function, ...], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        accelerator(core_of(), 32, functions)
