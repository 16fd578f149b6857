"""The chosen frames of a robot, as they are found and as they survive rewriting."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.read import mount
from rbdhw.options.build import Mounting
from rbdhw.robot.check import check_robot
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes, common_normal_frames
from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.model import Frame, Placement, Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import reroot
from rbdhw.robot.serialize import robot_from_json, robot_to_json
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.strategies import random_states


@pytest.fixture
def arm() -> Robot:
    return load_urdf(path("spot_arm"))


def refusal(robot: Robot, links: list[str]) -> str:
    with pytest.raises(InputError) as refused:
        choose_frames(robot, links, "local")
    return str(refused.value)


def test_frames_have_the_order_asked_for(arm: Robot) -> None:
    chosen = choose_frames(arm, ["arm_finger_link", arm.bodies[0].name], "world")
    assert [frame.name for frame in chosen.frames] == ["arm_finger_link", arm.bodies[0].name]
    assert chosen.frames[0].body == "arm_wr1_link"
    assert chosen.frames[0].placement != Placement()
    assert chosen.frames[1].placement == Placement()
    assert (chosen.frame_axes, chosen.sizes["frames"]) == ("world", 2)


def test_links_that_cannot_be_chosen() -> None:
    toy = load_urdf(path("toy"))
    known = "expected some of upper_arm, forearm, tip"
    assert refusal(toy, ["hand"]) == f"frames: link 'hand' is unknown; {known}"
    assert refusal(toy, ["base"]) == f"frames: link 'base' does not move; {known}"


@pytest.mark.parametrize(
    ("name", "point"), [("tip@1:2", "1:2"), ("tip@x:0:0", "x:0:0"), ("tip@0:nan:0", "0:nan:0")]
)
def test_points_that_are_none(name, point) -> None:
    expected = f"frames: '{name}' has no point '{point}'; expected LINK@X:Y:Z, in metres"
    assert refusal(load_urdf(path("toy")), [name]) == expected
    assert "link 'hand' is unknown" in refusal(load_urdf(path("toy")), ["hand@0:0:0"])


def test_a_joint_is_the_frame_of_the_link_that_it_moves() -> None:
    """Also with a point; and a link has its name before a joint."""
    toy = load_urdf(path("toy"))
    joint, link, point = choose_frames(toy, ["elbow", "forearm", "elbow@0.1:0:0"], "local").frames
    assert joint == replace(link, name="elbow")
    assert (point.body, point.placement.translation) == ("forearm", (0.1, 0.0, 0.0))
    named = replace(toy, fixed_links=(("elbow", "upper_arm"),))
    assert choose_frames(named, ["elbow"], "local").frames[0].body == "upper_arm"


def test_a_point_of_a_link() -> None:
    """The toy's tip is fixed to its forearm."""
    toy = load_urdf(path("toy"))
    names = ["tip", "forearm@0.4:0:0", "tip@-0.4:0:1e-1"]
    robot = choose_frames(toy, names, "world")
    tip, same, behind = robot.frames
    assert [frame.name for frame in robot.frames] == names
    assert (same.body, same.placement) == (tip.body, tip.placement)
    assert behind.placement.translation == (0.0, 0.0, 0.1)
    kinematics = golden.evaluate(robot, "kin", random_states(robot, 3, 0))
    assert np.array_equal(kinematics["J"][:, 0], kinematics["J"][:, 1])
    moved = kinematics["placement"][:, 0] @ [-0.4, 0.0, 0.1, 1.0]
    assert kinematics["placement"][:, 2, :, 3] == pytest.approx(moved, abs=1e-12)


def test_a_floating_base_moves_its_link() -> None:
    robot = mount(load_urdf(path("toy")), Mounting("floating", frames=("base",)))
    assert robot.frames == (Frame("base", "base"),)


def test_rewriting_leaves_frames_where_they_are(arm: Robot) -> None:
    robot = choose_frames(arm, ["arm_finger_link"], "local")
    moved = regroup_inertias(common_normal_frames(align_axes(elementary(robot))))
    arrays = random_states(robot, 2, 1)
    expected = golden.evaluate(robot, "kin", arrays)
    for name, array in golden.evaluate(moved, "kin", arrays).items():
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=1e-9, err_msg=name)


def test_another_root_leaves_a_frame_on_its_link() -> None:
    robot = mount(load_urdf(path("toy")), Mounting("floating", frames=("forearm", "base")))
    moved = reroot(robot, "forearm")
    assert moved.frames == robot.frames
    arrays = random_states(moved, 1, 2)
    arrays["q"][:, :7] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    placement = golden.evaluate(moved, "kin", arrays)["placement"][0, 0]
    np.testing.assert_allclose(placement, np.eye(4), rtol=0, atol=1e-12)


def test_frames_survive_json(arm: Robot) -> None:
    chosen = choose_frames(arm, ["arm_finger_link"], "world")
    assert robot_from_json(robot_to_json(chosen)) == chosen
    assert "frames" not in robot_to_json(arm)
    assert "fixed_placements" not in robot_to_json(chosen)


@pytest.mark.parametrize(
    ("frames", "line"),
    [
        ((Frame("a", "nowhere"),), "frame 'a': moves with unknown link 'nowhere'; expected one that moves"),
        ((Frame("a", "tip"), Frame("a", "tip")), "frame 'a': given twice; expected each frame once"),
    ],
)
def test_inconsistent_frames(frames: tuple[Frame, ...], line: str) -> None:
    with pytest.raises(InputError) as refused:
        check_robot(replace(load_urdf(path("toy")), frames=frames))
    assert str(refused.value) == f"robot data, {line}"


def test_unknown_axes() -> None:
    with pytest.raises(InputError, match="frame_axes: 'up' is unknown; expected one of local, world"):
        check_robot(replace(load_urdf(path("toy")), frame_axes="up"))
