"""Several pairs of streams before cores with known results."""

import random
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.protocol import LOAD_PARAMETERS
from rbdhw.rtl.arbiter import Arbiter
from rbdhw.rtl.lane import waiting_places
from rbdhw.rtl.shell import Accelerator, packet_latency
from rbdhw.rtl.verilog import to_verilog
from tests.support.edge import (
    FUNCTIONS,
    ID,
    LATENCIES,
    Bench,
    FakeCore,
    Task,
    by_function,
    run_together,
    unloaded_latencies,
)
from tests.support.marks import long
from tests.support.several_cores import SETS, Cores, any_tasks, core_of, expected
from tests.support.simulation import Simulation

ONE: Cores = ((("id", "dfd", "difd"), 1),)
SLOW: Cores = ((("id", "dfd", "difd"), 6),)


@lru_cache(16)
def accelerator(cores: Cores, width: int, streams: int) -> Accelerator:
    interface = Interface(FUNCTIONS, width, streams=streams)
    return Accelerator(cores=[core_of(*core) for core in cores], interface=interface)


def benches(dut: Accelerator, **options: Any) -> list[Bench]:
    """Return a bench for each pair of streams, with seeds of their own."""
    return [Bench(dut, ports=ports, seed=k + 1, **options) for k, ports in enumerate(dut.interface.ports)]


@pytest.mark.parametrize(
    ("cores", "streams", "valid", "ready", "width"),
    [
        long(ONE, 2, 1.0, 0.4, 32),
        (SETS["apart"], 2, 1.0, 0.4, 32),
        long(SETS["copies"], 2, 1.0, 0.4, 32),
        long(SETS["some copies"], 3, 0.7, 0.9, 64),
        *(long(cores, 3, 0.7, 0.9, 64) for cores in (ONE, SLOW, SETS["copies"], SETS["apart"])),
    ],
)
def test_each_pair_answers_its_own_tasks_in_order(
    cores: Cores, streams: int, valid: float, ready: float, width: int
) -> None:
    tasks = [any_tasks(20, seed=width + k) for k in range(streams)]
    pairs = benches(accelerator(cores, width, streams), valid=valid, ready=ready)
    sent = [[task.packet(width) for task in batch] for batch in tasks]
    came = run_together(pairs, sent, cycles=8000, expected=20 * streams)
    assert [by_function(packets) for packets in came] == [expected(batch, width, cores) for batch in tasks]


def ends(bench: Bench) -> list[int]:
    """Return the cycles in which responses end."""
    return [cycle for cycle, (_, last) in bench.beats if last]


