"""Joints of several degrees of freedom, of which a displacement is no difference of coordinates."""

from __future__ import annotations

from typing import NamedTuple

from rbdhw.robot.model import Joint, JointKind, Robot


class WideJoint(NamedTuple):
    """Such a joint, with the slices of the configuration and of the velocity that are its own."""

    joint: Joint
    span: slice
    rates: slice

    @property
    def coordinates(self) -> range:
        """The coordinates of the tangent space."""
        return range(self.rates.start, self.rates.stop)

    @property
    def position(self) -> range:
        """The elements of the configuration that are a position, before those of a quaternion."""
        return range(self.span.start, self.quaternion.start)

    @property
    def quaternion(self) -> range:
        """The elements of the configuration that are a quaternion, the last ones of a joint that has some."""
        elements = range(self.span.start, self.span.stop)
        return elements[len(elements) :] if self.joint.kind.quaternion is None else elements[-4:]


def wide_joints(robot: Robot) -> list[WideJoint]:
    """Return the joints of several degrees of freedom."""
    rows = zip(robot.bodies, robot.q_of, robot.v_of, strict=True)
    return [WideJoint(body.joint, span, rates) for body, span, rates in rows if _is_wide(body.joint)]


def floating_coordinates(robot: Robot) -> list[int]:
    """Return the velocity coordinates of floating joints, which nothing drives."""
    floating = (each for each in wide_joints(robot) if each.joint.kind is JointKind.FLOATING)
    return [i for each in floating for i in each.coordinates]


def driven_coordinates(robot: Robot) -> list[int]:
    """Return the velocity coordinates of all other joints, whose forces may change."""
    floating = floating_coordinates(robot)
    return [i for i in range(robot.nv) if i not in floating]


def _is_wide(joint: Joint) -> bool:
    return joint.mimic is None and (joint.kind.quaternion is not None or joint.kind is JointKind.PLANAR)
