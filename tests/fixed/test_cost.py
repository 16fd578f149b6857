"""Residuals of costs beside exact fractions, at the limits of their formats."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from rbdhw.fixed.cost import COEFFICIENT, RESIDUAL, WEIGHTED, cost_residuals, cost_terms, weighted_residuals
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word


def word(name, width, point, bounded=True):
    bounds = (1 - (1 << width - 1), (1 << width - 1) - 1) if bounded else (None, None)
    return Word(name, "1", 0, Format(width, point), *bounds)


STATE = [word("q[0]", 18, 15), word("q[1]", 20, 20, bounded=False), word("v[0]", 30, 20), word("v[1]", 9, 2)]
TERMS = cost_terms(STATE, [word("tau[0]", 12, 4)], 2)


def exact(residual, values, row):
    """Return a residual in fractions, from rounded errors as shares of the largest."""
    total = Fraction(-int(row[residual.constant]), 1 << RESIDUAL.binary_point)
    for term in residual.terms:
        error = int(term.error(values[term.word.name], row[term.reference])[0])
        share = Fraction(error, 1 << term.bits - 1 - term.error_drop)
        total += share * Fraction(int(row[residual.stored(term)]), 1 << COEFFICIENT.binary_point)
    return total


@pytest.mark.parametrize("largest", [0.1, 0.3, 1.0])
def test_residuals_are_rounded_once_and_flagged_beyond_one(largest):
    rng, beyond = np.random.default_rng(1), 0
    residuals = cost_residuals(TERMS, 2)
    assert [len(each.terms) for each in residuals] == [4, 4]
    for _ in range(50):
        values = {each.name: rng.integers(each.format.lowest, each.format.highest, 1) for each in STATE}
        row = {
            term.reference: int(rng.integers(term.word.format.lowest, term.word.format.highest))
            for term in residuals[0].terms
        }
        for residual in residuals:
            for term in residual.terms:
                row[residual.stored(term)] = int(largest * rng.uniform(-1.0, 1.0) * COEFFICIENT.highest)
            row[residual.constant] = int(largest * rng.uniform(-1.0, 1.0) * RESIDUAL.highest)
            row[residual.weight] = int(rng.integers(0, WEIGHTED.highest))
        weighted, exceeds = weighted_residuals(residuals, values, row)
        one, half = 1 << RESIDUAL.binary_point, Fraction(1, 2)
        steps = [floor(exact(each, values, row) * one + half) for each in residuals]
        fits = [RESIDUAL.lowest <= number <= RESIDUAL.highest for number in steps]
        assert exceeds.tolist() == [not all(fits)]
        beyond += int(exceeds[0])
        for residual, number, fit, rounded in zip(residuals, steps, fits, weighted, strict=True):
            product = Fraction(number * row[residual.weight], one)
            assert not fit or rounded[0] == floor(product + half)
            assert WEIGHTED.lowest <= rounded[0] <= WEIGHTED.highest
    assert (beyond > 0) == (largest == 1.0)


def test_the_largest_errors_are_the_same_share():
    """So coefficients of words with other formats are comparable, and sums need no further bits."""
    for term in TERMS[:4]:
        most = term.error(np.array([term.word.format.lowest]), 0 if term.wraps else term.word.format.highest)
        assert abs(int(most[0])) << term.shift == pytest.approx(1 << 25, rel=1e-2)
