"""The robot description of `info`: joints with kinds and limits, algorithms, limbs."""

import json
import math
from math import inf

import pytest

from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.front.robot_description import describe, joint_entries
from rbdhw.frontend.build_graph import prepare, trace_model
from rbdhw.frontend.sizes import estimated_operations
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate, generate_software
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robot.model import BASE, Body, Inertia, Joint, JointKind, Limits, Mimic, Placement, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.urdf_documents import ARM, AXIS, LIMIT, joint, link, mimic
from tests.support.urdf_documents import robot as urdf

pytestmark = pytest.mark.usefixtures("without_verilog")


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a URDF of these parts and returns its path."""

    def write(parts):
        file = tmp_path / "robot.urdf"
        file.write_text(urdf(*parts))
        return file

    return write


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
        "parent_link": "floor",
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


def test_a_description_is_json_with_the_algorithms_and_limbs(write):
    options = BuildOptions(("id", "minv"), mounting=Mounting("floating", root="auto"))
    legs = [part for name in ("left", "right") for part in (link(name), joint(f"{name} hip", "base", name))]
    data = describe(write((link("base"), *legs)), options)
    assert json.loads(json.dumps(data, allow_nan=False))["robot"] == data["robot"]
    assert set(data) >= {"robot", "functions", "joints", "algorithms", "limbs", "roots"}
    assert list(data["functions"]) == ["id", "minv"]
    assert data["robot"]["base"] == "floating"
    assert [joint["kind"] for joint in data["joints"]] == ["floating", *["revolute"] * 2]
    inverse = data["algorithms"]["inverse"]
    assert inverse["chosen"] in inverse["costs"]
    assert all(cost["total"] > 0 for cost in inverse["costs"].values())
    assert [len(group) for group in data["limbs"]["groups"]] == [2]
    assert any(trial["link"] == data["joints"][0]["link"] for trial in data["roots"])


def test_software_is_described_by_the_operations_of_each_function_alone():
    options = BuildOptions(("id", "m"), target="c")
    data, manifest = describe(path("toy"), options), generate_software(path("toy"), options).manifest
    assert "limbs" not in data
    assert without_bounds(data["coordinates"]) == manifest["coordinates"]
    for name, counts in data["functions"].items():
        assert counts.items() <= manifest["functions"][name].items()


def without_bounds(coordinates):
    return {
        array: [{key: value for key, value in row.items() if key != "bounds"} for row in rows]
        for array, rows in coordinates.items()
    }


def travelling(rows):
    return [row["travels"] for row in rows]


def test_coordinates_that_nothing_depends_on_do_not_travel(write):
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
        "bounds": {"lower": -2.0943951023931953, "upper": 2.0943951023931953},
    }
    base = describe(write(ARM), BuildOptions(("fd",), mounting=Mounting("floating")))["coordinates"]
    assert travelling(base["q"]) == [[]] * 3 + [["q"]] * 5
    assert travelling(base["v"])[6:] == [["v", "tau"]]


GEAR = (
    *(link(name) for name in ("base", "upper", "fore")),
    joint("shoulder", "base", "upper", "continuous", AXIS),
    joint("elbow", "upper", "fore", "continuous", AXIS + mimic("shoulder", 'multiplier="0.5"')),
)


@pytest.mark.parametrize(("follower", "bound"), [(GEAR[4], math.pi), ("", None)])
def test_a_leader_whose_turns_count_is_bounded(write, follower, bound):
    """Half an angle does not wrap as the angle does, so a task beyond half a turn is flagged."""
    parts = GEAR if follower else (*GEAR[:2], GEAR[3])
    (row,) = describe(write(parts), BuildOptions(("id",)))["coordinates"]["q"]
    assert row["limits"] == {"lower": None, "upper": None}
    assert row["bounds"] == {"lower": bound and -bound, "upper": bound}


def test_bounds_are_those_of_a_domain_file(write):
    given = Overrides(joints={"shoulder": JointBounds(position=0.5, velocity=2.0)})
    coordinates = describe(write(ARM), BuildOptions(("id",)), given)["coordinates"]
    assert [coordinates[array][0]["bounds"]["upper"] for array in ("q", "v")] == [0.5, 2.0]


def test_a_parent_has_the_name_of_the_urdf(write):
    parts = (*ARM, link("flange"), link("hand"), joint("weld", "arm", "flange", "fixed", ""))
    wrist = describe(write((*parts, joint("wrist", "flange", "hand"))), BuildOptions(("id",)))["joints"][1]
    assert (wrist["parent"], wrist["parent_link"]) == ("arm", "flange")


def test_a_robot_is_shown_though_no_function_can_be_had(write):
    data = describe(
        write((link("base"), link("arm", ""), joint("shoulder", "base", "arm"))), BuildOptions(("fd",))
    )
    assert (data["functions"], data["algorithms"], len(data["joints"])) == ({}, {}, 1)
    assert data["omitted"]["fd"].startswith("link 'arm': has no inertia, and joint 'shoulder' can move")
    assert any("has no inertia about" in remark for remark in data["remarks"])


def test_a_loop_that_cannot_close_is_refused(write):
    hinges = [joint(f"hinge_{name}", "base", name) for name in ("one", "other")]
    far = (("pin", "one@0.1:0.2:0.1", "other@0.2:0.1:9"),)
    with pytest.raises(InputError, match="cannot close"):
        describe(
            write((*map(link, ("base", "one", "other")), *hinges)),
            BuildOptions(("cfd",), mounting=Mounting(loops=far)),
        )


def test_a_long_chain_is_described_by_what_can_be_had_and_counted(write):
    names = [f"l{k}" for k in range(91)]
    tilted = '<origin xyz="0 0.1 0.2" rpy="0.1 0.2 0.3"/>' + AXIS + LIMIT
    joints = [joint(f"j{k:03}", names[k], names[k + 1], rest=tilted) for k in range(90)]
    data = describe(write((*map(link, names), *joints)), BuildOptions(("id", "minv", "did")))
    assert list(data["functions"]) == ["id"]
    assert "90 degrees of freedom, too many in a row" in data["omitted"]["minv"]
    assert data["omitted"]["did"] == "about 900,900 operations, more than are counted here (300,000)"
    assert any("counted without the search for frames and algorithms" in remark for remark in data["remarks"])


@pytest.mark.parametrize("name", ["toy", long("iiwa14")])
def test_sizes_are_not_underestimated(name):
    robot = load_urdf(path(name))
    model = prepare(robot, tuple(DEFAULT_FUNCTIONS), most_traced=0.0)
    for function in FUNCTIONS:
        entry = FUNCTIONS[function]
        if not (entry.framed or entry.touches or entry.clears):
            size = len(trace_model(model, (function,)).nodes)
            assert size / 1.5 < estimated_operations(robot, function) < 50 * size


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
