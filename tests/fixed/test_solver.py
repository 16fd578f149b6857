"""The formats of a solver's factors: they hold the largest factor, and waste no bit."""

import pytest

from rbdhw.fixed.format import exponent_above
from tests.support.fixed_solvers import fixed_solver


@pytest.fixture(scope="module")
def shape():
    return fixed_solver("toy", 10, 6).shape


def largest(format_):
    return format_.highest * format_.step


def test_a_slope_holds_that_of_the_largest_curvature(shape):
    """A slope is the curvature times the unit of the error, and for velocities times the time step."""
    for term, slope in enumerate(shape.slopes):
        curvature, of_rate = shape.hessian(term), shape.nv <= term < 2 * shape.nv
        rate = 2.0 ** exponent_above(largest(shape.time_step.format)) if of_rate else 1.0
        most = 2.0 ** (curvature.format.width - 1 - curvature.format.binary_point) * rate
        unit = 8.0 if shape.terms[term].word.unit == "turn" else 1.0
        assert largest(slope.format) + slope.format.step == most * unit


def test_constant_factors_fill_their_formats(shape):
    constants = [each for each in (*shape.number_factors, *shape.policy_factors) if each.constant is not None]
    assert [each.name for each in constants] == ["one", "one", "turn"]
    for each in constants:
        assert each.format.highest < 2 * each.constant <= 2 * each.format.highest
