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


def test_rewritten_and_floating_robots_are_accepted():
    toy = load_urdf(path("toy"))
    check_robot(regroup_inertias(align_axes(toy)))
    check_robot(toy.with_floating_base())
    floating = mechanism([JointKind.FLOATING, JointKind.REVOLUTE], [-1, 0], seed=1)
    assert floating.base not in {body.name for body in floating.bodies}
    check_robot(floating)


def helical_mimic(follower, leader, multiplier=1.0):
    kinds = (JointKind.REVOLUTE, JointKind.HELICAL, JointKind.PLANAR)
    return with_mimic(mechanism(kinds, [-1, 0, 1], seed=1), follower, leader, multiplier)


TOY = load_urdf(path("toy"))
UNIVERSAL = mechanism([JointKind.UNIVERSAL], [-1], seed=1, axis=(0.0, 0.0, 1.0))
MIRROR = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0))
REFLECTED = f"link 'forearm': rotation is {MIRROR}"
NOT_FINITE = "link 'forearm': a length, an inertia or gravity is not finite"

REFUSED = {
    "a parent that comes later": (alter(TOY, 0, parent=1), "link 'upper_arm': parent is 1"),
    "two joints of one name": (alter_joint(TOY, 1, name="shoulder"), "joint 'shoulder': given twice"),
    "two links of one name": (alter(TOY, 1, name="base"), "link 'base': given twice"),
    "a mimic of the name of another": (
        alter_joint(TOY, 1, name="shoulder", mimic=Mimic("shoulder")),
        "joint 'shoulder': given twice",
    ),
    "an axis that is no unit vector": (
        alter_joint(TOY, 1, axis=(0.0, 0.0, 2.0)),
        "link 'forearm': joint axis is (0.0, 0.0, 2.0)",
    ),
    "second axis of zero": (
        alter_joint(UNIVERSAL, 0, second_axis=(0.0, 0.0, 0.0)),
        "link 'b0': second joint axis is (0.0, 0.0, 0.0)",
    ),
    "second axis not perpendicular": (
        alter_joint(UNIVERSAL, 0, second_axis=(0.0, 0.6, 0.8)),
        "link 'b0': second joint axis is (0.0, 0.6, 0.8)",
    ),
    "a reflected joint": (alter_joint(TOY, 1, placement=Placement(MIRROR)), REFLECTED),
    "a reflected link": (alter(TOY, 1, link_frame=Placement(MIRROR)), REFLECTED),
    "a mass that is no number": (alter(TOY, 1, inertia=Inertia(mass=nan)), NOT_FINITE),
    "an infinite pitch": (alter_joint(TOY, 1, pitch=inf), NOT_FINITE),
    "reversed limits": (
        alter_joint(TOY, 1, limits=(Limits(inf, 1.0, 1.0, 1.0),)),
        "link 'forearm': lower limit is not below the upper",
    ),
    "limits of other freedoms": (
        alter_joint(TOY, 1, kind=JointKind.PLANAR),
        "link 'forearm': a planar joint has 1 limits",
    ),
    "an offset of several freedoms": (
        alter_joint(UNIVERSAL, 0, offset=0.5),
        "link 'b0': a universal joint has offset 0.5",
    ),
    "a floating joint in the middle": (
        alter_joint(TOY.with_floating_base(), 1, kind=JointKind.FLOATING),
        "link 'upper_arm': has a floating joint",
    ),
    "a mimic of an unknown joint": (
        alter_joint(helical_mimic(0, 1), 0, mimic=Mimic("j9")),
        "joint 'j0': mimics unknown joint 'j9'",
    ),
    "a mimic of itself": (with_mimic(helical_mimic(1, 0), 0, 0, 1.0), "joint 'j0': mimics mimic 'j0'"),
    "a mimic of a mimic": (with_mimic(helical_mimic(1, 0), 0, 1, 1.0), "joint 'j0': mimics mimic 'j1'"),
    "a leader of several freedoms": (helical_mimic(0, 2), "joint 'j0': a revolute joint mimics a planar one"),
    "a follower of several freedoms": (
        alter_joint(alter_joint(helical_mimic(0, 1), 0, mimic=None), 2, mimic=Mimic("j0")),
        "joint 'j2': a planar joint mimics a revolute one",
    ),
    "a multiplier that is no number": (
        helical_mimic(0, 1, nan),
        "joint 'j0': mimics with multiplier nan and offset 0",
    ),
}
"""Robots, and the element and the reason of their refusals."""


@pytest.mark.parametrize("case", REFUSED)
def test_inconsistent_robots_are_refused(case):
    robot, reason = REFUSED[case]
    with pytest.raises(InputError) as refused:
        check_robot(robot)
    assert f"{refused.value.where}: {refused.value.reason}" == f"robot data, {reason}"
    assert refused.value.expected


@pytest.mark.parametrize("kind", [JointKind.TRANSLATION, JointKind.SPHERICAL, JointKind.FLOATING])
def test_an_unused_axis_may_be_anything(kind):
    check_robot(alter_joint(mechanism([kind], [-1], seed=1), 0, axis=(0.0, 0.0, 0.0)))


def test_a_mimic_may_follow_an_earlier_or_a_later_joint():
    check_robot(helical_mimic(0, 1))
    check_robot(helical_mimic(1, 0))
