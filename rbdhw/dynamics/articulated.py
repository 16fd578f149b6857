"""The inverse of the mass matrix by articulated bodies, without the mass matrix.

The backward pass accumulates articulated inertias and, column by column, the wrenches that unit joint forces
cause. The forward pass converts them to accelerations. Source: Carpentier, "Analytical inverse of the joint
space inertia matrix" (2018); the published accelerators call it MMinvGen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.columns import axis, in_child
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import along
from rbdhw.dynamics.rnea import backward as in_parent
from rbdhw.dynamics.spatial import (
    ZERO,
    Tensor,
    Twist,
    Vector,
    Wrench,
    add_twist,
    carry,
    cross,
    cross_tensor,
    outer,
    power,
    scale_twist,
    sum_of,
    transpose_tensor,
)
from rbdhw.robot.model import BASE, Inertia, Joint, Robot
from rbdhw.scalar import Scalar, reciprocal, region


@dataclass(frozen=True)
class Articulated:
    """An articulated inertia: moment ``I alpha + H a`` and force ``H^T alpha + M a``."""

    rotational: Tensor
    coupling: Tensor
    linear: Tensor

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(
            sum_of(self.rotational, other.rotational),
            sum_of(self.coupling, other.coupling),
            sum_of(self.linear, other.linear),
        )

    def shift_origin(self, offset: Vector) -> Articulated:
        """Return the inertia about a point at ``-offset``.

        With ``r`` the offset: ``H + r x M`` and ``I - H r x + r x (H + r x M)^T``.
        """
        coupling = sum_of(self.coupling, cross_tensor(offset, self.linear))
        rotational = sum_of(
            self.rotational,
            cross_rows(self.coupling, offset),
            cross_tensor(offset, transpose_tensor(coupling)),
        )
        return Articulated(rotational, coupling, self.linear)


@dataclass(frozen=True)
class Eliminated:
    """The column ``I S`` of a joint and the reciprocal of ``S^T I S``."""

    column: Wrench
    factor: Scalar


def articulated_inverse(robot: Robot, q: Sequence[Coordinate]) -> list[list[Scalar]]:
    """Return the rows of the lower triangle of ``M^-1``, for a fixed-base robot whose axes are all z."""
    n = len(robot.bodies)
    inertias = [rigid(body.inertia) for body in robot.bodies]
    wrenches: list[dict[int, Wrench]] = [{} for _ in range(n)]
    rows: list[dict[int, Scalar]] = [{} for _ in range(n)]
    joints: list[Eliminated] = []
    for i in reversed(range(n)):
        body = robot.bodies[i]
        with region("articulated_backward", i):
            eliminated = eliminate(body.joint, inertias[i])
            joints.insert(0, eliminated)
            rows[i] = {
                j: -1.0 * (eliminated.factor * along(body.joint, f)[0]) for j, f in wrenches[i].items()
            }
            rows[i][i] = eliminated.factor
            if body.parent != BASE:
                inertia = project(body.joint, inertias[i], eliminated)
                inertias[body.parent] += inertia_in_parent(body.joint, q[i], inertia)
                _gather(wrenches, body.parent, body.joint, q[i], wrenches[i], eliminated, rows[i])
    _release(robot, q, joints, rows)
    return [[rows[j].get(i, 0.0) for j in range(i + 1)] for i in range(n)]


def _gather(
    wrenches: list[dict[int, Wrench]],
    parent: int,
    joint: Joint,
    q: Coordinate,
    own_wrenches: dict[int, Wrench],
    eliminated: Eliminated,
    row: dict[int, Scalar],
) -> None:
    """Carry the wrench columns of a body to its parent."""
    for j, entry in row.items():
        caused = scale_twist(entry, eliminated.column)
        if j in own_wrenches:
            caused = add_twist(own_wrenches[j], caused)
        caused = in_parent(joint, q, caused)
        above = wrenches[parent]
        above[j] = add_twist(above[j], caused) if j in above else caused


def _release(
    robot: Robot, q: Sequence[Coordinate], joints: Sequence[Eliminated], rows: list[dict[int, Scalar]]
) -> None:
    """Forward pass: complete ``rows`` with the accelerations that arrive at each joint from its parent."""
    accelerations: list[dict[int, Twist]] = []
    for i, body in enumerate(robot.bodies):
        with region("articulated_forward", i):
            above = {} if body.parent == BASE else accelerations[body.parent]
            reached = {j: in_child(body.joint, q[i], twist) for j, twist in above.items() if j >= i}
            for j, twist in reached.items():
                rows[i][j] = rows[i].get(j, 0.0) - joints[i].factor * power(joints[i].column, twist)
            added = ((j, axis(body.joint, entry)) for j, entry in rows[i].items())
            accelerations.append({j: add_twist(reached[j], t) if j in reached else t for j, t in added})


def rigid(inertia: Inertia) -> Articulated:
    """Return the articulated inertia of one rigid body."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    m, (x, y, z) = inertia.mass, inertia.first_moment
    return Articulated(
        ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)),
        ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)),
        ((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m)),
    )


