"""The accelerator around a core with known results: order, rates, latencies and resets."""

from dataclasses import replace

import pytest

from rbdhw.model.interface import FunctionWords
from rbdhw.options.build import DATA_WIDTHS
from rbdhw.rtl.completion import RECORDED, buffer_depth, streams
from rbdhw.rtl.shell import packet_latency
from tests.support.combinations import pairwise
from tests.support.edge import (
    DFD,
    DIFD,
    ID,
    LATENCIES,
    Bench,
    Task,
    by_function,
    response,
    unloaded_latencies,
    words,
)
from tests.support.edge_tasks import accelerator, answering, any_tasks, core_of, expected, good_tasks
from tests.support.marks import long, some


@pytest.mark.parametrize(
    ("ii", "traffic", "width"), some(pairwise((1, 3), ((0.4, 1.0), (1.0, 0.3), (0.6, 0.6)), DATA_WIDTHS), 14)
)
def test_every_task_is_answered_in_order(ii: int, traffic: tuple[float, float], width: int) -> None:
    core = core_of(ii)
    tasks = any_tasks(60, seed=width + ii, width=width)
    bench = Bench(accelerator(core, width), *traffic, seed=ii)
    packets = bench.run([task.packet(width) for task in tasks], cycles=8000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, width, core)


@pytest.mark.parametrize(
    ("latencies", "ii"),
    [((0, 0), 1), ((1, 3), 5), long((64, 61), 1), long((2, 1), 1), long((33, 5), 5)],
)
def test_latencies(latencies: tuple[int, int], ii: int) -> None:
    core = core_of(ii, {"id": latencies[0], "dfd": latencies[1], "difd": latencies[1]})
    tasks = any_tasks(45, seed=sum(latencies), width=64)
    bench = Bench(accelerator(core, 64), 0.9, 0.8)
    packets = bench.run([task.packet(64) for task in tasks], cycles=4000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, 64, core)


@pytest.mark.parametrize(("ii", "latency"), [(1, 0), long(2, 40), long(7, 3), (8, 125)])
def test_one_task_starts_every_initiation_interval(ii: int, latency: int) -> None:
    core = core_of(ii, {"id": latency}, (ID,))
    tasks = good_tasks(60, 3, (ID,))
    bench = Bench(accelerator(core, 128))
    packets = bench.run([task.packet(128, (ID,)) for task in tasks], cycles=4000, expected=60)
    assert packets == [response(task, 128, core, (ID,)) for task in tasks]
    cycles = [cycle for cycle, _ in bench.beats]
    assert cycles == list(range(cycles[0], cycles[0] + 60 * ii, ii))


@pytest.mark.parametrize("ii", [1, long(2)])
def test_all_functions_share_the_full_rate(ii: int) -> None:
    core = core_of(ii, {"id": 21, "dfd": 43, "difd": 30})
    tasks = good_tasks(120, 4)
    bench = Bench(accelerator(core, 256))
    packets = bench.run([task.packet(256) for task in tasks], cycles=2000, expected=120)
    assert by_function(packets) == expected(tasks, 256, core)
    cycles = [cycle for cycle, _ in bench.sent[60:]]
    assert cycles == list(range(cycles[0], cycles[0] + 60 * ii, ii))


@pytest.mark.parametrize("ii", [1, long(2), 3])
def test_narrow_requests_are_taken_without_a_pause(ii: int) -> None:
    functions = (answering(20),)
    core = core_of(ii, {"id": 9}, functions)
    tasks = good_tasks(60, 5, functions)
    bench = Bench(accelerator(core, 32))
    packets = bench.run([task.packet(32, functions) for task in tasks], cycles=2000, expected=60)
    assert packets == [response(task, 32, core, functions) for task in tasks]
    assert len(bench.sent) == 180
    assert bench.sent[-1][0] - bench.sent[0][0] <= 180 + ii


def test_narrow_responses_leave_without_a_pause() -> None:
    functions = (answering(200),)
    core = core_of(2, {"id": 9}, functions)
    tasks = good_tasks(40, 6, functions)
    bench = Bench(accelerator(core, 32))
    packets = bench.run([task.packet(32, functions) for task in tasks], cycles=2000, expected=40)
    assert packets == [response(task, 32, core, functions) for task in tasks]
    assert bench.beats[-1][0] - bench.beats[0][0] == 40 * 8 - 1


