"""Inverse dynamics by the recursive Newton-Euler algorithm, in the form with the fewest products.

This is the recursion of Luh, Walker and Paul in each body's own frame, with the classical acceleration of the
frame's origin (Khalil and Dombre, *Modeling, Identification and Control of Robots*, section 9.5), so the
linear velocity never appears. All second-order terms come from the three products and three squares of the
angular velocity. The sum of its squares in the plane of a rotation is known from the parent, so a joint
computes only two squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdhw.dynamics.inertia import second_moments
from rbdhw.dynamics.joint import Coordinate, directions, dofs, inward, rates
from rbdhw.dynamics.spatial import (
    ZERO,
    Vector,
    Wrench,
    add,
    add_twist,
    cross,
    multiply,
    scale,
    subtract,
    transpose,
)
from rbdhw.robot.model import BASE, Inertia, Joint, JointKind, Matrix3, Placement, Robot
from rbdhw.scalar import Scalar, label, region


@dataclass(frozen=True)
class Motion:
    """A body's motion in its own frame.

    It consists of angular velocity and acceleration, the classical acceleration of the frame's origin
    (gravity is included as an upward acceleration of the base), and the squares ``(xx, yy, zz)`` and
    products ``(yz, xz, xy)`` of the angular velocity.
    """

    velocity: Vector
    angular: Vector
    linear: Vector
    squares: Vector
    products: Vector


STILL = Motion(ZERO, ZERO, ZERO, ZERO, ZERO)
"""A body at rest without gravity."""


@dataclass(frozen=True)
class RoundTrip:
    """The result of the two passes: the motion of each body, and the wrench that its joint transmits to it.

    The wrench moves all bodies below the joint, after external wrenches are subtracted. ``base`` is the
    motion of the base. ``carried`` has an entry for each body on a joint of several degrees of freedom: the
    motion of the parent at the body's origin, in the body's axes.
    """

    base: Motion
    motions: list[Motion]
    carried: dict[int, Motion]
    wrenches: list[Wrench]

    def above(self, robot: Robot, i: int) -> Motion:
        """Return the motion of body ``i``'s parent, in the parent's frame."""
        parent = robot.bodies[i].parent
        return self.base if parent == BASE else self.motions[parent]


def at_rest(gravity: Vector) -> Motion:
    """Return the motion of a base at rest under ``gravity`` (m/s^2)."""
    return Motion(ZERO, ZERO, subtract(ZERO, gravity), ZERO, ZERO)


def make_motion(velocity: Vector, angular: Vector, linear: Vector) -> Motion:
    """Return a motion with the squares and products of its angular velocity."""
    x, y, z = velocity
    return Motion(velocity, angular, linear, (x * x, y * y, z * z), (y * z, x * z, x * y))


def rnea(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    fext: Mapping[int, Wrench] | None = None,
) -> list[Scalar]:
    """Return joint forces ``tau = ID(q, v, a, fext)`` for a base at rest, one for each freedom (Nm or N).

    The parameters are those of :func:`newton_euler`.
    """
    return joint_forces(robot, newton_euler(robot, q, v, a, at_rest(robot.gravity), fext))


def newton_euler(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    base: Motion,
    fext: Mapping[int, Wrench] | None = None,
) -> RoundTrip:
    """Run both passes of the recursive Newton-Euler algorithm: motion and wrench of each body.

    ``q`` has a coordinate for each body, in the order of ``robot.bodies``; ``v`` and ``a`` have a number for
    each degree of freedom (:func:`rbdhw.dynamics.joint.dofs`): rad/s, rad/s^2, m/s, m/s^2. The linear
    velocity of a floating body has no effect here, and its linear acceleration is the proper acceleration:
    see :mod:`rbdhw.dynamics.floating_base`. ``base`` is the motion of the robot's base. ``fext`` has external
    wrenches by body index: moment (Nm) and force (N) about and along the link's frame.
    """
    spans = dofs(robot)
    trip = RoundTrip(base, [], {}, [])
    for i, body in enumerate(robot.bodies):
        with region("rnea_forward", i):
            motion = motion_of(robot, i, q[i], v[spans[i]], a[spans[i]], trip)
            label("omega", motion.velocity)
            label("alpha", motion.angular)
            label("acceleration", motion.linear)
            trip.motions.append(motion)
            wrench = inertial_wrench(body.inertia, motion)
            if fext is not None and i in fext:
                wrench = without_external(wrench, fext[i], body.link_frame)
            label("moment", wrench[0])
            label("force", wrench[1])
            trip.wrenches.append(wrench)
    for i, parent in inward(robot):
        with region("rnea_backward", i):
            transmitted = backward(robot.bodies[i].joint, q[i], trip.wrenches[i])
            moment, force = add_twist(trip.wrenches[parent], transmitted)
            label("moment", moment)
            label("force", force)
            trip.wrenches[parent] = moment, force
    return trip


def joint_forces(robot: Robot, trip: RoundTrip) -> list[Scalar]:
    """Return the part of each wrench along its joint's degrees of freedom (Nm or N, one for each)."""
    pairs = zip(robot.bodies, trip.wrenches, strict=True)
    return [force for body, wrench in pairs for force in along(body.joint, wrench)]


def along(joint: Joint, wrench: Wrench) -> list[Scalar]:
    """Return a wrench's components along a joint's degrees of freedom, in the joint's body frame."""
    return [wrench[0 if turns else 1][k] for turns, k in directions(joint)]


