"""Widths of coefficients and running sums, compared with every value that they take."""

import numpy as np
import pytest

from rbdhw.fixed.polynomial import coefficient_width, operand_widths
from rbdhw.fixed.reciprocal import reciprocal_spec
from rbdhw.fixed.trigonometry import trigonometry_spec
from tests.support.marks import long


def sums(table, rest_bits, cuts):
    """Return all running sums by power from 1 up, with one row for each value of the rest."""
    rest = np.arange(-(2 ** (rest_bits - 1)), 2 ** (rest_bits - 1))[:, None]
    total = table[-1][None, :]
    totals = [total]
    for power in reversed(range(1, len(table) - 1)):
        total = table[power] + (total * rest >> cuts[power])
        totals.append(total)
    return totals[::-1]


def fits(values, width):
    return -(2 ** (width - 1)) <= values.min() and values.max() < 2 ** (width - 1)


@pytest.mark.parametrize(
    ("column", "width"),
    [
        ([0], 2),
        ([-1], 2),
        ([1], 2),
        ([-2], 2),
        ([2], 3),
        ([-5, 3], 4),
        ([-8, 7], 4),
        ([-8, 8], 5),
        ([9, 12], 5),
    ],
)
def test_coefficients_have_the_fewest_bits(column, width):
    assert coefficient_width(np.array(column)) == width


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_running_sums_have_the_fewest_bits(order, seed):
    rng = np.random.default_rng(seed)
    table = tuple(rng.integers(-(2**9), 2**9, 6) for _ in range(order + 1))
    cuts = [5, 2]
    widths = operand_widths(table, 4, cuts[:order])
    for values, width in zip(sums(table, 4, cuts), widths, strict=True):
        assert fits(values, width)
        assert not fits(values, width - 1)


def test_running_sums_of_a_higher_order_fit():
    rng = np.random.default_rng(7)
    table = tuple(rng.integers(-(2**7), 2**7, 9) for _ in range(5))
    cuts = [3, 3, 2, 4]
    widths = operand_widths(table, 5, cuts)
    assert len(widths) == 4
    assert all(fits(values, width) for values, width in zip(sums(table, 5, cuts), widths, strict=True))


@pytest.mark.parametrize("width", [8, 18, 21, long(24)])
def test_the_units_sums_have_the_fewest_bits(width):
    turn, inverse = trigonometry_spec(width), reciprocal_spec(width + 4, width)
    cuts = [turn.product_cut(power) for power in range(turn.order)]
    cases = [(table, turn.rest_bits, cuts) for table in turn.tables]
    cases.append((inverse.tables, inverse.rest_bits, [inverse.rest_bits] * inverse.order))
    multiplier_bits = [bits for bits, _ in (*turn.multipliers, *inverse.multipliers)]
    expected = [values for case in cases for values in sums(*case)]
    for values, bits in zip(expected, multiplier_bits, strict=True):
        assert fits(values, bits)
        assert not fits(values, bits - 1)
