"""The cells into which synthesis maps each element of a design, by family of devices.

The numbers are those of Yosys 0.70 for each element alone: multiplexers of 18 bits after a counter, delay
lines, queues, and the units for sine and reciprocal of 18 and 27 bits. For multiplexers of ECP5 with twelve
choices or more, half of the number for a multiplexer alone is used; that is what they take in designs, where
choices repeat. Those of UltraScale+ are beside a longer path; as the longest path itself they would be mapped
for depth, at four look-up tables a bit for eight choices. The weights for whole designs are in
:mod:`rbdhw.estimate.calibration`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise


@dataclass(frozen=True)
class Cells:
    """Numbers of look-up tables, flip-flops and block RAMs."""

    luts: float = 0.0
    flip_flops: float = 0.0
    block_rams: float = 0.0

    def __add__(self, other: Cells) -> Cells:
        return Cells(
            self.luts + other.luts, self.flip_flops + other.flip_flops, self.block_rams + other.block_rams
        )

    def __mul__(self, count: int) -> Cells:
        return Cells(count * self.luts, count * self.flip_flops, count * self.block_rams)


@dataclass(frozen=True)
class Memory:
    """A form of memory: words and bits of a cell, its resources, and its weight in Yosys' choice of forms."""

    words: int
    bits: int
    takes: Cells
    weight: int

    def cells(self, width: int, depth: int) -> int:
        """Return the number of cells for ``depth`` words of ``width`` bits."""
        return math.ceil(width / self.bits) * math.ceil(depth / self.words)


@dataclass(frozen=True)
class UnitCells:
    """The cells of a unit that evaluates a polynomial from tables: per bit, and per bit and further power."""

    luts: float
    luts_a_power: float
    flip_flops: float
    flip_flops_a_power: float

    def cells(self, width: int, order: int) -> Cells:
        """Return the cells of a unit for numbers of a width, without its tables."""
        more = order - 1
        return Cells(
            width * (self.luts + more * self.luts_a_power),
            width * (self.flip_flops + more * self.flip_flops_a_power),
        )


@dataclass(frozen=True)
class Fabric:
    """The elements of a family."""

    select: Mapping[int, float]  # look-up tables per bit of a multiplexer, by the number of its choices
    inputs: int  # the number of inputs of a look-up table
    # Look-up tables per bit of an adder with a constant operand, and additional ones for a third operand.
    constant_addend: float
    third_addend: float
    negated_addend: float  # look-up tables per bit to negate an operand conditionally before it is added
    shifted_addend: float  # look-up tables per bit of the adders of a product by a constant
    row: float  # look-up tables per bit of the adders of Booth's rows, with the choice of their multiples
    compare: float  # look-up tables per bit of a comparison with a constant
    # The number of delay-line stages in one look-up table, used from `SHIFT_REGISTER` stages on; 0 if there
    # is no such cell.
    shift_register: int
    # Forms of memories with one address, and with separate addresses for writing and reading.
    line_memories: tuple[Memory, ...]
    queue_memories: tuple[Memory, ...]
    tables: tuple[Memory, ...]  # forms of memories that are never written
    queue_control: Cells  # the cells of a queue's pointers per bit of a pointer
    # Units without their tables.
    trigonometry: UnitCells
    reciprocal: UnitCells
    joined: bool = False  # whether wide multiplexers are built from the family's own cells (`multiplexer`)

    def distributed(self, width: int, depth: int) -> Cells:
        """Return the cells of a memory in look-up tables, with one port to write and one to read."""
        form = self.queue_memories[0]
        chosen = self.multiplexer(math.ceil(depth / form.words), width)
        return Cells(form.cells(width, depth) * form.takes.luts + chosen)

    def multiplexer(self, choices: float, width: int) -> float:
        """Return the look-up tables of a multiplexer, interpolated between measured numbers of choices."""
        known: list[tuple[int, float]] = [(1, 0.0), *sorted(self.select.items())]
        for (below, low), (above, high) in pairwise(known):
            if choices <= above:
                rate = low + (high - low) * (choices - below) / (above - below)
                return width * rate
        most, cost = known[-1]
        return width * cost * choices / most

    def constants(self, slots: int, width: int) -> float:
        """Return the look-up tables of a constant selected by slot."""
        return width * math.ceil(slots / (1 << self.inputs))

    def check(self, bits: int) -> float:
        """Return the look-up tables that detect whether all bits are equal, and combine the result."""
        return max(1, math.ceil(bits / self.inputs)) + 1.0 / (self.inputs - 1)

    def delay(self, width: int, stages: int, memory_stages: int) -> Cells:
        """Return the cells of a delay line between two stages that are read."""
        if stages >= memory_stages:
            counter = math.ceil(math.log2(max(stages - 1, 2)))
            return self._memory(self.line_memories, width, stages - 1) + Cells(counter, counter + width)
        if self.shift_register and stages >= SHIFT_REGISTER:
            between = stages - 2 if stages - 2 >= SHIFT_REGISTER else 0
            return Cells(width * math.ceil(between / self.shift_register), width * (stages - between))
        return Cells(flip_flops=width * stages)

    def queue(self, width: int, depth: int) -> Cells:
        """Return the cells of a queue in a memory, with an output register."""
        pointers = math.ceil(math.log2(depth)) + 1
        control = Cells(pointers * self.queue_control.luts, pointers * self.queue_control.flip_flops)
        return self._memory(self.queue_memories, width, depth) + control + Cells(flip_flops=width)

    def memory(self, width: int, depth: int) -> Cells:
        """Return the cells of a memory with one port to write and one to read, whose word is registered.

        A block RAM has the register.
        """
        cells = self._memory(self.queue_memories, width, depth)
        return cells if cells.block_rams else cells + Cells(flip_flops=width)

    def table(self, width: int, depth: int) -> Cells:
        """Return the cells of a table of constants whose address is registered."""
        return self._memory(self.tables, width, depth)

    def _memory(self, forms: tuple[Memory, ...], width: int, depth: int) -> Cells:
        """Return the cells of the form with the least weight (the deepest of several) and its multiplexer."""
        form = min(forms, key=lambda form: (form.weight * form.cells(width, depth), -form.words))
        count = form.cells(width, depth)
        chosen = self.multiplexer(math.ceil(depth / form.words), width) if form.takes.luts else 0.0
        return Cells(count * form.takes.luts + chosen, 0.0, count * form.takes.block_rams)


