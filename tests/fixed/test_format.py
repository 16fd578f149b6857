"""Formats and rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.format import Format, align, exponent_above, round_half_up, wrap


def test_a_format_knows_its_step_and_bounds():
    assert (Format(8, 5).step, Format(8, 5).lowest, Format(8, 5).highest) == (0.03125, -128, 127)
    assert Format(4, -3).step == 8.0
    assert Format(4, 10).step == 2.0**-10


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, 0),
        (0.49, 2),
        (0.375, 2),
        (-0.375, -1),
        (-0.376, -2),
        (1.75, 7),
        (1.87, 7),
        (5.0, 7),
        (-2.0, -8),
        (-99.0, -8),
        (math.inf, 7),
        (-math.inf, -8),
        (math.nan, -8),
    ],
)
def test_real_values_become_the_nearest_word_ties_upward_saturated(value, expected):
    assert Format(4, 2).quantise(np.array([value])).tolist() == [expected]


def test_words_and_reals_round_trip_exactly():
    for chosen in (Format(9, 4), Format(9, -4), Format(9, 20)):
        words = np.arange(chosen.lowest, chosen.highest + 1)
        np.testing.assert_array_equal(chosen.quantise(chosen.real(words)), words)
        assert chosen.real(words)[1] - chosen.real(words)[0] == chosen.step


@pytest.mark.parametrize(
    ("magnitude", "exponent"), [(0.0, 0), (0.5, 0), (0.99, 0), (1.0, 1), (1.5, 1), (2.0, 2), (0.2, -2)]
)
def test_the_power_of_two_above_a_magnitude(magnitude, exponent):
    assert exponent_above(magnitude) == exponent


@pytest.mark.parametrize(
    ("value", "drop", "expected"),
    [
        (5, 0, 5),
        (5, 1, 3),
        (-5, 1, -2),
        (-6, 2, -1),
        (6, 2, 2),
        (-7, 2, -2),
        (2, 2, 1),
        (-2, 2, 0),
        (1, 2, 0),
    ],
)
def test_ties_go_toward_plus_infinity(value, drop, expected):
    assert round_half_up(value, drop) == expected
    assert round_half_up(np.array([value]), drop).tolist() == [expected]


@given(st.integers(-(2**50), 2**50), st.integers(0, 40))
def test_rounding_is_the_floor_of_half_more(value, drop):
    assert round_half_up(value, drop) == math.floor(Fraction(value, 2**drop) + Fraction(1, 2))


@given(st.integers(-(2**30), 2**30), st.integers(-40, 20))
def test_moving_right_cuts_toward_minus_infinity(value, shift):
    expected = math.floor(value * Fraction(2) ** shift)
    assert align(value, shift) == expected
    assert align(np.array([value]), shift).tolist() == [expected]


@given(st.integers(-(2**62), 2**62), st.integers(2, 63))
def test_wrapping_keeps_the_low_bits(value, width):
    wrapped = int(wrap(np.array([value]), width)[0])
    assert (wrapped - value) % 2**width == 0
    assert -(2 ** (width - 1)) <= wrapped < 2 ** (width - 1)


def test_values_that_fit_do_not_wrap():
    words = np.arange(-8, 8)
    np.testing.assert_array_equal(wrap(words, 4), words)
    assert wrap(np.array([8, -9, 31]), 4).tolist() == [-8, 7, -1]
