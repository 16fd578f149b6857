"""The order of a sweep back through knots, in one piece or in blocks."""

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.graph.knots import block_length, block_starts, check_blocks, sweep_knots
from rbdhw.graph.sweeps import Carried, Given, Sweep, Sweeps

STEPS = 6


def sums():
    """Return a sweep that hands on the sum of all numbers from the last knot on."""
    sources = {"s": Carried("sweep.s", 0.0), "g[0]": Given("g[0]", (True,) * (STEPS + 1))}
    return Sweeps(STEPS + 1, (Sweep("sweep", None, inward=True),), sources, "knot", "", "")


def add(_knot, inputs):
    return {"s": inputs["s"] + inputs["g[0]"], "before": inputs["s"]}


def swept(values=None):
    """Return what each knot of numbers 1, 2, 4, ... takes, and what the first one hands on."""
    results = sweep_knots(sums(), {"g[0]": 1 << np.arange(STEPS + 1)}, add, values)
    return results["before"].tolist(), int(results["s"])


def test_each_knot_takes_what_the_one_behind_hands_on():
    assert swept() == ([0b1111110, 0b1111100, 0b1111000, 0b1110000, 0b1100000, 0b1000000, 0], 0b1111111)


def test_a_block_without_values_begins_where_the_one_behind_ends():
    values = {3: None, 0: None}
    assert swept(values) == swept()
    assert values == {3: {"s": 0b1110000}, 0: {"s": 0b1111110}}


def test_a_block_begins_with_its_values_which_those_that_are_handed_on_replace():
    values = {3: {"s": 1000}, 0: {"s": 2000}}
    assert swept(values) == ([2000, 1012, 1008, 1000, 0b1100000, 0b1000000, 0], 2001)
    assert values == {3: {"s": 0b1110000}, 0: {"s": 1014}}
    assert swept(values)[1] == 1015


@pytest.mark.parametrize("steps", [*range(1, 40), 64, 1024])
def test_blocks_of_the_same_length_but_for_the_last(steps):
    for blocks in range(1, 17):
        starts, length = block_starts(steps, blocks), block_length(steps, blocks)
        sizes = -np.diff([steps, *starts, -1])
        assert (sizes[:-1] == length).all()
        assert sizes.sum() == steps + 1
        if sizes[-1] > 0:
            check_blocks(steps, blocks)
            assert sizes[-1] <= length
        else:
            with pytest.raises(InputError, match=f"^blocks: {steps} steps do not make {blocks} blocks"):
                check_blocks(steps, blocks)


def test_a_refusal_names_numbers_that_are_possible():
    with pytest.raises(InputError, match=r"last one; expected fewer, such as 1, 2$"):
        check_blocks(1, 3)
