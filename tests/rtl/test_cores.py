"""Several cores with known results between one pair of streams."""

from functools import lru_cache

import pytest

from rbdhw.model.interface import Interface
from rbdhw.rtl.lane import WAITING
from rbdhw.rtl.shell import Accelerator, packet_latency
from tests.support.edge import (
    FUNCTIONS,
    LATENCIES,
    Bench,
    FakeCore,
    Task,
    by_function,
    response,
    unloaded_latencies,
)
from tests.support.marks import long
from tests.support.several_cores import SETS, Cores, any_tasks, core_of, expected


@lru_cache(16)
def accelerator(cores: Cores, width: int) -> Accelerator:
    return Accelerator(cores=[core_of(*core) for core in cores], interface=Interface(FUNCTIONS, width))


@pytest.mark.parametrize("name", [long("apart"), "some copies", long("copies"), long("paces")])
@pytest.mark.parametrize(
    ("valid", "ready", "width"),
    [(0.7, 0.4, 32), *(long(*case) for case in ((0.5, 1.0, 128), (1.0, 1.0, 64)))],
)
def test_every_task_is_answered_in_order(name: str, valid: float, ready: float, width: int) -> None:
    tasks = any_tasks(50, seed=width)
    bench = Bench(accelerator(SETS[name], width), valid, ready, seed=width)
    packets = bench.run([task.packet(width) for task in tasks], cycles=8000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, width, SETS[name])


def test_a_function_of_cores_with_different_functions_keeps_its_order() -> None:
    tasks = any_tasks(80, seed=3)
    packets = Bench(accelerator(SETS["overlap"], 64), 1.0, 0.7).run(
        [task.packet(64) for task in tasks], cycles=8000, expected=len(tasks)
    )
    tags = {code: [packet[0] & 0xFFFF for packet in group] for code, group in by_function(packets).items()}
    wanted = {
        code: [packet[0] & 0xFFFF for packet in group]
        for code, group in by_function(
            response(task, 64, core_of(tuple(LATENCIES), 1)) for task in tasks
        ).items()
    }
    assert tags == wanted


@pytest.mark.parametrize(("copies", "ii"), [(3, 6)])
def test_copies_multiply_the_rate(copies: int, ii: int) -> None:
    cores: Cores = ((("id",), ii),) * copies
    dut = Accelerator(
        cores=[FakeCore(ii=ii, functions=FUNCTIONS[:1], latencies=LATENCIES) for _ in cores],
        interface=Interface(FUNCTIONS[:1], 128),
    )
    tasks = [Task(tag, FUNCTIONS[0].code, tag) for tag in range(20 * copies)]
    bench = Bench(dut)
    packets = bench.run([task.packet(128, FUNCTIONS[:1]) for task in tasks], cycles=4000, expected=len(tasks))
    assert [packet[0] & 0xFFFF for packet in packets] == list(range(len(tasks)))
    cycles = [cycle for cycle, _ in bench.beats][8 * copies :]
    assert cycles[-1] - cycles[0] <= (len(cycles) - 1) * ii // copies + ii


def test_each_function_has_its_own_pace() -> None:
    """Ten tasks of the fast core for each of the slow one take ten cycles together."""
    dut = accelerator(((("id",), 1), (("dfd", "difd"), 10)), 256)
    tasks = [Task(tag, FUNCTIONS[tag % 10 == 9].code, 0) for tag in range(100)]
    bench = Bench(dut)
    bench.run([task.packet(256) for task in tasks], cycles=2000, expected=len(tasks))
    cycles = [cycle for cycle, _ in bench.sent]
    assert cycles[-1] - cycles[0] <= 100 + 10


def test_tasks_that_wait_for_a_core_hold_no_others_up() -> None:
    """A burst of the slow core's tasks is followed by one of the fast core's, which is answered at once."""
    dut = accelerator(((("id",), 1), (("dfd", "difd"), 64)), 256)
    slow, fast = FUNCTIONS[1], FUNCTIONS[0]
    tasks = [Task(tag, slow.code, 0) for tag in range(WAITING)] + [Task(99, fast.code, 0)]
    bench = Bench(dut)
    packets = bench.run([task.packet(256) for task in tasks], cycles=3000, expected=len(tasks))
    index = [packet[0] & 0xFFFF for packet in packets].index(99)
    ends = [cycle for cycle, (_, last) in bench.beats if last]
    latency = packet_latency(dut.interface, fast, LATENCIES["id"])
    assert ends[index] == bench.sent[-1][0] + latency
    assert bench.sent[-1][0] - bench.sent[0][0] == WAITING


def test_latency_of_a_queue() -> None:
    cores: Cores = ((("id",), 1), (("dfd", "difd"), 4))
    dut = accelerator(cores, 64)
    for function, ii, waiting in zip(FUNCTIONS, (1, 4, 4), (0, WAITING, WAITING), strict=True):
        least = packet_latency(dut.interface, function, LATENCIES[function.name], waiting)
        packet = Task(1, function.code, 0).packet(64)
        _, *others = unloaded_latencies(dut, packet, ii)
        assert sorted(others) == list(range(least, least + ii))


@pytest.mark.parametrize(
    ("name", "start", "length"),
    [
        long("paces", 3, 1),
        ("some copies", 40, 3),
        long("copies", 120, 5),
        *(long(name, 12, 1) for name in ("paces", "copies", "some copies")),
    ],
)
def test_reset_in_mid_stream(name: str, start: int, length: int) -> None:
    tasks = any_tasks(60, seed=start)
    bench = Bench(accelerator(SETS[name], 32), 0.9, 0.7, seed=start, reset=range(start, start + length))
    bench.run([task.packet(32) for task in tasks], cycles=700)
    after = min(number for cycle, number in bench.sent if cycle >= start)
    assert by_function(bench.packets(after=start)) == expected(tasks[after:], 32, SETS[name])


@pytest.mark.verify
def test_a_paused_output_loses_nothing() -> None:
    tasks = any_tasks(120, seed=5)
    bench = Bench(accelerator(SETS["some copies"], 128), pause=range(20, 300))
    packets = bench.run([task.packet(128) for task in tasks], cycles=9000, expected=len(tasks))
    assert by_function(packets) == expected(tasks, 128, SETS["some copies"])
    assert not [cycle for cycle, _ in bench.sent if 240 <= cycle < 300]
