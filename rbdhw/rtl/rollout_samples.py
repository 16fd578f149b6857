"""Normal samples that are added to the forces of rollouts: the twin of :mod:`rbdhw.fixed.normal`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.arrays import WordName
from rbdhw.delays import Delays
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.normal import (
    EIGHTH_BITS,
    LEFT,
    OCTAVE_BITS,
    PLACE_BITS,
    RIGHT,
    ROUNDS,
    SAMPLE,
    STEP_BITS,
    round_keys,
    segments,
)
from rbdhw.fixed.rollout import RolloutShape, force_words
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import SAMPLES
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import register
from rbdhw.rtl.rollout_part import Between, PartHardware

ROUNDS_A_CYCLE = 2

BLOCK_CYCLES = ROUNDS // ROUNDS_A_CYCLE

SAMPLE_CYCLES = 3
"""Cycles from half a block to its sample: the table, the product, the sum."""

ROUND = 96
"""Look-up tables of a round: an addition and two exclusive ors of 32 bits."""


class NormalSource(wiring.Component):
    """Draws a sample for each coordinate, every cycle."""

    latency = BLOCK_CYCLES + SAMPLE_CYCLES

    def __init__(self, *, coordinates: int, seed_bits: int, step_bits: int) -> None:
        self.coordinates = coordinates
        super().__init__(
            {
                # What determines the samples.
                "seed": In(seed_bits),
                "step": In(step_bits),
                "samples": Out(coordinates * SAMPLE.width),  # the samples, packed, `latency` cycles later
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        halves = []
        seeds = self._seeds(m)
        for pair in range(-(-self.coordinates // 2)):
            halves += self._block(m, pair, seeds)
        samples = [_sample(m, k, bits) for k, bits in enumerate(halves[: self.coordinates])]
        m.d.comb += self.samples.eq(Cat(samples))
        return m

    def _seeds(self, m: Module) -> list[Any]:
        """Return the seed in each cycle of the block."""
        seeds: list[Any] = [Signal(32, name="seed_0")]
        m.d.comb += seeds[0].eq(self.seed)
        for k in range(1, BLOCK_CYCLES):
            seeds.append(register(m, f"seed_{k}", seeds[-1], 32))
        return seeds

    def _block(self, m: Module, pair: int, seeds: list[Any]) -> list[Any]:
        """Return both halves of the encrypted block of a pair of coordinates."""
        x, y = seeds[0], Signal(32, name=f"counter_{pair}")
        m.d.comb += y.eq(Cat(self.step, Const(0, STEP_BITS - len(self.step)), Const(pair, 32 - STEP_BITS)))
        for k, key in enumerate(round_keys()):
            cycle, last = divmod(k, ROUNDS_A_CYCLE)
            mixed = ((x.rotate_right(RIGHT) + y)[:32] ^ seeds[cycle]) ^ int(key)
            other = y.rotate_left(LEFT) ^ mixed
            if last == ROUNDS_A_CYCLE - 1:
                x, y = (
                    register(m, f"{n}_{pair}_{cycle}", bits, 32) for n, bits in (("x", mixed), ("y", other))
                )
            else:
                x, y = Signal(32, name=f"x_{pair}_{k}"), Signal(32, name=f"y_{pair}_{k}")
                m.d.comb += [x.eq(mixed), y.eq(other)]
        return [x, y]


def _sample(m: Module, k: int, bits: Any) -> Any:
    place, rest = bits[:PLACE_BITS], bits[PLACE_BITS:-1]
    octave = rest[EIGHTH_BITS:]
    zeros: Any = Const(OCTAVE_BITS, (OCTAVE_BITS).bit_length())
    for position in range(OCTAVE_BITS):
        zeros = Mux(octave[position], OCTAVE_BITS - 1 - position, zeros)
    start_bits, rise_bits = (max(column).bit_length() for column in zip(*segments(), strict=True))
    words = [start | rise << start_bits for start, rise in segments()]
    table = Memory(shape=unsigned(start_bits + rise_bits), depth=len(words), init=words)
    m.submodules[f"table_{k}"] = table
    port = table.read_port(domain="sync")
    m.d.comb += port.addr.eq(Cat(rest[:EIGHTH_BITS], zeros))
    place_1 = register(m, f"place_{k}", Cat(Const(1, 1), place), PLACE_BITS + 1)
    negative = register(m, f"negative_{k}_1", bits[-1], 1)
    product = register(m, f"rise_{k}", port.data[start_bits:] * place_1, rise_bits + PLACE_BITS + 1)
    start = register(m, f"start_{k}", port.data[:start_bits], start_bits)
    negative = register(m, f"negative_{k}_2", negative, 1)
    magnitude = start + (product + half(PLACE_BITS + 1) >> PLACE_BITS + 1)
    return register(m, f"sample_{k}", Mux(negative, -magnitude, magnitude), signed(SAMPLE.width))


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

    def refusals(self, numbers: Mapping[str, Any]) -> list[Any]:
        return [numbers["seed"] < 0]

    def entering(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        return {"seed": numbers["seed"][:SEED_BITS]}

    def forces_latency(self, _step: FunctionWords, _shape: RolloutShape) -> int:
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
        number = between.entry.done
        if between.shape.hold > 1:
            number = number[between.shape.hold.bit_length() - 1 :]
        m.submodules.source = source = NormalSource(
            coordinates=count, seed_bits=SEED_BITS, step_bits=len(number)
        )
        m.d.comb += [
            source.seed.eq(between.later("seed", between.entry.seed, waiting)),
            source.step.eq(between.later("number", number, waiting)),
        ]
        ends = [SAMPLE.width * (k + 1) for k in range(count)]
        return [source.samples[end - SAMPLE.width : end].as_signed() for end in ends]

    def products(self, step: FunctionWords, _shape: RolloutShape) -> list[tuple[int, int]]:
        rise = max(rise for _, rise in segments()).bit_length()
        segment = rise + 1, PLACE_BITS + 2
        return [
            widths for word in force_words(step) for widths in (segment, (word.format.width, SAMPLE.width))
        ]

    def period(self, delays: Delays) -> float:
        return ROUNDS_A_CYCLE * (delays.add + delays.select)

    def cells(self, step: FunctionWords, _shape: RolloutShape, fabric: Fabric) -> Cells:
        forces = force_words(step)
        pairs = -(-len(forces) // 2)
        cells = Cells(luts=pairs * ROUNDS * ROUND, flip_flops=64 * pairs * BLOCK_CYCLES)
        entry = sum(max(column).bit_length() for column in zip(*segments(), strict=True))
        for width in (word.format.width for word in forces):
            sums = OCTAVE_BITS + 2 * SAMPLE.width + 2.0 * width * (1.0 + fabric.compare)
            cells += fabric.table(entry, len(segments()))
            cells += Cells(luts=sums, flip_flops=4 * SAMPLE.width + 4 * width)
        return cells
