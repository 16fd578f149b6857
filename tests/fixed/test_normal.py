"""Normal samples: their distribution, and that seeds, steps and coordinates are independent."""

from math import erf, sqrt

import numpy as np
import pytest

from rbdhw.fixed.normal import SAMPLE, normal_integers, segments

SEEDS, STEPS, COORDINATES = 1000, 50, 3


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    """Return 150,000 samples (seeds, steps, coordinates) of consecutive seeds."""
    drawn = normal_integers(np.arange(SEEDS), np.arange(STEPS), COORDINATES)
    return drawn * SAMPLE.step


def test_they_are_normal(samples: np.ndarray) -> None:
    """Kolmogorov and Smirnov's test at one per mille, and the first four moments within four deviations."""
    flat = np.sort(samples.ravel())
    below = np.array([0.5 * (1.0 + erf(x / sqrt(2.0))) for x in flat])
    ranks = np.arange(len(flat) + 1) / len(flat)
    distance = max(np.max(ranks[1:] - below), np.max(below - ranks[:-1]))
    assert distance * sqrt(len(flat)) < 1.95
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        error = np.mean(flat**power) - moment
        assert abs(error) < 4.0 * sqrt(variance / len(flat)), power


def test_the_lines_have_the_moments_of_the_normal_distribution() -> None:
    """Those of all segments, by their probabilities: no tail beyond five standard deviations."""
    starts, rises = np.array(segments()).T * SAMPLE.step
    ends = starts + rises
    octaves = np.arange(len(starts)) // 8
    weights = np.exp2(-np.minimum(octaves + 1.0, 16.0)) / 8.0
    assert weights.sum() == 1.0
    np.testing.assert_array_equal(ends[:-1], starts[1:])
    assert 4.9 < ends[-1] < 5.0
    for power, moment, error in ((2, 1.0, 5e-4), (4, 3.0, 2e-3)):
        moments = (ends ** (power + 1) - starts ** (power + 1)) / ((power + 1) * rises)
        assert weights @ moments == pytest.approx(moment, abs=error)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_neighbours_are_independent(samples: np.ndarray, axis: int) -> None:
    """Neither samples nor their squares of consecutive seeds, steps or coordinates correlate."""
    for values in (samples, samples**2 - 1.0):
        one, other = np.moveaxis(values, axis, 0)[:-1], np.moveaxis(values, axis, 0)[1:]
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 4.0 / sqrt(one.size)


def test_a_sample_depends_on_its_seed_step_and_coordinate_alone(samples: np.ndarray) -> None:
    alone = normal_integers(np.array([77]), np.array([33]), 2)[0, 0] * SAMPLE.step
    np.testing.assert_array_equal(alone, samples[77, 33, :2])
    assert len(np.unique(samples[:20])) > 0.95 * samples[:20].size
