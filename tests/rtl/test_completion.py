"""Reserved places of results; :mod:`test_shell` tests the flow through them."""

from typing import Any

import pytest

from rbdhw.rtl.completion import Credits, buffer_depth
from tests.support.simulation import Simulation


@pytest.mark.parametrize(
    ("latency", "ii", "depth"), [(2, 1, 8), (3, 1, 8), (4, 1, 16), (20, 1, 32), (27, 1, 32), (28, 1, 64)]
)
def test_buffer_depth_at_one_task_a_cycle(latency: int, ii: int, depth: int) -> None:
    assert buffer_depth(latency, ii) == depth


@pytest.mark.parametrize(("latency", "ii", "depth"), [(2, 8, 4), (13, 8, 4), (14, 8, 8), (90, 8, 16)])
def test_buffer_depth_at_one_task_in_eight_cycles(latency: int, ii: int, depth: int) -> None:
    assert buffer_depth(latency, ii) == depth


def test_credits() -> None:
    dut = Credits(depth=2)
    seen: list[int] = []

    async def bench(ctx: Any) -> None:
        for take, give in [(1, 0), (1, 0), (0, 0), (0, 1), (1, 1), (1, 0), (0, 1), (0, 0)]:
            seen.append(ctx.get(dut.available))
            ctx.set(dut.take, take)
            ctx.set(dut.give, give)
            await ctx.tick()

    Simulation(dut).run(bench)
    assert seen == [1, 1, 0, 0, 1, 1, 0, 1]
