"""Rotor inertia and viscous friction: reading, options, and refusals."""

import pytest

from rbdhw.errors import InputError
from rbdhw.robot.drives import Drives, with_drives
from rbdhw.robot.elementary import elementary
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from tests.support.mechanisms import mechanism, with_random_drives
from tests.support.urdf_documents import AXIS, LIMIT, arm_with

FROM_FILE = Drives(from_file=True)


def with_dynamics(text):
    return arm_with(rest=AXIS + LIMIT + text)


def test_damping_is_read_if_asked_for(load):
    text = with_dynamics('<dynamics damping="0.7"/>')
    assert load(text).damping == (0.0,)
    damped = load(text, drives=FROM_FILE)
    assert (damped.damping, damped.remarks) == ((0.7,), ())


def test_a_given_number_replaces_that_of_the_file(load):
    drives = Drives(True, damping=(("shoulder", (0.2,)),), armature=(("shoulder", (0.3,)),))
    robot = load(with_dynamics('<dynamics damping="0.7" armature="5"/>'), drives=drives)
    assert (robot.damping, robot.armature, robot.remarks) == ((0.2,), (0.3,), ())


def test_dry_friction_is_not_computed(load):
    robot = load(with_dynamics('<dynamics damping="0.7" friction="0.1"/>'), drives=FROM_FILE)
    assert robot.remarks == (
        "joint 'shoulder': friction in <dynamics> is not computed; add friction * sign(v) to tau after id, "
        "or subtract it from tau before fd",
    )


@pytest.mark.parametrize(
    ("damping", "message"),
    [
        ("much", '<dynamics> has damping="much"'),
        ("1e13", '<dynamics> has damping="1e13"'),
        ("-1", "joint 'shoulder': <dynamics> has damping -1"),
    ],
)
def test_damping_that_is_no_coefficient(load, damping, message):
    with pytest.raises(InputError, match=message):
        load(with_dynamics(f'<dynamics damping="{damping}"/>'), drives=FROM_FILE, strict=True)


def test_negative_damping_is_borne(load):
    robot = load(with_dynamics('<dynamics damping="-1"/>'), drives=FROM_FILE)
    assert robot.damping == (0.0,)
    assert "has damping -1" in robot.remarks[0]


KINDS = [JointKind.REVOLUTE, JointKind.PLANAR, JointKind.SPHERICAL]
ROBOT = mechanism(KINDS, (BASE, 0, 1), seed=1)


@pytest.mark.parametrize(
    ("robot", "name", "numbers", "message"),
    [
        (ROBOT, "j9", (1.0,), "armature: joint 'j9' is unknown; expected some of j0, j1, j2"),
        (ROBOT, "j0", (-1.0,), "armature: joint 'j0' has -1; expected 0, or 1e-12 to 1e\\+15 kg"),
        (ROBOT, "j0", (1e16,), "armature: joint 'j0' has 1e\\+16; expected 0, or 1e-12 to"),
        (ROBOT, "j0", (1.0, 2.0), "2 numbers for the revolute joint 'j0'; expected 1, as rotation"),
        (ROBOT, "j1", (1.0,), "1 numbers for the planar joint 'j1'; expected 3, as translation:trans"),
        (ROBOT.with_floating_base(), "root_joint", (1.0,), "joint 'root_joint' floats and has no drive"),
    ],
)
def test_numbers_that_do_not_fit(robot, name, numbers, message):
    with pytest.raises(InputError, match=message):
        with_drives(robot, Drives(armature=((name, numbers),)))


def test_one_number_for_equal_freedoms():
    robot = with_drives(ROBOT, Drives(damping=(("j2", (0.5,)), ("j1", (0.1, 0.2, 0.3)))))
    assert robot.damping == (0.0, 0.1, 0.2, 0.3, 0.5, 0.5, 0.5)
    assert robot.armature == (0.0,) * 7


def test_parts_of_a_joint_have_their_share():
    kinds = [JointKind.UNIVERSAL, JointKind.HELICAL, JointKind.TRANSLATION]
    robot = with_random_drives(mechanism(kinds, (BASE, 0, 1), seed=2), seed=3)
    assert elementary(robot).armature == (*robot.armature[:3], 0.0, *robot.armature[3:])


def test_json_keeps_the_drives_and_has_none_without():
    driven = with_random_drives(ROBOT, seed=4)
    assert robot_from_json(robot_to_json(driven)) == driven
    assert "armature" not in robot_to_json(ROBOT)["bodies"][0]["joint"]


@pytest.mark.parametrize(
    ("armature", "message"),
    [([1.0, 2.0], "2 numbers of armature"), ([-1.0], "armature is"), ([float("inf")], "armature is")],
)
def test_json_with_wrong_drives(armature, message):
    data = robot_to_json(ROBOT)
    data["bodies"][0]["joint"]["armature"] = armature
    with pytest.raises(InputError, match=message):
        robot_from_json(data)
