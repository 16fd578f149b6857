"""A device whose reset a testbench drives, and packets to and from it for some cycles."""

import random
from typing import Any

from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal


class ResetBench(Elaboratable):
    """A device with its reset in hand."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.reset = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain()
        m.submodules.dut = self.dut
        m.d.comb += sync.rst.eq(self.reset)
        return m

    async def restart(self, ctx: Any) -> None:
        """Reset the device for a cycle."""
        ctx.set(self.reset, 1)
        await ctx.tick()
        ctx.set(self.reset, 0)


async def drive(
    ctx: Any, dut: Any, beats: list[tuple[int, bool]], cycles: int, rng: random.Random | None = None
) -> list[tuple[int, int, bool]]:
    """Offer beats, each until it is taken; return the cycle, the data and the end of each that comes back.

    With ``rng`` it is not taken in every cycle.
    """
    queue, taken = list(beats), []
    for cycle in range(cycles):
        ctx.set(dut.s_axis_tvalid, bool(queue))
        if queue:
            ctx.set(dut.s_axis_tdata, queue[0][0])
            ctx.set(dut.s_axis_tlast, queue[0][1])
        ctx.set(dut.m_axis_tready, rng is None or rng.random() < 0.6)
        if ctx.get(dut.m_axis_tvalid) and ctx.get(dut.m_axis_tready):
            taken.append((cycle, ctx.get(dut.m_axis_tdata), bool(ctx.get(dut.m_axis_tlast))))
        if queue and ctx.get(dut.s_axis_tready):
            queue.pop(0)
        await ctx.tick()
    ctx.set(dut.s_axis_tvalid, 0)
    return taken
