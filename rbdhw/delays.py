"""Delays of operators and multipliers, and the figures of device families of which they are made.

Delays are those of operators in the fabric between two registers, including routing. ``overhead`` is the part
of a cycle lost to clock-to-output, setup and uncertainty.

A multiplier is combinational if the clock allows it. Otherwise it has up to three pipeline registers: of its
operands; of its operands and its result; or of its operands, the product, and the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

NOMINAL_WIDTH = 18
"""The width of the sum whose delay is given."""

LUTS_IN_TILE = 8


@dataclass(frozen=True)
class Delays:
    """Delays of operators in nanoseconds.

    ``multiply`` is an unregistered product including the addition to it, ``add`` a sum of 18 bits, ``select``
    one level of a 4-to-1 multiplexer, ``table`` a memory from its clock.
    """

    multiply: float
    add: float
    select: float
    table: float
    check: float
    overhead: float
    bit: float = 0.0
    """What each bit more adds to a sum."""
    half: float = 0.0
    """What the half that rounds a sum adds to it, where no operand has zeros in its place."""
    doubling: float = 0.0
    """What each doubling of its readers adds to a signal."""
    leave: float = 0.0
    """From a product to a register."""
    behind: float = 0.0
    """A sum behind another one, whose carries it need not await; 0 where that is not known."""
    address: float = 0.0
    """From logic to the address of a memory."""
    addend: float = 0.0
    """What the addend of a product may come later than its operands."""
    product: float = 0.0
    """What of a product is within its block."""
    out: float = 0.0
    """What a wire that leaves a block takes longer than another."""
    pre_add: float = 0.0
    """What a sum in front of a product adds to it within the block."""

    def sum(self, width: int, *, rounds: bool = False) -> float:
        """Return the delay of a sum with this many bits."""
        return in_picoseconds(self.add + self.bit * (width - NOMINAL_WIDTH) + self.half * rounds)

    def sums(self, levels: int) -> float:
        """Return the delay of levels of sums in a row, whose signs are read by some eight bits."""
        behind = (self.behind or self.add) + self.read(8)
        return in_picoseconds(self.add + behind * (levels - 1)) if levels else 0.0

    def choice(self, ways: int, width: int) -> float:
        """Return the delay of a choice among numbers of a width by a counter."""
        levels = select_levels(ways)
        return in_picoseconds(self.select * levels + self.doubling * math.log2(max(width, 1)) * (levels > 0))

    def read(self, readers: int) -> float:
        """Return what a signal takes longer than one with a single reader."""
        return in_picoseconds(self.doubling * math.log2(max(readers, 1)))


def in_picoseconds(delay: float) -> float:
    """Return a delay (ns) in whole picoseconds."""
    return round(delay, 3)


def select_levels(ways: int) -> int:
    """Return the levels of 4-to-1 multiplexers that select one of so many operands."""
    return math.ceil(math.log(ways, 4)) if ways > 1 else 0


@dataclass(frozen=True)
class Product:
    """A product, including an addition to it, that a device is to compute."""

    widths: tuple[int, int]
    """Widths of the operands."""
    before: float = 0.0
    """Delay (ns) of the logic between a register and the operands."""
    after: float = 0.0
    """Delay (ns) from the sum to a register."""


@dataclass(frozen=True)
class Pipeline:
    """The pipeline registers of a multiplier, and the delays (ns) around them."""

    registers: int
    """The number of registers, which is also the latency."""
    before: float
    """From the operands to the first register; without registers to the result."""
    between: float
    """The longest path from one register to the next."""
    after: float
    """From the last register to the result, including the addition."""

    def period(self, product: Product) -> float:
        """Return the length (ns) of the longest cycle of a product."""
        if self.registers == 0:
            return product.before + self.before + product.after
        return max(product.before + self.before, self.between, self.after + product.after)

    def slower(self, factor: float) -> Pipeline:
        """Return the pipeline with all delays longer by a factor."""
        return Pipeline(self.registers, self.before * factor, self.between * factor, self.after * factor)


@dataclass(frozen=True)
class Figures:
    """Delays (ns) of a family's cells and wires before any margin, and the room that its cells take.

    A wire takes ``wire``, ``by_side`` for each tile of the side of the square that the design occupies, and
    ``by_readers`` for each doubling of the cells that read it; ``to_block`` more at each end that is a DSP
    block or a block RAM.
    """

    wire: float
    by_side: float
    by_readers: float
    to_block: float
    flip_flop: float
    """From the clock to the output, and from data to the clock."""
    lut: float
    carry: float
    """From the operands of a sum of :data:`NOMINAL_WIDTH` bits to its last bit."""
    carry_bit: float
    carry_behind: float
    """The same behind another sum, as mapped in a row."""
    carry_half: float
    """What the half that rounds a sum adds to it."""
    product: float
    """Through a DSP block without registers."""
    addend: float
    """From the addend of a DSP block without registers to its output."""
    pre_add: float
    """What the pre-adder of a DSP block adds to a product."""
    operand: float
    """From data to the operand registers of a DSP block."""
    cascades: tuple[float, float, float, float]
    """Those of :attr:`rbdhw.target.Primitive.cascades`."""
    block: tuple[float, float, float, float]
    """From a DSP block's registers: those of operands to its output; the same to the result's register; the
    result's to the output; the longest way where the product has a register, too."""
    memory: float
    """From the clock to the output of a block RAM."""
    address: float
    """From the address of a block RAM to the clock."""
    blocks_in_tile: float
    """DSP blocks for each tile, which has eight look-up tables."""

    def delays(self, wire: float) -> Delays:
        """Return the delays of operators where a wire takes this long."""
        return Delays(
            multiply=wire + self.product + 2.0 * self.to_block,
            add=wire + self.carry,
            select=wire + self.lut,
            table=self.memory + self.to_block,
            check=wire + self.lut,
            overhead=self.flip_flop,
            bit=self.carry_bit,
            half=self.carry_half,
            doubling=self.by_readers,
            leave=wire,
            behind=wire + self.carry_behind,
            address=wire + self.to_block + self.address,
            addend=self.product - self.addend,
            product=self.product,
            out=self.to_block,
            pre_add=self.pre_add,
        )

    def pipelines(self, wire: float) -> tuple[Pipeline, Pipeline, Pipeline]:
        """Return the pipelines of a DSP block where a wire takes this long."""
        before = wire + self.to_block + self.operand
        unregistered, between, after, fastest = self.block
        return (
            Pipeline(1, before, 0.0, unregistered + self.to_block),
            Pipeline(2, before, between, after + self.to_block),
            Pipeline(3, before, fastest, after + self.to_block),
        )

    def side(self, luts: float, blocks: float) -> float:
        """Return the side, in tiles, of the square that a design occupies."""
        return math.sqrt(max(luts / LUTS_IN_TILE, blocks / self.blocks_in_tile))


