"""Robots of whose frames rollouts and solutions have costs."""

from dataclasses import replace

from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.floating_robots import shoulder, two_legs
from tests.support.mechanisms import mechanism


def tracking(robot: Robot, *names: str) -> Robot:
    """Return a robot whose steps in time give the positions of these frames."""
    return replace(choose_frames(robot, names, "local"), tracks=True)


def two_frames():
    """Return the toy, whose frames stay in a plane."""
    return tracking(load_urdf(path("toy")), "tip", "forearm@0.1:0:0.1")


def arm():
    return tracking(mechanism([JointKind.REVOLUTE] * 3, [-1, 0, 1], 5), "b2@0.1:0.2:0.3", "b1")


def ball():
    return tracking(shoulder(), "b1@0.1:0.2:0.3")


def legs():
    return tracking(two_legs(), "b1@0.1:0.2:0.3", "b0")
