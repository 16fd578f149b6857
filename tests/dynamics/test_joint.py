"""Joint coordinates: offsets, kinds and rotations."""

import math
from dataclasses import replace

import numpy as np

from rbdhw.dynamics.joint import Coordinate, coordinate, coordinates, turns
from rbdhw.robot.model import JointKind
from tests.support.designs import rail


def test_a_revolute_joint_has_a_cosine_and_a_sine_and_no_shift():
    joint = replace(rail().bodies[0].joint, kind=JointKind.REVOLUTE, offset=0.5)
    made = coordinate(joint, [np.array([0.0, 1.0])])
    np.testing.assert_array_equal(made.cos, np.cos([0.5, 1.5]))
    np.testing.assert_array_equal(made.sin, np.sin([0.5, 1.5]))
    assert made.shift == (0.0, 0.0, 0.0)


def test_a_prismatic_joint_has_a_shift_alone():
    joint = replace(rail().bodies[0].joint, offset=-0.25)
    assert coordinate(joint, [1.0]) == Coordinate(1.0, 0.0, (0.0, 0.0, 0.75))


def test_coordinates_follow_the_bodies():
    assert coordinates(rail(3), [0.1, 0.2, 0.3]) == [Coordinate(shift=(0.0, 0.0, q)) for q in (0.1, 0.2, 0.3)]


def test_a_full_circle_is_one_turn():
    assert turns(-2.0 * math.pi) == -1.0
    assert turns(math.pi / 2.0) == 0.25
