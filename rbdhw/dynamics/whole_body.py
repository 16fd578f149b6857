"""A robot as one body: its mass and centre of mass, and how its momentum depends on its velocities.

The momentum for a unit velocity of a joint is a column of the mass matrix before it is projected on other
joints. It is moved link by link to the origin and the axes of the base, or of a floating first body; or at
once to the centre of mass and the axes of results, as its own body sees them (:class:`View`).

Source: Orin, Goswami and Lee, "Centroidal dynamics of a humanoid robot" (2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.composite import (
    Composite,
    composite_at_rest,
    composites,
    composites_at_rest,
    in_parent,
)
from rbdhw.dynamics.derivatives import joint_frames, momentum_column, own_columns, with_turned_wrench
from rbdhw.dynamics.joint import Coordinate, directions
from rbdhw.dynamics.rnea import STILL, RoundTrip, backward, inertial_wrench
from rbdhw.dynamics.spatial import (
    ZERO,
    Tensor,
    Vector,
    Wrench,
    add_twist,
    apply,
    cross,
    multiply,
    subtract,
    transpose,
)
from rbdhw.robot.model import BASE, Joint, JointKind, Robot
from rbdhw.scalar import Scalar, region


def whole_body(robot: Robot, q: Sequence[Coordinate]) -> Composite:
    """Return all moving bodies as one composite."""
    bodies = composites_at_rest(robot, q)
    if robot.floats:
        return bodies[0]
    with region("whole_body"):
        whole = composite_at_rest(robot.unfelt)
        for i in _roots(robot):
            whole += in_parent(robot, i, q[i], ZERO, STILL, bodies[i])
    return whole


def momentum_columns(robot: Robot, q: Sequence[Coordinate]) -> list[Wrench]:
    """Return the momentum (moment, force) of all bodies at a unit velocity of each degree of freedom."""
    columns: list[Wrench] = []
    bodies = composites_at_rest(robot, q)
    for i, body in enumerate(robot.bodies):
        for direction in directions(body.joint):
            with region("mass_matrix", i):
                columns.append(_to_base(robot, q, i, momentum_column(direction, bodies[i])))
    return columns


def base_wrench(robot: Robot, q: Sequence[Coordinate], trip: RoundTrip) -> Wrench:
    """Return the wrench that gives all moving bodies the motions of a round trip."""
    if robot.floats:
        return trip.wrenches[0]
    with region("whole_body"):
        unfelt = inertial_wrench(robot.unfelt, trip.base)
        return add_twist(unfelt, *(_to_base(robot, q, i, trip.wrenches[i]) for i in _roots(robot)))


@dataclass(frozen=True)
class View:
    """How a body sees the axes of results, which are rows of a rotation, and the centre of mass."""

    axes: Tensor
    centre: Vector

    def of(self, wrench: Wrench) -> Wrench:
        """Return a wrench of the body about the centre of mass, in the axes of results."""
        moment, force = wrench
        return apply(self.axes, subtract(moment, cross(self.centre, force))), apply(self.axes, force)

    def behind(self, joint: Joint, q: Coordinate) -> View:
        """Return what the body behind a joint sees."""
        back = transpose(joint.placement.rotation)
        x, y, z = (q.into(multiply(back, axis)) for axis in self.axes)
        centre = multiply(back, subtract(self.centre, joint.placement.translation))
        return View((x, y, z), q.into(subtract(centre, q.shift)))


def views(robot: Robot, q: Sequence[Coordinate], first: View) -> list[View]:
    """Return what each body sees; ``first`` is that of the base, or of a floating first body."""
    seen: list[View] = []
    for i, body in enumerate(robot.bodies):
        with region("views", i):
            above = first if body.parent == BASE else seen[body.parent]
            seen.append(first if i == 0 and robot.floats else above.behind(body.joint, q[i]))
    return seen


def central_columns(robot: Robot, q: Sequence[Coordinate], seen: Sequence[View]) -> list[Wrench]:
    """Return the columns of :func:`momentum_columns` about the centre of mass, in the axes of results."""
    columns: list[Wrench] = []
    bodies = composites_at_rest(robot, q)
    for i, body in enumerate(robot.bodies):
        with region("momentum_columns", i):
            columns += [seen[i].of(momentum_column(each, bodies[i])) for each in directions(body.joint)]
    return columns


def wrench_columns(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip
) -> list[tuple[int, Wrench, Wrench]]:
    """Return the derivatives of :func:`base_wrench` by position and by velocity of each degree of freedom.

    They are wrenches of the body whose number is before them, in axes that turn with a floating first body,
    whose proper acceleration is constant.
    """
    columns, bodies = [], composites(robot, q, v, trip)
    for i, frame in enumerate(joint_frames(robot, q, v, trip)):
        for axis in frame.axes:
            with region("derivatives", i):
                derivatives = own_columns(axis, bodies[i])
                if frame.joint.kind is not JointKind.FLOATING:
                    derivatives = with_turned_wrench(derivatives, axis.direction, trip.wrenches[i])
            columns.append((i, derivatives.by_position, derivatives.by_velocity))
    return columns


def _roots(robot: Robot) -> list[int]:
    return [i for i, body in enumerate(robot.bodies) if body.parent == BASE]


def _to_base(robot: Robot, q: Sequence[Coordinate], i: int, wrench: Wrench) -> Wrench:
    """Return a wrench of body ``i`` about the origin of the base, or of a floating first body."""
    for at in robot.path(i):
        if at == 0 and robot.floats:
            return wrench
        with region("mass_matrix", at):
            wrench = backward(robot.bodies[at].joint, q[at], wrench)
    return wrench
