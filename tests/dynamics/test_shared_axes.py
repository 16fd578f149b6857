"""Axes that bodies on parallel joints share: who can, and equal results in them."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.dynamics.joint import coordinates
from rbdhw.dynamics.rnea import rnea
from rbdhw.dynamics.shared_axes import Configuration, can_share_axes, share_axes
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, JointKind, Placement
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import ONE_DOF, mechanism, with_parallel_joints
from tests.support.strategies import random_states
from tests.support.wrenches import wrenches

Z = (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("hyq", (False, True, True) * 4), ("toy", (True, True)), ("iiwa14", (False,) * 6 + (True,))],
)
def test_bodies_that_can_share_axes(name, expected):
    assert can_share_axes(align_axes(load_urdf(path(name)))) == expected


def test_every_joint_on_a_body_must_be_revolute_and_parallel():
    revolute, prismatic = JointKind.REVOLUTE, JointKind.PRISMATIC
    kinds, parents = [revolute, revolute, revolute, prismatic, revolute], (BASE, 0, 0, 1, 3)
    robot = with_parallel_joints(mechanism(kinds, parents, 1, Z), (0, 1, 2, 3, 4))
    assert can_share_axes(robot) == (True, False, True, False, True)


def test_almost_parallel_joints_do_not_share():
    robot = with_parallel_joints(mechanism([JointKind.REVOLUTE] * 2, (BASE, 0), 1, Z), (1,))
    x, y, z = robot.bodies[1].joint.placement.rotation
    tilted = (x[0], x[1], 1e-12), y, z
    joint = replace(robot.bodies[1].joint, placement=Placement(tilted))
    assert can_share_axes(robot) == (True, True)
    bodies = (robot.bodies[0], replace(robot.bodies[1], joint=joint))
    assert can_share_axes(robot.with_bodies(bodies)) == (False, True)


@pytest.mark.parametrize("turned", [(1,), (1, 2), (2, 4), (1, 2, 3, 4)], ids=str)
def test_inverse_dynamics_is_the_same(turned):
    """Joints on parallel and on opposite axes, several on a body, with external forces."""
    robot = with_parallel_joints(mechanism([JointKind.REVOLUTE] * 5, (BASE, 0, 1, 1, 3), 2, Z), turned)
    states = random_states(robot, 4, 3)
    q, v, a = (states[name].T for name in ("q", "v", "a"))
    given = Configuration(robot, coordinates(robot, q), wrenches(states["fext"]))
    moved = share_axes(given)
    assert moved.robot != robot
    expected = rnea(robot, given.coordinates, v, a, given.fext)
    np.testing.assert_allclose(rnea(moved.robot, moved.coordinates, v, a, moved.fext), expected, rtol=1e-12)


def test_bodies_that_cannot_share_stay():
    robot = align_axes(mechanism([ONE_DOF[0], JointKind.SPHERICAL], (BASE, 0), 5))
    given = Configuration(robot, coordinates(robot, random_states(robot, 1, 1)["q"].T), {})
    assert share_axes(given) == given
