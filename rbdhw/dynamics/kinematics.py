"""Placement, Jacobian, velocity and acceleration of a frame, and their derivatives.

All vectors are in one set of axes, the frame's own or the world's, and the twists of a body are at its
origin. The columns of a frame ``f`` follow from the axis ``S`` of a degree of freedom, and from the velocity
``v`` and the spatial acceleration ``a`` of its body ``b``, of the parent ``p`` and of the frame::

    dS = v_p x S                        J      = S
    u  = v_f - v_p                      da_dv  = dS + S x (v_f - v_b)

    frame's axes    dv_dq = dS          da_dq  = a_p x S - u x dS
    world's axes    dv_dq = S x u       da_dq  = S x (a_f - a_p) + dS x u

Only at the end a column is moved to the frame's origin. Where joint axes intersect, bodies have a common
origin, and many of these products vanish. Derivatives by position are in the tangent space. They hold the
point at which twists are taken, as Pinocchio's do.

Source: Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms" (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.dynamics.joint import Coordinate, Direction, directions, dofs
from rbdhw.dynamics.spatial import (
    UNIT,
    ZERO,
    ZERO_TWIST,
    Tensor,
    Twist,
    Vector,
    add,
    add_twist,
    apply,
    cross,
    cross_twist,
    multiply,
    scale,
    scale_twist,
    transpose,
    transpose_tensor,
)
from rbdhw.robot.link_frames import BodyFrame
from rbdhw.robot.model import BASE, JointKind, Matrix3, Robot
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class FrameMotion:
    """The kinematics of a frame: twists ``[linear; angular]``, and columns for all degrees of freedom.

    ``placement`` has the rows of the homogeneous matrix of the frame's pose in the world.
    """

    placement: Matrix
    jacobian: Matrix
    velocity: list[Scalar]
    acceleration: list[Scalar]
    velocity_by_position: Matrix
    acceleration_by_position: Matrix
    acceleration_by_velocity: Matrix


@dataclass(frozen=True)
class _Axes:
    """The axes of all results, as rows: in the coordinates of a body, and of its joint's frame."""

    body: Tensor
    joint: Tensor


@dataclass(frozen=True)
class _Link:
    """A body on the way to the frame: its degrees of freedom among all, and its motion."""

    dofs: slice
    offset: Vector
    """From the parent's origin to the body's."""
    axes: list[Twist]
    """The axes ``S`` of the joint."""
    rates: list[Twist]
    """``dS``"""
    above: tuple[Twist, Twist]
    """Velocity and acceleration of the parent, at the body's origin."""
    share: tuple[Twist, Twist]
    """What the joint adds to them."""

    @property
    def motion(self) -> tuple[Twist, Twist]:
        """Velocity and acceleration of the body."""
        return add_twist(self.above[0], self.share[0]), add_twist(self.above[1], self.share[1])


def frame_motion(
    robot: Robot,
    frame: BodyFrame,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    base: tuple[Twist, Twist] = (ZERO_TWIST, ZERO_TWIST),
    in_world: bool = False,
    along_frame: bool | None = None,
    root: int = BASE,
) -> FrameMotion:
    """Return the kinematics of a frame.

    ``q`` has a coordinate for each body, in the order of ``robot.bodies``, that of a floating body with its
    pose; ``v`` and ``a`` have a number for each degree of freedom (rad/s, rad/s^2, m/s, m/s^2). ``base`` is
    velocity and spatial acceleration of the robot's base in its own axes, without gravity. Twists are in the
    frame's axes, or with ``in_world`` in the world's. Derivatives are those of a twist's numbers in these
    axes or, with ``along_frame``, of its numbers in the frame's axes, whichever they are given in. All is
    seen from the base, or from the body ``root`` on the way to it, whose axes are then the world's.
    """
    way = _Way(robot, frame, q, in_world, not in_world if along_frame is None else along_frame, root)
    links = way.links((v, a), base)
    with region("frame", frame.body):
        motion = links[frame.body].motion if frame.body != root else base
        twists = [_moved(twist, way.reaches[frame.body]) for twist in motion]
        placement = way.pose()
    columns = way.columns(links)
    return FrameMotion(placement, columns[0], _row(twists[0]), _row(twists[1]), *columns[1:])


