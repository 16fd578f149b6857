"""Mass matrix and first derivatives of inverse dynamics, by composite bodies.

Each joint has four columns, which are carried from its frame to those of its ancestors: the mass matrix's
``A``, those of the derivatives by position and by velocity, ``c1`` and ``c2``, and a moment ``t`` that with
``A`` gives the entries on the other side of the diagonal::

    A  = I S                 c1 = 2B dS + I ddS (+ S x* f at strict ancestors)
    t  = (2B)^T S            c2 = 2B S + 2 I dS

``I`` and ``B`` belong to the composite (:mod:`rbdhw.dynamics.composite`), ``dS`` and ``ddS`` are the joint
axis moved with the parent's velocity and acceleration. As every frame counts its own origin as at rest,
``dS`` of a revolute joint is purely angular, and only ``t`` notices where the origins of two frames move
apart.

Source: Singh, Russell and Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial
vector algebra" (2022), rewritten for second moments and gyrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.composite import Composite, composites, slide, still_composites
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import Motion, RoundTrip, Wrench, along
from rbdhw.dynamics.rnea import backward as in_parent_wrench
from rbdhw.dynamics.spatial import (
    Tensor,
    Vector,
    add,
    cross,
    dot,
    multiply,
    out_of_turned,
    scale,
)
from rbdhw.robot.model import BASE, Joint, Robot
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]
"""Rows of scalars; 0.0 where two joints have nothing to do with each other."""

Z: Vector = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Derivatives:
    """``M``, and the derivatives of the joint forces by position and velocity, as rows."""

    mass_matrix: Matrix
    by_position: Matrix
    by_velocity: Matrix


@dataclass(frozen=True)
class Axis:
    """What a joint's axis does in its frame.

    ``turns``: about z, otherwise along z. ``rate`` is ``w x z``, ``second`` is ``U z`` with ``U`` the angular
    part of the acceleration field, ``origin`` is ``a x z`` of the frame's origin.
    """

    turns: bool
    rate: Vector
    second: Vector
    origin: Vector


@dataclass(frozen=True)
class Columns:
    """The four columns of one joint, in the frame that they have reached."""

    mass: Wrench
    by_position: Wrench
    by_velocity: Wrench
    moment: Vector


def mass_matrix(robot: Robot, q: Sequence[Coordinate]) -> Matrix:
    """The mass matrix of a fixed-base robot whose axes are all z, both halves (kg m^2, kg m, kg)."""
    n = len(robot.bodies)
    found = still_composites(robot, q)
    matrix: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        column, at = momentum_column(robot.bodies[i].joint.kind.rotates, found[i]), i
        while True:
            with region("mass_matrix", at):
                joint = robot.bodies[at].joint
                matrix[at][i] = matrix[i][at] = along(joint, column)
                if robot.bodies[at].parent == BASE:
                    break
                column = in_parent_wrench(joint, q[at], column)
            at = robot.bodies[at].parent
    return matrix


def inverse_dynamics_derivatives(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip
) -> Derivatives:
    """Derivatives of ``tau = ID(q, v, a, fext)`` of a fixed-base robot whose axes are all z, and M.

    Parameters
    ----------
    trip
        What :func:`rbdhw.dynamics.rnea.newton_euler` found for ``q``, ``v``, the accelerations and the
        external wrenches, which stay constant in their links' frames.

    Returns
    -------
    Derivatives
        Entry ``[i][j]`` of ``by_position`` is the derivative of ``tau[i]`` by ``q[j]`` (Nm/rad and so on).
    """
    n = len(robot.bodies)
    found = composites(robot, q, v, trip.motions)
    axes: list[Axis] = []
    for i, body in enumerate(robot.bodies):
        with region("derivatives", i):
            axes.append(axis(body.joint, trip.motions[i]))
    empty = [[[0.0] * n for _ in range(n)] for _ in range(3)]
    result = Derivatives(*empty)
    for i in range(n):
        with region("derivatives", i):
            columns = own_columns(axes[i], found[i])
        at = i
        while True:
            with region("derivatives", at):
                _enter(result, robot.bodies[at].joint, axes[at], columns, i, at)
                if at == i:
                    columns = with_turned_wrench(columns, axes[i], trip.wrenches[i])
                if robot.bodies[at].parent == BASE:
                    break
                columns = in_parent(robot, at, q[at], v[at], trip.motions, columns)
            at = robot.bodies[at].parent
    return result


def axis(joint: Joint, motion: Motion) -> Axis:
    """A joint's axis carried by its parent's motion, told with the body's own, which gives the same."""
    (x, y, _), (ax, ay, _), (a, b, _) = motion.velocity, motion.angular, motion.linear
    (xx, yy, _), (yz, xz, _) = motion.squares, motion.products
    second = (ay + xz, yz - ax, -(xx + yy))
    return Axis(joint.kind.rotates, (y, -x, 0.0), second, (b, -a, 0.0))


