"""Checks of robots built in code: the exact message for each broken rule."""

from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given

from rbdhw.errors import InputError
from rbdhw.robot.check import check_robot
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Inertia, JointKind, Limits, Mimic, Placement
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, robots


@pytest.fixture
def toy():
    return load_urdf(path("toy"))


def refusal(robot):
    with pytest.raises(InputError) as refused:
        check_robot(robot)
    return str(refused.value)


def alter(robot, i, **fields):
    """Return ``robot`` with other fields of body ``i``."""
    bodies = list(robot.bodies)
    bodies[i] = replace(bodies[i], **fields)
    return robot.with_bodies(bodies)


def alter_joint(robot, i, **fields):
    """Return ``robot`` with other fields of body ``i``'s joint."""
    return alter(robot, i, joint=replace(robot.bodies[i].joint, **fields))


@given(robots(max_bodies=5, kinds=ALL_KINDS, mimics=True))
def test_valid_robots_are_accepted(robot):
    check_robot(robot)


def test_rewritten_and_floating_robots_are_accepted(toy):
    check_robot(regroup_inertias(align_axes(toy)))
    check_robot(toy.with_floating_base())
    floating = mechanism([JointKind.FLOATING, JointKind.REVOLUTE], [-1, 0], seed=1)
    assert floating.base not in {body.name for body in floating.bodies}
    check_robot(floating)


def test_a_parent_that_comes_later(toy):
    line = "robot data, link 'upper_arm': parent is 1; expected -1 to -1"
    assert refusal(alter(toy, 0, parent=1)) == line


def test_names_given_twice(toy):
    twice = alter_joint(toy, 1, name="shoulder")
    assert refusal(twice) == "robot data, joint 'shoulder': given twice; expected unique joint names"
    twice = alter(toy, 1, name="base")
    assert refusal(twice) == "robot data, link 'base': given twice; expected unique link names"


def test_a_mimic_with_the_name_of_another_joint(toy):
    twice = alter_joint(toy, 1, name="shoulder", mimic=Mimic("shoulder"))
    assert refusal(twice) == "robot data, joint 'shoulder': given twice; expected unique joint names"


def test_an_axis_that_is_not_a_unit_vector(toy):
    line = "robot data, link 'forearm': joint axis is (0.0, 0.0, 2.0); expected a unit vector"
    assert refusal(alter_joint(toy, 1, axis=(0.0, 0.0, 2.0))) == line


@pytest.mark.parametrize("kind", [JointKind.TRANSLATION, JointKind.SPHERICAL, JointKind.FLOATING])
def test_an_unused_axis_may_be_anything(kind):
    check_robot(alter_joint(mechanism([kind], [-1], seed=1), 0, axis=(0.0, 0.0, 0.0)))


@pytest.mark.parametrize("second", [(0.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_universal_axes_must_be_perpendicular(second):
    robot = mechanism([JointKind.UNIVERSAL], [-1], seed=1, axis=(0.0, 0.0, 1.0))
    assert refusal(alter_joint(robot, 0, second_axis=second)) == (
        f"robot data, link 'b0': second joint axis is {second}; "
        "expected a unit vector at right angles to (0.0, 0.0, 1.0)"
    )


def test_a_reflection(toy):
    mirror = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0))
    line = f"robot data, link 'forearm': rotation is {mirror}; expected an orthonormal right-handed matrix"
    assert refusal(alter_joint(toy, 1, placement=Placement(mirror))) == line
    assert refusal(alter(toy, 1, link_frame=Placement(mirror))) == line


def test_numbers_that_are_not_finite(toy):
    line = (
        "robot data, link 'forearm': a length, an inertia or gravity is not finite; expected finite numbers"
    )
    assert refusal(alter(toy, 1, inertia=Inertia(mass=nan))) == line
    assert refusal(alter_joint(toy, 1, pitch=inf)) == line


def test_reversed_limits(toy):
    reversed_ = (Limits(inf, 1.0, 1.0, 1.0),)
    assert refusal(alter_joint(toy, 1, limits=reversed_)) == (
        "robot data, link 'forearm': lower limit is not below the upper; expected lower <= upper"
    )


def test_limits_do_not_match_the_degrees_of_freedom(toy):
    assert refusal(alter_joint(toy, 1, kind=JointKind.PLANAR)) == (
        "robot data, link 'forearm': a planar joint has 1 limits; expected 3, one for each degree of freedom"
    )


def test_an_offset_of_several_freedoms():
    robot = alter_joint(mechanism([JointKind.UNIVERSAL], [-1], seed=1), 0, offset=0.5)
    assert refusal(robot) == "robot data, link 'b0': a universal joint has offset 0.5; expected 0"


def test_a_floating_joint_in_the_middle(toy):
    robot = toy.with_floating_base()
    assert refusal(alter_joint(robot, 1, kind=JointKind.FLOATING)) == (
        "robot data, link 'upper_arm': has a floating joint; expected one on the first link only"
    )


class TestMimics:
    KINDS = (JointKind.REVOLUTE, JointKind.HELICAL, JointKind.PLANAR)

    def make_mimic(self, follower, leader, multiplier=1.0, offset=0.0):
        return with_mimic(mechanism(self.KINDS, [-1, 0, 1], seed=1), follower, leader, multiplier, offset)

    def test_of_an_earlier_and_of_a_later_joint(self):
        check_robot(self.make_mimic(0, 1))
        check_robot(self.make_mimic(1, 0))

    def test_of_an_unknown_joint(self):
        robot = alter_joint(self.make_mimic(0, 1), 0, mimic=Mimic("j9"))
        assert refusal(robot) == (
            "robot data, joint 'j0': mimics unknown joint 'j9'; expected one of the robot's"
        )

    @pytest.mark.parametrize("leader", [0, 1])
    def test_of_a_mimic(self, leader):
        assert refusal(with_mimic(self.make_mimic(1, 0), 0, leader, 1.0)) == (
            f"robot data, joint 'j0': mimics mimic 'j{leader}'; expected a joint that mimics none"
        )

    def test_of_several_freedoms(self):
        assert refusal(self.make_mimic(0, 2)) == (
            "robot data, joint 'j0': a revolute joint mimics a planar one; "
            "expected one degree of freedom each"
        )
        robot = alter_joint(self.make_mimic(0, 1), 0, mimic=None)
        assert refusal(alter_joint(robot, 2, mimic=Mimic("j0"))) == (
            "robot data, joint 'j2': a planar joint mimics a revolute one; "
            "expected one degree of freedom each"
        )

    def test_by_numbers_that_are_not_finite(self):
        assert refusal(self.make_mimic(0, 1, multiplier=nan)) == (
            "robot data, joint 'j0': mimics with multiplier nan and offset 0; expected finite numbers"
        )