def eliminate(joint: Joint, inertia: Articulated) -> Eliminated:
    """Return the column and the factor with which a joint is eliminated from an articulated inertia."""
    (rotor,) = joint.armature or (0.0,)
    if joint.kind.rotates:
        column = inertia.rotational[2], inertia.coupling[2]
        return Eliminated(column, reciprocal(inertia.rotational[2][2] + rotor))
    column = transpose_tensor(inertia.coupling)[2], inertia.linear[2]
    return Eliminated(column, reciprocal(inertia.linear[2][2] + rotor))


def project(joint: Joint, inertia: Articulated, eliminated: Eliminated) -> Articulated:
    """Return the inertia seen through the joint, which without a rotor is zero about (or along) its axis."""
    seen = less_column(inertia, eliminated)
    if joint.armature:
        return seen
    if joint.kind.rotates:
        return without_turn(seen)
    across = transpose_tensor((*transpose_tensor(seen.coupling)[:2], ZERO))
    return Articulated(seen.rotational, across, without_z(seen.linear))


def less_column(inertia: Articulated, eliminated: Eliminated) -> Articulated:
    """Return an inertia less what the elimination of a joint takes from it."""
    moment, force = eliminated.column
    share = scale_twist(-1.0 * eliminated.factor, eliminated.column)
    return Articulated(
        sum_of(inertia.rotational, outer(share[0], moment)),
        sum_of(inertia.coupling, outer(share[0], force)),
        sum_of(inertia.linear, outer(share[1], force)),
    )


def without_turn(inertia: Articulated) -> Articulated:
    """Return an inertia that turning about z does not feel, with exact zeros in its place."""
    return Articulated(without_z(inertia.rotational), (*inertia.coupling[:2], ZERO), inertia.linear)


def without_z(tensor: Tensor) -> Tensor:
    """Return a symmetric tensor with its z row and column set to zero."""
    (xx, xy, _), (_, yy, _), _ = tensor
    return (xx, xy, 0.0), (xy, yy, 0.0), (0.0, 0.0, 0.0)


def inertia_in_parent(joint: Joint, q: Coordinate, inertia: Articulated) -> Articulated:
    """Transform an articulated inertia to the parent's frame."""
    if not joint.kind.rotates:
        inertia = inertia.shift_origin(q.shift)
    rotation = joint.placement.rotation
    rotational, coupling, linear = (
        carry(rotation, q.tensor_out_of(tensor))
        for tensor in (inertia.rotational, inertia.coupling, inertia.linear)
    )
    return Articulated(rotational, coupling, linear).shift_origin(joint.placement.translation)


def cross_rows(tensor: Tensor, a: Vector) -> Tensor:
    """Return ``-T a x``: the cross product of ``a`` with each row of ``T``."""
    x, y, z = (cross(a, row) for row in tensor)
    return x, y, z
