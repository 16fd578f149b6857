"""Merging streams of packets in rounds; :mod:`test_saturation` tests the whole accelerator."""

import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.merger import PREFERENCE, Merger, precedence, quotas
from tests.support.edge import DFD, DIFD, ID, collect, words
from tests.support.marks import long
from tests.support.simulation import Simulation

LONG = FunctionWords("did", words(12), words(*[18] * 20))
FUNCTIONS = (LONG, ID, DFD, DIFD)


def test_short_responses_come_first_and_refusals_last() -> None:
    """The responses have 13, 2, 6 and 4 beats."""
    interface = Interface(FUNCTIONS, 32)
    assert [interface.response_beats(function, extended=True) for function in FUNCTIONS] == [13, 2, 6, 4]
    assert precedence(interface) == (1, 3, 2, 0, 4)
    assert quotas(interface) == (6, 3, 2, 1, 1)


def test_functions_with_priority_come_before_and_have_a_larger_quota() -> None:
    interface = Interface(FUNCTIONS, 32, priority=("did", "difd"))
    assert PREFERENCE == 4
    assert precedence(interface) == (0, 3, 1, 2, 4)
    assert quotas(interface) == (4, 12, 6, 2, 1)


@dataclass
class Traffic:
    """Packets at the inputs of a merger; each beat holds its input, its packet's number and its own number.

    ``lengths`` are the beats of each input's packets. In each cycle a packet of input ``k`` arrives with
    probability ``rates[k]``, and the output is ready with probability ``ready``.
    """

    quotas: tuple[int, ...]
    lengths: tuple[int, ...]
    rates: tuple[float, ...]
    ready: float = 1.0
    seed: int = 1
    arrived: list[list[int]] = field(default_factory=list)
    beats: list[tuple[int, int, bool]] = field(default_factory=list)

    def run(self, cycles: int) -> None:
        """Record the cycles in which packets arrive, and each leaving beat's cycle, data and last."""
        dut = Merger(quotas=self.quotas, bits=32)
        rng = random.Random(self.seed)
        self.arrived = [[] for _ in self.quotas]
        number, beat = [0] * len(self.quotas), [0] * len(self.quotas)

        async def bench(ctx: Any) -> None:
            for cycle in range(cycles):
                for k, stream in enumerate(dut.i):
                    if rng.random() < self.rates[k]:
                        self.arrived[k].append(cycle)
                    waiting = len(self.arrived[k]) - number[k]
                    ctx.set(stream.valid, waiting > 0)
                    last = beat[k] == self.lengths[k] - 1
                    ctx.set(stream.p, {"data": k << 24 | number[k] << 8 | beat[k], "last": last})
                    ctx.set(dut.more[k], waiting > 1)
                ready = rng.random() < self.ready
                ctx.set(dut.o.ready, ready)
                if ready and ctx.get(dut.o.valid):
                    self.beats.append((cycle, ctx.get(dut.o.p.data), bool(ctx.get(dut.o.p.last))))
                taken = [ctx.get(stream.ready) & ctx.get(stream.valid) for stream in dut.i]
                await ctx.tick()
                for k in range(len(taken)):
                    beat[k] += taken[k]
                    if beat[k] == self.lengths[k]:
                        number[k], beat[k] = number[k] + 1, 0

        Simulation(dut).run(bench)

    def order(self) -> list[int]:
        """Return the input of each packet that left."""
        return [data >> 24 for _, data, last in self.beats if last]

    def waits(self, k: int) -> list[int]:
        """Return the cycles from the arrival of each of an input's packets to its first beat that leaves."""
        firsts = [cycle for cycle, data, _ in self.beats if data >> 24 == k and not data & 0xFF]
        return [first - came for first, came in zip(firsts, self.arrived[k], strict=False)]