class _Way:
    """The bodies from a root to a frame, the axes of all results, and the vectors between origins.

    ``offsets`` lead from the origin of a body's parent to its own, and ``reaches`` from the origin of each
    body, and from the base's, to the frame's.
    """

    def __init__(
        self,
        robot: Robot,
        frame: BodyFrame,
        q: Sequence[Coordinate],
        in_world: bool,
        along_frame: bool,
        root: int,
    ) -> None:
        self.robot, self.frame, self.q, self.root = robot, frame, q, root
        self.in_world, self.along_frame = in_world, along_frame
        self.bodies = robot.path(frame.body)[::-1][len(robot.path(root)) :]
        self.axes = self._world_axes() if in_world else self._frame_axes()
        self.offsets = {i: self._offset(i) for i in self.bodies}
        self.reaches = self._reaches()

    def _frame_axes(self) -> dict[int, _Axes]:
        """Return the frame's axes in the coordinates of each body, and of the base."""
        axes = {}
        rows: Tensor = transpose(self.frame.placement.rotation)
        for i in reversed(self.bodies):
            with region("frame", i):
                joint = _each(rows, self.q[i].out_of)
                axes[i] = _Axes(rows, joint)
                rows = _turned(joint, self.robot.bodies[i].joint.placement.rotation)
        return axes | {self.root: _Axes(rows, rows)}

    def _world_axes(self) -> dict[int, _Axes]:
        """Return the world's axes in the coordinates of each body, and of the base."""
        rows: Tensor = UNIT
        axes = {self.root: _Axes(rows, rows)}
        for i in self.bodies:
            with region("frame", i):
                joint = _turned(rows, transpose(self.robot.bodies[i].joint.placement.rotation))
                rows = _each(joint, self.q[i].into)
                axes[i] = _Axes(rows, joint)
        return axes

    def _offset(self, i: int) -> Vector:
        body = self.robot.bodies[i]
        with region("frame", i):
            fixed = apply(self.axes[body.parent].body, body.joint.placement.translation)
            return add(fixed, apply(self.axes[i].joint, self.q[i].shift))

    def _reaches(self) -> dict[int, Vector]:
        frame = self.frame
        with region("frame", frame.body):
            reaches = {frame.body: apply(self.axes[frame.body].body, frame.placement.translation)}
        for i in reversed(self.bodies):
            with region("frame", i):
                reaches[self.robot.bodies[i].parent] = add(reaches[i], self.offsets[i])
        return reaches

    def links(
        self, rates: tuple[Sequence[Scalar], Sequence[Scalar]], base: tuple[Twist, Twist]
    ) -> dict[int, _Link]:
        """Return the bodies with their motions; ``rates`` are velocities and accelerations."""
        spans = dofs(self.robot)
        links: dict[int, _Link] = {}
        with region("base"):
            root = self.axes[self.root].body
            velocity, acceleration = ((apply(root, angular), apply(root, linear)) for angular, linear in base)
        for i in self.bodies:
            with region("frame", i):
                offset, joint = self.offsets[i], self.robot.bodies[i].joint
                v, a = (quantity[spans[i]] for quantity in rates)
                above = _moved(velocity, offset), _moved(acceleration, offset)
                axes = [_axis(self.axes[i].body, direction) for direction in directions(joint)]
                turned = [cross_twist(above[0], axis) for axis in axes]
                share = (
                    add_twist(*map(scale_twist, v, axes)),
                    add_twist(*map(scale_twist, a, axes), *map(scale_twist, v, turned)),
                )
                links[i] = _Link(spans[i], offset, axes, turned, above, share)
                velocity, acceleration = links[i].motion
        return links

    def columns(self, links: Mapping[int, _Link]) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Return the Jacobian, ``dv_dq``, ``da_dq`` and ``da_dv``: six rows each."""
        n = dofs(self.robot)[-1].stop
        matrices: tuple[Matrix, ...] = tuple([[0.0] * n for _ in range(6)] for _ in range(4))
        beyond = ZERO_TWIST, ZERO_TWIST  # the frame's motion relative to the body
        for i in reversed(self.bodies):
            with region("frame", i):
                link = links[i]
                past = add_twist(beyond[0], link.share[0]), add_twist(beyond[1], link.share[1])
                for k, axis, rate in zip(range(n)[link.dofs], link.axes, link.rates, strict=True):
                    if not self.along_frame:
                        moved = cross_twist(axis, past[0])
                        bent = add_twist(cross_twist(axis, past[1]), cross_twist(rate, past[0]))
                    else:
                        moved = rate
                        bent = add_twist(cross_twist(link.above[1], axis), cross_twist(rate, past[0]))
                    pushed = add_twist(rate, cross_twist(axis, beyond[0]))
                    for matrix, twist in zip(matrices, (axis, moved, bent, pushed), strict=True):
                        for row, entry in zip(matrix, _row(_moved(twist, self.reaches[i])), strict=True):
                            row[k] = entry
                back = scale(-1.0, link.offset)
                beyond = _moved(past[0], back), _moved(past[1], back)
        jacobian, by_position, bent_by_position, bent_by_velocity = matrices
        return jacobian, by_position, bent_by_position, bent_by_velocity

    def pose(self) -> Matrix:
        """Return the rows of the homogeneous matrix of the frame's pose in the world."""
        if self.in_world:
            turned = transpose(self.frame.placement.rotation)
            return _homogeneous(_turned(self.axes[self.frame.body].body, turned), self.reaches[self.root])
        rotation, root = transpose_tensor(self.axes[BASE].body), self.bodies[0]
        joint, q = self.robot.bodies[root].joint, self.q[root]
        if joint.kind is not JointKind.FLOATING:
            return _homogeneous(rotation, apply(rotation, self.reaches[BASE]))
        offset = apply(transpose_tensor(self.axes[root].body), self.reaches[root])
        point = multiply(joint.placement.rotation, add(q.out_of(offset), q.shift))
        return _homogeneous(rotation, add(point, joint.placement.translation))


def _homogeneous(rotation: Tensor, point: Vector) -> Matrix:
    rows: Matrix = [[*row, entry] for row, entry in zip(rotation, point, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def _each(rows: Tensor, transform: Callable[[Vector], Vector]) -> Tensor:
    x, y, z = rows
    return transform(x), transform(y), transform(z)


def _turned(rows: Tensor, rotation: Matrix3) -> Tensor:
    """Return the rows in the axes into which a constant rotation transforms."""
    x, y, z = rows
    return multiply(rotation, x), multiply(rotation, y), multiply(rotation, z)


def _axis(rows: Tensor, direction: Direction) -> Twist:
    """Return a degree of freedom as a twist, from the axes of results in its body's coordinates."""
    turns, k = direction
    axis = rows[0][k], rows[1][k], rows[2][k]
    return (axis, ZERO) if turns else (ZERO, axis)


def _moved(twist: Twist, by: Vector) -> Twist:
    """Return a twist at a point moved by a vector."""
    return twist[0], add(twist[1], cross(twist[0], by))


def _row(twist: Twist) -> list[Scalar]:
    return [*twist[1], *twist[0]]