SHIFT_REGISTER = 3
"""The length of a delay line from which on Yosys uses shift-register look-up tables."""

ULTRASCALE_PLUS = Fabric(
    select={2: 1.0, 3: 1.0, 4: 1.0, 6: 2.4, 8: 3.0, 12: 6.0, 16: 7.0, 24: 12.2, 32: 14.0},
    inputs=6,
    constant_addend=0.0,
    third_addend=1.0,
    negated_addend=0.0,
    shifted_addend=0.66,
    row=1.0,
    compare=0.5,
    shift_register=32,
    line_memories=(Memory(64, 1, Cells(luts=1.0), 2), Memory(512, 36, Cells(block_rams=0.5), 129)),
    queue_memories=(
        Memory(32, 14, Cells(luts=8.0), 16),
        Memory(64, 7, Cells(luts=8.0), 16),
        Memory(512, 36, Cells(block_rams=0.5), 129),
    ),
    tables=(Memory(512, 36, Cells(block_rams=0.5), 129), Memory(512, 72, Cells(block_rams=1.0), 257)),
    queue_control=Cells(luts=2.5, flip_flops=3.0),
    trigonometry=UnitCells(6.5, 3.3, 2.8, 4.6),
    reciprocal=UnitCells(16.8, 2.1, 4.3, 2.4),
)

SEVEN_SERIES = replace(
    ULTRASCALE_PLUS,
    queue_memories=(
        Memory(32, 6, Cells(luts=4.0), 8),
        Memory(64, 3, Cells(luts=4.0), 8),
        Memory(512, 36, Cells(block_rams=0.5), 129),
    ),
)

ECP5 = Fabric(
    select={2: 1.0, 3: 2.0, 4: 4.0, 6: 7.0, 8: 9.0, 12: 13.0, 16: 17.0, 24: 24.0, 32: 40.0},
    inputs=4,
    constant_addend=1.0,
    third_addend=2.0,
    negated_addend=1.0,
    shifted_addend=0.84,
    row=2.4,
    compare=1.0,
    shift_register=0,
    line_memories=(Memory(16, 4, Cells(luts=6.0), 4), Memory(512, 36, Cells(block_rams=1.0), 128)),
    queue_memories=(Memory(16, 4, Cells(luts=6.0), 4), Memory(512, 36, Cells(block_rams=1.0), 128)),
    tables=(Memory(512, 36, Cells(block_rams=1.0), 128),),
    queue_control=Cells(luts=9.0, flip_flops=3.0),
    trigonometry=UnitCells(12.8, 11.7, 2.8, 4.6),
    reciprocal=UnitCells(22.9, 2.4, 4.3, 2.4),
    joined=True,
)

FABRICS: Mapping[str, Fabric] = {"xcup": ULTRASCALE_PLUS, "xc7": SEVEN_SERIES, "ecp5": ECP5}
"""Fabrics by :attr:`rbdhw.target.Target.family`."""
