"""Mass matrix and first derivatives of inverse dynamics, by composite bodies.

Each degree of freedom has four columns, which are transformed from its joint's frame to those of its
ancestors: the mass matrix's ``A``, the columns ``c1`` and ``c2`` of the derivatives by position and by
velocity, and a moment ``t``. ``t`` and ``A`` give the entries on the other side of the diagonal::

    A  = I S                 c1 = 2B dS + I ddS (+ S x* f at strict ancestors)
    t  = (2B)^T S            c2 = 2B S + I (dS + S')

``I`` and ``B`` belong to the composite (:mod:`rbdhw.dynamics.composite`). ``dS`` and ``ddS`` are the axis
moved with the parent's velocity and acceleration. ``S'`` is the axis moved with the body's own velocity; it
equals ``dS`` if the joint has one degree of freedom. As every frame takes its own origin as at rest, ``dS``
of a revolute joint is purely angular, and only ``t`` depends on the relative velocity of two origins.
Derivatives by position are taken in the tangent space: the body moves along its own axes.

Source: Singh, Russell and Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial
vector algebra" (2022), rewritten for second moments and gyrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rbdhw.dynamics.composite import Composite, composites, composites_at_rest, origin_velocity
from rbdhw.dynamics.joint import Coordinate, Direction, directions, dofs, rates
from rbdhw.dynamics.rnea import Motion, RoundTrip, along
from rbdhw.dynamics.rnea import backward as in_parent_wrench
from rbdhw.dynamics.spatial import (
    UNIT,
    ZERO,
    ZERO_TWIST,
    Tensor,
    Twist,
    Vector,
    Wrench,
    add,
    add_twist,
    cross,
    dot,
    multiply,
    scale,
    subtract,
    transpose_tensor,
)
from rbdhw.robot.model import BASE, Joint, JointKind, Robot
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]
"""Rows of scalars; an entry is 0.0 if neither degree of freedom is an ancestor of the other."""


@dataclass(frozen=True)
class Derivatives:
    """``M`` and the derivatives of the joint forces by position and velocity, as rows."""

    mass_matrix: Matrix
    by_position: Matrix
    by_velocity: Matrix


@dataclass(frozen=True)
class Axis:
    """One degree of freedom ``S`` in its body's frame.

    ``rate`` is ``dS``, ``both`` is ``dS + S'``, ``second`` is ``ddS``.
    """

    direction: Direction
    rate: Twist
    both: Twist
    second: Twist


@dataclass(frozen=True)
class Columns:
    """The four columns of one degree of freedom, in the frame of the body reached so far."""

    mass: Wrench
    by_position: Wrench
    by_velocity: Wrench
    moment: Vector


def mass_matrix(robot: Robot, q: Sequence[Coordinate]) -> Matrix:
    """Return the mass matrix over all degrees of freedom, both triangles (kg m^2, kg m, kg)."""
    spans = dofs(robot)
    n = spans[-1].stop
    bodies = composites_at_rest(robot, q)
    matrix: Matrix = [[0.0] * n for _ in range(n)]
    for i, body in enumerate(robot.bodies):
        for dof, direction in zip(range(n)[spans[i]], directions(body.joint), strict=True):
            column = momentum_column(direction, bodies[i])
            for at in robot.path(i):
                with region("mass_matrix", at):
                    joint = robot.bodies[at].joint
                    _enter_column(matrix, spans[at], dof, along(joint, column), mirrored=True)
                    if robot.bodies[at].parent != BASE:
                        column = in_parent_wrench(joint, q[at], column)
    return matrix


def inverse_dynamics_derivatives(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip
) -> Derivatives:
    """Return M and the derivatives of ``tau = ID(q, v, a, fext)``, over all degrees of freedom.

    Entry ``[i][j]`` of ``by_position`` is the derivative of ``tau[i]`` by ``q[j]`` (Nm/rad and so on). The
    derivatives for a floating body are at constant proper acceleration: see
    :mod:`rbdhw.dynamics.floating_base`. ``trip`` is the result of :func:`rbdhw.dynamics.rnea.newton_euler`
    for ``q``, ``v``, the accelerations and the external wrenches, which are constant in their links' frames.
    """
    spans = dofs(robot)
    n = spans[-1].stop
    bodies = composites(robot, q, v, trip)
    frames = joint_frames(robot, q, v, trip)
    result = Derivatives(*([[0.0] * n for _ in range(n)] for _ in range(3)))
    for i in range(len(robot.bodies)):
        for dof, axis in zip(range(n)[spans[i]], frames[i].axes, strict=True):
            with region("derivatives", i):
                columns = own_columns(axis, bodies[i])
            for at in robot.path(i):
                with region("derivatives", at):
                    _enter(result, frames[at], spans[at], columns, dof)
                    if at == i:
                        columns = with_turned_wrench(columns, axis.direction, trip.wrenches[i])
                    else:
                        _enter_mirrored(result, frames[at].axes, spans[at], columns, dof)
                    if robot.bodies[at].parent != BASE:
                        columns = in_parent(frames[at], columns)
    return result


@dataclass(frozen=True)
class JointFrame:
    """A body's joint, its coordinate, its origin's velocity against the joint's, its parent, its axes."""

    joint: Joint
    q: Coordinate
    boost: Vector
    parent: Motion
    axes: list[Axis]


