"""What `info` says of a robot: its joints with kinds and limits, its algorithms, its limbs."""

import json
from math import inf

from rbdhw.config import BuildOptions, Mounting
from rbdhw.description import describe, joint_entries
from rbdhw.robot.model import BASE, Body, Inertia, Joint, JointKind, Limits, Mimic, Placement, Robot
from rbdhw.robots import path

TURN = {"position": "rad", "velocity": "rad/s", "effort": "Nm"}
SLIDE = {"position": "m", "velocity": "m/s", "effort": "N"}


def robot():
    """A ball on a rail, and a wheel that follows the rail."""
    rail = (Limits(lower=-0.5, upper=0.25, velocity=2.0, effort=inf),)
    free = (Limits(-inf, inf, 3.0, 4.0),)
    ball = (Limits(-inf, inf, inf, inf),) * 3
    joints = (
        Joint("rail", JointKind.PRISMATIC, (1.0, 0.0, 0.0), Placement(), rail),
        Joint("ball", JointKind.SPHERICAL, (0.0, 0.0, 1.0), Placement(), ball),
        Joint("wheel", JointKind.CONTINUOUS, (0.0, 1.0, 0.0), Placement(), free, mimic=Mimic("rail", 2.0)),
    )
    inertia = Inertia(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    bodies = [
        Body(name, parent, joint, inertia)
        for name, parent, joint in zip(("cart", "head", "tyre"), (BASE, 0, 0), joints, strict=True)
    ]
    return Robot("cart", "floor", tuple(bodies))


def test_joints_have_kinds_links_and_limits_with_units():
    rail, ball, wheel = joint_entries(robot())
    assert rail == {
        "name": "rail",
        "kind": "prismatic",
        "link": "cart",
        "parent": "floor",
        "mimics": None,
        "limits": [{"lower": -0.5, "upper": 0.25, "velocity": 2.0, "effort": None, "units": SLIDE}],
    }
    assert (ball["kind"], ball["link"], ball["parent"]) == ("spherical", "head", "cart")
    unlimited = {"lower": None, "upper": None, "velocity": None, "effort": None, "units": TURN}
    assert ball["limits"] == [unlimited] * 3
    assert wheel["mimics"] == {"joint": "rail", "multiplier": 2.0, "offset": 0.0}
    assert wheel["limits"] == [unlimited | {"velocity": 3.0, "effort": 4.0}]


def test_a_floating_base_has_six_unlimited_freedoms():
    base = joint_entries(robot().with_floating_base())[0]
    assert (base["name"], base["kind"], base["link"]) == ("root_joint", "floating", "floor")
    assert [limits["units"] for limits in base["limits"]] == [SLIDE] * 3 + [TURN] * 3


def test_a_description_is_json_with_the_algorithms_and_limbs():
    options = BuildOptions(("id", "minv"), mounting=Mounting("floating", root="auto"))
    data = describe(path("hyq"), options)
    assert json.loads(json.dumps(data, allow_nan=False))["robot"] == data["robot"]
    assert set(data) >= {"robot", "functions", "joints", "algorithms", "limbs", "roots"}
    assert list(data["functions"]) == ["id", "minv"]
    assert data["robot"]["base"] == "floating"
    assert [joint["kind"] for joint in data["joints"]] == ["floating", *["revolute"] * 12]
    inverse = data["algorithms"]["inverse"]
    assert inverse["chosen"] in inverse["costs"]
    assert all(cost["total"] > 0 for cost in inverse["costs"].values())
    assert [len(group) for group in data["limbs"]["groups"]] == [4]
    assert any(trial["link"] == data["joints"][0]["link"] for trial in data["roots"])
