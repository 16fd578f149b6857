"""Inertial regrouping: which constants become zero, and that joint-space results do not change."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Inertia, JointKind
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.support.invariance import assert_same_dynamics
from tests.support.mechanisms import mechanism
from tests.support.strategies import ALL_KINDS, robots


@pytest.mark.parametrize("name", bundled())
def test_bundled_robots_keep_their_dynamics(name):
    robot = load_urdf(path(name))
    assert_same_dynamics(robot, regroup_inertias(align_axes(robot)))


@pytest.mark.parametrize("name", ["toy", "hyq"])
def test_floating_robots_keep_their_dynamics(name):
    robot = align_axes(load_urdf(path(name))).with_floating_base()
    assert_same_dynamics(robot, regroup_inertias(robot))


@given(robots(max_bodies=6, kinds=ALL_KINDS, mimics=True))
def test_random_robots_keep_their_dynamics(robot):
    assert_same_dynamics(robot, regroup_inertias(align_axes(elementary(robot))), tasks=1)


@given(robots(max_bodies=4), st.integers(0, 2**16))
def test_robots_on_a_given_base_keep_their_dynamics(robot, seed):
    robot = replace(robot, base_given=True, gravity_given=True)
    assert_same_dynamics(robot, regroup_inertias(align_axes(robot)), seed, tasks=1)


@given(robots(max_bodies=6, kinds=ALL_KINDS, mimics=True))
def test_inertia_that_a_joint_does_not_feel_is_zero(robot):
    for body in regroup_inertias(align_axes(elementary(robot))).bodies:
        inertia = body.inertia
        if body.joint.kind.rotates:
            xx, _, _, yy, _, zz = inertia.rotational
            assert (inertia.mass, inertia.first_moment[2]) == (0.0, 0.0)
            assert xx + yy == pytest.approx(zz, abs=1e-12 * (abs(xx) + abs(yy) + abs(zz)))
        elif body.joint.kind is JointKind.PRISMATIC:
            assert inertia.rotational == Inertia().rotational
        elif body.joint.kind is JointKind.SPHERICAL:
            assert inertia.mass == 0.0


def test_regrouping_twice_is_regrouping_once():
    once = regroup_inertias(load_urdf(path("iiwa14")))
    assert regroup_inertias(once) == once


def test_the_mass_ends_up_in_the_base():
    robot = load_urdf(path("iiwa14"))
    regrouped = regroup_inertias(robot)
    assert regrouped.unfelt.mass == pytest.approx(sum(body.inertia.mass for body in robot.bodies))
    assert regrouped.base_inertia == robot.base_inertia
    assert all(body.inertia.mass == 0.0 for body in regrouped.bodies)


@pytest.mark.parametrize("kind", [JointKind.PLANAR, JointKind.FLOATING])
def test_planar_and_floating_bodies_keep_their_inertia(kind):
    robot = mechanism([kind], [-1], seed=1, axis=(0.0, 0.0, 1.0))
    assert regroup_inertias(robot) == robot
