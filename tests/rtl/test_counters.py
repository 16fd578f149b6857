"""Counters of 64 bits that share one memory."""

import random

from amaranth.sim import SimulatorContext

from rbdhw.rtl.counters import Counters
from tests.support.simulation import Simulation

COUNT, MOST = 5, 2


async def look(ctx: SimulatorContext, dut: Counters) -> list[int]:
    """Return the values of all counters, each in its next turn."""
    values = {}
    while len(values) < COUNT:
        values[ctx.get(dut.turn)] = ctx.get(dut.value)
        await ctx.tick()
    return [values[k] for k in range(COUNT)]


def test_counters_add_up_what_they_are_given_and_begin_again() -> None:
    dut, rng = Counters(count=COUNT, most=MOST), random.Random(1)

    async def bench(ctx: SimulatorContext) -> None:
        for _ in range(3):
            totals = [0] * COUNT
            for _ in range(rng.randint(20, 90)):
                for k in range(COUNT):
                    amount = rng.randint(0, MOST)
                    ctx.set(dut.amounts[k], amount)
                    totals[k] += amount
                await ctx.tick()
            for k in range(COUNT):
                ctx.set(dut.amounts[k], 0)
            assert await look(ctx, dut) == totals
            ctx.set(dut.clear, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            assert await look(ctx, dut) == [0] * COUNT

    Simulation(dut).run(bench)


def test_nothing_is_lost_at_the_largest_rate() -> None:
    dut = Counters(count=COUNT, most=MOST)

    async def bench(ctx: SimulatorContext) -> None:
        for k in range(COUNT):
            ctx.set(dut.amounts[k], MOST)
        await ctx.tick().repeat(100)
        for k in range(COUNT):
            ctx.set(dut.amounts[k], 0)
        assert await look(ctx, dut) == [100 * MOST] * COUNT

    Simulation(dut).run(bench)