def joint_frames(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip
) -> list[JointFrame]:
    """Return the frame of each body's joint, at the state of a round trip."""
    spans = dofs(robot)
    frames: list[JointFrame] = []
    for i, body in enumerate(robot.bodies):
        with region("derivatives", i):
            velocity = v[spans[i]]
            boost = ZERO
            if body.parent != BASE:
                boost = origin_velocity(body.joint, q[i], velocity, trip.above(robot, i))
            own_axes = axes(body.joint, velocity, trip, i)
            frames.append(JointFrame(body.joint, q[i], boost, trip.above(robot, i), own_axes))
    return frames


def axes(joint: Joint, v: Sequence[Scalar], trip: RoundTrip, i: int) -> list[Axis]:
    """Return the degrees of freedom of body ``i``'s joint."""
    if joint.kind is JointKind.FLOATING:
        return [floating_axis(direction, trip.motions[i]) for direction in directions(joint)]
    if i in trip.carried:
        slide = rates(joint, v)[1]
        motion = trip.motions[i]
        return [joint_axis(direction, trip.carried[i], motion, slide) for direction in directions(joint)]
    return [single_axis(directions(joint)[0], trip.motions[i])]


def single_axis(direction: Direction, motion: Motion) -> Axis:
    """Return the only axis of a joint, z, from its body's own motion; the parent's gives the same."""
    (x, y, _), (a, b, _) = motion.velocity, motion.linear
    rate: Vector = (y, -x, 0.0)
    second = field_column(motion, 2)
    if direction[0]:
        return Axis(direction, (rate, ZERO), (scale(2.0, rate), ZERO), (second, (b, -a, 0.0)))
    return Axis(direction, (ZERO, rate), (ZERO, scale(2.0, rate)), (ZERO, second))


def joint_axis(direction: Direction, carried: Motion, motion: Motion, slide: Vector) -> Axis:
    """Return one axis of a joint that has several.

    ``carried`` is the parent's motion at the body's origin. ``slide`` is the velocity of the origin relative
    to it.
    """
    turns, k = direction
    unit = UNIT[k]
    rate = cross(carried.velocity, unit)
    both = add(rate, cross(motion.velocity, unit))
    second = field_column(carried, k)
    if not turns:
        return Axis(direction, (ZERO, rate), (ZERO, both), (ZERO, second))
    drift = cross(unit, slide)
    linear = subtract(cross(carried.linear, unit), scale(2.0, cross(slide, rate)))
    return Axis(direction, (rate, drift), (both, drift), (second, linear))


def floating_axis(direction: Direction, motion: Motion) -> Axis:
    """Return an axis of a floating body, whose linear velocity and attitude have no effect."""
    turns, k = direction
    rate = cross(motion.velocity, UNIT[k]) if turns else ZERO
    return Axis(direction, ZERO_TWIST, (rate, ZERO), ZERO_TWIST)


def field_column(motion: Motion, k: int) -> Vector:
    """Return the acceleration, relative to the origin, of the body's point at the tip of unit axis ``k``."""
    (ax, ay, az), (xx, yy, zz), (yz, xz, xy) = motion.angular, motion.squares, motion.products
    columns: tuple[Vector, ...] = (
        (-(yy + zz), xy + az, xz - ay),
        (xy - az, -(xx + zz), yz + ax),
        (xz + ay, yz - ax, -(xx + yy)),
    )
    return columns[k]


def momentum_column(direction: Direction, body: Composite) -> Wrench:
    """Return ``I S``: the moment and force for a unit acceleration of the joint."""
    turns, k = direction
    return momentum_of(body, (UNIT[k], ZERO) if turns else (ZERO, UNIT[k]))


def momentum_of(body: Composite, twist: Twist) -> Wrench:
    """Return ``I`` times a twist."""
    angular, linear = twist
    moment = add(about_axis(body.second, angular), cross(body.first, linear))
    return moment, add(cross(angular, body.first), scale(body.mass, linear))


