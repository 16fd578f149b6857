"""Sine and cosine in integers: accuracy over the whole circle, symmetry, size of the tables."""

import numpy as np
import pytest

from rbdhw.fixed.trigonometry import TrigonometrySpec, sin_cos, trigonometry_spec
from tests.support.marks import long

WIDTHS = range(8, 33)
PI = np.arctan2(np.longdouble(0.0), np.longdouble(-1.0))


def phases(spec):
    """Return every phase if they are few, else a dense sample with every segment's ends and middle."""
    if spec.width <= 16:
        return np.arange(2**spec.phase_bits)
    edges = np.arange(2 ** (spec.index_bits + 2) + 1) << spec.rest_bits
    near = [edges + offset for offset in (-1, 0, 1, 2 ** (spec.rest_bits - 1))]
    return np.concatenate([np.random.default_rng(0).integers(0, 2**spec.phase_bits, 200_000), *near])


def errors(spec, phase):
    """Return the absolute errors of sine and cosine, in steps of the result."""
    angle = (phase % 2**spec.phase_bits) / 2**spec.phase_bits * 2.0 * np.pi
    sine, cosine = sin_cos(spec, phase)
    return [
        np.abs(spec.format.real(ours) - exact) / spec.format.step
        for ours, exact in ((sine, np.sin(angle)), (cosine, np.cos(angle)))
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_error_stays_within_the_stated_accuracy_all_round(width):
    spec = trigonometry_spec(width)
    sine, cosine = errors(spec, phases(spec))
    bound = spec.accuracy / spec.format.step
    assert max(sine.max(), cosine.max()) <= bound
    assert bound <= 1.0 + 0.25 + (1 + spec.order) / 8


def first_quadrant(spec):
    """Return phases of the first quadrant, in which cutting bits makes both results smaller."""
    quarter = 2 ** (spec.phase_bits - 2)
    return np.random.default_rng(3).integers(0, quarter, 200_000)


@pytest.mark.parametrize("width", [8, 27, *map(long, (10, 12, 16, 18, 20, 22, 24, 28, 32))])
def test_the_error_is_centred(width):
    """The mean error is that of the polynomials, 1/30 step; uncompensated cutting would add half a step.

    The references are NumPy's sine and cosine, and a Taylor polynomial about each segment's middle.
    """
    spec = trigonometry_spec(width)
    phase = first_quadrant(spec)
    angle = phase.astype(np.longdouble) * (2.0 * PI) / 2**spec.phase_bits
    size = 2.0 * PI / 2 ** (spec.index_bits + 2)
    middle = (np.floor(angle / size) + 0.5) * size
    by = angle - middle
    s, c = np.sin(middle), np.cos(middle)
    taylor = (
        s + by * (c - (spec.order == 2) * by * s / 2.0),
        c - by * (s + (spec.order == 2) * by * c / 2.0),
    )
    for ours, exact, polynomial in zip(
        sin_cos(spec, phase), (np.sin(angle), np.cos(angle)), taylor, strict=True
    ):
        reals = ours * np.longdouble(2.0) ** (1 - width)
        below_one = exact < 1.0 - 2.0 ** (2 - width)
        scale = float(2 ** (width - 1))
        assert abs(float((reals - exact).mean())) * scale < 0.05
        assert abs(float((reals - polynomial)[below_one].mean())) * scale < 0.025


@pytest.mark.parametrize("width", [8, 18, 28, 32])
def test_the_results_fit_their_words(width):
    spec = trigonometry_spec(width)
    for result in sin_cos(spec, phases(spec)):
        assert result.max() == spec.format.highest
        assert result.min() == -spec.format.highest


@pytest.mark.parametrize("width", [9, 18, 32])
def test_whole_turns_and_symmetries_are_exact(width):
    spec = trigonometry_spec(width)
    turn = 2**spec.phase_bits
    phase = np.random.default_rng(1).integers(0, turn, 5000)
    sine, cosine = sin_cos(spec, phase)
    for turns in (-3, 1, 1000):
        again = sin_cos(spec, phase + turns * turn)
        np.testing.assert_array_equal(again, (sine, cosine))
    np.testing.assert_array_equal(sin_cos(spec, phase + turn // 2), (-sine, -cosine))
    np.testing.assert_array_equal(sin_cos(spec, phase + turn // 4), (cosine, -sine))


def test_the_spec_grows_with_the_width():
    specs = [trigonometry_spec(width) for width in WIDTHS]
    assert [spec.phase_bits for spec in specs] == [width + 3 for width in WIDTHS]
    assert trigonometry_spec(18) == TrigonometrySpec(18, 21, 9, 1)
    assert {spec.order for spec in specs} == {1, 2}
    assert max(spec.index_bits for spec in specs) <= 10


def test_the_multipliers_are_as_wide_as_what_they_multiply():
    assert trigonometry_spec(18).multipliers == ((13, 10),) * 2
    assert trigonometry_spec(27).multipliers == ((22, 19), (13, 19)) * 2
