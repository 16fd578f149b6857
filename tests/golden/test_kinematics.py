"""The golden kinematics of frames, compared with Pinocchio's."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.read import load_mounted
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import choose_frames, chosen_frames
from rbdhw.robot.model import FRAME_AXES, Frame, JointKind, Placement, Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.oracle import (
    pinocchio_joints,
    pinocchio_model,
    placement_in_joint,
    to_pinocchio_q,
    velocity_map,
)
from tests.support.strategies import random_rotation, random_states, robots

Arrays = dict[str, np.ndarray]

KINDS = tuple(kind for kind in JointKind if kind is not JointKind.UNIVERSAL)
"""Pinocchio's derivatives take every motion subspace for constant in its body; a universal joint's is not."""

SINGLE = tuple(kind for kind in KINDS if kind.nv == 1)
"""Pinocchio's ``da_dq`` in the world's axes is wrong for joints of several freedoms on a moving body."""

REFERENCES = {"local": pin.LOCAL, "world": pin.LOCAL_WORLD_ALIGNED}


def with_frames(robot: Robot, axes: str, seed: int = 0) -> Robot:
    """Return the robot with the frame of its last link, and with one fixed to its first link."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.uniform(-0.3, 0.3, 3).tolist()
    first, last = robot.bodies[0].name, robot.bodies[-1].name
    fixed = Frame("fixed", first, Placement(random_rotation(rng), (x, y, z)))
    return replace(robot, frames=(Frame(last, last), fixed), frame_axes=axes)


def references(robot: Robot, arrays: Arrays, row: int) -> list[Arrays]:
    """Return Pinocchio's results for each frame of one task."""
    model = pinocchio_model(robot)
    joints = pinocchio_joints(robot)
    G, base = velocity_map(robot), np.zeros((2, model.nv))
    if robot.base_given:
        base[:, :6] = arrays["base_v"][row], arrays["base_a"][row]
    q = to_pinocchio_q(robot, arrays["q"][row])
    v, a = G @ arrays["v"][row] + base[0], G @ arrays["a"][row] + base[1]
    added = []
    for frame in chosen_frames(robot):
        pose = placement_in_joint(robot, frame)
        added.append(
            model.addFrame(pin.Frame(f"own {len(added)}", joints[frame.body], 0, pose, pin.OP_FRAME))
        )
    data = model.createData()
    pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    axes = REFERENCES[robot.frame_axes]
    results = []
    for frame in added:
        _, a_q, a_v, _ = pin.getFrameAccelerationDerivatives(model, data, frame, axes)
        results.append(
            {
                "placement": data.oMf[frame].homogeneous,
                "J": pin.getFrameJacobian(model, data, frame, axes).reshape(6, -1) @ G,
                "velocity": pin.getFrameVelocity(model, data, frame, axes).vector,
                "acceleration": pin.getFrameAcceleration(model, data, frame, axes).vector,
                "dv_dq": pin.getFrameVelocityDerivatives(model, data, frame, axes)[0].reshape(6, -1) @ G,
                "da_dq": a_q.reshape(6, -1) @ G,
                "da_dv": a_v.reshape(6, -1) @ G,
            }
        )
    return results


def assert_golden_is_pinocchio(robot: Robot, seed: int) -> None:
    """Check all results of all frames, within 1e-9."""
    arrays = random_states(robot, 2, seed)
    results = golden.evaluate(robot, "kin", arrays, extended=True)
    entry = FUNCTIONS["kin"]
    assert tuple(results) == (*entry.outputs, *entry.optional_outputs)
    for row in range(2):
        for k, expected in enumerate(references(robot, arrays, row)):
            for name, array in expected.items():
                scale = max(1.0, np.abs(array).max())
                np.testing.assert_allclose(
                    results[name][row, k], array, rtol=0, atol=1e-9 * scale, err_msg=name
                )


