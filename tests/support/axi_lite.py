"""Accesses to an AXI4-Lite port in Amaranth's simulator."""

from typing import Any

from amaranth.sim import SimulatorContext


async def write(ctx: SimulatorContext, dut: Any, address: int, word: int, strobe: int = 15) -> int:
    """Write a word; return the response."""
    ctx.set(dut.s_axi_awaddr, address)
    ctx.set(dut.s_axi_wdata, word)
    ctx.set(dut.s_axi_wstrb, strobe)
    ctx.set(dut.s_axi_bready, 1)
    ctx.set(dut.s_axi_awvalid, 1)
    await ctx.tick().until(dut.s_axi_awready)
    ctx.set(dut.s_axi_awvalid, 0)
    ctx.set(dut.s_axi_wvalid, 1)
    await ctx.tick().until(dut.s_axi_wready)
    ctx.set(dut.s_axi_wvalid, 0)
    (response,) = await ctx.tick().sample(dut.s_axi_bresp).until(dut.s_axi_bvalid)
    ctx.set(dut.s_axi_bready, 0)
    return int(response)


async def read(ctx: SimulatorContext, dut: Any, address: int) -> int:
    """Read a word."""
    ctx.set(dut.s_axi_araddr, address)
    ctx.set(dut.s_axi_rready, 1)
    ctx.set(dut.s_axi_arvalid, 1)
    await ctx.tick().until(dut.s_axi_arready)
    ctx.set(dut.s_axi_arvalid, 0)
    word, response = await ctx.tick().sample(dut.s_axi_rdata, dut.s_axi_rresp).until(dut.s_axi_rvalid)
    ctx.set(dut.s_axi_rready, 0)
    assert response == 0
    return int(word)


async def read_counter(ctx: SimulatorContext, dut: Any, address: int) -> int:
    """Read a counter, its low word first."""
    low = await read(ctx, dut, address)
    return low | await read(ctx, dut, address + 4) << 32
