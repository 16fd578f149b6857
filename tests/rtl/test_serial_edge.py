# amaranth: UnusedElaboratable=no
# ruff: noqa: ERA001 (the line above is for Amaranth)
"""The edge of cores that take the numbers of one link after the other, around a core with known results."""

from __future__ import annotations

import pytest

from rbdhw.fixed.format import Format
from tests.support.edge import MALFORMED, NOT_FINITE, OUTSIDE, OVERFLOW, Bench
from tests.support.serial import any_tasks, serial_accelerator

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


@pytest.mark.parametrize(("chain", "window", "width", "more"), CASES)
@pytest.mark.parametrize(("valid", "ready"), [(1.0, 1.0), (0.7, 0.4)])
def test_every_task_is_answered_in_order(chain, window, width, more, valid, ready):
    dut = serial_accelerator(chain, window, width, **more)
    interface, (core,) = dut.interface, dut.cores
    tasks = any_tasks(interface, 60, seed=width + window)
    bench = Bench(dut, valid, ready, seed=window)
    packets = bench.run([task.packet(interface) for task in tasks], cycles=9000, expected=len(tasks))
    assert packets == [task.response(interface, core) for task in tasks]
    found = {packet[0] >> 24 & 0xFF for packet in packets}
    assert {0, OUTSIDE, OVERFLOW, MALFORMED} <= found
    assert (NOT_FINITE in found) == interface.converts


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_take_turns(copies):
    dut = serial_accelerator("mixed", 2, 64, copies=copies)
    interface, core = dut.interface, dut.cores[0]
    tasks = any_tasks(interface, 60, seed=copies)
    for valid, ready in ((1.0, 1.0), (0.8, 0.5)):
        bench = Bench(dut, valid, ready, seed=copies)
        packets = bench.run([task.packet(interface) for task in tasks], cycles=6000, expected=len(tasks))
        assert packets == [task.response(interface, core) for task in tasks]
