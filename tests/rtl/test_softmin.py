"""Weights of samples in hardware equal the model's, bit for bit."""

import numpy as np
import pytest

from rbdhw.estimate.fabric import ULTRASCALE_PLUS
from rbdhw.fixed.softmin import MOST_EXPONENT, SCALE, TOGETHER
from rbdhw.fixed.softmin import Softmin as Model
from rbdhw.rtl.softmin import SUMMED, WEIGHT_BITS, Softmin, softmin_cells, softmin_products
from tests.support.simulation import Simulation

COST_BITS = 33


def means(seed):
    """Yield the scale, the exponent and the costs of some means."""
    rng = np.random.default_rng(seed)
    for exponent in (0, 8, 24, 30, MOST_EXPONENT):
        for scale in (0, 1, int(rng.integers(1, SCALE.highest)), SCALE.highest):
            count = TOGETHER * int(rng.integers(1, 8))
            costs = rng.integers(0, 1 << rng.integers(1, COST_BITS + 1), count).tolist()
            yield scale, exponent, [None if rng.random() < 0.25 else cost for cost in costs]
    yield SCALE.highest, 0, [None, None, (1 << COST_BITS) - 1, None, 0, 1, 0, 0]
    yield SCALE.highest, 20, [None] * 4


@pytest.mark.parametrize("period", [SUMMED, SUMMED + 5])
def test_all_bits_are_the_models(period):
    dut = Softmin(samples=TOGETHER, cost_bits=COST_BITS)

    async def testbench(ctx):
        for scale, exponent, costs in means(period):
            model = Model(scale, exponent)
            ctx.set(dut.scale, scale)
            ctx.set(dut.exponent, exponent)
            ctx.set(dut.clear, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            for k in range(0, len(costs), TOGETHER):
                group = costs[k : k + TOGETHER]
                ctx.set(dut.begin, 1)
                ctx.set(dut.costs, sum((cost or 0) << j * COST_BITS for j, cost in enumerate(group)))
                ctx.set(dut.bad, sum((cost is None) << j for j, cost in enumerate(group)))
                await ctx.tick()
                ctx.set(dut.begin, 0)
                ctx.set(dut.costs, 0x123456789)
                await ctx.tick().repeat(period - 1)
                drop, weights = model.add(group)
                assert ctx.get(dut.drop) == drop
                assert ctx.get(dut.weights) == sum(w << j * WEIGHT_BITS for j, w in enumerate(weights))
            for name in ("least", "weight", "square", "counted"):
                assert ctx.get(getattr(dut, name)) == getattr(model, name), name

    Simulation(dut).run(testbench)


def test_more_samples_take_more():
    few, many = (softmin_cells(samples, COST_BITS, ULTRASCALE_PLUS) for samples in (1, 3))
    assert (many.luts > few.luts, many.flip_flops > few.flip_flops) == (True, True)
    assert len(softmin_products(3, COST_BITS)) == 3 * len(softmin_products(1, COST_BITS)) == 12
