"""Second derivatives of the power of all wrenches in a virtual motion: the columns of each degree of freedom.

A virtual motion ``w`` gives each body a twist. The power ``sum w . f`` of the bodies' wrenches in it is
``mu . tau`` if the joints have the virtual velocities ``mu``. Its gradient by the position and velocity of
joint ``j``, summed over the bodies from that joint to the leaves, is::

    by q_j    f . tilt + A . ddS + C . dS
    by v_j    A . (dS + S') + C . S

Here ``f`` is the transmitted wrench, ``tilt`` the axis ``S`` moved with the parent's virtual motion, ``A``
the virtual motion's momentum, and ``C`` the moment ``(2B)^T w``, summed over the bodies. ``dS``, ``ddS``,
``S'``, ``I`` and ``B`` are those of :mod:`rbdhw.dynamics.derivatives`. Seen from the body, each of these
quantities changes with an ancestor's coordinate as if all bodies below were one. Hence each degree of freedom
has five columns, which are transformed to the frames of its ancestors and multiplied by their axes::

    tilted    I ddS + 2B dS + S x* f           by_velocity    I (dS + S') + 2B S
    bent      I tilt + S x* A                  moved          2 S x* A - 2W S
    turned    (2B)^T tilt - 2W dS + 2 dS x* A + S x* C

``W`` is the body-Coriolis matrix of the composite in the virtual motion. ``turned`` and ``moved`` have no
force. ``bent`` is also the derivative of the virtual momentum, which gives ``d(M mu)/dq``.

The method is that of Singh, Russell and Wensing, "Efficient analytical derivatives of rigid-body dynamics
using spatial vector algebra" (2022), applied once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.composite import Composite
from rbdhw.dynamics.derivatives import (
    Axis,
    Columns,
    JointFrame,
    Matrix,
    about_axis,
    momentum_of,
    own_columns,
    pair_in_parent,
    with_turned_wrench,
)
from rbdhw.dynamics.joint import Coordinate, Direction, dofs
from rbdhw.dynamics.rnea import backward as in_parent_wrench
from rbdhw.dynamics.spatial import (
    UNIT,
    ZERO,
    Tensor,
    Twist,
    Vector,
    Wrench,
    add,
    cross,
    dot,
    multiply,
    power,
    scale,
    subtract,
    transpose,
    transpose_tensor,
)
from rbdhw.robot.model import BASE, Joint, JointKind, Robot
from rbdhw.scalar import region


@dataclass(frozen=True)
class SecondDerivatives:
    """Second derivatives of the power over all degrees of freedom, as rows.

    ``by_position[j][k]`` is the derivative by ``q[j]``, then by ``q[k]``; the order matters only within a
    joint of several degrees of freedom. ``mixed[j][k]`` is by ``q[j]`` and ``v[k]``, ``by_velocity[j][k]`` by
    ``v[j]`` and ``v[k]``. ``momentum[i][j]`` is the derivative of ``(M mu)[i]`` by ``q[j]``.
    ``root_momentum`` is the linear momentum of all bodies from the first in the virtual motion, in its frame.
    """

    by_position: Matrix
    mixed: Matrix
    by_velocity: Matrix
    momentum: Matrix
    root_momentum: Vector


@dataclass(frozen=True)
class VirtualMotion:
    """The twist of a body in the virtual motion, and that of its parent at the body's origin, in its axes."""

    twist: Twist
    carried: Twist


@dataclass(frozen=True)
class SecondColumns:
    """The columns of one degree of freedom, in the frame of the body reached so far.

    ``first`` has those that do not depend on the virtual motion: ``I S``, ``tilted`` and ``by_velocity``.
    ``still`` is ``S x* A`` in the joint's own frame.
    """

    first: Columns
    still: Wrench
    bent: Wrench
    turned: Vector
    moved: Vector


def empty_derivatives(n: int, root_momentum: Vector) -> SecondDerivatives:
    """Return derivatives of zero for ``n`` degrees of freedom."""
    qq, qv, vv, momentum = ([[0.0] * n for _ in range(n)] for _ in range(4))
    return SecondDerivatives(qq, qv, vv, momentum, root_momentum)


def first_columns(axis: Axis, body: Composite, wrench: Wrench) -> Columns:
    """Return the columns of the first derivatives in their own frame, with the term ``S x* f``."""
    return with_turned_wrench(own_columns(axis, body), axis.direction, wrench)


def own_second_columns(
    axis: Axis, tilted: Twist, body: Composite, virtual: Composite, first: Columns, moment: Vector
) -> SecondColumns:
    """Return the columns of a degree of freedom in its own frame.

    ``tilted`` is the tilt of the axis, which is zero at and above the first joint of the virtual motion.
    ``body`` and ``virtual`` are the composite of the axis' body, in its own motion and in the virtual one.
    ``moment`` is the moment ``C`` of the composite.
    """
    turns, k = axis.direction
    gyration = transpose_tensor(virtual.gyration)
    still = force_cross(axis.direction, momentum_wrench(virtual.momentum, virtual.gyration))
    accelerated = momentum_of(body, tilted)
    bent = add(accelerated[0], still[0]), add(accelerated[1], still[1])
    turned = subtract(transposed_coriolis(body, tilted), scale(2.0, about_axis(gyration, axis.rate[0])))
    turned = add(turned, scale(2.0, cross(axis.rate[1], virtual.momentum)))
    if turns:
        turned = add(turned, cross(UNIT[k], moment))
        moved = scale(-2.0, about_axis(gyration, UNIT[k]))
    else:
        moved = scale(2.0, cross(UNIT[k], virtual.momentum))
    return SecondColumns(first, still, bent, turned, moved)


