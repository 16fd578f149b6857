"""The accelerator with singles in its packets, around a core with known results."""

import math
import random
from itertools import product

import pytest

from rbdhw.fixed.program import Word
from rbdhw.options.build import DATA_WIDTHS
from rbdhw.rtl.shell import packet_latency
from tests.support.edge import (
    EXTENDED,
    MALFORMED,
    NOT_FINITE,
    OUTSIDE,
    Bench,
    by_function,
    unloaded_latencies,
)
from tests.support.edge_tasks import spoil
from tests.support.marks import long
from tests.support.singles import DIFD, FUNCTIONS, LATENCIES, NONE, Task, accelerator, core_of, single


def some_single(rng: random.Random, word: Word) -> int:
    """Return a single, mostly within the domain, sometimes far beyond, rarely one that is refused."""
    largest = max(abs(word.lowest or 400), word.highest or 400) * word.format.step
    match rng.randrange(40):
        case 0:
            return rng.choice(NONE)
        case 1:
            return rng.getrandbits(32)
        case 2:
            return rng.choice([0, 1 << 31])
        case 3:
            return single(rng.uniform(-2, 2) * largest)
        case _:
            return single(rng.uniform(-1, 1) * largest)


def any_tasks(count: int, seed: int, width: int) -> list[Task]:
    """Return tasks of random functions, options and numbers, of which a quarter is malformed."""
    rng = random.Random(seed)
    tasks = []
    for tag in range(count):
        function = rng.choice(FUNCTIONS)
        options = rng.choice([0, EXTENDED]) if function.extensible else 0
        singles = [some_single(rng, word) for word in function.brought(bool(options))]
        task = Task(tag, function.code, singles, options)
        spoil(task, rng, width)
        tasks.append(task)
    return tasks


@pytest.mark.parametrize(
    ("width", "valid", "ready"),
    [
        (32, 0.6, 0.4),
        *(long(width, *traffic) for width in DATA_WIDTHS for traffic in ((0.6, 0.4), (1.0, 1.0))),
    ],
)
def test_every_task_is_answered_in_order(width: int, valid: float, ready: float) -> None:
    core = core_of(2)
    tasks = any_tasks(60, width, width)
    bench = Bench(accelerator(core, width), valid, ready, seed=width)
    packets = bench.run([task.packet(width) for task in tasks], cycles=8000, expected=len(tasks))
    assert by_function(packets) == by_function(task.response(width, core) for task in tasks)
    statuses = {packet[0] >> 24 & 0xFF for packet in packets}
    assert {0, OUTSIDE, MALFORMED, NOT_FINITE} <= statuses


def alone(task: Task, width: int) -> tuple[int, list[int]]:
    """Return status and singles of a task between two valid ones, which must be answered too."""
    core = core_of()
    others = Task(1, DIFD.code, [single(x) for x in (1, 2, 3, 4, 5)], EXTENDED), Task(3, 5, [0, 0, 0])
    packets = [others[0].packet(width), task.packet(width), others[1].packet(width)]
    answers = Bench(accelerator(core, width)).run(packets, cycles=200, expected=3)
    by_tag = {packet[0] & 0xFFFF: packet for packet in answers}
    assert (by_tag.pop(1), by_tag.pop(3)) == tuple(other.response(width, core) for other in others)
    ((tag, packet),) = by_tag.items()
    value = sum(beat << (width * k) for k, beat in enumerate(packet))
    assert tag == task.tag
    return value >> 24 & 0xFF, [value >> (32 * k) & 0xFFFFFFFF for k in range(1, len(packet) * width // 32)]


@pytest.mark.parametrize("width", [32, long(256)])
@pytest.mark.parametrize(("index", "bits"), [(0, NONE[0]), (1, NONE[2]), (2, NONE[4]), (2, NONE[1])])
def test_what_is_no_number_is_told(index: int, bits: int, width: int) -> None:
    singles = [0, 0, 0]
    singles[index] = bits
    status, answer = alone(Task(77, 0, singles), width)
    assert status == NOT_FINITE
    assert not any(answer)


@pytest.mark.parametrize(
    ("singles", "status"),
    [
        ((112.5, 0, 0), 0),
        ((112.5625, 0, 0), OUTSIDE),
        ((112.56249, 0, 0), 0),
        ((-125, 0, 0), 0),
        ((-125.0625, 0, 0), 0),
        ((-125.0626, 0, 0), OUTSIDE),
        ((1e30, 0, 0), OUTSIDE),
        ((-1e30, 0, 0), OUTSIDE),
        ((0, 3e38, 0), OUTSIDE),
        ((2.0**29, 0, 0), OUTSIDE),
        ((0, 0, 1e30), 0),
        ((-0.0, -0.0, -0.0), 0),
    ],
)
def test_bounds(singles: tuple[float, ...], status: int) -> None:
    assert alone(Task(9, 0, [single(value) for value in singles]), 64)[0] & OUTSIDE == status


@pytest.mark.parametrize("turns", [0.25, -0.25, 3.75, 1000.5, -70000.25, 4e6, 1e30])
def test_an_angle_without_limits_wraps(turns: float) -> None:
    wrapped = math.remainder(turns, 1.0)
    assert alone(Task(9, 0, [0, 0, single(turns)]), 64) == alone(Task(9, 0, [0, 0, single(wrapped)]), 64)


def test_a_zero_is_plus_zero() -> None:
    core = core_of()
    task = Task(5, 0, [single(-0.0)] * 3)
    assert Bench(accelerator(core, 32)).run([task.packet(32)], cycles=99, expected=1) == [
        task.response(32, core)
    ]


@pytest.mark.parametrize(
    ("width", "index"),
    [(32, 0), long(64, 1), *(long(*case) for case in product(DATA_WIDTHS, range(3)))],
)
def test_latency_of_a_task_alone(width: int, index: int) -> None:
    """Conversions take five cycles each way, the edge five more in addition to the beats."""
    function = FUNCTIONS[index]
    dut = accelerator(core_of(2), width)
    brought, returned = (-(-32 * (1 + len(words)) // width) for words in (function.inputs, function.outputs))
    least = brought - 1 + returned - 1 + 15 + LATENCIES[function.name]
    assert packet_latency(dut.interface, function, LATENCIES[function.name]) == least
    packet = Task(1, function.code, [0] * len(function.inputs)).packet(width)
    assert sorted(unloaded_latencies(dut, packet, 2)[1:]) == [least, least + 1]


def test_one_task_a_cycle() -> None:
    core = core_of(1)
    tasks = [Task(k, 0, [single(k / 8), single(-k), 0]) for k in range(80)]
    bench = Bench(accelerator(core, 128))
    packets = bench.run([task.packet(128) for task in tasks], cycles=1000, expected=80)
    assert packets == [task.response(128, core) for task in tasks]
    cycles = [cycle for cycle, _ in bench.beats]
    assert cycles == list(range(cycles[0], cycles[0] + 80))


@pytest.mark.parametrize("start", [14, *(long(start) for start in range(5, 30, 3)), long(110)])
def test_reset_in_mid_stream(start: int) -> None:
    core = core_of(3)
    tasks = any_tasks(60, start, 32)
    bench = Bench(accelerator(core, 32), 0.9, 0.7, seed=start, reset=range(start, start + 2))
    bench.run([task.packet(32) for task in tasks], cycles=900)
    after = min(number for cycle, number in bench.sent if cycle >= start)
    answers = by_function(bench.packets(after=start))
    assert answers == by_function(task.response(32, core) for task in tasks[after:])
