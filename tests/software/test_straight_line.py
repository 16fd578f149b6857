"""Blocks of straight-line code: every value is where it is read, and places are used again."""

import random

import pytest

from rbdhw.software.straight_line import split_into_blocks


def random_code(operations, seed):
    """Return the operands of each operation, mostly recent ones."""
    draw = random.Random(seed)
    recent = [
        [draw.randrange(max(0, i - 40), i) for _ in range(draw.randrange(3))] if i else []
        for i in range(operations)
    ]
    early = {i: draw.randrange(i) for i in draw.sample(range(1, operations), operations // 10)}
    return [operands + ([early[i]] if i in early else []) for i, operands in enumerate(recent)]


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_every_operand_is_read_as_it_was_written(size):
    operands = random_code(400, seed=size)
    code = split_into_blocks([range(400)], operands.__getitem__, size)
    store = {}
    done = []
    for block in code.blocks:
        known = {value: store[slot] for value, slot in block.loads}
        assert all(loaded == value for value, loaded in known.items())
        for i in block.body:
            assert all(value in known for value in operands[i])
            known[i] = i
        store.update({slot: known[value] for value, slot in block.stores})
        done += block.body
    assert sorted(done) == list(range(400))
    assert all(sorted(block.body) == list(block.body) for block in code.blocks)
    assert set(store) == set(range(code.slots))


def test_values_outside_of_the_code_are_not_loaded():
    code = split_into_blocks([[5, 6]], lambda i: [1, 5] if i == 6 else [1], 1)
    assert [block.loads for block in code.blocks] == [(), ((5, 0),)]


def test_a_place_is_used_again():
    chain = split_into_blocks([range(100)], lambda i: [i - 1] if i else [], 10)
    assert chain.slots == 1


def test_what_is_needed_late_is_computed_late():
    """Ten sums of ten numbers each, given number by number: in blocks of ten each sum is done at once."""
    sums = {10 * k + j: [10 * k + j - 10] if k else [] for k in range(10) for j in range(10)}
    code = split_into_blocks([range(100)], sums.__getitem__, 10)
    assert code.transfers == 0
    assert code.blocks[0].body == tuple(range(0, 100, 10))
