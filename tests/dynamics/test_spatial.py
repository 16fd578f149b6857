"""Algebra of 3-vectors over floats and arrays."""

import numpy as np
import pytest

from rbdhw.dynamics.spatial import (
    add,
    cross,
    multiply,
    rotate_into,
    rotate_out_of,
    scale,
    subtract,
    transpose,
)
from tests.support.strategies import random_rotation

RNG = np.random.default_rng(0)
A, B, C = (tuple(row) for row in RNG.normal(size=(3, 3)))
MATRIX = random_rotation(RNG)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (add(A, B, C), np.add(np.add(A, B), C)),
        (subtract(A, B), np.subtract(A, B)),
        (scale(-2.5, A), -2.5 * np.array(A)),
        (cross(A, B), np.cross(A, B)),
        (multiply(MATRIX, A), np.array(MATRIX) @ A),
        (transpose(MATRIX), np.array(MATRIX).T),
    ],
)
def test_vector_algebra(ours, expected):
    np.testing.assert_allclose(ours, expected, rtol=1e-14, atol=1e-15)


def test_turning_about_z_and_back():
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    np.testing.assert_allclose(rotate_into(np.cos(angle), np.sin(angle), A), turn.T @ A, atol=1e-15)
    np.testing.assert_allclose(rotate_out_of(np.cos(angle), np.sin(angle), A), turn @ A, atol=1e-15)
