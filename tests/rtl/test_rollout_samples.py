"""Normal samples in hardware equal the model's, bit for bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbdhw.estimate.fabric import ECP5
from rbdhw.fixed.normal import SAMPLE, normal_integers
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.rtl.rollout_samples import NormalSource, SamplesHardware
from tests.support.rollout_edge import STEP, word
from tests.support.simulation import Simulation


def test_samples_equal_the_models() -> None:
    """A sample for each coordinate in every cycle, from seeds of all sizes."""
    coordinates, draws = 3, 300
    dut = NormalSource(coordinates=coordinates, seed_bits=31, step_bits=7)
    rng = np.random.default_rng(0)
    seeds = np.concatenate([rng.integers(0, 2**31, draws - 2), [0, 2**31 - 1]])
    steps = rng.integers(0, 128, draws)
    samples: list[list[int]] = []

    async def testbench(ctx: Any) -> None:
        for k in range(draws + dut.latency):
            if k >= dut.latency:
                bits = ctx.get(dut.samples)
                parts = [bits >> SAMPLE.width * j & (1 << SAMPLE.width) - 1 for j in range(coordinates)]
                samples.append([part - (part >> SAMPLE.width - 1 << SAMPLE.width) for part in parts])
            if k < draws:
                ctx.set(dut.seed, int(seeds[k]))
                ctx.set(dut.step, int(steps[k]))
            await ctx.tick()

    Simulation(dut).run(testbench)
    expected = [normal_integers(seeds[k : k + 1], steps[k : k + 1], coordinates)[0, 0] for k in range(draws)]
    np.testing.assert_array_equal(samples, expected)


def test_a_wider_force_takes_a_wider_sum_and_wider_limits() -> None:
    """The sum with the row's force and two limits of it, in four registers."""
    narrow, wide = (
        SamplesHardware().cells(
            replace(STEP, inputs=(*STEP.inputs[:2], word("tau[0]", width, 2))),
            RolloutShape(4, 1, "step"),
            ECP5,
        )
        for width in (10, 30)
    )
    assert wide.luts - narrow.luts == pytest.approx(2 * 20 * (1 + ECP5.compare))
    assert wide.flip_flops - narrow.flip_flops == 4 * 20
