"""Robots as JSON: the round trip is exact, and bad data is refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from rbdhw.errors import InputError
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Inertia
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.strategies import ALL_KINDS, robots


def through_text(robot):
    return robot_from_json(json.loads(json.dumps(robot_to_json(robot), allow_nan=False)))


@pytest.mark.parametrize("name", bundled())
def test_bundled_robots_survive_json_text(name):
    robot = load_urdf(path(name))
    assert through_text(robot) == robot
    assert through_text(robot.with_floating_base()) == robot.with_floating_base()


@given(robots(max_bodies=5, kinds=ALL_KINDS, mimics=True))
def test_any_robot_survives_json_text(robot):
    assert through_text(robot) == robot
    regrouped = regroup_inertias(align_axes(elementary(robot)))
    assert through_text(regrouped) == replace(regrouped, unfelt=Inertia())


def test_given_base_and_gravity_survive_json_text():
    robot = replace(load_urdf(path("toy")), base_given=True, gravity_given=True)
    assert through_text(robot) == robot


def test_infinite_limits_are_strings():
    free = robot_to_json(load_urdf(path("toy")).with_floating_base())["bodies"][0]["joint"]["limits"]
    assert free == [{"lower": "-inf", "upper": "inf", "velocity": "inf", "effort": "inf"}] * 6


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
        "robot data, bodies.1.inertia: Field required; expected what robot_to_json writes"
    )


def test_a_field_of_another_type(data):
    data["bodies"][0]["joint"]["kind"] = "screw"
    assert refusal(data).startswith("robot data, bodies.0.joint.kind: Input should be 'revolute', ")


def test_no_dictionary():
    assert refusal([]).startswith("robot data, robot: Input should be a dictionary")


def test_an_inconsistent_robot(data):
    data["bodies"][0]["parent"] = 1
    assert refusal(data) == "robot data, link 'upper_arm': parent is 1; expected -1 to -1"
