"""Angles that look like degrees, and lengths that look like millimetres."""

import math

import numpy as np
import pytest

from rbdhw.domain.unit_guesses import looks_like_degrees, looks_like_millimetres


@pytest.mark.parametrize(
    "bounds",
    [(-180, 180), (-90, 90), (0, 120), (-169.5, 169.5), (-360, 360), (-45.0, 30.0), (-math.inf, 180)],
)
def test_bounds_of_round_degrees_do(bounds):
    assert looks_like_degrees(bounds)


@pytest.mark.parametrize(
    "bounds",
    [
        (-math.pi, math.pi),
        (-2 * math.pi, 2 * math.pi),
        (-20 * math.pi, 20 * math.pi),
        (-6.2831, 6.2831),
        (-10, 10),
        (-1e16, 1e16),
        (-1000, 1000),
        (-math.inf, math.inf),
        (),
    ],
)
def test_bounds_in_radians_do_not(bounds):
    assert not looks_like_degrees(bounds)


LIMITS = (-2.97, 2.97)


def test_angles_beyond_their_limits_do_if_they_fit_when_converted():
    angles = np.degrees(np.random.default_rng(0).uniform(*LIMITS, size=(50,)))
    assert looks_like_degrees(angles, LIMITS)
    assert looks_like_degrees(np.array([[0.0], [170.23]]), LIMITS)


@pytest.mark.parametrize(
    "angles",
    [
        [0.1, 2.0],  # within the limits
        [3.5, 0.0],  # a little beyond them
        [90.0, 200.0],  # beyond them in degrees, too
        [90.0, -200.0],  # below them in degrees
        [math.nan, math.inf],
    ],
)
def test_other_angles_do_not(angles):
    assert not looks_like_degrees(angles, LIMITS)
    assert not looks_like_degrees(angles[:1], (-math.inf, math.inf))


REACH = (0.0, 0.35)


def test_lengths_far_beyond_their_limits_look_like_millimetres():
    assert looks_like_millimetres([350.0, 20.0], REACH)
    assert looks_like_millimetres([[math.nan, 120.0]], REACH)


@pytest.mark.parametrize("lengths", [[0.3, 0.1], [0.5], [900.0], [120.0, -20.0], []])
def test_other_lengths_do_not(lengths):
    assert not looks_like_millimetres(lengths, REACH)
    assert not looks_like_millimetres(lengths)
