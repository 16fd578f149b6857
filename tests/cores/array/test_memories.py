"""Operand memories: their depth, and which of them are block RAMs."""

import pytest

from rbdhw.cores.array.memories import SHALLOW, Contents, block_memories
from rbdhw.cores.array.model import ArraySchedule, Port, Timing

ARRAY = ArraySchedule(12, 50.0, Timing({}), (), (), {}, {}, 1)


def memory(turns, choices, constants=()):
    return Contents(turns, choices, {}, constants)


def test_the_address_has_bits_for_the_slots_with_the_constants_and_for_the_turns():
    assert memory(1, {0: 0}).depth(ARRAY.ii) == 16
    assert memory(1, {0: 0}, (1, 2, 3, 4)).depth(ARRAY.ii) == 16
    assert memory(4, {0: 0}, (1, 2, 3, 4, 5)).depth(ARRAY.ii) == 128


@pytest.mark.parametrize(
    ("most", "blocks"),
    [(0, []), (1, [Port(1, 0)]), (2, [Port(1, 0), Port(0, 1)]), (9, [Port(1, 0), Port(0, 1), Port(2, 0)])],
)
def test_the_deepest_memories_that_are_written_are_block_rams(most, blocks):
    held = {
        Port(0, 0): memory(2, {0: 0}),
        Port(0, 1): memory(4, {0: 0}),
        Port(1, 0): memory(8, {0: 0}),
        Port(1, 1): memory(16, {}),
        Port(2, 0): memory(4, {0: 0}),
    }
    assert held[Port(0, 0)].depth(ARRAY.ii) == SHALLOW
    assert block_memories(ARRAY, held, (18, 18), most) == frozenset(blocks)


def test_a_memory_of_several_block_rams_counts_as_many():
    held = {Port(0, 0): memory(256, {0: 0}), Port(0, 1): memory(4, {0: 0}), Port(1, 0): memory(4, {0: 0})}
    assert [held[port].blocks(ARRAY.ii, 18) for port in held] == [4, 1, 1]
    assert block_memories(ARRAY, held, (18, 18), 0) == frozenset()
    assert block_memories(ARRAY, held, (18, 18), 3) == {Port(0, 1), Port(1, 0)}
    assert block_memories(ARRAY, held, (18, 18), 5) == {Port(0, 0), Port(0, 1)}
