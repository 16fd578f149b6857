"""Second derivatives of inverse dynamics, for each joint force.

They are those of :mod:`rbdhw.dynamics.second_columns` for unit multipliers: the virtual motion of force ``i``
moves all bodies from joint ``i`` to the leaves as one, along the joint's axis ``S_i``. Hence the columns of a
degree of freedom below ``i`` are products of ``S_i`` with derivatives of its own composite::

    bent    dI/dq S_i          turned    (d(2B)/dq)^T S_i          moved    (d(2B)/dv)^T S_i

Those of ``i`` and of its ancestors come from the composite of ``i`` in the virtual motion, transformed to
their frames.

If joint ``i`` has one degree of freedom, its derivatives by two velocities are sums of derivatives of the
mass matrix, ``dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i`` (Christoffel symbols).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.composite import ZERO_TENSOR, Composite, composites
from rbdhw.dynamics.derivatives import Axis, Columns, joint_frames, moment_in_parent, momentum_of, own_columns
from rbdhw.dynamics.joint import Coordinate, Direction, dofs
from rbdhw.dynamics.rnea import RoundTrip
from rbdhw.dynamics.second_columns import (
    SecondColumns,
    SecondDerivatives,
    VirtualMotion,
    climb,
    empty_derivatives,
    first_columns,
    force_cross,
    in_child,
    own_second_columns,
    tilt,
    transposed_coriolis,
)
from rbdhw.dynamics.spatial import (
    UNIT,
    ZERO,
    ZERO_TWIST,
    Tensor,
    Twist,
    Vector,
    add,
    carry,
    cross,
    cross_tensor,
    multiply,
    outer,
    scale,
    sum_of,
    transpose_tensor,
)
from rbdhw.robot.model import BASE, Joint, JointKind, Robot
from rbdhw.scalar import Scalar, region


def second_derivatives(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip
) -> list[SecondDerivatives]:
    """Return the second derivatives of each force of ``tau = ID(q, v, a, fext)``.

    ``momentum[j][k]`` of force ``i`` is the derivative of ``M[i][j]`` by ``q[k]``. The derivatives for a
    floating body are at constant proper acceleration: see :mod:`rbdhw.dynamics.floating_base`. ``trip`` is
    the result of :func:`rbdhw.dynamics.rnea.newton_euler` for ``q``, ``v``, the accelerations and the
    external wrenches, which are constant in their links' frames.
    """
    spans = dofs(robot)
    n = spans[-1].stop
    state = _State(robot, q, v, trip)
    forces = [
        _derivatives_of_force(state, i, axis) for i, frame in enumerate(state.frames) for axis in frame.axes
    ]
    owners = [body for body, span in zip(robot.bodies, spans, strict=True) for _ in range(n)[span]]
    mirror_momenta(forces)
    with region("christoffel"):
        for i, owner in enumerate(owners):
            if owner.joint.kind.nv == 1:
                enter_symbols(forces, i, [body.joint.kind is not JointKind.FLOATING for body in owners])
    return forces


def mirror_momenta(forces: Sequence[SecondDerivatives]) -> None:
    """Take the derivatives of the mass matrix's upper triangle from the lower, which are the same numbers."""
    for i, force in enumerate(forces):
        for j in range(i):
            forces[j].momentum[i][:] = force.momentum[j]


class _State:
    """The composites, frames and columns that all forces share."""

    def __init__(self, robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip) -> None:
        self.robot, self.q = robot, q
        self.spans = dofs(robot)
        self.composites = composites(robot, q, v, trip)
        self.frames = joint_frames(robot, q, v, trip)
        self.first: list[list[Columns]] = []
        self.changes: list[list[Changes]] = []
        for i, frame in enumerate(self.frames):
            body = self.composites[i]
            with region("second", i):
                self.first.append([first_columns(axis, body, trip.wrenches[i]) for axis in frame.axes])
                self.changes.append([_changes(axis, body) for axis in frame.axes])


@dataclass(frozen=True)
class Changes:
    """The derivatives of a composite by the position and the velocity of its own joint."""

    by_position: Composite
    by_velocity: Composite


def _derivatives_of_force(state: _State, i: int, axis: Axis) -> SecondDerivatives:
    """Return the second derivatives of the force along one axis of body ``i``'s joint."""
    motions = _virtual_motions(state, i, axis.direction)
    tilts = [
        [tilt(other.direction, motions[b].carried if b in motions else ZERO_TWIST) for other in frame.axes]
        for b, frame in enumerate(state.frames)
    ]
    columns, root_momentum = _columns_above(state, i, axis)
    columns |= {b: _columns_below(state, b, motion.twist) for b, motion in motions.items() if b != i}
    result = empty_derivatives(state.spans[-1].stop, root_momentum)
    for b in sorted(columns):
        for dof, column in zip(range(len(result.mixed))[state.spans[b]], columns[b], strict=True):
            climb(result, state.robot, state.frames, tilts, b, dof, column)
    return result


