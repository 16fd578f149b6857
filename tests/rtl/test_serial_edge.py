"""The edge of cores that take the numbers of one link after the other, around a core with known results."""

import pytest

from rbdhw.fixed.format import Format
from rbdhw.rtl.serial_edge import serial_packet_latency
from tests.support.edge import (
    MALFORMED,
    NOT_FINITE,
    OUTSIDE,
    OVERFLOW,
    Bench,
    run_together,
    unloaded_latencies,
)
from tests.support.marks import long
from tests.support.serial import Task, any_tasks, serial_accelerator

CASES = [
    ("equal", 1, 32, {}),
    ("mixed", 1, 64, {}),
    ("mixed", 2, 128, {}),
    ("equal", 3, 512, {}),
    ("wide", 1, 32, {"result": Format(37, 2)}),
    ("aligned", 4, 64, {"result": Format(32, 2)}),
    ("mixed", 1, 64, {"number": "float32"}),
    ("mixed", 3, 256, {"number": "float32"}),
    ("equal", 1, 32, {"number": "float32"}),
]

TASKS = 60
"""With 40 tasks, two cases of single precision had none outside the domain, or none that is not finite."""


@pytest.mark.parametrize(("chain", "window", "width", "more"), CASES)
def test_tasks_have_answers_of_every_status(chain, window, width, more):
    dut = serial_accelerator(chain, window, width, **more)
    interface, (core,) = dut.interface, dut.cores
    tasks = any_tasks(interface, TASKS, seed=width + window)
    expected = {task.response(interface, core)[0] >> 24 & 0xFF for task in tasks}
    assert {0, OUTSIDE, OVERFLOW, MALFORMED} <= expected
    assert (NOT_FINITE in expected) == interface.converts


@pytest.mark.parametrize(
    ("chain", "window", "width", "more", "valid", "ready"),
    [
        *((*case, 0.7, 0.4) if k in (1, 7) else long(*case, 0.7, 0.4) for k, case in enumerate(CASES)),
        *(long(*case, 1.0, 1.0) for case in CASES),
    ],
)
def test_every_task_is_answered_in_order(chain, window, width, more, valid, ready):
    dut = serial_accelerator(chain, window, width, **more)
    interface, (core,) = dut.interface, dut.cores
    tasks = any_tasks(interface, TASKS, seed=width + window)
    bench = Bench(dut, valid, ready, seed=window)
    packets = bench.run([task.packet(interface) for task in tasks], cycles=9000, expected=len(tasks))
    assert packets == [task.response(interface, core) for task in tasks]


def test_a_malformed_request_is_not_said_to_be_not_finite():
    dut = serial_accelerator("mixed", 1, 64, number="float32")
    interface, (core,) = dut.interface, dut.cores
    infinite = [0x7F800000] * len(interface.functions[0].inputs)
    tasks = [Task(1, infinite, options=1), Task(2, infinite), Task(3, infinite, surplus=-1)]
    packets = Bench(dut).run([task.packet(interface) for task in tasks], cycles=400, expected=3)
    assert packets == [task.response(interface, core) for task in tasks]
    assert [packet[0] >> 24 & 0xFF for packet in packets] == [MALFORMED, NOT_FINITE, MALFORMED]


@pytest.mark.parametrize("copies", [3])
def test_copies_take_turns(copies):
    dut = serial_accelerator("mixed", 2, 64, copies=copies)
    interface, core = dut.interface, dut.cores[0]
    tasks = any_tasks(interface, 30, seed=copies)
    for valid, ready in ((1.0, 1.0), (0.8, 0.5)):
        bench = Bench(dut, valid, ready, seed=copies)
        packets = bench.run([task.packet(interface) for task in tasks], cycles=6000, expected=len(tasks))
        assert packets == [task.response(interface, core) for task in tasks]


def test_pairs_of_streams_take_turns_at_each_core() -> None:
    dut = serial_accelerator("mixed", 2, 64, copies=2, streams=2)
    interface, core = dut.interface, dut.cores[0]
    tasks = [any_tasks(interface, 20, seed=k) for k in range(2)]
    pairs = [Bench(dut, 0.9, 0.6, seed=k, ports=ports) for k, ports in enumerate(interface.ports)]
    sent = [[task.packet(interface) for task in of_pair] for of_pair in tasks]
    came = run_together(pairs, sent, cycles=6000, expected=40)
    assert came == [[task.response(interface, core) for task in of_pair] for of_pair in tasks]


def test_pairs_that_all_have_tasks_share_a_core_equally() -> None:
    dut = serial_accelerator("equal", 3, 512, streams=3)
    interface = dut.interface
    packet = Task(1, [0] * len(interface.functions[0].inputs)).packet(interface)
    pairs = [Bench(dut, seed=k, ports=ports) for k, ports in enumerate(interface.ports)]
    counts = [len(came) for came in run_together(pairs, [[packet] * 12] * 3, cycles=240)]
    assert min(counts) >= 3
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(("chain", "window", "width", "more"), [long(*CASES[0]), long(*CASES[3]), CASES[6]])
def test_latency_of_a_task_alone(chain, window, width, more):
    dut = serial_accelerator(chain, window, width, **more)
    interface, (core,) = dut.interface, dut.cores
    (function,) = interface.functions
    task = Task(1, [0] * len(function.inputs))
    latencies = unloaded_latencies(dut, task.packet(interface), core.ii, period=160)
    least = serial_packet_latency(interface, function, core.latency("fd"))
    assert min(latencies) == least
    assert max(latencies) <= least + core.ii - 1


@pytest.mark.parametrize("copies", [1, long(2)])
def test_tasks_follow_each_other_without_a_gap(copies):
    """The interval is longer than a packet; no core waits for a request or a place."""
    dut = serial_accelerator("equal", 3, 512, copies=copies)
    interface, core = dut.interface, dut.cores[0]
    task = Task(1, [0] * len(interface.functions[0].inputs))
    bench = Bench(dut)
    bench.run([task.packet(interface)] * 12, cycles=1000, expected=12)
    ends = [cycle for cycle, (_, last) in bench.beats if last]
    assert {after - before for before, after in zip(ends, ends[copies:], strict=False)} == {core.ii}


@pytest.mark.parametrize(("start", "cycles"), [long(9, 3), (58, 1)])
def test_a_reset_discards_all_tasks_and_a_partial_packet(start, cycles):
    """One cycle is too short for the core's marks of tasks to pass on by themselves."""
    dut = serial_accelerator("mixed", 2, 64)
    interface, (core,) = dut.interface, dut.cores
    tasks = any_tasks(interface, 25, seed=start)
    bench = Bench(dut, ready=0.7, reset=range(start, start + cycles))
    bench.run([task.packet(interface) for task in tasks], cycles=1500)
    first = next(number for cycle, number in bench.sent if cycle > start)
    assert bench.packets(start) == [task.response(interface, core) for task in tasks[first:]]


def test_requests_wait_for_places():
    """A sink that stands still stops the source, and nothing is lost."""
    dut = serial_accelerator("mixed", 1, 64)
    interface, (core,) = dut.interface, dut.cores
    tasks = any_tasks(interface, 40, seed=4)
    bench = Bench(dut, pause=range(60, 500))
    packets = bench.run([task.packet(interface) for task in tasks], cycles=3000, expected=40)
    assert packets == [task.response(interface, core) for task in tasks]
    assert not [cycle for cycle, _ in bench.sent if 400 < cycle < 500]
