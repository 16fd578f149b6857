"""What the operand memories of an array hold, and which of them are block RAMs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.array.model import ArraySchedule, Constant, Output, Port

SHALLOW = 32
"""Words of a memory that look-up tables hold cheaply."""


@dataclass(frozen=True)
class Word:
    """What is read: the word that was written in a slot, ``turns`` tasks ago counted by the slots' rounds."""

    slot: int
    turns: int


@dataclass(frozen=True)
class Contents:
    """What a memory holds, and when.

    Parameters
    ----------
    turns
        Tasks of which words are kept: a power of two.
    choices
        By slot the input that is written.
    reads
        By slot a word, or the index of a constant.
    constants
        Words that are there from the beginning.
    """

    turns: int
    choices: Mapping[int, int]
    reads: Mapping[int, Word | int]
    constants: Sequence[int]

    def slot_bits(self, ii: int) -> int:
        """Bits of the address that tell the slot, or the constant behind all slots."""
        return max(1, (ii + len(self.constants) - 1).bit_length())

    def depth(self, ii: int) -> int:
        """Words of the memory."""
        return self.turns << self.slot_bits(ii)


def contents(array: ArraySchedule) -> dict[Port, Contents]:
    """The contents of every operand memory."""
    return {port: _contents(array, port) for port in array.ports()}


def block_memories(array: ArraySchedule, held: Mapping[Port, Contents], most: int) -> frozenset[Port]:
    """The memories that are block RAMs: the deepest that are written, up to so many, but no shallow ones."""
    deep = [port for port in held if held[port].depth(array.ii) > SHALLOW and held[port].choices]
    deep.sort(key=lambda port: (-held[port].depth(array.ii), port))
    return frozenset(deep[:most])


def outputs(array: ArraySchedule, port: Port) -> list[Output]:
    """The outputs that a memory takes words from."""
    return sorted({write.output for write in array.writes.get(port, {}).values()})


def _contents(array: ArraySchedule, port: Port) -> Contents:
    """What a memory holds, and when: a round of slots is one turn."""
    turns = 1 << (array.turns(port) - 1).bit_length()
    inputs = {output: k for k, output in enumerate(outputs(array, port))}
    writes = array.writes.get(port, {})
    constants = sorted({factor.integer for factor in _constants(array, port)})
    reads: dict[int, Word | int] = {}
    for cycle, factor in array.reads(port):
        if isinstance(factor, Constant):
            reads[cycle % array.ii] = constants.index(factor.integer)
        else:
            written = array.written[port, factor].cycle
            back = cycle // array.ii - written // array.ii
            reads[cycle % array.ii] = Word(written % array.ii, back % turns)
    choices = {slot: inputs[write.output] for slot, write in writes.items()}
    return Contents(turns, choices, reads, constants)


def _constants(array: ArraySchedule, port: Port) -> Iterator[Constant]:
    for _, factor in array.reads(port):
        if isinstance(factor, Constant):
            yield factor
