"""Inverse dynamics by the recursive Newton-Euler algorithm, in the form that multiplies least.

Luh, Walker and Paul's recursion with each body's own frame and the classical acceleration of the
frame's origin (Khalil and Dombre, *Modeling, Identification and Control of Robots*, section 9.5): the
linear velocity never appears. All second-order terms come from the three products and three squares
of the angular velocity. The sum of its squares in the plane of a turn is known from the parent, so a
joint squares only twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdhw.dynamics.inertia import second_moments
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.spatial import (
    ZERO,
    Vector,
    add,
    cross,
    into_turned,
    multiply,
    out_of_turned,
    scale,
    subtract,
    transpose,
)
from rbdhw.robot.model import BASE, Inertia, Joint, Matrix3, Placement, Robot
from rbdhw.scalar import Scalar, region

Wrench = tuple[Vector, Vector]
"""Moment and force."""


@dataclass(frozen=True)
class Motion:
    """A body's motion in its own frame.

    Angular velocity and acceleration, the classical acceleration of the frame's origin (gravity
    included, as an upward acceleration of the base), and the squares ``(xx, yy, zz)`` and products
    ``(yz, xz, xy)`` of the angular velocity.
    """

    velocity: Vector
    angular: Vector
    linear: Vector
    squares: Vector
    products: Vector


@dataclass(frozen=True)
class RoundTrip:
    """What the two passes leave: the motion of each body, and the wrench that its joint transmits to it.

    The wrench moves all bodies that hang from the joint, external wrenches taken off.
    """

    motions: list[Motion]
    wrenches: list[Wrench]


def rnea(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    fext: Mapping[int, Wrench] | None = None,
) -> list[Scalar]:
    """Joint forces ``tau = ID(q, v, a, fext)`` of a fixed-base robot whose axes are all z.

    Parameters
    ----------
    q, v, a
        One entry a body, in the order of ``robot.bodies``: rad/s, rad/s^2 (or m/s, m/s^2).
    fext
        External wrench by body index: moment (Nm) and force (N) about and along its link frame.

    Returns
    -------
    list of scalars
        Nm or N, one a body.
    """
    return joint_forces(robot, newton_euler(robot, q, v, a, fext))


def newton_euler(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    fext: Mapping[int, Wrench] | None = None,
) -> RoundTrip:
    """Both passes of :func:`rnea`, which has the same parameters: each body's motion and wrench."""
    wrenches: list[Wrench] = []
    motions: list[Motion] = []
    at_rest = Motion(ZERO, ZERO, subtract(ZERO, robot.gravity), ZERO, ZERO)
    for i, body in enumerate(robot.bodies):
        with region("rnea_forward", i):
            parent = at_rest if body.parent == BASE else motions[body.parent]
            motions.append(forward(body.joint, q[i], v[i], a[i], parent))
            wrench = inertial_wrench(body.inertia, motions[i])
            if fext is not None and i in fext:
                wrench = without_external(wrench, fext[i], body.link_frame)
            wrenches.append(wrench)
    for i in reversed(range(len(robot.bodies))):
        body = robot.bodies[i]
        if body.parent != BASE:
            with region("rnea_backward", i):
                transmitted = backward(body.joint, q[i], wrenches[i])
                moment, force = wrenches[body.parent]
                wrenches[body.parent] = (add(moment, transmitted[0]), add(force, transmitted[1]))
    return RoundTrip(motions, wrenches)


def joint_forces(robot: Robot, trip: RoundTrip) -> list[Scalar]:
    """The share of each wrench that its joint's motor bears, Nm or N."""
    return [along(body.joint, wrench) for body, wrench in zip(robot.bodies, trip.wrenches, strict=True)]


def along(joint: Joint, wrench: Wrench) -> Scalar:
    """A wrench's share about or along a joint's axis, in the joint's body frame."""
    return wrench[0][2] if joint.kind.rotates else wrench[1][2]


def forward(joint: Joint, q: Coordinate, v: Scalar, a: Scalar, parent: Motion) -> Motion:
    """The child's motion from its parent's."""
    into_child = transpose(joint.placement.rotation)
    velocity = multiply(into_child, parent.velocity)
    angular = multiply(into_child, parent.angular)
    at_origin = add(parent.linear, relative_acceleration(parent, joint.placement.translation))
    linear = multiply(into_child, at_origin)
    if joint.kind.rotates:
        plane = square_across_z(into_child, velocity, parent)
        return revolute_forward(q, v, a, (velocity, angular, linear), plane)
    return prismatic_forward(q, v, a, (velocity, angular, linear))