@pytest.mark.parametrize("cores", [ONE, long(SLOW)])
def test_a_pair_that_stands_still_holds_no_other_up(cores: Cores) -> None:
    """The pair that goes on is answered as fast as if it were alone, but for its share of the core."""
    dut, count = accelerator(cores, 32, 2), 40
    tasks = [Task(tag, FUNCTIONS[0].code, 0) for tag in range(count)]
    packets = [task.packet(32) for task in tasks]
    alone, stopped = benches(dut), benches(dut)
    run_together(alone, [packets, []], cycles=2000, expected=count)
    stopped[1] = replace(stopped[1], ready=0.0)
    others = [task.packet(32) for task in any_tasks(200, seed=5)]
    run_together(stopped, [packets, others], cycles=2000, expected=count)
    assert len(ends(stopped[0])) == count
    full = ends(stopped[0])[count // 2 :]
    assert full[-1] - full[0] == ends(alone[0])[-1] - ends(alone[0])[count // 2]
    assert not stopped[1].beats
    assert len(stopped[1].sent) < sum(map(len, others))


@pytest.mark.verify
def test_pairs_multiply_the_rate_of_the_link() -> None:
    """Requests of four beats keep a core busy that takes a task in every cycle."""
    function = FUNCTIONS[2]
    interface = Interface(FUNCTIONS, 32, streams=4)
    beats = max(interface.request_beats(function, False), interface.response_beats(function, False))
    dut = accelerator(ONE, 32, 4)
    packets = [Task(tag, function.code, tag).packet(32) for tag in range(24)]
    pairs = benches(dut)
    run_together(pairs, [packets] * 4, cycles=2000, expected=96)
    assert beats == 4
    for pair in pairs:
        cycles = ends(pair)[16:]
        assert cycles[-1] - cycles[0] == (len(cycles) - 1) * beats


@pytest.mark.parametrize(("streams", "cores", "ii"), [long(3, SLOW, 6), (2, ONE, 1)])
def test_pairs_that_all_have_tasks_share_a_core_equally(streams: int, cores: Cores, ii: int) -> None:
    dut = accelerator(cores, 256, streams)
    packets = [Task(tag, FUNCTIONS[0].code, 0).packet(256) for tag in range(200)]
    pairs = benches(dut)
    run_together(pairs, [packets] * streams, cycles=ii * 20 * streams)
    counts = [len(pair.packets()) for pair in pairs]
    assert max(counts) - min(counts) <= 1
    cycles = sorted(cycle for pair in pairs for cycle in ends(pair))[10:]
    assert cycles == list(range(cycles[0], cycles[0] + ii * len(cycles), ii))


@pytest.mark.parametrize("cores", [ONE, SETS["apart"]])
def test_latency_of_a_task_alone(cores: Cores) -> None:
    dut = accelerator(cores, 32, 2)
    for function in FUNCTIONS:
        ii = next(ii for names, ii in cores if function.name in names)
        waiting = waiting_places(len(cores), ii, 2)
        least = packet_latency(dut.interface, function, LATENCIES[function.name], waiting)
        task = Task(1, function.code, 0).packet(32)
        latencies = unloaded_latencies(dut, task, ii, ports=dut.interface.ports[1])
        assert min(latencies) == least


def test_a_reset_discards_the_tasks_of_every_pair() -> None:
    start = 55
    dut, width = accelerator(SLOW, 32, 2), 32
    tasks = [any_tasks(40, seed=k) for k in range(2)]
    pairs = benches(dut, reset=range(start, start + 3), ready=0.8)
    sent = [[task.packet(width) for task in batch] for batch in tasks]
    run_together(pairs, sent, cycles=900)
    for pair, given in zip(pairs, tasks, strict=True):
        first = 1 + max(number for cycle, number in pair.sent if cycle < start)
        assert 0 < first < len(given)
        assert by_function(pair.packets(after=start)) == expected(given[first:], width, SLOW)


def test_each_pair_has_parameters_of_its_own() -> None:
    loads = FunctionWords(LOAD_PARAMETERS, ID.inputs[1:2], ())
    functions = (replace(ID, held=ID.inputs[1:2]), loads)
    interface = Interface(functions, 128, parameters={"x[1]": 5}, streams=2)
    core = FakeCore(ii=2, functions=(ID,), latencies=LATENCIES)
    dut = Accelerator(cores=[core], interface=interface)
    load = [loads.code << 16 | 77 << 32 + 12]
    task = [ID.code << 16 | 3 << 32]
    plain, loaded = run_together(benches(dut), [[task, task], [load, task]], cycles=300, expected=4)

    def answer(parameter: int) -> int:
        return core.answer(ID, 3 | parameter << 12, 0)[0] & (1 << 30) - 1

    assert [packet[0] >> 32 & (1 << 30) - 1 for packet in plain] == [answer(5)] * 2
    assert loaded[-1][0] >> 32 & (1 << 30) - 1 == answer(77) != answer(5)


def test_verilog_has_ports_for_each_pair() -> None:
    core = FakeCore(ii=1, functions=(ID,), latencies=LATENCIES)
    dut = Accelerator(cores=[core], interface=Interface((ID,), 64, streams=2))
    text = to_verilog(dut, "accelerator")
    header = text[text.index("module accelerator (") :]
    names = re.findall(r"[sm]_axis\w*", header[: header.index(");")])
    signals = ("tdata", "tvalid", "tready", "tlast")
    assert sorted(names) == sorted(
        f"{way}_axis_{k}_{signal}" for way in "sm" for k in (0, 1) for signal in signals
    )


def test_an_arbiter_serves_every_edge_in_its_turn() -> None:
    """Of the edges that offer a task one is served, and none waits for two tasks of another."""
    edges, rng = 3, random.Random(4)
    dut = Arbiter(edges=edges, bits=4, functions=1)
    passed: list[list[int]] = [[] for _ in range(edges)]
    """The edges that were served since each edge has offered its task."""
    offers = [False] * edges
    served_in_all: list[int] = []

    async def bench(ctx: Any) -> None:
        for cycle in range(300):
            ready = rng.random() < 0.7
            ctx.set(dut.accepts, ready)
            for k in range(edges):
                offers[k] = offers[k] or rng.random() < 0.4
                ctx.set(dut.each[k].offered, offers[k])
                ctx.set(dut.each[k].words, k + 4 * (cycle % 2))
            served = [k for k in range(edges) if offers[k] and ctx.get(dut.each[k].accepts)]
            assert len(served) == (ready and any(offers))
            for k in range(edges):
                ctx.set(dut.each[k].admit, k in served)
                passed[k] = passed[k] + served if offers[k] and k not in served else []
                assert len(set(passed[k])) == len(passed[k])
            for k in served:
                assert ctx.get(dut.words) == k + 4 * (cycle % 2) | k << 4
                offers[k] = False
            served_in_all.extend(served)
            await ctx.tick()

    Simulation(dut).run(bench)
    assert min(map(served_in_all.count, range(edges))) > 40
