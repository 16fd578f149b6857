"""The bundled robots: found by name, and read by Pinocchio with the same result."""

import numpy as np
import pinocchio as pin
import pytest

from rbdhw.errors import InputError
from rbdhw.robot.model import JointKind, Mimic
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.oracle import pinocchio_model

SIZES = {
    "atlas": (30, 10),
    "hand22": (22, 5),
    "hyq": (12, 3),
    "iiwa14": (7, 7),
    "spot_arm": (18, 6),
    "tiago": (14, 10),
    "toy": (2, 2),
}
MASSES = {
    "atlas": 175.11796,
    "hand22": 0.689,
    "hyq": 86.774,
    "iiwa14": 30.61,
    "spot_arm": 40.199,
    "tiago": 65.233727,
    "toy": 3.0,
}


def test_bundled_robots_are_listed_by_name():
    assert list(bundled()) == list(SIZES)
    assert all(file.name == f"{name}.urdf" for name, file in bundled().items())


def test_an_unknown_robot_is_refused():
    with pytest.raises(InputError) as refusal:
        path("spot")
    listed = "atlas, hand22, hyq, iiwa14, spot_arm, tiago, toy"
    assert str(refusal.value) == f"robot 'spot': not bundled; expected one of {listed}"


@pytest.mark.parametrize("name", SIZES)
def test_size_and_total_mass(name):
    robot = load_urdf(path(name))
    assert robot.name == name
    assert (robot.nv, robot.depth) == SIZES[name]
    mass = robot.base_inertia.mass + sum(body.inertia.mass for body in robot.bodies)
    assert mass == pytest.approx(MASSES[name])


@pytest.mark.parametrize("name", SIZES)
def test_every_joint_says_how_fast_and_how_strong_it_is(name):
    for body in load_urdf(path(name)).bodies:
        for limits in body.joint.limits:
            assert 0.0 < limits.velocity < np.inf
            assert 0.0 < limits.effort < np.inf
            assert np.isfinite([limits.lower, limits.upper]).all() or body.joint.kind is JointKind.PLANAR


@pytest.mark.parametrize("name", sorted(SIZES.keys() - {"hand22"}))
def test_every_placement_but_of_the_hand_is_a_signed_permutation(name):
    for body in load_urdf(path(name)).bodies:
        assert {abs(entry) for row in body.joint.placement.rotation for entry in row} <= {0.0, 1.0}


@pytest.mark.parametrize("name", SIZES)
def test_inverse_dynamics_is_that_of_pinocchio_reading_the_same_file(name):
    robot = load_urdf(path(name))
    ours, theirs = pinocchio_model(robot), pin.buildModelFromUrdf(str(path(name)))
    joints = [theirs.getJointId(body.joint.name) for body in robot.bodies]
    q_columns = [theirs.joints[j].idx_q + k for j in joints for k in range(theirs.joints[j].nq)]
    v_columns = [theirs.joints[j].idx_v + k for j in joints for k in range(theirs.joints[j].nv)]
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, states = (
            pin.randomConfiguration(ours, -np.ones(ours.nq), np.ones(ours.nq)),
            rng.normal(size=(2, ours.nv)),
        )
        their_q, their_states = np.zeros(theirs.nq), np.zeros((2, theirs.nv))
        their_q[q_columns], their_states[:, v_columns] = q, states
        expected = pin.rnea(theirs, theirs.createData(), their_q, *their_states)[v_columns]
        tau = pin.rnea(ours, ours.createData(), q, *states)
        np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())


def test_spot_has_four_legs_of_one_shape_and_an_arm():
    robot = load_urdf(path("spot_arm")).with_floating_base()
    assert (len(robot.bodies), robot.nv, robot.depth) == (19, 24, 7)
    legs = [robot.bodies[i : i + 3] for i in (7, 10, 13, 16)]
    assert [leg[0].name for leg in legs] == ["fl_hip", "fr_hip", "hl_hip", "hr_hip"]
    for bodies in zip(*legs, strict=True):
        assert len({(body.joint.axis, body.inertia.mass) for body in bodies}) == 1
    assert robot.joints[1:7] == ("arm_sh0", "arm_sh1", "arm_el0", "arm_el1", "arm_wr0", "arm_wr1")
    assert dict(robot.fixed_links) == {"arm_finger_link": "arm_wr1_link"}


def test_tiago_moves_in_the_plane_and_its_left_finger_follows_the_right_one():
    robot = load_urdf(path("tiago"))
    base = robot.bodies[0]
    (left,) = (body for body in robot.bodies if body.name == "left_finger_link")
    assert (base.name, base.joint.kind) == ("base_link", JointKind.PLANAR)
    assert left.joint.mimic == Mimic("right_finger")
    arm = [f"arm_{k}" for k in range(1, 8)]
    assert list(robot.joints) == ["base", "torso_lift", *arm, "right_finger", "head_1", "head_2"]


def test_the_hand_has_five_fingers():
    robot = load_urdf(path("hand22"))
    lengths = [
        len([body for body in robot.bodies if body.name.startswith(finger)])
        for finger in ("first", "middle", "ring", "little", "thumb")
    ]
    assert lengths == [4, 4, 4, 5, 5]
