"""Weights of samples, and weighted means of forces, on integers."""

import math

import numpy as np
import pytest

from rbdhw.fixed.softmin import (
    FRACTION,
    GUARD,
    MOST_DROP,
    MOST_EXPONENT,
    MOST_SAMPLES,
    SCALE,
    SQUARE_BITS,
    SUM_BITS,
    TOGETHER,
    WEIGHT,
    Softmin,
    exponent_of,
    mean,
    power,
    quotient_bits,
    reciprocal,
    shifted,
)
from tests.support.marks import long


def sums_of(costs, forces, scale, exponent):
    """Return the weights' sums, and the sums of forces (n,) of samples (S, n)."""
    softmin, sums = Softmin(scale, exponent), np.zeros(forces.shape[1], np.int64)
    for k in range(0, len(costs), TOGETHER):
        drop, weights = softmin.add(costs[k : k + TOGETHER])
        sums = ((sums << 1) >> drop) + 1 >> 1
        sums = sums + np.array(weights) @ forces[k : k + TOGETHER]
    return softmin, sums


def exact(costs, scale, exponent):
    """Return the weights in double precision, of which the largest is one."""
    good = np.array([math.inf if cost is None else cost for cost in costs])
    x = good * scale / 2.0 ** (exponent + FRACTION)
    return np.exp2(x.min() - x)


def test_powers_of_two_are_lines():
    fractions = range(0, 1 << FRACTION, 7)
    errors = [power(k) - 2.0 ** (WEIGHT.binary_point - k / (1 << FRACTION)) for k in fractions]
    assert np.max(np.abs(errors)) < 1.5
    assert (power(0), power((1 << FRACTION) - 1)) == (1 << WEIGHT.binary_point, 1 << WEIGHT.binary_point - 1)


@pytest.mark.parametrize("width", [8, 18, 27])
@pytest.mark.parametrize("samples", [1, 2, 3, 64, 501])
def test_means_are_those_of_double_precision(width, samples):
    """Also those of ranked costs, in either order: the reference falls with each sample, or never."""
    rng = np.random.default_rng(samples)
    forces = rng.integers(-(1 << width - 1), 1 << width - 1, (samples, 5))
    costs = rng.integers(0, 1 << 30, samples)
    for order in (costs, np.sort(costs), np.sort(costs)[::-1]):
        scale, exponent = 100_001, 27
        softmin, sums = sums_of([int(cost) for cost in order], forces, scale, exponent)
        weights = exact(order, scale, exponent)
        expected = weights @ forces / weights.sum()
        error = np.abs(mean(sums, softmin.weight, width) - expected)
        assert np.max(error) < 0.51 + 2.0 ** (width - 14)
        assert softmin.weight**2 / softmin.square == pytest.approx(
            weights.sum() ** 2 / np.sum(weights**2), rel=1e-3
        )
        assert (softmin.least, softmin.counted) == (min(order), samples)


def test_samples_that_do_not_count_change_nothing():
    forces = np.arange(12).reshape(6, 2)
    costs = [None, 70, None, None, 20, None]
    softmin, sums = sums_of(costs, forces, SCALE.highest, 8)
    weights = exact(costs, SCALE.highest, 8)
    np.testing.assert_allclose(mean(sums, softmin.weight, 18), weights @ forces / weights.sum(), atol=0.6)
    assert (softmin.counted, softmin.least) == (2, 20)
    none, sums = sums_of([None] * 3, forces[:3], SCALE.highest, 8)
    assert (none.weight, none.square, none.counted, none.least, sums.any()) == (0, 0, 0, 0, False)


@pytest.mark.parametrize("lowest", [long(False), True])
def test_nothing_overflows(lowest):
    """As many samples as there may be, of the largest weight and force; and the largest fall."""
    width, softmin = 18, Softmin(SCALE.highest, 0)
    force = -(1 << width - 1) if lowest else (1 << width - 1) - 1
    for _ in range(0, MOST_SAMPLES, TOGETHER):
        softmin.add([0] * TOGETHER)
    assert softmin.weight == MOST_SAMPLES << WEIGHT.binary_point
    assert softmin.weight.bit_length() == SUM_BITS
    assert softmin.square.bit_length() == SQUARE_BITS
    sums = np.array([softmin.weight * force])
    assert abs(int(sums[0])) < 1 << width + SUM_BITS - 1
    assert mean(sums, softmin.weight, width) == force
    assert reciprocal(softmin.weight, width) == 1 << quotient_bits(width)
    softmin = Softmin(SCALE.highest, 0)
    assert softmin.add([(1 << 41) - 1]).drop == MOST_DROP
    assert softmin.add([0]) == (MOST_DROP, (1 << WEIGHT.binary_point,))
    assert softmin.weight == 1 << WEIGHT.binary_point


def test_means_stay_between_the_forces():
    """Whatever the weights, the mean of equal forces is this force."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        weight = int(rng.integers(1 << WEIGHT.binary_point - 1, 1 << SUM_BITS - 1))
        forces = rng.integers(-(1 << 17), 1 << 17, 4)
        np.testing.assert_array_equal(mean(weight * forces, weight, 18), forces)


def test_shifts_are_rounded():
    assert [shifted(5, k) for k in range(5)] == [5, 3, 1, 1, 0]
    assert [shifted(-5, k) for k in range(5)] == [-5, -2, -1, -1, 0]
    assert shifted(-(1 << 60), MOST_DROP) == shifted((1 << 60), MOST_DROP) == 0
    assert exponent_of(1 << 40, SCALE.highest, MOST_EXPONENT) == 0
    assert WEIGHT.binary_point > GUARD  # sums are shifted right before they are divided
