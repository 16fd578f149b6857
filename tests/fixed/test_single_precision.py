"""Conversion between singles and integers of known binary point, compared with exact fractions."""

import re
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.single_precision import bound_as_singles, check_singles, from_singles, to_singles
from tests.support.marks import long


def singles_of(*values):
    return np.array(values, np.float32).view(np.uint32)


def some_singles(seed, count=3_000):
    """Return singles of every exponent and kind, including some near ties."""
    rng = np.random.default_rng(seed)
    singles = rng.integers(0, 2**32, count, dtype=np.uint32)
    halves = (rng.integers(-300, 300, count) / 2.0 + rng.choice([0.0, 2.0**-20, -(2.0**-20)], count)).astype(
        np.float32
    )
    return np.concatenate([singles, halves.view(np.uint32)])


@pytest.mark.parametrize("binary_point", [-4, long(0), 1, long(20), 31, 60])
@pytest.mark.parametrize("wraps", [False, True])
def test_from_singles_is_exact_rounding(binary_point, wraps):
    field = Format(32, binary_point)
    singles = some_singles(binary_point + 9)
    integers, refused = from_singles(singles, field, wraps=wraps)
    scale = Fraction(2) ** binary_point
    for bits, integer, none in zip(singles.tolist(), integers.tolist(), refused.tolist(), strict=True):
        exponent, fraction = bits >> 23 & 255, bits & 0x7FFFFF
        assert none == (exponent == 255 or (exponent == 0 and fraction != 0))
        value = 0 if none else Fraction(float(np.uint32(bits).view(np.float32)))
        exact = floor(value * scale + Fraction(1, 2))
        if wraps:
            assert integer == (exact + 2**31) % 2**32 - 2**31
        else:
            assert integer == min(max(exact, -(2**31)), 2**31 - 1)


def test_ties_go_up_and_zeros_are_zero():
    integers, refused = from_singles(singles_of(0.5, -0.5, 1.5, -1.5, 0.0, -0.0), Format(32, 0))
    assert integers.tolist() == [1, 0, 2, -1, 0, 0]
    assert not refused.any()


def test_values_that_are_not_numbers_are_refused():
    singles = np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 1, 0x807FFFFF], np.uint32)
    integers, refused = from_singles(singles, Format(32, 10))
    assert integers.tolist() == [0] * 6
    assert refused.all()


def test_to_singles_rounds_ties_to_even():
    integers = np.array([0, 1, -1, 2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**35 - 1, -(2**35)])
    expected = [0.0, 1.0, -1.0, 2.0**24, 2.0**24 + 4, -(2.0**24), 2.0**35, -(2.0**35)]
    np.testing.assert_array_equal(to_singles(integers, 0), singles_of(*expected))
    np.testing.assert_array_equal(to_singles(integers, 7), singles_of(*(x / 128 for x in expected)))


@pytest.mark.parametrize("binary_point", [-3, 12, 40])
def test_a_converted_single_is_recovered(binary_point):
    integers = from_singles(some_singles(5), Format(32, binary_point))[0]
    again = from_singles(to_singles(integers, binary_point), Format(32, binary_point))[0]
    np.testing.assert_array_equal(again, integers)


@pytest.mark.parametrize("chosen", [Format(36, 126), Format(36, -92), Format(2, 0)])
def test_formats_within_the_normal_range(chosen):
    check_singles(chosen)
    assert to_singles(np.array([1, chosen.lowest]), chosen.binary_point).view(np.float32).tolist() == [
        chosen.step,
        chosen.lowest * chosen.step,
    ]


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (
            Format(20, 127),
            "numbers of 2**-127 to 2**-108: beyond a normal single; expected 2**-126 to 2**127",
        ),
        (Format(20, -109), "numbers of 2**109 to 2**128: beyond a normal single; expected 2**-126 to 2**127"),
    ],
)
def test_formats_beyond_are_refused(chosen, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        check_singles(chosen)


def test_bounds_hold_for_the_singles_nearest_to_the_domain():
    rng = np.random.default_rng(4)
    for width in (12, 24, 25, 26, 30, 36):
        chosen = Format(width, 17)
        for upper in rng.uniform(2.0 ** (width - 20), 2.0 ** (width - 18.1), 300):
            lowest, highest = chosen.quantise(np.array([-upper, upper])).tolist()
            word = bound_as_singles(Word("x", "", 0, chosen, lowest, highest))
            ends, _ = from_singles(singles_of(-upper, upper), Format(40, 17))
            assert word.lowest <= ends[0] <= ends[1] <= word.highest
            coarse = 2 ** max(0, int(highest).bit_length() - 24) if width > 17 else 0
            assert abs(lowest - word.lowest) <= coarse
            assert abs(word.highest - highest) <= coarse


@pytest.mark.parametrize(("highest", "expected"), [(2**20 - 1, 2**20), (2**24 - 1, 2**24 - 1)])
def test_a_bound_includes_what_rounds_to_the_single_nearest_below_the_next_half_step(highest, expected):
    """With 20 bits of the single's 24 the half step itself is a single; with 24 bits it is a tie to even."""
    below = np.float32(np.nextafter(highest + 0.5, 0.0))
    word = bound_as_singles(Word("x", "", 0, Format(30, 0), -highest, highest))
    assert word.highest == expected == from_singles(singles_of(below), Format(32, 0))[0][0]


def test_bounds_stay_within_the_word():
    word = Word("x", "", 0, Format(30, 0), 5 - 2**29, 2**29 - 2)
    assert bound_as_singles(word) == word.__class__("x", "", 0, word.format, -(2**29), 2**29 - 1)
    free = Word("x", "", 0, Format(30, 0))
    assert bound_as_singles(free) is free