@pytest.mark.parametrize(
    ("ii", "latency", "valid", "ready"),
    [
        *((9, 40, 0.7, 0.4), (10, RECORDED - 1, 0.7, 0.4), (10, RECORDED, 1.0, 1.0)),
        long(10, 40, 1.0, 1.0),
        *(
            long(ii, latency, *traffic)
            for ii in (9, 10, 16)
            for latency in (RECORDED - 1, RECORDED, 40)
            for traffic in ((1.0, 1.0), (0.7, 0.4))
        ),
    ],
)
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


@pytest.mark.parametrize("latency", [0, long(1), 2, long(3), 30])
def test_latency_of_the_edge(latency: int) -> None:
    """Two beats are sent and one received; the record of a task takes two cycles."""
    dut = accelerator(core_of(1, {"id": latency}, (ID,)), 64)
    assert packet_latency(dut.interface, ID, latency) == 6 + max(latency, 2)
    assert unloaded_latencies(dut, Task(1, ID.code, 0).packet(64, (ID,)), 1) == [6 + max(latency, 2)] * 2


@pytest.mark.parametrize(
    ("index", "ii", "width"), [(1, 10, 32), *some(pairwise(range(3), (1, 3, 10), DATA_WIDTHS), 14)]
)
def test_the_phase_and_the_turn_add_to_the_latency_of_a_task_alone(index: int, ii: int, width: int) -> None:
    """Each phase has its own wait. After a reset the turn is the first function's."""
    functions = (ID, replace(DFD, outputs=words(150), optional_outputs=words(130)), DIFD)
    function = functions[index]
    core = core_of(ii, functions=functions)
    dut = accelerator(core, width)
    least = packet_latency(dut.interface, function, LATENCIES[function.name])
    first, *others = unloaded_latencies(dut, Task(1, function.code, 0).packet(width, functions), ii)
    assert sorted(others) == list(range(least, least + ii))
    assert least + (index > 0) <= first < least + ii + (index > 0)
    if width == 32 and index == 1:
        assert streams(dut.interface, function, LATENCIES["dfd"], ii) == (ii == 10)


@pytest.mark.parametrize(("ii", "width"), [(1, 32), long(4, 128), long(4, 32), long(1, 128)])
def test_a_long_pause_of_the_sink_stops_the_source_and_loses_nothing(ii: int, width: int) -> None:
    core = core_of(ii)
    tasks = good_tasks(120, 7)
    bench = Bench(accelerator(core, width), pause=range(30, 400))
    packets = bench.run([task.packet(width) for task in tasks], cycles=4000, expected=120)
    assert by_function(packets) == expected(tasks, width, core)
    places = sum(buffer_depth(latency, ii) for latency in LATENCIES.values())
    waiting = max(number for cycle, number in bench.sent if cycle < 400)
    finished = sum(cycle < 30 for cycle, _ in bench.beats)
    assert waiting <= finished + places + 4
    assert not [cycle for cycle, _ in bench.sent if 250 <= cycle < 400]


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
    ("start", "length"),
    [
        *some(((start, 1) for start in range(2, 20)), 9),
        *(long(*case) for case in ((11, 5), (120, 1), (4, 5), (130, 5))),
    ],
)
def test_reset_in_mid_stream(start: int, length: int) -> None:
    core = core_of(3)
    tasks = any_tasks(60, seed=start, width=32)
    reset = range(start, start + length)
    bench = Bench(accelerator(core, 32), 0.9, 0.7, seed=start, reset=reset)
    bench.run([task.packet(32) for task in tasks], cycles=700)
    after = min(number for cycle, number in bench.sent if cycle >= start)
    assert after < len(tasks) - 20
    answers = by_function(bench.packets(after=start))
    assert answers == expected(tasks[after:], 32, core)


def test_reset_during_a_pause_frees_every_place() -> None:
    core = core_of(1)
    tasks = good_tasks(120, 8)
    bench = Bench(accelerator(core, 128), pause=range(120), reset=range(90, 91))
    bench.run([task.packet(128) for task in tasks], cycles=500)
    after = min(number for cycle, number in bench.sent if cycle >= 90)
    assert by_function(bench.packets()) == expected(tasks[after:], 128, core)