@pytest.mark.parametrize("axes", FRAME_AXES)
@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
@pytest.mark.parametrize("name", ["iiwa14", "hyq"])
def test_bundled_robots(name: str, base: str, axes: str) -> None:
    robot = replace(load_urdf(path(name)), base_given=base == "given")
    assert_golden_is_pinocchio(
        with_frames(robot.with_floating_base() if base == "floating" else robot, axes), 1
    )


@given(robots(max_bodies=5, kinds=KINDS, mimics=True), st.integers(0, 2**16))
def test_random_trees_in_the_frames_axes(robot: Robot, seed: int) -> None:
    assert_golden_is_pinocchio(with_frames(robot, "local", seed), seed)


@given(robots(max_bodies=5, kinds=SINGLE, mimics=True), st.booleans(), st.integers(0, 2**16))
def test_random_trees_in_the_worlds_axes(robot: Robot, floats: bool, seed: int) -> None:
    assert_golden_is_pinocchio(
        with_frames(robot.with_floating_base() if floats else robot, "world", seed), seed
    )


def test_joints_of_several_freedoms_and_a_mimic() -> None:
    """In the world's axes, derivatives by q are those in the frame's, turned, plus ``J x`` the twist."""
    kinds = [JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.PLANAR, JointKind.REVOLUTE]
    robot = with_mimic(mechanism(kinds, (-1, 0, 1, 2), seed=3), 3, 1, -0.7, 0.2)
    robot = with_frames(robot, "local", 4)
    assert_golden_is_pinocchio(robot, 5)
    arrays = random_states(robot, 2, 6)
    local = golden.evaluate(robot, "kin", arrays, extended=True)
    world = golden.evaluate(replace(robot, frame_axes="world"), "kin", arrays, extended=True)
    rotation = local["placement"][..., :3, :3]
    turn = np.block([[rotation, np.zeros_like(rotation)], [np.zeros_like(rotation), rotation]])
    for derivative, twist in (("dv_dq", "velocity"), ("da_dq", "acceleration")):
        J, m = world["J"], world[twist][..., np.newaxis]
        linear = np.cross(J[..., 3:, :], m[..., :3, :], axis=-2) + np.cross(
            J[..., :3, :], m[..., 3:, :], axis=-2
        )
        angular = np.cross(J[..., 3:, :], m[..., 3:, :], axis=-2)
        expected = turn @ local[derivative] + np.concatenate([linear, angular], axis=-2)
        np.testing.assert_allclose(world[derivative], expected, rtol=0, atol=1e-9)


def test_a_link_that_is_fixed_to_another_has_its_own_frame() -> None:
    """As Pinocchio reads the file itself."""
    robot = choose_frames(load_urdf(path("spot_arm")), ["arm_finger_link"], "local")
    model = pin.buildModelFromUrdf(str(path("spot_arm")))
    arrays = random_states(robot, 1, 2)
    results = golden.evaluate(robot, "kin", arrays)
    data = model.createData()
    q = arrays["q"][0]
    pin.framesForwardKinematics(model, data, q)
    expected = data.oMf[model.getFrameId("arm_finger_link")].homogeneous
    np.testing.assert_allclose(results["placement"][0, 0], expected, rtol=0, atol=1e-9)


def test_without_frames() -> None:
    robot = load_urdf(path("toy"))
    with pytest.raises(InputError, match="no frames are chosen"):
        golden.evaluate(robot, "kin", random_states(robot, 1, 0))


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_positions_are_those_of_kinematics_in_the_world(base):
    robot = load_mounted(path("hyq"), Mounting(base, frames=("lf_lowerleg@0.346:0:0", "rh_hipassembly")))
    arrays = random_states(robot, 4, 3)
    results = golden.evaluate(robot, "position", arrays, extended=True)
    motion = golden.evaluate(replace(robot, frame_axes="world"), "kin", arrays)
    assert np.array_equal(results["position"], motion["placement"][..., :3, 3])
    assert results["J_position"] == pytest.approx(motion["J"][..., :3, :], abs=1e-12)
    assert np.array_equal(golden.evaluate(robot, "pose", arrays)["placement"], motion["placement"])
