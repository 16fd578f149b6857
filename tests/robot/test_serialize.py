"""Robots as JSON: exact there and back, and the line that refuses each kind of bad data."""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from rbdhw.errors import InputError
from rbdhw.robot.frames import align_axes
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.strategies import robots


def through_text(robot):
    return robot_from_json(json.loads(json.dumps(robot_to_json(robot), allow_nan=False)))


@pytest.mark.parametrize("name", bundled())
def test_bundled_robots_survive_json_text(name):
    robot = load_urdf(path(name))
    assert through_text(robot) == robot
    assert through_text(robot.with_floating_base()) == robot.with_floating_base()


@given(robots(max_bodies=5))
def test_any_robot_survives_json_text(robot):
    assert through_text(robot) == robot
    regrouped = regroup_inertias(align_axes(robot))
    assert through_text(regrouped) == regrouped


def test_infinite_limits_are_strings():
    free = robot_to_json(load_urdf(path("toy")).with_floating_base())["bodies"][0]["joint"]["limits"]
    assert free == {"lower": "-inf", "upper": "inf", "velocity": "inf", "effort": "inf"}


@pytest.fixture
def data():
    return json.loads(json.dumps(robot_to_json(load_urdf(path("toy")))))


def refusal(data):
    with pytest.raises(InputError) as refused:
        robot_from_json(data)
    return str(refused.value)


def test_a_missing_field(data):
    del data["bodies"][1]["inertia"]
    assert refusal(data) == (
        "robot data: bodies.1.inertia: Field required; expected what robot_to_json writes"
    )


def test_a_field_of_another_type(data):
    data["bodies"][0]["joint"]["kind"] = "spherical"
    assert refusal(data).startswith("robot data: bodies.0.joint.kind: Input should be 'revolute', ")


def test_no_dictionary():
    assert refusal([]).startswith("robot data: robot: Input should be a dictionary")


def test_a_parent_that_comes_later(data):
    data["bodies"][0]["parent"] = 1
    assert refusal(data) == "robot data: link 'upper_arm': parent is 1; expected -1 to -1"


def test_names_given_twice(data):
    data["bodies"][1]["joint"]["name"] = "shoulder"
    assert refusal(data) == "robot data: joint 'shoulder': given twice; expected unique joint names"
    data["bodies"][1]["name"] = "base"
    assert refusal(data) == "robot data: link 'base': given twice; expected unique link names"


def test_an_axis_that_is_no_unit_vector(data):
    data["bodies"][1]["joint"]["axis"] = [0, 0, 2]
    assert refusal(data) == (
        "robot data: link 'forearm': joint axis is (0.0, 0.0, 2.0); expected a unit vector"
    )


def test_a_reflection(data):
    data["bodies"][1]["joint"]["placement"]["rotation"] = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]
    assert refusal(data) == (
        "robot data: link 'forearm': rotation is ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)); "
        "expected an orthonormal right-handed matrix"
    )


def test_numbers_that_are_not_finite(data):
    data["bodies"][1]["inertia"]["mass"] = float("nan")
    assert refusal(data) == (
        "robot data: link 'forearm': a length, an inertia or gravity is not finite; expected finite numbers"
    )


def test_reversed_limits(data):
    data["bodies"][1]["joint"]["limits"]["lower"] = "inf"
    assert refusal(data) == (
        "robot data: link 'forearm': lower limit is not below the upper; expected lower <= upper"
    )


def test_a_floating_joint_in_the_middle():
    robot = load_urdf(path("toy")).with_floating_base()
    first, second, third = robot.bodies
    moved = replace(second, joint=replace(second.joint, kind=first.joint.kind))
    assert refusal(robot_to_json(robot.with_bodies([first, moved, third]))) == (
        "robot data: link 'upper_arm': has a floating joint; expected one on the first link only"
    )
