"""A simulator that serves many testbenches serves each from power-up."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from tests.support.simulation import Simulation


class Counter(wiring.Component):
    """Counts cycles in a register that no reset clears, and writes ``i`` into a word of memory."""

    i: In(8)
    count: Out(8)
    o: Out(8)

    def elaborate(self, _platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=1, init=[7])
        port = memory.write_port()
        count = Signal(8, init=5, reset_less=True)
        m.d.sync += count.eq(count + 1)
        m.d.comb += [port.en.eq(1), port.data.eq(self.i), self.count.eq(count)]
        m.d.comb += self.o.eq(memory.read_port(domain="comb").data)
        return m


def test_each_testbench_starts_after_power_up():
    counter, seen = Counter(), []
    simulation = Simulation(counter)

    async def testbench(ctx):
        seen.append((ctx.get(counter.i), ctx.get(counter.count), ctx.get(counter.o)))
        ctx.set(counter.i, 9)
        await ctx.tick().repeat(3)
        seen.append((ctx.get(counter.i), ctx.get(counter.count), ctx.get(counter.o)))

    async def broken(ctx):
        await ctx.tick()
        pytest.fail("broken")

    simulation.run(testbench)
    simulation.run(testbench)
    with pytest.raises(pytest.fail.Exception, match="broken"):
        simulation.run(broken)
    simulation.run(testbench)
    assert seen == [(0, 5, 7), (9, 8, 9)] * 3
