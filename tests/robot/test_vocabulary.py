"""Remarks on what stands where an element or attribute is read, and is not used."""

import re

import pytest

from rbdhw.errors import InputError
from tests.support.urdf_documents import ARM, AXIS, INERTIAL, LIMIT, arm_with, hand, joint, link, mimic, robot

UNUSED = {
    "limit": (arm_with(rest=AXIS + LIMIT.replace("lower", "lowr", 1)), "joint 'shoulder': <limit> has lowr"),
    "acceleration": (
        arm_with(rest=AXIS + LIMIT.replace("lower", 'acceleration="3" lower', 1)),
        "joint 'shoulder': <limit> has acceleration, which is not used; taken without it; acceleration in "
        "[joints.NAME] of a domain file bounds it",
    ),
    "axis": (arm_with(rest='<axis xyz="0 0 1" rpy="1 0 0"/>' + LIMIT), "joint 'shoulder': <axis> has rpy"),
    "origin": (
        arm_with(rest=AXIS + LIMIT + '<origin xyz="0 0 1" rot="1 0 0"/>'),
        "joint 'shoulder': <origin> has rot",
    ),
    "origin of an inertia": (
        arm_with(INERTIAL.replace("<origin", '<origin RPY="0 0 1"')),
        "link 'arm': <origin> has RPY",
    ),
    "origin of a fixed joint": (
        arm_with(kind="fixed", rest='<origin rotation="0 0 1"/>'),
        "joint 'shoulder': <origin> has rotation",
    ),
    "mass": (arm_with(INERTIAL.replace('"2"', '"2" unit="g"')), "link 'arm': <mass> has unit"),
    "inertia": (arm_with(INERTIAL.replace("ixx", 'Ixx="1" ixx')), "link 'arm': <inertia> has Ixx"),
    "inertial": (arm_with(INERTIAL.replace("<inertial", "<inertial mass='1'")), "<inertial> has mass"),
    "spring": (
        arm_with(rest=AXIS + LIMIT + '<dynamics spring_stiffness="3"/>'),
        "joint 'shoulder': <dynamics> has spring_stiffness",
    ),
    "mimic": (hand(second=mimic("first", 'ratio="2"')), "joint 'second': <mimic> has ratio"),
    "link": (robot(*ARM).replace('"base">', '"base" concave="no">', 1), "link 'base': <link> has concave"),
    "joint": (arm_with(rest=AXIS + LIMIT).replace("type=", 'kind="x" type='), "<joint> has kind"),
    "robot": (robot(*ARM).replace('"r"', '"r" gravity="0"'), "<robot>: <robot> has gravity"),
    "parent": (robot(*ARM).replace("<parent", '<parent joint="x"'), "joint 'shoulder': <parent> has joint"),
    "an element of a joint": (arm_with(rest=AXIS + LIMIT + "<limits/>"), "<joint> has <limits>"),
    "an element of a link": (arm_with(INERTIAL + '<origin xyz="0 0 1"/>'), "link 'arm': <link> has <origin>"),
    "an element of an inertial": (arm_with(INERTIAL.replace("<mass", "<com/><mass")), "<inertial> has <com>"),
    "an element of the robot": (robot(*ARM, "<loop_joint/>"), "<robot>: <robot> has <loop_joint>"),
    "elements of SDF": (
        arm_with(rest=AXIS + LIMIT + "<dynamics><damping>3</damping></dynamics>"),
        "joint 'shoulder': <dynamics> has <damping>",
    ),
    "text": (arm_with(rest=AXIS + LIMIT + "<origin>0 0 1</origin>"), "joint 'shoulder': <origin> has text"),
    "a macro in a joint": (
        arm_with(rest=AXIS + LIMIT + "<xacro:insert/>"),
        "joint 'shoulder': <xacro:insert> in <joint> is not expanded",
    ),
    "a range that is not one": (
        arm_with(kind="continuous"),
        "joint 'shoulder': continuous, but <limit> has lower and upper; taken as no limit",
    ),
    "a range of several freedoms": (
        arm_with(kind="spherical", rest='<limit upper="1" velocity="1" effort="1"/>'),
        "joint 'shoulder': spherical, but <limit> has upper; taken as no limit",
    ),
}


@pytest.mark.parametrize("case", UNUSED)
def test_what_is_not_used_has_a_remark(load, case):
    text, message = UNUSED[case]
    assert any(message in remark for remark in load(text).remarks)
    with pytest.raises(
        InputError, match=r"robot\.urdf, .*(, which is not used|, but .*|is not expanded); exp|no low"
    ):
        load(text, strict=True)


def test_many_elements_share_a_remark(load):
    links = [link("base"), *(link(f"l{k}") for k in range(9))]
    joints = [
        joint(f"j{k}", "base", f"l{k}", rest=AXIS + LIMIT.replace("lower", 'current="1" lower', 1))
        for k in range(9)
    ]
    assert load(robot(*links, *joints)).remarks == (
        "joints 'j0', 'j1', 'j2' and 6 more: <limit> has current, which is not used; taken without it",
    )


def test_a_refusal_names_the_attributes_that_there_are(load):
    expected = (
        "<axis> has rpy, which is not used; expected only xyz; leave out --strict (then taken without it)"
    )
    with pytest.raises(InputError, match=re.escape(expected)):
        load(UNUSED["axis"][0], strict=True)


WITHOUT_PART = {
    "namespaces": robot(*ARM, "<drake:group/>").replace("<robot", '<robot xmlns:a="b" xmlns="c"'),
    "a foreign attribute": arm_with(rest=AXIS + LIMIT.replace("lower", 'drake:acceleration="3" lower', 1)),
    "looks": arm_with(INERTIAL + '<visual><origin z="1"/></visual><collision name="x"/><contact/>'),
    "of the robot": robot(*ARM, "<gazebo/><transmission/><material/><sensor/><ros2_control/>"),
    "of controllers": arm_with(rest=AXIS + LIMIT + "<calibration x='1'/><safety_controller soft='1'/>"),
    "of a fixed joint": arm_with(kind="fixed", rest='<limit current="1"/><dynamics K="1"/>'),
    "a type of link": robot(*ARM).replace('"base">', '"base" type="laser">', 1),
    "zeros": arm_with(kind="continuous", rest=AXIS + '<limit lower="0" upper="0" velocity="1" effort="1"/>'),
}


@pytest.mark.parametrize("case", WITHOUT_PART)
def test_what_has_no_part_in_the_dynamics_has_no_remark(load, case):
    assert load(WITHOUT_PART[case], strict=True).remarks == ()
