"""A simulator that serves many testbenches serves each from power-up."""

import random

import pytest
from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from tests.support.ordered_engine import OrderedEngine
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


class Web(wiring.Component):
    """Signals that depend on others in any order, by parts, and on each other without a loop of bits."""

    i: In(8)
    o: Out(8)

    def elaborate(self, _platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=16, init=range(1, 17))
        write, read = memory.write_port(granularity=4), memory.read_port(domain="comb")
        held, late, early = Signal(8, init=3), Signal(8), Signal(8)
        low, high, turned = Signal(4), Signal(4), Signal(signed(9))
        m.d.comb += [self.o.eq(late ^ read.data), late.eq(early + held), early.eq(self.i ^ held)]
        m.d.comb += [write.addr.eq(late), write.data.eq(turned), write.en.eq(early), read.addr.eq(held)]
        m.d.comb += [low.eq(early[:4]), high.eq(low + turned), turned[:4].eq(low), turned[8].eq(early[7])]
        with m.Switch(low[:2]):
            with m.Case(0):
                m.d.comb += Cat(turned[4:8]).eq(early)
            with m.Case(1):
                m.d.comb += turned[4:8].eq(held)
                m.d.sync += held.eq(late + high)
            with m.Default():
                m.d.sync += held.eq(self.o)
        return m


def test_signals_in_order_are_those_of_amaranths_own_engine():
    traces = []
    for engine in (OrderedEngine, "pysim"):
        web, trace, rng = Web(), [], random.Random(0)

        async def testbench(ctx, web=web, trace=trace, rng=rng):
            for _ in range(300):
                ctx.set(web.i, rng.randrange(256))
                trace.append(ctx.get(web.o))
                await ctx.tick()
                trace.append(ctx.get(web.o))

        simulator = Simulator(web, engine=engine)
        simulator.add_clock(1e-6)
        simulator.add_testbench(testbench)
        simulator.run()
        traces.append(trace)
    assert traces[0] == traces[1]
    assert len({*traces[0]}) > 100
