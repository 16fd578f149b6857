"""The change of base: poses, velocities and forces, against finite differences and by hand."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdhw.errors import InputError
from rbdhw.robot.model import Placement
from rbdhw.robot.rebase import Rebase
from rbdhw.robot.reroot import reroot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.floating_robots import floating, link_poses, random_tree
from tests.support.oracle import pinocchio_model
from tests.support.strategies import random_states

STEP = 1e-6


def integrate(robot, q, v, seconds):
    """Return ``q`` after ``seconds`` at the constant velocity ``v``."""
    model = pinocchio_model(robot)
    return np.stack([pin.integrate(model, *pair) for pair in zip(q, seconds * v, strict=True)])


@pytest.mark.parametrize("link", ["lf_lowerleg", "rh_upperleg"])
def test_velocities_and_accelerations_are_time_derivatives(link):
    robot = floating("hyq")
    change = Rebase(robot, reroot(robot, link))
    given = random_states(robot, 4, seed=1)
    q, v, a = given["q"], given["v"], given["a"]
    before, after = (change.configuration(integrate(robot, q, v, sign * STEP)) for sign in (-0.5, 0.5))
    model = pinocchio_model(change.target)
    rates = [pin.difference(model, *pair) / STEP for pair in zip(before, after, strict=True)]
    velocity = change.velocity(q, v)
    np.testing.assert_allclose(velocity, rates, atol=1e-8)
    before, after = (
        change.velocity(integrate(robot, q, v, sign * STEP), v + sign * STEP * a) for sign in (-0.5, 0.5)
    )
    np.testing.assert_allclose(change.acceleration(q, v, a), (after - before) / STEP, atol=1e-7)


def test_the_reverse_conversion_is_the_inverse():
    robot = random_tree(seed=5)
    other = reroot(robot, "b4")
    there, back = Rebase(robot, other), Rebase(other, robot)
    given = random_states(robot, 5, seed=2)
    q, v, a, tau = (given[name] for name in ("q", "v", "a", "tau"))
    p, w = there.configuration(q), there.velocity(q, v)
    again = back.configuration(p)
    np.testing.assert_allclose(again[:, 3:7] * np.sign(again[:, 6:7] * q[:, 6:7]), q[:, 3:7], atol=1e-12)
    np.testing.assert_allclose(
        np.delete(again, np.s_[3:7], axis=1), np.delete(q, np.s_[3:7], axis=1), atol=1e-12
    )
    np.testing.assert_allclose(back.velocity(p, w), v, atol=1e-12)
    np.testing.assert_allclose(back.acceleration(p, w, there.acceleration(q, v, a)), a, atol=1e-11)
    np.testing.assert_allclose(back.force(p, there.force(q, tau)), tau, atol=1e-11)


def test_no_power_is_lost():
    robot = random_tree(seed=6)
    change = Rebase(robot, reroot(robot, "b3"))
    given = random_states(robot, 5, seed=3)
    q, v, tau = given["q"], given["v"], given["tau"]
    power = np.sum(change.velocity(q, v) * change.force(q, tau), axis=1)
    np.testing.assert_allclose(power, np.sum(v * tau, axis=1), atol=1e-12 * np.abs(v * tau).max())


def test_the_quaternion_runs_on_without_jumps_and_has_unit_length():
    robot = floating("hyq")
    change = Rebase(robot, reroot(robot, "lf_lowerleg"))
    angles = np.linspace(-6.0, 6.0, 400)
    q = np.zeros((400, 19))
    q[:, 3:7] = 2.0 * np.stack([np.sin(angles), 0 * angles, 0 * angles, np.cos(angles)], axis=1)
    q[:, 7] = angles
    attitude = change.configuration(q)[:, 3:7]
    np.testing.assert_allclose(np.linalg.norm(attitude, axis=1), 1.0, atol=1e-12)
    assert np.abs(np.diff(attitude, axis=0)).max() < 0.06


def test_a_root_joint_away_from_the_origin_stays_there():
    robot = floating("hyq")
    pose = Placement(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 2.0, 3.0))
    root = replace(robot.bodies[0], joint=replace(robot.bodies[0].joint, placement=pose))
    raised = robot.with_bodies((root, *robot.bodies[1:]))
    q = random_states(robot, 1, seed=3)["q"]
    for other in (reroot(raised, "lf_lowerleg"), reroot(robot, "lf_lowerleg")):
        poses = link_poses(other, Rebase(raised, other).configuration(q)[0])
        for name, expected in link_poses(raised, q[0]).items():
            np.testing.assert_allclose(poses[name].homogeneous, expected.homogeneous, atol=1e-12)


def test_no_tasks_give_empty_arrays():
    robot = floating("hyq")
    change = Rebase(robot, reroot(robot, "lf_lowerleg"))
    q, v = np.zeros((0, 19)), np.zeros((0, 18))
    assert change.configuration(q).shape == (0, 19)
    assert change.acceleration(q, v, v).shape == change.force(q, v).shape == (0, 18)


def test_other_robots_are_refused():
    robot, fixed = floating("toy"), load_urdf(path("toy"))
    twin = replace(robot, name="twin", bodies=robot.bodies[:2])
    with pytest.raises(InputError) as refusal:
        Rebase(robot, twin)
    assert str(refusal.value) == (
        "root: robots 'toy' and 'twin' differ in more than their root; "
        "expected a floating base and joints root_joint, shoulder, elbow in both"
    )
    with pytest.raises(InputError, match="differ in more than their root"):
        Rebase(robot, fixed)
    with pytest.raises(InputError, match="root: the base of robot 'toy' does not float"):
        Rebase(fixed, robot)
    with pytest.raises(InputError, match="root: link 'base_link_0' is unknown"):
        Rebase(robot, floating("hyq"))
