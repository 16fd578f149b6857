"""Convert the user's arrays of a floating robot to those of the same robot with another root.

The coordinates of the base then belong to another link, and the order of the joints may differ. The motion of
the new base is that of the old base plus that of the joints between the two. Forces follow because power is
the same (Featherstone, *Rigid Body Dynamics Algorithms*, sections 2.8, 2.9 and 4.4). Motions are
``[linear; angular]`` in the base link's frame, like a floating joint's. The first axis of arrays is the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from rbdhw.errors import InputError
from rbdhw.robot.model import Joint, JointKind, Placement, Robot
from rbdhw.robot.reroot import reroot
from rbdhw.robot.spatial import compose, inverse

Array = npt.NDArray[np.floating]
Pose = tuple[Array, Array]
"""Positions (N, 3) and unit quaternions ``[x y z w]`` (N, 4) of a frame in another."""


@dataclass(frozen=True)
class Rebase:
    """The conversion of arrays of ``source`` to arrays of ``target``, the same robot with another root.

    Either robot may be the result of :func:`rbdhw.robot.reroot.reroot`. Raises InputError if the root of
    ``target`` cannot be the root of ``source``, or the two robots have different joints.
    """

    source: Robot
    target: Robot

    def __post_init__(self) -> None:
        rerooted = reroot(self.source, self.target.bodies[0].name)
        if not self.target.floats or sorted(rerooted.joints) != sorted(self.target.joints):
            reason = f"robots {self.source.name!r} and {self.target.name!r} differ in more than their root"
            expected = f"a floating base and joints {', '.join(rerooted.joints)} in both"
            raise InputError("root", reason, expected)

    def configuration(self, q: Array) -> Array:
        """Return ``q`` (N, nq) of the target.

        The quaternion has unit length, whatever the length of the source's. Along a trajectory it does not
        change sign if the source's quaternion does not and the joints are continuous.
        """
        q = np.asarray(q, dtype=np.float64)
        world = compose(inverse(self.target.bodies[0].joint.placement), self.source.bodies[0].joint.placement)
        length = np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        pose = _compose(_pose(world), (q[:, :3], q[:, 3:7] / length))
        for step in self._steps(q):
            pose = _compose(pose, step.pose)
        joints = _gather(self.source, self.target, self.source.q_of)[7:]
        return np.hstack([*pose, q[:, joints]])

    def velocity(self, q: Array, v: Array) -> Array:
        """Return ``v`` (N, nv) of the target."""
        return _times(self.jacobian(q), np.asarray(v, dtype=np.float64))

    def acceleration(self, q: Array, v: Array, a: Array) -> Array:
        """Return ``a`` (N, nv) of the target, the time derivative of its ``v``."""
        v = np.asarray(v, dtype=np.float64)
        velocity, drift = v[:, :6], np.zeros((len(v), 6))
        for step in self._steps(q):
            joint_velocity = v[:, step.driver] @ step.S.T
            velocity = _times(step.X, velocity) + joint_velocity
            # What velocities cause of the acceleration: each axis moves with its body, which adds v x S qd.
            drift = _times(step.X, drift) + _times(_motion_cross(velocity), joint_velocity)
        moved = _times(self.jacobian(q), np.asarray(a, dtype=np.float64))
        moved[:, :6] += drift
        return moved

    def force(self, q: Array, tau: Array) -> Array:
        """Return ``tau`` (N, nv) of the target, which has the same power.

        If the force on the source's base is zero, so is the force on the target's base, and the other
        entries of ``tau`` keep their values.
        """
        back = np.linalg.inv(self.jacobian(q)).swapaxes(1, 2)
        return _times(back, np.asarray(tau, dtype=np.float64))

    def jacobian(self, q: Array) -> Array:
        """Return J (N, nv, nv), with ``v_target = J v_source`` and ``tau_source = J^T tau_target``."""
        q = np.asarray(q, dtype=np.float64)
        unit = np.eye(self.source.nv)
        base = np.broadcast_to(unit[:6], (len(q), 6, self.source.nv))
        for step in self._steps(q):
            base = step.X @ base
            base[:, :, step.driver] += step.S
        joints = unit[_gather(self.source, self.target, self.source.v_of)[6:]]
        return np.concatenate([base, np.broadcast_to(joints, (len(q), *joints.shape))], axis=1)

    def _steps(self, q: Array) -> list[_Step]:
        """Return the steps from the source's base to the target's: one per joint, then the link frame."""
        source, root = self.source, self.target.bodies[0]
        (end,) = (i for i, body in enumerate(source.bodies) if body.name == root.name)
        steps = []
        for i in source.path(end)[-2::-1]:
            joint, driver = source.bodies[i].joint, source.v_of[i]
            ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
            pose = _across(joint, ratio * q[:, source.q_of[i]] + offset)
            steps.append(_Step(pose, _transform(pose), ratio * _subspace(joint), driver))
        frame = _pose(compose(source.bodies[end].link_frame, inverse(root.link_frame)), len(q))
        return [*steps, _Step(frame, _transform(frame), np.zeros((6, 0)), slice(0, 0))]


@dataclass(frozen=True)
class _Step:
    """One step from a frame to the next: its pose, the motion transform into it, and its joint's motion.

    The joint's motion is ``S v[driver]``, with S (6, k).
    """

    pose: Pose
    X: Array
    S: Array
    driver: slice


def _gather(source: Robot, target: Robot, spans: Sequence[slice]) -> list[int]:
    """Return the indices of the target's joint coordinates among the source's; ``spans`` are by body."""
    span = {body.joint.name: columns for body, columns in zip(source.bodies, spans, strict=True)}
    return [k for name in target.joints for k in range(span[name].start, span[name].stop)]


def _weights(joint: Joint) -> tuple[Array, Array]:
    """Return the rotation about and the translation along the axis for each of the joint's coordinates."""
    match joint.kind:
        case JointKind.PRISMATIC:
            return np.array([0.0]), np.array([1.0])
        case JointKind.HELICAL:
            return np.array([1.0]), np.array([joint.pitch])
        case JointKind.CYLINDRICAL:
            return np.array([1.0, 0.0]), np.array([0.0, 1.0])
    return np.array([1.0]), np.array([0.0])


