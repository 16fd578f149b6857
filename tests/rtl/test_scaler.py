"""Numbers times factors in hardware: the words of the model, one after the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.scaled import Scaled
from rbdhw.rtl.scaler import LATENCY, Scaler
from tests.support.bits import pack
from tests.support.simulation import Simulation

SOURCES, FACTORS = (Format(20, 10), Format(9, 12)), (Format(12, 9), Format(24, 22), Format(8, -3))

ITEMS = tuple(
    Scaled(f"x[{index},{by}]", index, by, source, factor, target, negative)
    for index, source in enumerate(SOURCES)
    for by, factor in enumerate(FACTORS)
    for target in (Format(18, 10), Format(7, 2), Format(27, 26))
    for negative in (False, True)
)
"""Products that lose bits, gain zeros, and exceed their formats."""

RUNS = 40


ROUNDED = tuple(
    Scaled("x", index, 0, source, FACTORS[0], Format(12, point))
    for index, source in enumerate(SOURCES)
    for point in (4, 9)
)
"""Products that all lose bits, with the sign as it is."""


@pytest.mark.parametrize("items", [ITEMS, ROUNDED])
def test_words_are_those_of_the_model(items: tuple[Scaled, ...]) -> None:
    dut = Scaler(items=items, sources=[f.width for f in SOURCES], factors=[f.width for f in FACTORS])
    rng, outputs = np.random.default_rng(0), []
    values, factors = (
        np.array([[rng.integers(f.lowest, f.highest, endpoint=True) for f in formats] for _ in range(RUNS)])
        for formats in (SOURCES, FACTORS)
    )
    values[0], factors[0] = [f.lowest for f in SOURCES], [f.lowest for f in FACTORS]

    async def testbench(ctx: Any) -> None:
        for run in range(RUNS):
            ctx.set(dut.sources, pack(SOURCES, values[run]))
            ctx.set(dut.factors, pack(FACTORS, factors[run]))
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            await ctx.tick().repeat(LATENCY)
            for item in range(len(items)):
                assert (ctx.get(dut.valid), ctx.get(dut.item)) == (1, item)
                outputs.append((ctx.get(dut.word), bool(ctx.get(dut.beyond))))
                await ctx.tick()
            assert not ctx.get(dut.valid)

    Simulation(dut).run(testbench)
    expected = [
        tuple(each.tolist() for each in item.limited(values[run][item.place], factors[run][item.by]))
        for run in range(RUNS)
        for item in items
    ]
    assert outputs == expected
    assert {beyond for _, beyond in expected} == {False, True}
    assert (min(item.drop for item in items) < 0) == (items is ITEMS)


def test_a_product_has_its_sign_unless_it_is_negative() -> None:
    product = Scaled("x", 0, 0, Format(8, 0), Format(8, 0), Format(16, 0))
    value = np.array(3)
    assert product.exact(value, 5) == 15
    assert replace(product, negative=True).exact(value, 5) == -15
