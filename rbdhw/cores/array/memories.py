"""The contents of the operand memories of an array, and the choice of those that are block RAMs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.cores.array.model import MEMORY_BITS, MEMORY_WORDS, ArraySchedule, Constant, Output, Port
from rbdhw.fixed.program import Program

SHALLOW = 32
"""The depth up to which look-up tables hold a memory cheaply (words)."""


@dataclass(frozen=True)
class StoredWord:
    """A word that is read: it was written in ``slot``, ``turns`` rounds of slots ago."""

    slot: int
    turns: int


@dataclass(frozen=True)
class Contents:
    """The contents of a memory and their timing."""

    turns: int  # the number of tasks whose words are kept, a power of two
    choices: Mapping[int, int]  # by slot, the index of the input that is written
    reads: Mapping[int, StoredWord | int]  # by slot, the word that is read, or the index of a constant
    constants: Sequence[int]  # words that the memory holds from the beginning

    def slot_bits(self, ii: int) -> int:
        """Return the address bits of the slot, or of the constant after all slots."""
        return max(1, (ii + len(self.constants) - 1).bit_length())

    def depth(self, ii: int) -> int:
        """Return the number of words of the memory."""
        return self.turns << self.slot_bits(ii)

    def blocks(self, ii: int, width: int) -> int:
        """Return the block RAMs that the memory takes with words of ``width`` bits."""
        return math.ceil(self.depth(ii) * math.ceil(width / MEMORY_BITS) / MEMORY_WORDS)


def word_bits(program: Program, array: ArraySchedule, value: int) -> int:
    """Return the bits of a value, of a flag's complement, or of a copy."""
    if value >= len(program.operations):
        (value,) = array.producer[value].job.terms[0].values
        return word_bits(program, array, value)
    return program.operations[~value if value < 0 else value].format.width


def memory_bits(program: Program, array: ArraySchedule, port: Port, held: Contents) -> int:
    """Return the bits of the words of a memory: those of the widest one, or constant."""
    written = (word_bits(program, array, write.value) for write in array.writes.get(port, {}).values())
    constants = (integer.bit_length() + 1 for integer in held.constants)
    return max([*written, *constants], default=2)


def contents(array: ArraySchedule) -> dict[Port, Contents]:
    return {port: _contents(array, port) for port in array.ports()}


def block_memories(
    array: ArraySchedule, held: Mapping[Port, Contents], widths: tuple[int, int], most: int
) -> frozenset[Port]:
    """Return the memories that lie in block RAMs: written ones, the deepest, none shallow.

    They take up to ``most`` block RAMs together; what one memory leaves free, a less deep one may take.
    ``widths`` are the bits of the words of a unit's two memories.
    """
    deep = [port for port in held if held[port].depth(array.ii) > SHALLOW and held[port].choices]
    deep.sort(key=lambda port: (-held[port].depth(array.ii), port))
    blocks_of: set[Port] = set()
    left = most
    for port in deep:
        blocks = held[port].blocks(array.ii, widths[port.operand])
        if blocks <= left:
            blocks_of.add(port)
            left -= blocks
    return frozenset(blocks_of)


def outputs(array: ArraySchedule, port: Port) -> list[Output]:
    """Return the outputs from which a memory takes words."""
    return sorted({write.output for write in array.writes.get(port, {}).values()})


def _contents(array: ArraySchedule, port: Port) -> Contents:
    """Return the contents of a memory; one round of slots is one turn."""
    turns = 1 << (array.turns(port) - 1).bit_length()
    inputs = {output: k for k, output in enumerate(outputs(array, port))}
    writes = array.writes.get(port, {})
    constants = sorted({factor.integer for factor in _constants(array, port)})
    reads: dict[int, StoredWord | int] = {}
    for cycle, factor in array.reads(port):
        if isinstance(factor, Constant):
            reads[cycle % array.ii] = constants.index(factor.integer)
        else:
            written = array.written[port, factor].cycle
            back = cycle // array.ii - written // array.ii
            reads[cycle % array.ii] = StoredWord(written % array.ii, back % turns)
    choices = {slot: inputs[write.output] for slot, write in writes.items()}
    return Contents(turns, choices, reads, constants)


def _constants(array: ArraySchedule, port: Port) -> Iterator[Constant]:
    for _, factor in array.reads(port):
        if isinstance(factor, Constant):
            yield factor