def _virtual_motions(state: _State, i: int, direction: Direction) -> dict[int, VirtualMotion]:
    """Return the twists of body ``i`` and of all bodies below it if body ``i`` moves along an axis."""
    turns, k = direction
    motions = {i: VirtualMotion((UNIT[k], ZERO) if turns else (ZERO, UNIT[k]), ZERO_TWIST)}
    for b, body in enumerate(state.robot.bodies):
        if body.parent in motions:
            with region("virtual_forward", b):
                twist = in_child(body.joint, state.q[b], motions[body.parent].twist)
                motions[b] = VirtualMotion(twist, twist)
    return motions


def _columns_above(state: _State, i: int, axis: Axis) -> tuple[dict[int, list[SecondColumns]], Vector]:
    """Return the columns of body ``i``'s joint and of its ancestors' joints, each in its own frame.

    Also return the linear momentum of the root's composite, in its frame.
    """
    virtual = moved_along(axis.direction, state.composites[i])
    moment = own_columns(axis, state.composites[i]).moment
    columns: dict[int, list[SecondColumns]] = {}
    for at in state.robot.path(i):
        frame, body = state.frames[at], state.composites[at]
        with region("second", at):
            columns[at] = [
                own_second_columns(other, ZERO_TWIST, body, virtual, first, moment)
                for other, first in zip(frame.axes, state.first[at], strict=True)
            ]
            if state.robot.bodies[at].parent != BASE:
                moment = moment_in_parent(frame, virtual.momentum, moment)
                virtual = _virtual_in_parent(frame.joint, frame.q, virtual)
    return columns, virtual.momentum


def _columns_below(state: _State, b: int, twist: Twist) -> list[SecondColumns]:
    """Return the columns of body ``b``'s joint if the virtual motion moves the bodies around it as one."""
    rows = []
    with region("second", b):
        for axis, first, changes in zip(state.frames[b].axes, state.first[b], state.changes[b], strict=True):
            bent = momentum_of(changes.by_position, twist)
            turned = transposed_coriolis(changes.by_position, twist)
            moved = transposed_coriolis(changes.by_velocity, twist)
            still = force_cross(axis.direction, momentum_of(state.composites[b], twist))
            rows.append(SecondColumns(first, still, bent, turned, moved))
    return rows


def _changes(axis: Axis, body: Composite) -> Changes:
    """Return the derivatives of a body's composite by one position and one velocity of its joint."""
    by_velocity = moved_along(axis.direction, body)
    turns, k = axis.direction
    unit = UNIT[k]
    angular, linear = axis.rate
    swept = _moving(
        add(cross(angular, body.first), scale(body.mass, linear)),
        sum_of(cross_tensor(angular, body.second), outer(linear, body.first)),
    )
    if turns:
        second = cross_tensor(unit, body.second)
        gyration = cross_tensor(unit, body.gyration)
        columns = transpose_tensor(cross_tensor(unit, transpose_tensor(body.gyration)))
        turned = Composite(
            0.0,
            cross(unit, body.first),
            sum_of(second, transpose_tensor(second)),
            cross(unit, body.momentum),
            sum_of(gyration, columns),
        )
        return Changes(turned + swept, by_velocity)
    across = outer(unit, body.first)
    first, second = scale(body.mass, unit), sum_of(across, transpose_tensor(across))
    shifted = Composite(0.0, first, second, ZERO, outer(body.momentum, unit))
    return Changes(shifted + swept, by_velocity)


def _moving(momentum: Vector, gyration: Tensor) -> Composite:
    """Return a composite without mass."""
    return Composite(0.0, ZERO, ZERO_TENSOR, momentum, gyration)


def moved_along(direction: Direction, body: Composite) -> Composite:
    """Return momentum and gyration of a composite that moves along an axis as one."""
    turns, k = direction
    if turns:
        momentum, gyration = cross(UNIT[k], body.first), cross_tensor(UNIT[k], body.second)
    else:
        momentum, gyration = scale(body.mass, UNIT[k]), outer(UNIT[k], body.first)
    return _moving(momentum, gyration)


def _virtual_in_parent(joint: Joint, q: Coordinate, virtual: Composite) -> Composite:
    """Transform momentum and gyration, which include the linear velocity, to the parent's frame."""
    rotation = joint.placement.rotation
    momentum = q.out_of(virtual.momentum)
    gyration = sum_of(q.tensor_out_of(virtual.gyration), outer(momentum, q.shift))
    momentum = multiply(rotation, momentum)
    gyration = sum_of(carry(rotation, gyration), outer(momentum, joint.placement.translation))
    return _moving(momentum, gyration)


def enter_symbols(forces: Sequence[SecondDerivatives], i: int, usable: Sequence[bool]) -> None:
    """Replace the derivatives of force ``i`` by two velocities with sums of mass matrix derivatives."""
    for j in range(len(forces)):
        for k in range(len(forces)):
            if usable[j] and usable[k]:
                entry = forces[j].momentum[i][k] + forces[k].momentum[i][j]
                forces[i].by_velocity[j][k] = entry - forces[j].momentum[k][i]
