"""Samples that are added to the forces of rollouts, in hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from amaranth.hdl import Module, signed

from rbdhw.arrays import WordName
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.normal import PLACE_BITS, SAMPLE, segments
from rbdhw.fixed.rollout import RolloutShape, force_words
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import SAMPLES
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import register
from rbdhw.rtl.normal import ROUNDS_A_CYCLE, NormalSource, sample_cells
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.target import Delays

SEED_BITS = 31
"""The bits of a seed."""

SAMPLED = NormalSource.latency + 1
"""Cycles until what samples add to the forces is there: the samples and a product."""


class SamplesHardware(PartHardware):
    """A source of samples, each multiplied by the row's standard deviation and rounded to its force."""

    name = SAMPLES

    def fields(self, _step: FunctionWords, _shape: RolloutShape) -> dict[str, int]:
        """Return that a rollout has a seed."""
        return {"seed": SEED_BITS}

    def forces_latency(self, _step: FunctionWords, _shape: RolloutShape) -> int:
        """Return the cycles until the samples are there."""
        return SAMPLED

    def forces(self, m: Module, between: Between, row: Mapping[str, Any], cycles: int) -> dict[str, Any]:
        """Return the samples times their deviations, in the steps of each force."""
        samples, added = self._samples(m, between, cycles - SAMPLED), {}
        for word in force_words(between.step):
            name = WordName.parse(word.name)
            product = samples[name.index[0]] * row[str(replace(name, array="std"))]
            product = register(m, f"product_{word.slot}", product, signed(len(product)))
            added[word.name] = product + half(SAMPLE.binary_point) >> SAMPLE.binary_point
        return added

    def _samples(self, m: Module, between: Between, waiting: int) -> list[Any]:
        """Return the samples of all coordinates of a step, drawn after some cycles."""
        count = 1 + max(WordName.parse(word.name).index[0] for word in force_words(between.step))
        step_bits = len(between.entry.done)
        m.submodules.source = source = NormalSource(
            coordinates=count, seed_bits=SEED_BITS, step_bits=step_bits
        )
        m.d.comb += [
            source.seed.eq(between.later("seed", between.entry.seed, waiting)),
            source.step.eq(between.later("number", between.entry.done, waiting)),
        ]
        ends = [SAMPLE.width * (k + 1) for k in range(count)]
        return [source.samples[end - SAMPLE.width : end].as_signed() for end in ends]

    def products(self, step: FunctionWords, _shape: RolloutShape) -> list[tuple[int, int]]:
        """Return those of the table's segments and of the deviations."""
        rise = max(rise for _, rise in segments()).bit_length()
        segment = rise + 1, PLACE_BITS + 2
        return [
            widths for word in force_words(step) for widths in (segment, (word.format.width, SAMPLE.width))
        ]

    def period(self, delays: Delays) -> float:
        """Return the time of the rounds of a cycle."""
        return ROUNDS_A_CYCLE * (delays.add + delays.select)

    def cells(self, step: FunctionWords, _shape: RolloutShape, fabric: Fabric) -> Cells:
        """Return the cells of the source, its products and their sums."""
        return sample_cells([word.format.width for word in force_words(step)], fabric)
