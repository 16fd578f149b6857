"""Reserved places of results; :mod:`test_shell` tests the flow through them."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from rbdhw.model.interface import Interface
from rbdhw.rtl.completion import Completion, Credits, buffer_depth
from tests.support.edge import ID


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

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [1, 1, 0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"latency": -1}, "latency: is -1; expected at least 0"),
        ({"depth": 0}, "depth: is 0; expected a power of two"),
        ({"depth": 12}, "depth: is 12; expected a power of two"),
    ],
)
def test_refusals(arguments: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        Completion(interface=Interface((ID,), 32), function=ID, **{"latency": 3, "depth": 8, **arguments})


def test_credits_refuse_no_depth() -> None:
    with pytest.raises(ValueError, match=r"^depth: is 0; expected at least 1$"):
        Credits(depth=0)