# UltraScale+ at -2. RapidWright's intrasite and intersite delay terms: 77 and 125 ps of a flip-flop (beside
# its look-up table less); look-up tables by their mean pin; sums of 18 bits by look-up table, three carry
# blocks and the sum's output. Wires: those of the timing check. DSP blocks: the highest clocks in AMD DS923
# (544 MHz without a register of the product, 775 MHz with it, 410 MHz with a pre-adder and neither register),
# 1.51 ns without registers in the sources of an open router, and the rest as in DSP48E1. Block RAM: 1.003 ns
# by RapidWright.
ULTRASCALE_PLUS = Figures(
    wire=0.167,
    by_side=0.00188,
    by_readers=0.0134,
    to_block=0.125,
    flip_flop=0.202,
    lut=0.12,
    carry=0.43,
    carry_bit=0.003,
    carry_behind=0.37,
    carry_half=0.09,
    product=1.51,
    addend=0.709,
    pre_add=0.601,
    operand=0.173,
    cascades=(1.589, 1.657, 0.671, 0.592),
    block=(1.58, 1.838, 0.176, 1.29),
    memory=1.003,
    address=0.231,
    blocks_in_tile=6840 / (1_182_240 / LUTS_IN_TILE),
)

# Artix-7 at -1. Cells: Project X-Ray, as Yosys has them, look-up tables by the mean of all pins but the
# fastest; DSP blocks and block RAMs: AMD DS181. Wires: those of UltraScale+, longer by the ratio of the
# look-up tables' pins.
SERIES_7 = Figures(
    wire=0.491,
    by_side=0.00553,
    by_readers=0.0394,
    to_block=0.368,
    flip_flop=0.303,
    lut=0.478,
    carry=1.35,
    carry_bit=0.03,
    carry_behind=1.2,
    carry_half=0.59,
    product=2.823,
    addend=1.325,
    pre_add=0.983,
    operand=0.324,
    cascades=(2.97, 3.098, 1.255, 1.107),
    block=(2.952, 2.952, 0.329, 2.155),
    memory=2.454,
    address=0.566,
    blocks_in_tile=240 / (63_400 / LUTS_IN_TILE),
)

SERIES_7_FASTER = 464 / 551
"""The delays of -2, relative to the figures: the highest clocks of DSP blocks in DS181."""
