"""A loop of links: two points that a joint holds together, as rows beside those of contacts.

All is seen from the nearest body that carries both points, along its axes. What moves this body moves both
points alike, so the rows have entries for the joints between alone, and no force of a loop reaches further.
The rows say how the first point moves against the second: ``J = J_1 - J_2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rbdhw.dynamics.kinematics import FrameMotion, frame_motion
from rbdhw.dynamics.spatial import Vector, add, apply, cross, dot, scale, subtract
from rbdhw.frontend.setting import Setting
from rbdhw.graph.trace import Signal
from rbdhw.robot.link_frames import BodyFrame, closing_frame
from rbdhw.robot.model import BASE, Contact
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]


class Loop:
    """A loop of a task. ``present`` is whether the task has it, ``frame`` carries the first point."""

    def __init__(self, setting: Setting, contact: Contact, present: Signal, frame: BodyFrame) -> None:
        self._setting, self.contact, self.present, self.frame = setting, contact, present, frame
        self._frames = frame, closing_frame(setting.robot, contact)
        self._rests = self._motions(setting.zeros)

    def _motions(self, a: Sequence[Scalar]) -> tuple[FrameMotion, FrameMotion]:
        """Return the motions of both frames at accelerations of all degrees of freedom."""
        robot, poses, v = self._setting.robot, self._setting.task.poses, self._setting.v
        one, other = (
            frame_motion(robot, frame, poses, v, a, in_world=True, along_frame=False, root=self._root)
            for frame in self._frames
        )
        return one, other

    @property
    def reaches_world(self) -> bool:
        """Whether no body carries both points: a floating robot is then held to the world."""
        return self._root == BASE

    @cached_property
    def _root(self) -> int:
        """The nearest body that carries both points, or the base."""
        one, other = (self._setting.robot.path(frame.body) for frame in self._frames)
        return next((body for body in one if body in other), BASE)

    @property
    def jacobian(self) -> Matrix:
        """The rows (3, degrees of freedom)."""
        one, other = (motion.jacobian[:3] for motion in self._rests)
        with region("contact_motion", self.frame.body):
            return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]

    @property
    def axes(self) -> Matrix:
        """The axes (3, degrees of freedom) about which the first frame turns."""
        return self._rests[0].jacobian[3:]

    @cached_property
    def velocity(self) -> list[Scalar]:
        """The velocity of the first point against the second."""
        one, other = map(_linear, (motion.velocity for motion in self._rests))
        return [*subtract(one, other)]

    @cached_property
    def gap(self) -> Vector:
        """The position of the first point against the second."""
        return subtract(*(_column(motion.placement, 3) for motion in self._rests))

    @property
    def wanted(self) -> Vector:
        """What forces have to add to the acceleration of the rows by the joints."""
        _, velocity_gain, position_gain = self._setting.task.holding
        one, other = map(_acceleration, self._rests)
        x, y, z = self.velocity
        errors = scale(velocity_gain, (x, y, z)), scale(position_gain, self.gap)
        return scale(-1.0, add(subtract(one, other), *errors))

    def in_frame(self, vector: Vector) -> Vector:
        """Return a vector in the axes of the first frame."""
        x, y, z = (_column(self._rests[0].placement, k) for k in range(3))
        return apply((x, y, z), vector)

    def residual(self, a: Sequence[Scalar]) -> tuple[Matrix, Matrix]:
        """Return the derivatives (3, degrees of freedom) of the residual by position and by velocity."""
        one, other = map(self._point_columns, self._motions(a))
        by_position, by_velocity = (
            [list(row) for row in zip(*map(subtract, *columns), strict=True)]
            for columns in zip(one, other, strict=True)
        )
        return by_position, by_velocity

    def _point_columns(self, motion: FrameMotion) -> tuple[list[Vector], list[Vector]]:
        """Return the derivatives of a point's part of the residual, a vector for each degree of freedom.

        Those of ``motion`` hold the point of space at which twists are taken; this one moves with its body.
        """
        _, velocity_gain, position_gain = self._setting.task.holding
        velocity, rate = _linear(motion.velocity), _angular(motion.velocity)
        turning = _angular(motion.acceleration)
        moved, pushed = [], []
        arrays = (
            motion.jacobian,
            motion.velocity_by_position,
            motion.acceleration_by_position,
            motion.acceleration_by_velocity,
        )
        for axis, dv, da, da_dv in zip(*(zip(*array, strict=True) for array in arrays), strict=True):
            shift = _linear(axis)
            change = add(_linear(dv), cross(rate, shift))
            bent = add(_linear(da), cross(turning, shift), cross(_angular(dv), velocity), cross(rate, change))
            errors = scale(velocity_gain, change), scale(position_gain, shift)
            moved.append(add(bent, *errors))
            bent = add(_linear(da_dv), cross(_angular(axis), velocity), cross(rate, shift))
            pushed.append(add(bent, scale(velocity_gain, shift)))
        return moved, pushed

    def bent(self, force: Vector) -> Matrix:
        """Return the derivatives by position (all degrees of freedom, the same) of ``J^T`` times a force."""
        one, other = (self._bent_point(motion, force) for motion in self._rests)
        return [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(one, other, strict=True)]

    def _bent_point(self, motion: FrameMotion, force: Vector) -> Matrix:
        """Return the same of one point: a degree of freedom turns the axes that are further from the root."""
        columns = list(zip(*motion.jacobian, strict=True))
        joint_of = self._joint_of
        return [
            [
                dot(force, cross(_angular(turning), _linear(pushed)))
                if joint_of[k] <= joint_of[j]
                else dot(force, cross(_angular(pushed), _linear(turning)))
                for k, turning in enumerate(columns)
            ]
            for j, pushed in enumerate(columns)
        ]

    @property
    def _joint_of(self) -> list[int]:
        """The body that each degree of freedom moves."""
        bodies = self._setting.robot.bodies
        return [i for i, body in enumerate(bodies) for _ in range(body.joint.kind.nv)]


def _column(rows: Matrix, k: int) -> Vector:
    return rows[0][k], rows[1][k], rows[2][k]


def _linear(twist: Sequence[Scalar]) -> Vector:
    return twist[0], twist[1], twist[2]


def _angular(twist: Sequence[Scalar]) -> Vector:
    return twist[3], twist[4], twist[5]


def _acceleration(motion: FrameMotion) -> Vector:
    """Return the acceleration of the point that moves with a frame."""
    rate = _angular(motion.velocity)
    return add(_linear(motion.acceleration), cross(rate, _linear(motion.velocity)))
