"""Codes of functions above 31, whose highest bit is an option, at each kind of edge."""

import pytest

from rbdhw.model.interface import Interface
from rbdhw.protocol import CODES
from rbdhw.rtl.shell import Accelerator
from tests.support import edge, serial, singles
from tests.support.edge import EXTENDED, LATENCIES, MALFORMED, Bench, FakeCore, header_of


@pytest.fixture(autouse=True)
def codes(monkeypatch):
    """``dfd`` has the code 32, which ends like that of ``id``; ``fd``, of chains, has the last one."""
    monkeypatch.setitem(CODES, "dfd", 32)
    monkeypatch.setitem(CODES, "fd", 63)


def test_packed_words():
    core = FakeCore(ii=1, functions=edge.FUNCTIONS, latencies=LATENCIES)
    dut = Accelerator(cores=[core], interface=Interface(edge.FUNCTIONS, 32))
    tasks = [
        edge.Task(1, 0, 3 << 20),
        edge.Task(2, 32, 5 << 20),
        edge.Task(3, 32, 7 << 20, EXTENDED),
        edge.Task(4, 32, 0, options=4),
        edge.Task(5, 33, 0),
        edge.Task(6, 5, 0),
    ]
    packets = Bench(dut).run([task.packet(32) for task in tasks], cycles=400, expected=len(tasks))
    answers = {packet[0] & 0xFFFF: packet for packet in packets}
    assert answers == {task.tag: edge.response(task, 32, core) for task in tasks}
    assert answers[2][0] == header_of(2, 32)
    assert answers[3][0] == header_of(3, 32, EXTENDED)
    assert answers[5] == [header_of(5, 33) | MALFORMED << 24]
    assert answers[6] == [header_of(6, 5) | MALFORMED << 24]


def test_singles(monkeypatch):
    monkeypatch.setattr(singles, "BY_CODE", {function.code: function for function in singles.FUNCTIONS})
    core = FakeCore(ii=1, functions=singles.FUNCTIONS, latencies=singles.LATENCIES)
    dut = Accelerator(cores=[core], interface=Interface(core.order, 64, number="float32"))
    numbers = [singles.single(value) for value in (1, 2, 3)]
    tasks = [singles.Task(tag, code, numbers) for tag, code in enumerate((0, 32, 31, 33))]
    packets = Bench(dut).run([task.packet(64) for task in tasks], cycles=400, expected=len(tasks))
    answers = {packet[0] & 0xFFFF: packet for packet in packets}
    assert answers == {task.tag: task.response(64, core) for task in tasks}
    assert [answers[tag][0] >> 24 & MALFORMED for tag in range(4)] == [0, 0, MALFORMED, MALFORMED]


def test_chains():
    core = serial.FakeSerialCore(chain="mixed", window=1, delay=9)
    interface = Interface((core.function,), 64)
    dut = Accelerator(cores=[core], interface=interface)
    numbers = [1] * len(core.function.inputs)
    tasks = [serial.Task(tag, numbers, code) for tag, code in enumerate((63, 31, 1))]
    packets = Bench(dut).run([task.packet(interface) for task in tasks], cycles=400, expected=len(tasks))
    assert packets == [task.response(interface, core) for task in tasks]
    assert [packet[0] >> 24 & 0xFF for packet in packets] == [0, MALFORMED, MALFORMED]