def momentum_column(turns: bool, body: Composite) -> Wrench:
    """``I S``: what the composite needs of moment and force for a unit acceleration of the joint."""
    x, y, _ = body.first
    if not turns:
        return (y, -x, 0.0), (0.0, 0.0, body.mass)
    (xx, _, xz), (_, yy, yz), _ = body.second
    return (-xz, -yz, xx + yy), (-y, x, 0.0)


def own_columns(own: Axis, body: Composite) -> Columns:
    """A joint's columns in its own frame, all but the turned wrench."""
    mass = momentum_column(own.turns, body)
    if not own.turns:
        by_position = (cross(body.first, own.second), scale(body.mass, own.second))
        doubled = scale(2.0, own.rate)
        by_velocity = (cross(body.first, doubled), scale(body.mass, doubled))
        return Columns(mass, by_position, by_velocity, scale(2.0, cross(body.momentum, Z)))
    (xx, _, xz), (_, yy, yz), (zx, zy, _) = body.gyration
    coriolis = (2.0 * own.rate[0], 2.0 * own.rate[1], 0.0)
    by_position = (
        add(
            about_axis(body.gyration, coriolis),
            about_axis(body.second, own.second),
            cross(body.first, own.origin),
        ),
        add(cross(coriolis, body.momentum), cross(own.second, body.first), scale(body.mass, own.origin)),
    )
    by_velocity = (
        scale(2.0, add((-xz, -yz, xx + yy), about_axis(body.second, own.rate))),
        scale(2.0, add(cross(Z, body.momentum), cross(own.rate, body.first))),
    )
    return Columns(mass, by_position, by_velocity, scale(2.0, (-zx, -zy, xx + yy)))


def about_axis(tensor: Tensor, a: Vector) -> Vector:
    """``(tr T - T) a``: of second moments, the rotational inertia times ``a``."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = tensor
    x, y, z = a
    return (
        (yy + zz) * x - xy * y - xz * z,
        (xx + zz) * y - yx * x - yz * z,
        (xx + yy) * z - zx * x - zy * y,
    )


def with_turned_wrench(columns: Columns, own: Axis, wrench: Wrench) -> Columns:
    """The columns as the ancestors see them: the transmitted wrench moves with the joint."""
    moment, force = columns.by_position
    if own.turns:
        moved = (add(moment, cross(Z, wrench[0])), add(force, cross(Z, wrench[1])))
    else:
        moved = (add(moment, cross(Z, wrench[1])), force)
    return Columns(columns.mass, moved, columns.by_velocity, columns.moment)


def in_parent(
    robot: Robot,
    at: int,
    q: Coordinate,
    v: Scalar,
    motions: Sequence[Motion],
    columns: Columns,
) -> Columns:
    """Columns from body ``at``'s frame in its parent's."""
    joint, parent = robot.bodies[at].joint, robot.bodies[at].parent
    moment = columns.moment
    if not joint.kind.rotates:
        boost = slide(q.shift, v, motions[at])
        moment = add(moment, scale(2.0, cross(boost, columns.mass[1])))
    mass = in_parent_wrench(joint, q, columns.mass)
    boost = cross(motions[parent].velocity, joint.placement.translation)
    moment = multiply(joint.placement.rotation, out_of_turned(q.cos, q.sin, moment))
    moment = add(moment, scale(2.0, cross(boost, mass[1])))
    by_position = in_parent_wrench(joint, q, columns.by_position)
    by_velocity = in_parent_wrench(joint, q, columns.by_velocity)
    return Columns(mass, by_position, by_velocity, moment)


def _enter(result: Derivatives, joint: Joint, axis: Axis, columns: Columns, i: int, at: int) -> None:
    """Joint ``i``'s entries with joint ``at``, in whose frame its columns are given."""
    result.mass_matrix[at][i] = result.mass_matrix[i][at] = along(joint, columns.mass)
    result.by_position[at][i] = along(joint, columns.by_position)
    result.by_velocity[at][i] = along(joint, columns.by_velocity)
    if at == i:
        return
    moment, force = columns.mass
    if axis.turns:
        result.by_position[i][at] = (
            dot(columns.moment, axis.rate) + dot(moment, axis.second) + dot(force, axis.origin)
        )
        result.by_velocity[i][at] = columns.moment[2] + 2.0 * dot(moment, axis.rate)
    else:
        result.by_position[i][at] = dot(force, axis.second)
        result.by_velocity[i][at] = 2.0 * dot(force, axis.rate)