def revolute_forward(
    q: Coordinate, v: Scalar, a: Scalar, carried: tuple[Vector, Vector, Vector], plane: Scalar
) -> Motion:
    """A turn by ``q`` about z at rate ``v``; ``plane`` is the squared velocity across z."""
    velocity, angular, linear = (into_turned(q.cos, q.sin, vector) for vector in carried)
    x, y, z = velocity
    angular = add(angular, (y * v, -(x * v), a))
    z = z + v
    difference = (x - y) * (x + y)
    squares = (0.5 * (plane + difference), 0.5 * (plane - difference), z * z)
    return Motion((x, y, z), angular, linear, squares, (y * z, x * z, x * y))


def prismatic_forward(q: Coordinate, v: Scalar, a: Scalar, carried: tuple[Vector, Vector, Vector]) -> Motion:
    """A shift by ``q`` along z at rate ``v``: transport, Coriolis and own acceleration."""
    velocity, angular, linear = carried
    x, y, z = velocity
    motion = Motion(velocity, angular, linear, (x * x, y * y, z * z), (y * z, x * z, x * y))
    coriolis = (2.0 * (y * v), -2.0 * (x * v), a)
    shifted = add(linear, relative_acceleration(motion, (0.0, 0.0, q.shift)), coriolis)
    return Motion(velocity, angular, shifted, motion.squares, motion.products)


def square_across_z(into_child: Matrix3, velocity: Vector, parent: Motion) -> Scalar:
    """``x^2 + y^2`` of the parent's angular velocity in the child's axes before the turn."""
    axis = into_child[2]
    for k in range(3):
        if abs(axis[k]) == 1.0:
            return parent.squares[(k + 1) % 3] + parent.squares[(k + 2) % 3]
    xx, yy, zz = parent.squares
    return xx + yy + zz - velocity[2] * velocity[2]


def relative_acceleration(motion: Motion, point: Vector) -> Vector:
    """Acceleration of a point of the body relative to its origin: ``alpha x r + w x (w x r)``."""
    (ax, ay, az), (xx, yy, zz), (yz, xz, xy) = motion.angular, motion.squares, motion.products
    x, y, z = point
    return (
        (xy - az) * y + (xz + ay) * z - (yy + zz) * x,
        (xy + az) * x + (yz - ax) * z - (xx + zz) * y,
        (xz - ay) * x + (yz + ax) * y - (xx + yy) * z,
    )


def inertial_wrench(inertia: Inertia, motion: Motion) -> Wrench:
    """Moment about the origin, and force, that give the body its motion."""
    h = inertia.first_moment
    force = add(scale(inertia.mass, motion.linear), relative_acceleration(motion, h))
    return add(rotational_moment(inertia, motion), cross(h, motion.linear)), force


def rotational_moment(inertia: Inertia, motion: Motion) -> Vector:
    """``I alpha + w x I w`` as the moment of the acceleration field over the second moments of mass."""
    xx, xy, xz, yy, yz, zz = second_moments(inertia)
    (ax, ay, az), squares, (wyz, wxz, wxy) = motion.angular, motion.squares, motion.products
    return (
        xy * (wxz - ay)
        + yy * (wyz + ax)
        + yz * (squares[2] - squares[1])
        - xz * (wxy + az)
        - zz * (wyz - ax),
        xz * (squares[0] - squares[2])
        + yz * (wxy - az)
        + zz * (wxz + ay)
        - xx * (wxz - ay)
        - xy * (wyz + ax),
        (xx + yy) * az + (xx - yy) * wxy + xy * (squares[1] - squares[0]) + xz * (wyz - ax) - yz * (wxz + ay),
    )


def without_external(wrench: Wrench, external: Wrench, link_frame: Placement) -> Wrench:
    """The wrench that the joint must supply when the surroundings supply ``external``."""
    moment = multiply(link_frame.rotation, external[0])
    force = multiply(link_frame.rotation, external[1])
    moment = add(moment, cross(link_frame.translation, force))
    return subtract(wrench[0], moment), subtract(wrench[1], force)


def backward(joint: Joint, q: Coordinate, wrench: Wrench) -> Wrench:
    """A body's wrench in its parent's frame, about the parent's origin."""
    moment, force = wrench
    if joint.kind.rotates:
        moment = out_of_turned(q.cos, q.sin, moment)
        force = out_of_turned(q.cos, q.sin, force)
    else:
        moment = add(moment, (-(q.shift * force[1]), q.shift * force[0], 0.0))
    force = multiply(joint.placement.rotation, force)
    moment = multiply(joint.placement.rotation, moment)
    return add(moment, cross(joint.placement.translation, force)), force
