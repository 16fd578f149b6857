"""Joint kinematics: the pose of a body at its joint's coordinates, and its motion at the joint's velocities.

All robots here are elementary (:mod:`rbdhw.robot.elementary`) and processed by ``align_axes``: a joint of one
degree of freedom rotates about or slides along z of its body frame, a planar one rotates about z, and only
the first body may float. Velocities and forces are numbered over *all* joints, including mimics: these are
the robot's degrees of freedom before its couplings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rbdhw.dynamics.spatial import (
    ZERO,
    Tensor,
    Vector,
    apply,
    rotate_into,
    rotate_out_of,
    tensor_out_of_axes,
    tensor_out_of_rotated,
    transpose_tensor,
)
from rbdhw.robot.model import BASE, Joint, JointKind, Robot
from rbdhw.scalar import Scalar

Direction = tuple[bool, int]
"""A degree of freedom in its body frame: whether it is a rotation, and the index of its axis."""

_FREE: tuple[Direction, ...] = ((False, 0), (False, 1), (False, 2), (True, 0), (True, 1), (True, 2))

_DIRECTIONS: dict[JointKind, tuple[Direction, ...]] = {
    JointKind.REVOLUTE: ((True, 2),),
    JointKind.CONTINUOUS: ((True, 2),),
    JointKind.PRISMATIC: ((False, 2),),
    JointKind.PLANAR: ((False, 0), (False, 1), (True, 2)),
    JointKind.SPHERICAL: ((True, 0), (True, 1), (True, 2)),
    JointKind.FLOATING: _FREE,
}


@dataclass(frozen=True)
class Coordinate:
    """A joint's configuration, including its offset: a translation in the joint's frame, then a rotation.

    ``shift`` is in metres. The rotation is given by ``cos`` and ``sin`` of an angle about z or by
    ``attitude``, whose columns are the axes of the joint's frame in coordinates of the body's.
    """

    cos: Scalar = 1.0
    sin: Scalar = 0.0
    shift: Vector = ZERO
    attitude: Tensor | None = None

    def into(self, a: Vector) -> Vector:
        """Transform ``a`` from the joint's frame to the body's axes."""
        if self.attitude is not None:
            return apply(self.attitude, a)
        return rotate_into(self.cos, self.sin, a)

    def out_of(self, a: Vector) -> Vector:
        """Transform ``a`` from the body's axes to the joint's frame."""
        if self.attitude is not None:
            return apply(transpose_tensor(self.attitude), a)
        return rotate_out_of(self.cos, self.sin, a)

    def tensor_out_of(self, tensor: Tensor) -> Tensor:
        """Transform a tensor from the body's axes to the joint's frame."""
        if self.attitude is not None:
            return tensor_out_of_axes(self.attitude, tensor)
        return tensor_out_of_rotated(self.cos, self.sin, tensor)


def directions(joint: Joint) -> tuple[Direction, ...]:
    """Return the joint's degrees of freedom."""
    return _DIRECTIONS[joint.kind]


def dofs(robot: Robot) -> list[slice]:
    """Return for each body the slice of its joint among all degrees of freedom."""
    spans, start = [], 0
    for body in robot.bodies:
        stop = start + body.joint.kind.nv
        spans.append(slice(start, stop))
        start = stop
    return spans


def inward(robot: Robot) -> Iterator[tuple[int, int]]:
    """Yield each body that hangs from another with its parent, the leaves first."""
    return ((i, body.parent) for i, body in reversed([*enumerate(robot.bodies)]) if body.parent != BASE)


def rates(joint: Joint, velocities: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """Return the angular and linear part, in the body's axes, of the motion at the joint's velocities."""
    parts: tuple[list[Scalar], list[Scalar]] = ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    for (turns, k), rate in zip(directions(joint), velocities, strict=True):
        parts[0 if turns else 1][k] = rate
    (x, y, z), (u, v, w) = parts
    return (x, y, z), (u, v, w)


def attitude(quaternion: Sequence[Scalar], shrink: Scalar) -> Tensor:
    """Return :attr:`Coordinate.attitude` for ``[x y z w]``; ``shrink`` is one over its squared length."""
    x, y, z, w = quaternion
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    rows: Tensor = (
        ((xx - yy) + (ww - zz), 2.0 * (xy + wz), 2.0 * (xz - wy)),
        (2.0 * (xy - wz), (yy - xx) + (ww - zz), 2.0 * (yz + wx)),
        (2.0 * (xz + wy), 2.0 * (yz - wx), (zz - xx) + (ww - yy)),
    )
    a, b, c = ((shrink * row[0], shrink * row[1], shrink * row[2]) for row in rows)
    return a, b, c


def coordinate(joint: Joint, q: Sequence[Scalar]) -> Coordinate:
    """Return the coordinate of a joint from its own ``q`` (rad, m, quaternion) in floats or arrays."""
    if joint.kind.quaternion is not None:
        quaternion = q[joint.kind.quaternion]
        shrink = 1.0 / sum(part * part for part in quaternion)
        return Coordinate(attitude=attitude(quaternion, shrink))
    if joint.kind is JointKind.PLANAR:
        return Coordinate(np.cos(q[2]), np.sin(q[2]), (q[0], q[1], 0.0))
    factor, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
    position = factor * q[0] + (offset + joint.offset)
    if joint.kind.rotates:
        return Coordinate(cos=np.cos(position), sin=np.sin(position))
    return Coordinate(shift=(0.0, 0.0, position))


def coordinates(robot: Robot, q: Sequence[Scalar]) -> list[Coordinate]:
    """Return the coordinates of all joints for numeric ``q`` (nq), in the order of the bodies."""
    return [
        coordinate(body.joint, q[columns]) for body, columns in zip(robot.bodies, robot.q_of, strict=True)
    ]


def turns(angle: float) -> float:
    """Convert an angle in radians to a fraction of a full turn."""
    return angle / (2.0 * math.pi)
