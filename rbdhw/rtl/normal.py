"""Normal samples in hardware: the twin of :mod:`rbdhw.fixed.normal`."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

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
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import register

ROUNDS_A_CYCLE = 2

BLOCK_CYCLES = ROUNDS // ROUNDS_A_CYCLE

SAMPLE_CYCLES = 3
"""Cycles from half a block to its sample: the table, the product, the sum."""

ROUND = 96
"""Look-up tables of a round: an addition and two exclusive ors of 32 bits."""


class NormalSource(wiring.Component):
    """Draws a sample for each coordinate, every cycle.

    Parameters
    ----------
    coordinates : int
        The number of samples.
    seed_bits, step_bits : int
        The widths of a seed and of a step's number.
    """

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
    """Return the sample of half a block."""
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


def sample_cells(widths: list[int], fabric: Fabric) -> Cells:
    """Return the cells that draw samples for forces of these widths, and add them."""
    pairs = -(-len(widths) // 2)
    cells = Cells(luts=pairs * ROUNDS * ROUND, flip_flops=64 * pairs * BLOCK_CYCLES)
    entry = sum(max(column).bit_length() for column in zip(*segments(), strict=True))
    for width in widths:
        sums = OCTAVE_BITS + 2 * SAMPLE.width + 2.0 * width * (1.0 + fabric.compare)
        cells += fabric.table(entry, len(segments()))
        cells += Cells(luts=sums, flip_flops=4 * SAMPLE.width + 4 * width)
    return cells
