"""Waiting times under saturated mixed traffic: short responses do not wait for many long ones."""

from dataclasses import dataclass, replace

import pytest

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.completion import OVERHEAD, SPARE, places
from rbdhw.rtl.shell import Accelerator, packet_latency
from tests.support.edge import DFD, DIFD, ID, Bench, FakeCore, Packet, Task, by_function, response, words
from tests.support.edge_tasks import good_tasks

LONG = replace(DFD, outputs=words(*[18] * 30), optional_outputs=())
FUNCTIONS = (ID, LONG, DIFD)
"""Functions with responses of 2, 18 and 4 beats of 32 bits."""

LATENCIES = {"id": 7, "dfd": 19, "difd": 12}
LONGEST = 18


@dataclass(frozen=True)
class Saturated:
    """An accelerator whose input always offers the next task, its responses, and each task's cycles."""

    dut: Accelerator
    packets: list[Packet]
    expected: list[Packet]
    beats: list[int]
    waits: dict[str, list[int]]

    def least(self, function: FunctionWords) -> int:
        """Return the latency of a task alone."""
        return packet_latency(self.dut.interface, function, LATENCIES[function.name])


def saturated(tasks: list[Task], priority: tuple[str, ...] = (), ready: float = 1.0) -> Saturated:
    """Send tasks without a pause and time them, from the first beat sent to the last beat received."""
    core = FakeCore(ii=1, functions=FUNCTIONS, latencies=LATENCIES)
    dut = Accelerator(cores=[core], interface=Interface(FUNCTIONS, 32, priority=priority))
    bench = Bench(dut, ready=ready)
    packets = bench.run([task.packet(32, FUNCTIONS) for task in tasks], cycles=20_000, expected=len(tasks))
    ends = [cycle for cycle, (_, last) in bench.beats if last]
    left = {packet[0] & 0xFFFF: end for packet, end in zip(packets, ends, strict=True)}
    came: dict[int, int] = {}
    for cycle, number in bench.sent:
        came.setdefault(number, cycle)
    names = {function.code: function.name for function in FUNCTIONS}
    waits: dict[str, list[int]] = {name: [] for name in names.values()}
    for number, task in enumerate(tasks):
        waits[names[task.code]].append(left[task.tag] - came[number])
    expected = [response(task, 32, core, FUNCTIONS) for task in tasks]
    return Saturated(dut, packets, expected, [cycle for cycle, _ in bench.beats], waits)


@pytest.fixture(scope="module")
def mixed() -> Saturated:
    return saturated(good_tasks(160, 8, FUNCTIONS))


def test_short_answers_wait_for_few_others(mixed: Saturated) -> None:
    """These are the response being sent, a long task ahead without a place, and a few of their kind."""
    assert max(mixed.waits["id"]) <= mixed.least(ID) + 3 * LONGEST
    assert sorted(mixed.waits["id"])[len(mixed.waits["id"]) // 2] <= mixed.least(ID) + LONGEST


def test_every_answer_is_right_and_the_output_never_rests(mixed: Saturated) -> None:
    assert by_function(mixed.packets) == by_function(mixed.expected)
    assert mixed.beats[-1] - mixed.beats[0] + 1 <= 1.02 * len(mixed.beats)


def test_long_answers_wait_for_no_more_than_their_places(mixed: Saturated) -> None:
    """A task starts when its response has a place. There are few places, so it waits for few rounds."""
    kept = places(mixed.dut.interface, LONG, LATENCIES["dfd"], 1)
    assert kept == 4 >= -(-(LATENCIES["dfd"] + OVERHEAD) // LONGEST) + SPARE
    a_round = 9 * 2 + 18 + 4 * 4
    assert max(mixed.waits["dfd"]) <= mixed.least(LONG) + (kept + 1) * a_round


@pytest.fixture(scope="module")
def few_long() -> list[Task]:
    """Return mostly short tasks and tasks of medium length."""
    return [
        task for k, task in enumerate(good_tasks(160, 8, FUNCTIONS)) if task.code != LONG.code or k % 8 == 0
    ]


def test_a_function_with_priority_is_served_first(few_long: list[Task]) -> None:
    """Its response waits for the one that is being sent, and its task for the one before it at the input."""
    plain, preferred = saturated(few_long), saturated(few_long, priority=("dfd",))
    assert max(preferred.waits["dfd"]) <= preferred.least(LONG) + LONGEST + 4
    assert max(plain.waits["dfd"]) > preferred.least(LONG) + 3 * LONGEST
    assert by_function(preferred.packets) == by_function(preferred.expected)


def test_priority_starves_no_other_function(few_long: list[Task]) -> None:
    """A round has a bounded number of beats, and every waiting function is served in it."""
    bench = saturated(few_long, priority=("difd", "dfd"))
    a_round = 9 * 2 + 4 * 18 + 4 * 4 * 4
    own_places = places(bench.dut.interface, ID, LATENCIES["id"], 1)
    assert max(bench.waits["id"]) <= bench.least(ID) + own_places * a_round
    assert by_function(bench.packets) == by_function(bench.expected)


@pytest.mark.verify
@pytest.mark.parametrize("priority", [(), ("difd", "dfd")])
def test_answers_are_right_and_in_order_under_back_pressure(priority: tuple[str, ...]) -> None:
    bench = saturated(good_tasks(60, 3, FUNCTIONS), priority, ready=0.4)
    assert by_function(bench.packets) == by_function(bench.expected)
    assert len(bench.packets) == 60
