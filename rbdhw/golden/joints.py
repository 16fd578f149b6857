"""Motion across one joint: the transform and the motion subspace of each kind of joint.

The motion subspace of every joint except the universal one is constant in the frame of the body it moves. A
universal joint is modelled as two revolute joints with a massless body between them.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, section 4.4.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdhw.golden.spatial import Array, skew, transform
from rbdhw.robot.model import Joint, JointKind, Placement
from rbdhw.robot.spatial import turn_onto_z


def constant_parts(joint: Joint) -> tuple[Joint, ...]:
    """Return the joints, parent side first, that compose ``joint``; each has a constant motion subspace."""
    if joint.kind is not JointKind.UNIVERSAL:
        return (joint,)
    first = replace(joint, kind=JointKind.REVOLUTE)
    return (first, replace(first, axis=joint.second_axis, placement=Placement()))


def motion_subspace(joint: Joint) -> Array:
    """Return S (6, nv_i), which maps the joint's velocity coordinates to its motion, in the body frame."""
    axis, still, unit = np.array(joint.axis), np.zeros(3), list(np.eye(3))
    x, y, _ = _axes(joint)
    turn, shift = (axis, still), (still, axis)
    columns = {
        JointKind.REVOLUTE: [turn],
        JointKind.CONTINUOUS: [turn],
        JointKind.PRISMATIC: [shift],
        JointKind.HELICAL: [(axis, joint.pitch * axis)],
        JointKind.CYLINDRICAL: [turn, shift],
        JointKind.TRANSLATION: [(still, e) for e in unit],
        JointKind.PLANAR: [(still, x), (still, y), turn],
        JointKind.SPHERICAL: [(e, still) for e in unit],
        JointKind.FLOATING: [(still, e) for e in unit] + [(e, still) for e in unit],
    }
    return np.stack([np.concatenate(column) for column in columns[joint.kind]], axis=1)


def joint_transform(joint: Joint, q: Array) -> Array:
    """Return X_J (N, 6, 6), across the joint alone, at coordinates ``q`` (N, nq_i) that include offsets."""
    axis, still, level = np.array(joint.axis), np.zeros(3), np.eye(3)
    match joint.kind:
        case JointKind.REVOLUTE | JointKind.CONTINUOUS:
            return transform(_turn(axis, q), still)
        case JointKind.PRISMATIC:
            return transform(level, q * axis)
        case JointKind.HELICAL:
            return transform(_turn(axis, q), q * joint.pitch * axis)
        case JointKind.CYLINDRICAL:
            return transform(_turn(axis, q[:, :1]), q[:, 1:] * axis)
        case JointKind.TRANSLATION:
            return transform(level, q)
        case JointKind.PLANAR:
            x, y, _ = _axes(joint)
            return transform(_turn(axis, q[:, 2:]), q[:, :1] * x + q[:, 1:2] * y)
        case JointKind.SPHERICAL:
            return transform(_quaternion_turn(q), still)
        case JointKind.FLOATING:
            return transform(_quaternion_turn(q[:, 3:]), q[:, :3])
    raise ValueError(f"{joint.kind} joints have no constant motion subspace")


def _axes(joint: Joint) -> Array:
    """Return the x, y and z axes (rows) of a frame whose z is the joint's axis, in the body's frame."""
    return np.array(turn_onto_z(joint.axis)).T


def _turn(axis: Array, angle: Array) -> Array:
    """Return the transform E (N, 3, 3) into the frame rotated about ``axis`` by ``angle`` (N, 1)."""
    K, angle = skew(axis), angle[..., np.newaxis]
    turned: Array = np.eye(3) - np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return turned


def _quaternion_turn(quaternion: Array) -> Array:
    """Return the transform E (N, 3, 3) into the frame rotated by a unit quaternion ``[x y z w]``."""
    K, w = skew(quaternion[:, :3]), quaternion[:, 3, np.newaxis, np.newaxis]
    turned: Array = np.eye(3) - 2 * w * K + 2 * K @ K
    return turned
