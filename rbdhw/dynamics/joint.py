"""What a one-degree-of-freedom joint about or along its own z axis does to frames.

Every robot here has been through ``align_axes``: a joint's axis is z of its body frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdhw.robot.model import Joint, Robot
from rbdhw.scalar import Scalar


@dataclass(frozen=True)
class Coordinate:
    """A joint's configuration, offset included.

    ``cos`` and ``sin`` of the turn about z (1.0 and 0.0 for a prismatic joint), and the ``shift``
    along z in metres (0.0 for a revolute joint).
    """

    cos: Scalar = 1.0
    sin: Scalar = 0.0
    shift: Scalar = 0.0


def coordinate(joint: Joint, q: Scalar) -> Coordinate:
    """The coordinate of a joint whose ``q`` (rad or m) is a float or an array."""
    position = q + joint.offset
    if joint.kind.rotates:
        return Coordinate(cos=np.cos(position), sin=np.sin(position))
    return Coordinate(shift=position)


def coordinates(robot: Robot, q: Sequence[Scalar]) -> list[Coordinate]:
    """The coordinates of all joints for numeric ``q``, in the order of the bodies."""
    return [coordinate(body.joint, value) for body, value in zip(robot.bodies, q, strict=True)]


def turns(angle: float) -> float:
    """An angle in radians as a fraction of a full turn."""
    return angle / (2.0 * math.pi)
