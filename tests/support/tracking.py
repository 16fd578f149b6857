"""Robots of whose frames rollouts have costs."""

from dataclasses import replace

from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.model import Robot


def tracking(robot: Robot, *names: str) -> Robot:
    """Return a robot whose steps in time give the positions of these frames."""
    return replace(choose_frames(robot, names, "local"), tracks=True)
