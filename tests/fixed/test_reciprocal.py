"""Reciprocals in integers: accuracy over all operands, signs, formats, and results that do not fit."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.reciprocal import (
    GUARD,
    MOST_INDEX_BITS,
    ReciprocalSpec,
    reciprocal,
    reciprocal_spec,
    remainder,
    shift_of,
)
from tests.support.marks import long, some

WIDTHS = (8, 10, 12, 14, 18, 22, 27, 32)


def operands(width):
    """Return every operand except zero if they are few, else many of every size and near powers of two."""
    if width <= 16:
        every = np.arange(-(2 ** (width - 1)), 2 ** (width - 1))
        return every[every != 0]
    rng = np.random.default_rng(width)
    sizes = rng.integers(0, width - 1, 300_000)
    drawn = rng.integers(2 ** (width - 2), 2 ** (width - 1), sizes.size) >> sizes
    powers = 1 << np.arange(width - 1)
    near = np.concatenate([powers, powers[2:] - 1, powers[1:-1] + 1, drawn])
    return np.concatenate([near, -near, [-(2 ** (width - 1))]])


def errors(spec, x, shift):
    """Return absolute errors of results in their steps, and the results."""
    result = reciprocal(spec, x, shift)
    exact = 2.0 ** (spec.result_bits - shift) / x.astype(np.longdouble)
    return np.abs(result - exact).astype(np.float64), result


@pytest.mark.parametrize(("width", "spare"), some(product(WIDTHS, [0, 4]), 3))
def test_the_error_stays_within_the_stated_accuracy_for_every_operand(width, spare):
    """The error is at most half a step plus the scaled error of the mantissa's reciprocal."""
    spec = reciprocal_spec(width + spare, width)
    x = operands(width + spare)
    for shift in (GUARD + 1, 0, -2, -(width // 2), 4 - width - spare):
        error, result = errors(spec, x, shift)
        fits = np.abs(result) < 2 ** (width - 1)
        leading = np.frexp(np.abs(x).astype(float))[1] - 1
        bound = 0.5 + spec.accuracy * np.ldexp(1.0, spec.result_bits - shift - leading)
        assert (error <= bound)[fits].all()
        assert fits.any() or shift < -2


@pytest.mark.parametrize("width", WIDTHS)
def test_the_mantissa_is_accurate_to_a_step_of_the_result(width):
    """Without a shift the result is the mantissa's reciprocal, in (1/2, 1]."""
    spec = reciprocal_spec(width, width)
    x = np.concatenate([2 ** (width - 2) + np.arange(2 ** min(width - 2, 16)), operands(width)])
    x = x[np.abs(x) >= 2 ** (width - 2)]
    x = x[np.abs(x) < 2 ** (width - 1)]
    shift = 2 - width
    error, result = errors(spec, x, shift)
    scaled = np.ldexp(error, -spec.result_bits)
    assert scaled.max() <= spec.accuracy <= math.ldexp(1.0, -width)
    assert np.abs(result).max() <= 2**spec.result_bits + 1
    assert (np.sign(result) == np.sign(x)).all()


def interpolate(spec, mantissa):
    """The polynomials equal the reciprocal at each segment's Chebyshev nodes (Lagrange's formula)."""
    half = 2.0 ** (-spec.index_bits - 1)
    middle = (np.floor(mantissa / (2.0 * half)) + 0.5) * (2.0 * half)
    places = np.cos((2.0 * np.arange(spec.order + 1) + 1.0) * np.pi / (2.0 * spec.order + 2.0))
    nodes = [middle + half * node for node in places]
    total = np.zeros_like(mantissa)
    for node in nodes:
        term = 1.0 / node
        for other in nodes:
            if other is not node:
                term = term * (mantissa - other) / (node - other)
        total += term
    return total


@pytest.mark.parametrize("width", [10, 27, *map(long, (14, 18, 22, 24, 32))])
def test_the_error_is_centred(width):
    """Relative to the polynomials, the mean error is near zero in steps of the mantissa's reciprocal.

    In steps of the result it is at most 1/8: 1/16 from the last rounding, and the rest from the polynomials.
    """
    spec = reciprocal_spec(width, width)
    x = np.random.default_rng(width).integers(2 ** (width - 2), 2 ** (width - 1), 200_000)
    mantissa = x.astype(np.longdouble) / 2 ** (width - 2)
    result = reciprocal(spec, x, 2 - width)
    exact = interpolate(spec, mantissa) * 2**spec.result_bits
    assert abs(float((result - exact).mean())) < 0.2
    rounded = reciprocal(spec, x, GUARD + 2 - width)
    assert abs(float((rounded - 2.0 ** (spec.result_bits - GUARD) / mantissa).mean())) < 0.15


@pytest.mark.parametrize("width", [9, 18, 32])
def test_a_negative_operand_has_the_negative_reciprocal(width):
    """Ties are an exception: both signs are rounded upward."""
    spec = reciprocal_spec(width, width)
    x = operands(width)
    x = x[x > 0]
    for shift in (0, 2 - width // 2):
        difference = reciprocal(spec, x, shift) + reciprocal(spec, -x, shift)
        assert set(np.unique(difference)) <= {0, 1}
        assert difference.mean() < 0.12


@pytest.mark.parametrize("width", [8, 18, 27, 32])
def test_too_large_results_stay_too_large(width):
    """A result beyond the widest format stays beyond it at any shift; so does the reciprocal of zero."""
    spec = reciprocal_spec(width + 4, width)
    x = operands(width + 4)
    for shift in (-width - 9, -1, 0, 3, -300):
        result = reciprocal(spec, x, shift)
        leading = np.frexp(np.abs(x).astype(float))[1] - 1
        beyond = spec.result_bits - 1 - shift - leading > width - 1
        assert (np.abs(result[beyond]) > 2 ** (width - 1) - 1).all()
        assert (np.sign(result) == np.sign(x))[beyond].all()
    assert reciprocal(spec, np.array([0]), 5).tolist() == [spec.beyond]
    assert spec.beyond > 2 ** (width - 1)


def test_too_small_results_are_zero():
    spec = reciprocal_spec(18, 18)
    x = operands(18)
    assert not reciprocal(spec, x, spec.largest_shift).any()
    assert not reciprocal(spec, x, 250).any()


def test_powers_of_two_and_thirds():
    spec = reciprocal_spec(18, 18)
    x = np.array([1, 2, 4, 3, -3, 5, 2**17 - 1, -(2**17)])
    shift = shift_of(spec, Format(18, 10), Format(18, 6))
    expected = [round(Fraction(2**16, int(value))) for value in x]
    assert reciprocal(spec, x, shift).tolist() == expected


@pytest.mark.parametrize(
    ("operand", "result", "value"),
    [
        (Format(18, 20), Format(18, 3), 0.0173),
        (Format(18, 5), Format(18, 24), 912.3),
        (Format(12, -3), Format(14, 25), -3921.0),
    ],
)
def test_the_shift_follows_from_the_formats(operand, result, value):
    spec = reciprocal_spec(18, 18)
    words = operand.quantise(np.array([value]))
    inverse = result.real(reciprocal(spec, words, shift_of(spec, operand, result)))
    exact = 1.0 / operand.real(words)
    assert abs(inverse - exact) <= 0.5 * result.step + 2.0 * spec.accuracy * abs(exact)


def test_the_spec_grows_with_the_width():
    assert reciprocal_spec(22, 18) == ReciprocalSpec(22, 21, 8, 1)
    assert reciprocal_spec(31, 27) == ReciprocalSpec(31, 30, 8, 2)
    specs = [reciprocal_spec(width + 4, width) for width in range(8, 37)]
    assert all(
        remainder(spec.index_bits, spec.order) <= 2.0 ** (GUARD - 1 - spec.result_bits) for spec in specs
    )
    assert all(3 <= spec.index_bits <= MOST_INDEX_BITS[spec.order] for spec in specs)
    assert [spec.order for spec in specs] == sorted(spec.order for spec in specs)


def test_the_multipliers_are_as_wide_as_what_they_multiply():
    assert reciprocal_spec(22, 18).multipliers == ((14, 13),)
    assert reciprocal_spec(31, 27).multipliers == ((23, 22), (15, 22))