def _subspace(joint: Joint) -> Array:
    """Return the joint's motion subspace (6, nv), in the frame of its body."""
    turns, shifts = _weights(joint)
    return np.vstack([np.outer(joint.axis, shifts), np.outer(joint.axis, turns)])


def _across(joint: Joint, q: Array) -> Pose:
    """Return the pose of the joint's body in its parent, at the user's coordinates ``q`` (N, nv)."""
    turns, shifts = _weights(joint)
    q = q + joint.offset
    half = 0.5 * (q @ turns)[:, np.newaxis]
    axis = np.array(joint.axis)
    attitude = np.hstack([np.sin(half) * axis, np.cos(half)])
    return _compose(_pose(joint.placement, len(q)), ((q @ shifts)[:, np.newaxis] * axis, attitude))


def _pose(placement: Placement, tasks: int = 1) -> Pose:
    """Return ``placement`` for each task; the largest element of the quaternion is positive."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = placement.rotation
    products = np.array(  # four times each product of two elements of the quaternion
        [
            [1 + xx - yy - zz, xy + yx, xz + zx, zy - yz],
            [xy + yx, 1 - xx + yy - zz, yz + zy, xz - zx],
            [xz + zx, yz + zy, 1 - xx - yy + zz, yx - xy],
            [zy - yz, xz - zx, yx - xy, 1 + xx + yy + zz],
        ]
    )
    largest = int(np.argmax(np.diagonal(products)))
    attitude = products[largest] / (2.0 * sqrt(products[largest, largest]))
    return np.tile(placement.translation, (tasks, 1)), np.tile(attitude, (tasks, 1))


def _compose(outer: Pose, inner: Pose) -> Pose:
    """Return the pose of ``inner``'s frame in the frame in which ``outer`` is given."""
    (position, attitude), (shift, turn) = outer, inner
    x, w, y, u = attitude[:, :3], attitude[:, 3:], turn[:, :3], turn[:, 3:]
    vector = w * y + u * x + np.cross(x, y)
    scalar = w * u - np.sum(x * y, axis=1, keepdims=True)
    return position + _times(_rotation(attitude), shift), np.hstack([vector, scalar])


def _rotation(attitude: Array) -> Array:
    """Return the rotation matrices (N, 3, 3) of unit quaternions (N, 4); columns are the rotated axes."""
    K, w = _skew(attitude[:, :3]), attitude[:, 3, np.newaxis, np.newaxis]
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def _transform(pose: Pose) -> Array:
    """Return X (N, 6, 6), which transforms a motion ``[linear; angular]`` into the frame at ``pose``."""
    back = _rotation(pose[1]).swapaxes(1, 2)
    return _blocks(back, -back @ _skew(pose[0]))


def _motion_cross(motion: Array) -> Array:
    """Return the cross-product operators ``m x`` (N, 6, 6) on motions, for the motions ``m`` (N, 6)."""
    return _blocks(_skew(motion[:, 3:]), _skew(motion[:, :3]))


def _blocks(diagonal: Array, upper: Array) -> Array:
    """Return the matrices (N, 6, 6) with ``diagonal`` twice on the diagonal and ``upper`` above it."""
    return np.block([[diagonal, upper], [np.zeros_like(upper), diagonal]])


def _skew(r: Array) -> Array:
    """Return the matrices ``r x`` (N, 3, 3) of 3-vectors (N, 3)."""
    return np.cross(r[:, np.newaxis, :], np.eye(3)).swapaxes(1, 2)


def _times(matrices: Array, vectors: Array) -> Array:
    """Return each matrix (N, n, m) times its vector (N, m)."""
    return (matrices @ vectors[..., np.newaxis])[..., 0]
