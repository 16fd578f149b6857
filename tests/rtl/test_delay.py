"""Delay lines, compared with lists."""

import random

import pytest
from amaranth.hdl import Fragment, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.delay import BypassFifo, delay_line
from tests.support.simulation import Simulation


@pytest.mark.parametrize("often", [1.0, 0.5])
@pytest.mark.parametrize("stages", [2, 3, 4, 5, 9, 17])
def test_a_bypass_fifo_delays_by_its_stages(stages, often):
    fifo = BypassFifo(shape=signed(7), stages=stages)
    rng = random.Random(stages)
    line = [None] * stages

    async def testbench(ctx):
        for _ in range(12 * stages):
            value, moves = rng.randrange(-64, 64), rng.random() < often
            ctx.set(fifo.i, value)
            ctx.set(fifo.enable, moves)
            assert line[-1] in (None, ctx.get(fifo.o))
            await ctx.tick()
            if moves:
                line[:] = [value, *line[:-1]]
        assert None not in line

    Simulation(fifo).run(testbench)


class Line(wiring.Component):
    """A delay line with its stages as ports."""

    def __init__(self, stages, memory_stages):
        self.stages = stages
        self.memory_stages = memory_stages
        self.words: list[int] = []
        super().__init__(
            {"enable": In(1), "i": In(signed(9))} | {f"o_{stage}": Out(signed(9)) for stage in (0, *stages)}
        )

    def elaborate(self, _platform):
        m = Module()
        value = Signal(signed(9))
        m.d.comb += value.eq(self.i)
        taps = delay_line(m, value, self.enable, self.stages, name="line", memory_stages=self.memory_stages)
        assert {0, *self.stages} <= set(taps) <= {0, 1, *self.stages}
        m.d.comb += [getattr(self, f"o_{stage}").eq(taps[stage]) for stage in (0, *self.stages)]
        self.words = [fifo.stages - 1 for fifo, _ in m._named_submodules.values()]
        return m


@pytest.mark.parametrize(("stages", "words"), [(16, 15), (17, 16), (18, 16), (19, 17), (200, 198)])
def test_behind_a_memory_that_may_be_a_block_ram_stands_a_register(stages, words):
    """Up to 16 words are in look-up tables; more are in a block RAM, whose clock-to-output delay is long."""
    line = Line((stages,), 4)
    Fragment.get(line, None)
    assert line.words == [words]
    assert stages - 1 - words == (stages > 17)


@pytest.mark.parametrize(
    ("stages", "memory_stages", "memories"),
    [((1,), 2, 0), ((3,), 4, 0), ((4,), 4, 1), ((1, 2, 7, 9, 20), 5, 2), ((2, 4, 6), 2, 3), ((17, 35), 4, 2)],
)
def test_a_line_has_registers_where_it_is_short_and_memories_where_it_is_long(
    stages, memory_stages, memories
):
    line = Line(stages, memory_stages)
    rng = random.Random(1)
    history = []

    async def testbench(ctx):
        for _ in range(120):
            value, moves = rng.randrange(-256, 256), rng.random() < 0.6
            ctx.set(line.i, value)
            ctx.set(line.enable, moves)
            assert ctx.get(line.o_0) == value
            for stage in stages:
                if len(history) >= stage:
                    assert ctx.get(getattr(line, f"o_{stage}")) == history[-stage]
            await ctx.tick()
            if moves:
                history.append(value)
        assert len(history) > 40

    Simulation(line).run(testbench)
    assert len(line.words) == memories
