"""First derivatives of inverse dynamics by columns, as in the published accelerators.

Each step of the recursive Newton-Euler algorithm is differentiated: there is one column of velocities,
accelerations and wrenches for each coordinate, in every frame from the coordinate's own joint to the leaves,
and back to the root. Source: Carpentier and Mansard, "Analytical derivatives of rigid body dynamics
algorithms" (2018). The composite form (:mod:`rbdhw.dynamics.derivatives`) gives the same results with a
fraction of the operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import along, without_external
from rbdhw.dynamics.rnea import backward as in_parent
from rbdhw.dynamics.spatial import (
    ZERO,
    Twist,
    Wrench,
    add,
    add_twist,
    apply,
    cross,
    cross_twist,
    cross_wrench,
    multiply,
    scale,
    subtract,
    transpose,
)
from rbdhw.robot.model import BASE, Inertia, Joint, Robot
from rbdhw.scalar import Scalar, region

Column = dict[int, Twist]
"""A twist or wrench for each coordinate; missing entries are zero."""

Matrix = list[list[Scalar]]


def column_derivatives(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    fext: Mapping[int, Wrench] | None = None,
) -> tuple[Matrix, Matrix]:
    """Return the derivatives of ``tau = ID(q, v, a, fext)`` by ``q`` and ``v``; parameters as in ``rnea``.

    Entry ``[i][j]`` of the rows is the derivative of ``tau[i]`` by coordinate or velocity ``j``. It is 0.0 if
    neither joint is an ancestor of the other.
    """
    n = len(robot.bodies)
    passes = [_Differentiated(robot, q, v, by_position) for by_position in (True, False)]
    motions: list[tuple[Twist, Twist]] = []
    wrenches: list[Wrench] = []
    rest = ((ZERO, ZERO), (ZERO, subtract(ZERO, robot.gravity)))
    for i, body in enumerate(robot.bodies):
        with region("columns_forward", i):
            above = rest if body.parent == BASE else motions[body.parent]
            carried = (in_child(body.joint, q[i], above[0]), in_child(body.joint, q[i], above[1]))
            velocity = add_twist(carried[0], axis(body.joint, v[i]))
            coriolis = cross_twist(velocity, axis(body.joint, v[i]))
            acceleration = add_twist(carried[1], axis(body.joint, a[i]), coriolis)
            motions.append((velocity, acceleration))
            momentum = momentum_of(body.inertia, velocity)
            wrench = add_twist(momentum_of(body.inertia, acceleration), cross_wrench(velocity, momentum))
            if fext is not None and i in fext:
                wrench = without_external(wrench, fext[i], body.link_frame)
            wrenches.append(wrench)
            for differentiated in passes:
                differentiated.forward(i, carried, velocity, momentum)
    result: list[Matrix] = [[[0.0] * n for _ in range(n)] for _ in passes]
    for i in reversed(range(n)):
        with region("columns_backward", i):
            for differentiated, matrix in zip(passes, result, strict=True):
                differentiated.backward(i, wrenches[i], matrix)
            parent = robot.bodies[i].parent
            if parent != BASE:
                carried_wrench = in_parent(robot.bodies[i].joint, q[i], wrenches[i])
                wrenches[parent] = add_twist(wrenches[parent], carried_wrench)
    return result[0], result[1]


class _Differentiated:
    """The forward and backward pass, differentiated by all positions or by all velocities."""

    def __init__(self, robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], by_position: bool) -> None:
        self._robot, self._q, self._v, self._by_position = robot, q, v, by_position
        self._velocities: list[Column] = []
        self._accelerations: list[Column] = []
        self._wrenches: list[Column] = []

    def forward(self, i: int, carried: tuple[Twist, Twist], velocity: Twist, momentum: Wrench) -> None:
        """Compute the columns of body ``i``; ``carried`` is the parent's motion in the body's frame."""
        body = self._robot.bodies[i]
        rate, unit = axis(body.joint, self._v[i]), axis(body.joint, 1.0)
        velocities = self._carry(i, self._velocities)
        velocities[i] = cross_twist(carried[0], unit) if self._by_position else unit
        accelerations = self._carry(i, self._accelerations)
        accelerations[i] = cross_twist(carried[1] if self._by_position else velocity, unit)
        wrenches: Column = {}
        for j, change in velocities.items():
            accelerations[j] = add_twist(accelerations[j], cross_twist(change, rate))
            wrenches[j] = add_twist(
                momentum_of(body.inertia, accelerations[j]),
                cross_wrench(change, momentum),
                cross_wrench(velocity, momentum_of(body.inertia, change)),
            )
        self._velocities.append(velocities)
        self._accelerations.append(accelerations)
        self._wrenches.append(wrenches)

    def backward(self, i: int, wrench: Wrench, matrix: Matrix) -> None:
        """Fill in row ``i`` of the result, and add the columns to the parent's."""
        body = self._robot.bodies[i]
        for j, change in self._wrenches[i].items():
            matrix[i][j] = along(body.joint, change)[0]
            if body.parent == BASE:
                continue
            if j == i and self._by_position:
                change = add_twist(change, cross_wrench(axis(body.joint, 1.0), wrench))
            parent = self._wrenches[body.parent]
            change = in_parent(body.joint, self._q[i], change)
            parent[j] = add_twist(parent[j], change) if j in parent else change

    def _carry(self, i: int, columns: list[Column]) -> Column:
        """Return the parent's columns in body ``i``'s frame."""
        body = self._robot.bodies[i]
        above = {} if body.parent == BASE else columns[body.parent]
        return {j: in_child(body.joint, self._q[i], twist) for j, twist in above.items()}


def in_child(joint: Joint, q: Coordinate, twist: Twist) -> Twist:
    """Transform a parent's twist to the child's frame, at its origin."""
    angular, linear = twist
    linear = add(linear, cross(angular, joint.placement.translation))
    into = transpose(joint.placement.rotation)
    angular = q.into(multiply(into, angular))
    linear = q.into(multiply(into, linear))
    return angular, add(linear, cross(angular, q.shift))


def axis(joint: Joint, rate: Scalar) -> Twist:
    """Return the joint's axis times a rate, as a twist."""
    along_z = (0.0, 0.0, rate)
    return (along_z, ZERO) if joint.kind.rotates else (ZERO, along_z)


def momentum_of(inertia: Inertia, twist: Twist) -> Wrench:
    """Return a body's inertia times a twist."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    angular, linear = twist
    moment = add(
        apply(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), angular), cross(inertia.first_moment, linear)
    )
    return moment, add(scale(inertia.mass, linear), cross(angular, inertia.first_moment))