def own_columns(axis: Axis, body: Composite) -> Columns:
    """Return the columns of a degree of freedom in its own frame, without the term ``S x* f``."""
    turns, k = axis.direction
    unit = UNIT[k]
    accelerated, both = momentum_of(body, axis.second), momentum_of(body, axis.both)
    by_position = add_twist(coriolis_of(body, axis.rate[0]), accelerated)
    if turns:
        by_velocity = add_twist(coriolis_of(body, unit), both)
        moment = scale(2.0, about_axis(transpose_tensor(body.gyration), unit))
    else:
        by_velocity, moment = both, scale(2.0, cross(body.momentum, unit))
    return Columns(momentum_column(axis.direction, body), by_position, by_velocity, moment)


def coriolis_of(body: Composite, angular: Vector) -> Wrench:
    """Return ``2B`` times a motion with this angular part; the linear part has no effect."""
    doubled = scale(2.0, angular)
    return about_axis(body.gyration, doubled), cross(doubled, body.momentum)


def about_axis(tensor: Tensor, a: Vector) -> Vector:
    """Return ``(tr T - T) a``; for second moments this is the rotational inertia times ``a``."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = tensor
    x, y, z = a
    return (
        (yy + zz) * x - xy * y - xz * z,
        (xx + zz) * y - yx * x - yz * z,
        (xx + yy) * z - zx * x - zy * y,
    )


def with_turned_wrench(columns: Columns, direction: Direction, wrench: Wrench) -> Columns:
    """Add ``S x* f``, the change of the transmitted wrench with the joint, for use at the ancestors."""
    moment, force = columns.by_position
    turns, k = direction
    unit = UNIT[k]
    if turns:
        moved = (add(moment, cross(unit, wrench[0])), add(force, cross(unit, wrench[1])))
    else:
        moved = (add(moment, cross(unit, wrench[1])), force)
    return replace(columns, by_position=moved)


def in_parent(frame: JointFrame, columns: Columns) -> Columns:
    """Transform columns from a body's frame to its parent's."""
    mass, moment = pair_in_parent(frame, columns.mass, columns.moment)
    by_position = in_parent_wrench(frame.joint, frame.q, columns.by_position)
    by_velocity = in_parent_wrench(frame.joint, frame.q, columns.by_velocity)
    return Columns(mass, by_position, by_velocity, moment)


def pair_in_parent(frame: JointFrame, wrench: Wrench, moment: Vector) -> tuple[Wrench, Vector]:
    """Transform a wrench and its moment from a body's frame to its parent's.

    The wrench multiplies second rates of axes, and the moment multiplies their first rates. The former change
    with the velocity of the origin, so the moment has a term of this velocity and the wrench's force.
    """
    moment = moment_in_parent(frame, wrench[1], moment)
    return in_parent_wrench(frame.joint, frame.q, wrench), moment


def moment_in_parent(frame: JointFrame, force: Vector, moment: Vector) -> Vector:
    """Transform a moment that belongs to a wrench with this force, as in :func:`pair_in_parent`."""
    joint, q = frame.joint, frame.q
    force = q.out_of(force)
    moment = add(q.out_of(moment), scale(2.0, cross(frame.boost, force)))
    boost = cross(frame.parent.velocity, joint.placement.translation)
    force = multiply(joint.placement.rotation, force)
    moment = multiply(joint.placement.rotation, moment)
    return add(moment, scale(2.0, cross(boost, force)))


def _enter(result: Derivatives, frame: JointFrame, rows: slice, columns: Columns, dof: int) -> None:
    """Fill in column ``dof`` at the rows of the joint in whose frame ``columns`` are given."""
    _enter_column(result.mass_matrix, rows, dof, along(frame.joint, columns.mass), mirrored=True)
    _enter_column(result.by_position, rows, dof, along(frame.joint, columns.by_position))
    _enter_column(result.by_velocity, rows, dof, along(frame.joint, columns.by_velocity))


def _enter_column(
    matrix: Matrix, rows: slice, dof: int, entries: Sequence[Scalar], mirrored: bool = False
) -> None:
    for row, entry in zip(range(len(matrix))[rows], entries, strict=True):
        matrix[row][dof] = entry
        if mirrored:
            matrix[dof][row] = entry


def _enter_mirrored(
    result: Derivatives, above: Sequence[Axis], columns_at: slice, columns: Columns, dof: int
) -> None:
    """Fill in row ``dof`` at the columns of an ancestor's axes ``above``, in whose frame it is given."""
    moment, force = columns.mass
    for column, axis in zip(range(len(result.mass_matrix))[columns_at], above, strict=True):
        turns, k = axis.direction
        turning = columns.moment[k] if turns else 0.0
        result.by_position[dof][column] = (
            dot(columns.moment, axis.rate[0]) + dot(moment, axis.second[0]) + dot(force, axis.second[1])
        )
        result.by_velocity[dof][column] = turning + (dot(moment, axis.both[0]) + dot(force, axis.both[1]))