def motion_of(
    robot: Robot, i: int, q: Coordinate, v: Sequence[Scalar], a: Sequence[Scalar], trip: RoundTrip
) -> Motion:
    """Compute the motion of body ``i`` from its parent's."""
    joint, parent = robot.bodies[i].joint, trip.above(robot, i)
    if joint.kind is JointKind.FLOATING:
        trip.carried[i] = STILL
        return make_motion((v[3], v[4], v[5]), (a[3], a[4], a[5]), (a[0], a[1], a[2]))
    into_child = transpose(joint.placement.rotation)
    velocity = multiply(into_child, parent.velocity)
    angular = multiply(into_child, parent.angular)
    at_origin = add(parent.linear, relative_acceleration(parent, joint.placement.translation))
    linear = multiply(into_child, at_origin)
    if joint.kind.rotates:
        plane = square_across_z(into_child, velocity, parent)
        return revolute_forward(q, v[0], a[0], (velocity, angular, linear), plane)
    if joint.kind is JointKind.PRISMATIC:
        return prismatic_forward(q, v[0], a[0], (velocity, angular, linear))
    trip.carried[i] = carry_into(q, (velocity, angular, linear))
    return join(trip.carried[i], rates(joint, v), rates(joint, a))


def carry_into(q: Coordinate, carried: tuple[Vector, Vector, Vector]) -> Motion:
    """Return the parent's motion in the axes and at the position that a joint's coordinate gives."""
    velocity, angular, linear = carried
    linear = add(linear, relative_acceleration(make_motion(*carried), q.shift))
    return make_motion(q.into(velocity), q.into(angular), q.into(linear))


def join(carried: Motion, rate: tuple[Vector, Vector], change: tuple[Vector, Vector]) -> Motion:
    """Return a body's motion from its parent's motion at its origin and from its joint's motion.

    ``rate`` and ``change`` are the joint's velocity and acceleration, each an angular and a linear part in
    the body's axes.
    """
    turn, slide = rate
    velocity = add(carried.velocity, turn)
    angular = add(carried.angular, cross(carried.velocity, turn), change[0])
    coriolis = cross(add(scale(2.0, carried.velocity), turn), slide)
    return make_motion(velocity, angular, add(carried.linear, coriolis, change[1]))


def revolute_forward(
    q: Coordinate, v: Scalar, a: Scalar, carried: tuple[Vector, Vector, Vector], plane: Scalar
) -> Motion:
    """Rotate by ``q`` about z at rate ``v``; ``plane`` is the squared angular velocity perpendicular to z."""
    velocity, angular, linear = (q.into(vector) for vector in carried)
    x, y, z = velocity
    angular = add(angular, (y * v, -(x * v), a))
    z = z + v
    difference = (x - y) * (x + y)
    squares = (0.5 * (plane + difference), 0.5 * (plane - difference), z * z)
    return Motion((x, y, z), angular, linear, squares, (y * z, x * z, x * y))


def prismatic_forward(q: Coordinate, v: Scalar, a: Scalar, carried: tuple[Vector, Vector, Vector]) -> Motion:
    """Slide by ``q`` along z at rate ``v``: transport, Coriolis and own acceleration."""
    velocity, angular, linear = carried
    x, y, _ = velocity
    motion = make_motion(velocity, angular, linear)
    coriolis = (2.0 * (y * v), -2.0 * (x * v), a)
    shifted = add(linear, relative_acceleration(motion, q.shift), coriolis)
    return Motion(velocity, angular, shifted, motion.squares, motion.products)


def square_across_z(into_child: Matrix3, velocity: Vector, parent: Motion) -> Scalar:
    """Return ``x^2 + y^2`` of the parent's angular velocity in the child's axes before the rotation."""
    axis = into_child[2]
    for k in range(3):
        if abs(axis[k]) == 1.0:
            return parent.squares[(k + 1) % 3] + parent.squares[(k + 2) % 3]
    xx, yy, zz = parent.squares
    return xx + yy + zz - velocity[2] * velocity[2]


def relative_acceleration(motion: Motion, point: Vector) -> Vector:
    """Return the acceleration of a body's point relative to its origin: ``alpha x r + w x (w x r)``."""
    (ax, ay, az), (xx, yy, zz), (yz, xz, xy) = motion.angular, motion.squares, motion.products
    x, y, z = point
    return (
        (xy - az) * y + (xz + ay) * z - (yy + zz) * x,
        (xy + az) * x + (yz - ax) * z - (xx + zz) * y,
        (xz - ay) * x + (yz + ax) * y - (xx + yy) * z,
    )


def inertial_wrench(inertia: Inertia, motion: Motion) -> Wrench:
    """Return the moment about the origin and the force that give the body its motion."""
    h = inertia.first_moment
    force = add(scale(inertia.mass, motion.linear), relative_acceleration(motion, h))
    return add(rotational_moment(inertia, motion), cross(h, motion.linear)), force


def rotational_moment(inertia: Inertia, motion: Motion) -> Vector:
    """Return ``I alpha + w x I w``, the moment of the acceleration field, from the second moments of mass."""
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
    """Return the wrench that the joint must supply if the environment supplies ``external``."""
    moment, force = in_body_axes(external, link_frame)
    return subtract(wrench[0], moment), subtract(wrench[1], force)


def in_body_axes(external: Wrench, link_frame: Placement) -> Wrench:
    """Transform an external wrench from a link's frame to its body's."""
    moment = multiply(link_frame.rotation, external[0])
    force = multiply(link_frame.rotation, external[1])
    return add(moment, cross(link_frame.translation, force)), force


def backward(joint: Joint, q: Coordinate, wrench: Wrench) -> Wrench:
    """Transform a body's wrench to its parent's frame, about the parent's origin."""
    moment, force = wrench
    moment, force = q.out_of(moment), q.out_of(force)
    moment = add(moment, cross(q.shift, force))
    force = multiply(joint.placement.rotation, force)
    moment = multiply(joint.placement.rotation, moment)
    return add(moment, cross(joint.placement.translation, force)), force
