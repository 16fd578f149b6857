"""Placements and inertias: compared with 6x6 matrices, and exact where rounding must not show."""

from math import cos, pi, sin

import numpy as np
import pytest

from rbdhw.robot.model import Inertia, Placement
from rbdhw.robot.spatial import (
    add_inertia,
    compose,
    inverse,
    move_inertia,
    point_inertia,
    rotation_rpy,
    rotation_z,
    snap,
    turn_onto_z,
)
from tests.support.oracle import motion_transform, spatial_inertia
from tests.support.strategies import random_direction, random_inertia, random_rotation

AXES = [(s * x, s * y, s * z) for x, y, z in np.eye(3).tolist() for s in (1.0, -1.0)]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def random_placement(rng):
    return Placement(random_rotation(rng), tuple(rng.normal(size=3).tolist()))


def homogeneous(placement):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = placement.rotation, placement.translation
    return matrix


def test_compose_and_inverse_are_those_of_homogeneous_matrices(rng):
    a, b = random_placement(rng), random_placement(rng)
    np.testing.assert_allclose(homogeneous(compose(a, b)), homogeneous(a) @ homogeneous(b), atol=1e-14)
    np.testing.assert_allclose(homogeneous(inverse(a)), np.linalg.inv(homogeneous(a)), atol=1e-14)


def test_cancelled_terms_of_a_composition_are_zero():
    there = Placement(translation=(0.1 + 0.2, 0.0, 0.0))
    back = Placement(translation=(-0.3, 0.0, 0.0))
    assert compose(there, back).translation == (0.0, 0.0, 0.0)


def test_moving_an_inertia_is_the_congruence_of_its_six_by_six_matrix(rng):
    inertia, placement = random_inertia(rng), random_placement(rng)
    back = motion_transform(np.array(placement.rotation), placement.translation)
    expected = back.T @ spatial_inertia(inertia) @ back
    np.testing.assert_allclose(spatial_inertia(move_inertia(inertia, placement)), expected, atol=1e-12)


def test_adding_inertias_adds_their_matrices(rng):
    a, b = random_inertia(rng), random_inertia(rng)
    expected = spatial_inertia(a) + spatial_inertia(b)
    np.testing.assert_allclose(spatial_inertia(add_inertia(a, b)), expected, rtol=1e-15)


def test_cancelled_terms_of_a_sum_of_inertias_are_zero():
    a = Inertia(1.0, (0.1 + 0.2, 0.0, 0.0), (1.0, 0.1 + 0.2, 0.0, 1.0, 0.0, 1.0))
    b = Inertia(1.0, (-0.3, 0.0, 0.0), (1.0, -0.3, 0.0, 1.0, 0.0, 1.0))
    assert add_inertia(a, b) == Inertia(2.0, (0.0, 0.0, 0.0), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0))


def test_a_point_mass_has_the_inertia_of_steiner():
    inertia = point_inertia(2.0, (1.0, 2.0, 3.0), ((0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.5)))
    assert inertia == Inertia(2.0, (2.0, 4.0, 6.0), (26.5, -4.0, -6.0, 20.5, -12.0, 10.5))


def test_quarter_turns_are_exact():
    assert rotation_z(pi / 2) == ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert rotation_rpy((pi, pi / 2, pi)) == ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0))


def test_snapping_keeps_entries_that_are_not_rounded_zeros_or_ones():
    turned = ((cos(1e-8), -sin(1e-8), 1e-10), (sin(1e-8), cos(1e-8), 0.0), (0.0, -1e-10, 1.0))
    kept = ((cos(1e-8), -sin(1e-8), 0.0), (sin(1e-8), cos(1e-8), 0.0), (0.0, 0.0, 1.0))
    assert snap(turned) == kept


@pytest.mark.parametrize("axis", AXES)
def test_coordinate_axes_are_turned_onto_z_by_signed_permutations(axis):
    matrix = np.array(turn_onto_z(axis))
    assert tuple(matrix[:, 2]) == axis
    assert set(np.abs(matrix).ravel()) == {0.0, 1.0}
    assert np.linalg.det(matrix) == 1.0


def test_skew_axes_are_turned_onto_z_by_rotations_with_a_zero(rng):
    for _ in range(20):
        axis = random_direction(rng)
        matrix = np.array(turn_onto_z(axis))
        np.testing.assert_allclose(matrix[:, 2], axis, atol=1e-15)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(matrix) == pytest.approx(1.0)
        assert matrix[2, 0] == 0.0
