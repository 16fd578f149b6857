"""The robot description of `info`: joints with kinds and limits, algorithms, limbs."""

import json
from math import inf

import pytest

from rbdhw.cli.robot_description import describe, joint_entries
from rbdhw.config import BuildOptions, Mounting
from rbdhw.pipeline import generate, generate_software
from rbdhw.robot.model import BASE, Body, Inertia, Joint, JointKind, Limits, Mimic, Placement, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

pytestmark = pytest.mark.usefixtures("without_verilog")

TURN = {"position": "rad", "velocity": "rad/s", "effort": "Nm"}
SLIDE = {"position": "m", "velocity": "m/s", "effort": "N"}


def robot():
    """Return a robot with a ball joint on a rail, and a wheel that mimics the rail."""
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


def test_software_is_described_by_the_operations_of_each_function_alone():
    options = BuildOptions(("id", "m"), target="c")
    data, manifest = describe(path("toy"), options), generate_software(path("toy"), options).manifest
    assert "limbs" not in data
    assert data["coordinates"] == manifest["coordinates"]
    for name, counts in data["functions"].items():
        assert counts.items() <= manifest["functions"][name].items()


def travelling(rows):
    return [row["travels"] for row in rows]


def test_coordinates_that_nothing_depends_on_do_not_travel():
    """A first joint about gravity's axis, one about an axis of symmetry, a floating base's position."""
    arm = describe(path("iiwa14"), BuildOptions(("id",)))["coordinates"]
    assert travelling(arm["q"]) == [[], *[["q"]] * 5, []]
    assert travelling(arm["v"]) == [["v", "a"]] * 7
    assert arm["q"][1] == {
        "index": 1,
        "joint": "iiwa_joint_2",
        "kind": "revolute",
        "part": "",
        "unit": "rad",
        "limits": {"lower": -2.0943951023931953, "upper": 2.0943951023931953},
        "travels": ["q"],
    }
    base = describe(path("hyq"), BuildOptions(("fd",), mounting=Mounting("floating")))["coordinates"]
    assert travelling(base["q"]) == [[]] * 3 + [["q"]] * 16
    assert travelling(base["v"])[6:] == [["v", "tau"]] * 12


def test_the_manifest_lists_the_coordinates_whose_words_travel():
    manifest = generate(path("iiwa14"), BuildOptions(("m",), width=18, samples=128)).manifest
    words = {word["name"] for word in manifest["inputs"]["m"]}
    assert words == {f"q[{k}]" for k in range(1, 6)}
    coordinates = manifest["coordinates"]
    assert {f"q[{row['index']}]" for row in coordinates["q"] if row["travels"]} == words
    assert travelling(coordinates["v"]) == [[]] * 7
    assert [row["effort"] for row in coordinates["v"]] == [joint.limits[0].effort for joint in iiwa_joints()]


def iiwa_joints():
    return [body.joint for body in load_urdf(path("iiwa14")).bodies]
