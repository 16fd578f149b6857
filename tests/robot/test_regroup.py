"""Inertial regrouping: what it zeroes, and that joints do not feel it."""

import pinocchio as pin
import pytest
from hypothesis import given, settings

from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Inertia
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled, path
from tests.oracle import pinocchio_model, rnea, to_pinocchio_fext
from tests.robot.invariance import assert_close, assert_same_dynamics
from tests.strategies import random_states, robots


@pytest.mark.parametrize("name", bundled())
def test_joints_of_the_bundled_robots_do_not_feel_it(name):
    robot = load_urdf(path(name))
    assert_same_dynamics(robot, regroup_inertias(align_axes(robot)))


@pytest.mark.parametrize("name", ["toy", "hyq"])
def test_nor_on_a_floating_base(name):
    robot = align_axes(load_urdf(path(name))).with_floating_base()
    assert_same_dynamics(robot, regroup_inertias(robot))


@settings(max_examples=25)
@given(robots(max_bodies=6))
def test_joints_of_any_robot_do_not_feel_it(robot):
    assert_same_dynamics(robot, regroup_inertias(align_axes(robot)), tasks=1)


@given(robots(max_bodies=6))
def test_what_a_joint_cannot_feel_is_zero(robot):
    for body in regroup_inertias(align_axes(robot)).bodies:
        inertia = body.inertia
        if body.joint.kind.rotates:
            xx, _, _, yy, _, zz = inertia.rotational
            assert (inertia.mass, inertia.first_moment[2]) == (0.0, 0.0)
            assert xx + yy == pytest.approx(zz, abs=1e-12 * (abs(xx) + abs(yy) + abs(zz)))
        else:
            assert inertia.rotational == Inertia().rotational


def test_regrouping_twice_is_regrouping_once():
    once = regroup_inertias(load_urdf(path("iiwa14")))
    assert regroup_inertias(once) == once


def test_the_mass_ends_up_in_the_base():
    robot = load_urdf(path("iiwa14"))
    regrouped = regroup_inertias(robot)
    assert regrouped.base_inertia.mass == pytest.approx(30.61)
    assert all(body.inertia.mass == 0.0 for body in regrouped.bodies)


def test_the_reference_of_these_tests_is_pinocchio():
    robot = load_urdf(path("atlas"))
    states = random_states(robot, 1, seed=5)
    q, v, a, fext = (states[key][0] for key in ("q", "v", "a", "fext"))
    model = pinocchio_model(robot)
    expected = pin.rnea(model, model.createData(), q, v, a, to_pinocchio_fext(robot, fext))
    assert_close(rnea(robot, q, v, a, fext), expected)