@pytest.mark.parametrize("ready", [long(1.0), 0.4])
@pytest.mark.parametrize("lengths", [(1, 2, 5), long((3, 3, 3)), long((1, 7, 2))])
def test_packets_leave_whole_and_in_the_order_of_their_input(lengths: tuple[int, ...], ready: float) -> None:
    traffic = Traffic((4, 2, 1), lengths, (0.2, 0.1, 0.05), ready, seed=3)
    traffic.run(600)
    expected = []
    counts = [0, 0, 0]
    for k in traffic.order():
        expected += [(k << 24 | counts[k] << 8 | i, i == lengths[k] - 1) for i in range(lengths[k])]
        counts[k] += 1
    assert min(counts) > 5
    assert [(data, last) for _, data, last in traffic.beats][: len(expected)] == expected


@pytest.mark.parametrize("quotas", [long((1, 1, 1)), (4, 2, 1), (3, 1, 4)])
def test_saturated_inputs_take_turns_by_quotas_without_a_pause(quotas: tuple[int, ...]) -> None:
    """Inputs 0, 1 and 2 each send their quota of packets in turn; the output is never idle."""
    traffic = Traffic(quotas, (1, 2, 4), (1.0, 1.0, 1.0))
    traffic.run(300)
    a_round = [k for k, quota in enumerate(quotas) for _ in range(quota)]
    order = traffic.order()
    rounds = len(order) // len(a_round)
    assert rounds > 10
    # With the first packet of an input only one is there, so that its first turn is short.
    steady = order[order.index(2) + quotas[2] :]
    assert steady == (a_round * (rounds + 1))[: len(steady)]
    cycles = [cycle for cycle, _, _ in traffic.beats]
    assert cycles == list(range(1, 300))


@pytest.mark.parametrize("rare", [long(0), long(1), 2, long(3)])
def test_a_wait_is_bounded_by_what_the_others_may_send(rare: int) -> None:
    """The bound is the rest of a round plus the shares before the input's in the next, in any state."""
    quotas, lengths = (5, 3, 1, 1), (1, 2, 5, 5)
    rates = tuple(0.02 if k == rare else 1.0 for k in range(4))
    traffic = Traffic(quotas, lengths, rates, seed=rare)
    traffic.run(1200)
    beats = [quota * length for quota, length in zip(quotas, lengths, strict=True)]
    bound = sum(beats) - beats[rare] + sum(beats[:rare]) + Merger.latency
    came = traffic.arrived[rare]
    gaps = [later - earlier for earlier, later in pairwise(came)]
    spaced = [wait for wait, gap in zip(traffic.waits(rare)[1:], gaps, strict=False) if gap > bound]
    assert len(spaced) > 10
    assert max(spaced) <= bound
    if rare == 0:
        assert max(spaced) <= max(lengths) + Merger.latency


def test_an_input_that_used_its_quota_goes_on_while_no_other_waits() -> None:
    traffic = Traffic((1, 1), (2, 2), (1.0, 0.0))
    traffic.run(100)
    assert [cycle for cycle, _, _ in traffic.beats] == list(range(1, 100))


def test_the_merger_keeps_up_with_one_input() -> None:
    """Packets have one beat; the input has to wait a cycle for its turn."""
    dut = Merger(quotas=(1, 1, 1), bits=32)
    sent = 0

    def drive(ctx: Any, _cycle: int) -> None:
        nonlocal sent
        ctx.set(dut.i[2].valid, 1)
        ctx.set(dut.i[2].p, {"data": sent, "last": 1})
        sent += ctx.get(dut.i[2].ready)

    assert collect(dut, drive, 10) == [(k, True) for k in range(8)]


def test_the_merger_waits_inside_a_packet() -> None:
    dut = Merger(quotas=(1, 1), bits=32)

    def drive(ctx: Any, cycle: int) -> None:
        ctx.set(dut.i[1].valid, cycle in (0, 1, 6))
        ctx.set(dut.i[1].p, {"data": cycle, "last": cycle == 6})
        ctx.set(dut.i[0].valid, cycle > 0)
        ctx.set(dut.i[0].p, {"data": 99, "last": 1})

    assert collect(dut, drive, 9) == [(1, False), (6, True), (99, True)]
