"""Assembly and serialisation of packets, each component alone; :mod:`test_shell` has them together."""

from typing import Any

import pytest

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.stream import Assembler, Serialiser
from tests.support.edge import DFD, DIFD, FUNCTIONS, ID, collect, words
from tests.support.simulation import Simulation


@pytest.mark.parametrize(("bits", "width", "expected"), [(0, 32, 1), (1, 32, 2), (96, 128, 1), (97, 128, 2)])
def test_beats(bits: int, width: int, expected: int) -> None:
    numbers = words(bits) if bits else ()
    interface = Interface((FunctionWords("id", numbers, numbers),), width)
    assert interface.request_beats(interface.functions[0], False) == expected
    assert interface.response_beats(interface.functions[0], False) == expected


def test_requests_take_slots_and_responses_words() -> None:
    interface = Interface(FUNCTIONS, 32)
    assert interface.slots == interface.fields == (12, 18, 5, 20, 50)
    assert interface.places == (0, 12, 30, 35, 55, 105)
    requests = [(f.name, extended, interface.request_beats(f, extended)) for f, extended in interface.modes()]
    assert requests == [
        ("id", False, 3),
        ("dfd", False, 3),
        ("dfd", True, 3),
        ("difd", False, 3),
        ("difd", True, 5),
    ]
    assert [interface.response_beats(f, extended) for f, extended in interface.modes()] == [2, 4, 6, 4, 4]


def test_slots_that_a_function_leaves_out_travel_up_to_its_last() -> None:
    sparse = FunctionWords("fd", (ID.inputs[0], DIFD.inputs[3]), ())
    interface = Interface((ID, sparse, DIFD), 32)
    assert interface.slots_of(sparse, False) == 4
    assert interface.request_beats(sparse, False) == interface.request_beats(DIFD, False)
    assert interface.slots_of(FunctionWords("m", (), words(5)), False) == 0


def test_the_assembler_offers_a_task_the_cycle_after_its_last_beat() -> None:
    dut = Assembler(interface=Interface(FUNCTIONS, 256))
    seen: list[tuple[int, ...]] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.leaves, 1)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.p.last, 1)
        for k in range(4):
            ctx.set(dut.i.p.data, k << 32 | 5 << 16 | 100 + k)
            assert ctx.get(dut.i.ready)
            await ctx.tick()
            task = ctx.get(dut.o.p)
            seen.append((ctx.get(dut.o.valid), task.tag, task.select, task.malformed, task.words))

    Simulation(dut).run(bench)
    assert seen == [(1, 100 + k, 0b0010, 0, k) for k in range(4)]


def test_the_assembler_gathers_the_next_packet_while_a_task_waits() -> None:
    dut = Assembler(interface=Interface(FUNCTIONS, 32))
    ready: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        for k in range(6):
            ctx.set(dut.i.p.data, k)
            ctx.set(dut.i.p.last, k % 3 == 2)
            ready.append(ctx.get(dut.i.ready))
            if k == 5:
                ctx.set(dut.o.ready, 1)
                ready.append(ctx.get(dut.i.ready))
                ctx.set(dut.leaves, 1)
                ready.append(ctx.get(dut.i.ready))
            await ctx.tick()
        assert (ctx.get(dut.o.valid), ctx.get(dut.o.p).tag) == (1, 3)

    Simulation(dut).run(bench)
    assert ready == [1, 1, 1, 1, 1, 0, 0, 1]


@pytest.mark.parametrize("where", [0, 1, 2])
def test_the_assembler_tells_that_a_number_was_none_with_its_task_alone(where: int) -> None:
    dut = Assembler(interface=Interface(FUNCTIONS, 32))
    seen: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i.valid, 1)
        for k in range(9):
            ctx.set(dut.i.p, {"data": 0, "last": k % 3 == 2, "not_finite": k == 3 + where})
            await ctx.tick()
            if ctx.get(dut.o.valid):
                seen.append(ctx.get(dut.o.p).not_finite)

    Simulation(dut).run(bench)
    assert seen == [0, 1, 0]


HEADER = {"tag": 0x1234, "function": 6, "options": 1, "status": 3}


def test_the_serialiser_pads_with_zeros_and_needs_no_pause_between_packets() -> None:
    function = FunctionWords("id", (), words(18, 22))
    dut = Serialiser(interface=Interface((function,), 32), function=function)

    def drive(ctx: Any, _cycle: int) -> None:
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.p, {"header": HEADER, "extended": 0, "empty": 0, "words": 0xABCDEF0123})

    packet = [(0x03261234, False), (0xCDEF0123, False), (0xAB, True)]
    assert collect(dut, drive, 7) == packet + packet


def test_the_serialiser_sends_optional_words_only_when_asked() -> None:
    dut = Serialiser(interface=Interface((DFD,), 32), function=DFD)
    value = (1 << 130) - 1

    def drive(ctx: Any, cycle: int) -> None:
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.p, {"header": HEADER, "extended": cycle < 6, "empty": 0, "words": value})

    ones = (1 << 32) - 1
    long = [(0x03261234, False)] + [(ones, False)] * 4 + [(3, True)]
    short = [(0x03261234, False)] + [(ones, False)] * 2 + [((1 << 13) - 1, True)]
    assert collect(dut, drive, 11) == long + short


def test_the_serialiser_sends_no_words_of_an_empty_response() -> None:
    function = FunctionWords("id", (), words(40))
    dut = Serialiser(interface=Interface((function,), 128), function=function)

    def drive(ctx: Any, _cycle: int) -> None:
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.p, {"header": {**HEADER, "status": 4}, "empty": 1, "words": 0xABCDEF0123})

    assert collect(dut, drive, 2) == [(0x04261234, True)]