def climb(
    result: SecondDerivatives,
    robot: Robot,
    frames: Sequence[JointFrame],
    tilts: Sequence[Sequence[Twist]],
    i: int,
    dof: int,
    columns: SecondColumns,
) -> None:
    """Fill in the derivatives by degree of freedom ``dof`` of body ``i`` and by those of its ancestors.

    ``tilts`` is the tilt of each axis of each body's joint, in the body's frame. ``columns`` are the columns
    of the degree of freedom in its own frame.
    """
    spans = dofs(robot)
    n = spans[-1].stop
    for at in robot.path(i):
        with region("second", at):
            for k, axis, tilted in zip(range(n)[spans[at]], frames[at].axes, tilts[at], strict=True):
                _enter(result, columns, dof, k, axis, tilted)
                if at == i:
                    floats = frames[i].joint.kind is JointKind.FLOATING
                    _enter_own(result, columns, dof, k, frames[i].axes[dof - spans[i].start], axis, floats)
                else:
                    _enter_ancestor(result, columns, dof, k, axis)
            if robot.bodies[at].parent != BASE:
                columns = _in_parent(frames[at], columns)


def tilt(direction: Direction, carried: Twist) -> Twist:
    """Return an axis moved with its parent's virtual motion, which is given in the axis' frame."""
    turns, k = direction
    angular, linear = carried
    if turns:
        return cross(angular, UNIT[k]), cross(linear, UNIT[k])
    return ZERO, cross(angular, UNIT[k])


def force_cross(direction: Direction, wrench: Wrench) -> Wrench:
    """Return ``S x*`` a wrench."""
    turns, k = direction
    if turns:
        return cross(UNIT[k], wrench[0]), cross(UNIT[k], wrench[1])
    return cross(UNIT[k], wrench[1]), ZERO


def momentum_wrench(momentum: Vector, gyration: Tensor) -> Wrench:
    """Return the momentum of a composite as a wrench; its gyration includes the linear velocity."""
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = gyration
    return (zy - yz, xz - zx, yx - xy), momentum


def transposed_coriolis(body: Composite, twist: Twist) -> Vector:
    """Return ``(2B)^T`` times a twist; it has no force."""
    angular, linear = twist
    moment = about_axis(transpose_tensor(body.gyration), angular)
    return scale(2.0, add(moment, cross(body.momentum, linear)))


def in_child(joint: Joint, q: Coordinate, twist: Twist) -> Twist:
    """Transform a twist from a body's frame to a child's, at its origin."""
    angular, linear = twist
    into = transpose(joint.placement.rotation)
    linear = multiply(into, add(linear, cross(angular, joint.placement.translation)))
    angular = multiply(into, angular)
    return q.into(angular), q.into(add(linear, cross(angular, q.shift)))


def _in_parent(frame: JointFrame, columns: SecondColumns) -> SecondColumns:
    """Transform columns from a body's frame to its parent's."""
    joint, q, first = frame.joint, frame.q, columns.first
    mass, by_position, by_velocity = (
        in_parent_wrench(joint, q, column) for column in (first.mass, first.by_position, first.by_velocity)
    )
    bent, turned = pair_in_parent(frame, columns.bent, columns.turned)
    moved = multiply(joint.placement.rotation, q.out_of(columns.moved))
    return SecondColumns(
        Columns(mass, by_position, by_velocity, first.moment), columns.still, bent, turned, moved
    )


def _enter(
    result: SecondDerivatives, columns: SecondColumns, dof: int, k: int, axis: Axis, tilted: Twist
) -> None:
    """Fill in what the columns of ``dof`` give with axis ``k`` of its own joint or of an ancestor's."""
    entry = power(columns.first.by_position, tilted) + dot(columns.turned, axis.rate[0])
    result.by_position[dof][k] = entry + power(columns.bent, axis.second)
    entry = power(columns.first.by_velocity, tilted)
    result.mixed[k][dof] = entry + dot(columns.moved, axis.rate[0])
    result.momentum[dof][k] = power(columns.first.mass, tilted)


def _enter_own(
    result: SecondDerivatives,
    columns: SecondColumns,
    dof: int,
    k: int,
    dof_axis: Axis,
    axis: Axis,
    floats: bool,
) -> None:
    """Fill in the derivative by two velocities of one joint; the linear ones of a floating body have none."""
    turns, component = axis.direction
    if floats and not (turns and dof_axis.direction[0]):
        return
    still = columns.still[0 if turns else 1][component]
    result.by_velocity[dof][k] = (columns.moved[component] if turns else 0.0) - still


def _enter_ancestor(result: SecondDerivatives, columns: SecondColumns, dof: int, k: int, axis: Axis) -> None:
    """Fill in what the columns of ``dof`` give with axis ``k`` of an ancestor's joint alone."""
    turns, component = axis.direction
    result.by_position[k][dof] = result.by_position[dof][k]
    turned = columns.turned[component] if turns else 0.0
    result.mixed[dof][k] = turned + power(columns.bent, axis.both)
    moved = columns.moved[component] if turns else 0.0
    result.by_velocity[dof][k] = result.by_velocity[k][dof] = moved
    result.momentum[k][dof] = columns.bent[0 if turns else 1][component]
