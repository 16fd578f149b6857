"""Second derivatives of inverse dynamics, contracted with a multiplier for each joint force.

The multipliers are the joints' velocities in a virtual motion, and the columns are those of
:mod:`rbdhw.dynamics.second_columns`. Momentum, gyration and the moment ``C`` of the virtual motion are summed
over the bodies, as those of the composites are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbdhw.dynamics.composite import Composite, composite_in_motion, composites, in_parent
from rbdhw.dynamics.derivatives import JointFrame, joint_frames, moment_in_parent
from rbdhw.dynamics.joint import Coordinate, dofs, inward, rates
from rbdhw.dynamics.rnea import STILL, RoundTrip
from rbdhw.dynamics.second_columns import (
    SecondDerivatives,
    VirtualMotion,
    climb,
    empty_derivatives,
    first_columns,
    in_child,
    own_second_columns,
    tilt,
    transposed_coriolis,
)
from rbdhw.dynamics.spatial import (
    ZERO,
    ZERO_TWIST,
    Vector,
    add,
    outer,
    scale,
    sum_of,
)
from rbdhw.robot.model import BASE, Robot
from rbdhw.scalar import Scalar, region


def contracted_derivatives(
    robot: Robot,
    q: Sequence[Coordinate],
    v: Sequence[Scalar],
    trip: RoundTrip,
    multipliers: Sequence[Scalar],
) -> SecondDerivatives:
    """Return the second derivatives of ``mu . ID(q, v, a, fext)`` and the derivative of ``M mu``.

    The derivatives for a floating body are at constant proper acceleration: see
    :mod:`rbdhw.dynamics.floating_base`. ``trip`` is the result of :func:`rbdhw.dynamics.rnea.newton_euler`
    for ``q``, ``v``, the accelerations and the external wrenches, which are constant in their links' frames.
    ``multipliers`` is ``mu``, one for each degree of freedom.
    """
    spans = dofs(robot)
    n = spans[-1].stop
    bodies = composites(robot, q, v, trip)
    frames = joint_frames(robot, q, v, trip)
    motions = virtual_motions(robot, q, multipliers)
    virtual = virtual_composites(robot, q, motions)
    moments = virtual_moments(robot, frames, trip, virtual, motions)
    tilts = [
        [tilt(axis.direction, motions[i].carried) for axis in frame.axes] for i, frame in enumerate(frames)
    ]
    result = empty_derivatives(n, virtual[0].momentum)
    for i in range(len(robot.bodies)):
        for dof, axis, tilted in zip(range(n)[spans[i]], frames[i].axes, tilts[i], strict=True):
            with region("second", i):
                first = first_columns(axis, bodies[i], trip.wrenches[i])
                columns = own_second_columns(axis, tilted, bodies[i], virtual[i], first, moments[i])
            climb(result, robot, frames, tilts, i, dof, columns)
    return result


def virtual_motions(
    robot: Robot, q: Sequence[Coordinate], multipliers: Sequence[Scalar]
) -> list[VirtualMotion]:
    """Return the motion of each body if the joints move with the multipliers as velocities."""
    spans = dofs(robot)
    motions: list[VirtualMotion] = []
    for i, body in enumerate(robot.bodies):
        with region("virtual_forward", i):
            rate = rates(body.joint, multipliers[spans[i]])
            carried = ZERO_TWIST
            if body.parent != BASE:
                carried = in_child(body.joint, q[i], motions[body.parent].twist)
            twist = add(carried[0], rate[0]), add(carried[1], rate[1])
            motions.append(VirtualMotion(twist, carried))
    return motions


def virtual_composites(
    robot: Robot, q: Sequence[Coordinate], motions: Sequence[VirtualMotion]
) -> list[Composite]:
    """Return the composites of :func:`rbdhw.dynamics.composite.composites` in the virtual motion.

    Their momentum and gyration include the linear velocity.
    """
    virtual: list[Composite] = []
    for i, (body, motion) in enumerate(zip(robot.bodies, motions, strict=True)):
        with region("virtual_composite", i):
            angular, linear = motion.twist
            turning = composite_in_motion(body.inertia, replace(STILL, velocity=angular))
            virtual.append(
                replace(
                    turning,
                    momentum=add(turning.momentum, scale(turning.mass, linear)),
                    gyration=sum_of(turning.gyration, outer(linear, turning.first)),
                )
            )
    for i, parent in inward(robot):
        with region("virtual_composite", i):
            virtual[parent] += in_parent(robot, i, q[i], ZERO, STILL, virtual[i])
    return virtual


def virtual_moments(
    robot: Robot,
    frames: Sequence[JointFrame],
    trip: RoundTrip,
    virtual: Sequence[Composite],
    motions: Sequence[VirtualMotion],
) -> list[Vector]:
    """Return the moment ``C`` of each composite: the sum of ``(2B)^T w`` over its bodies."""
    moments: list[Vector] = []
    for i, (body, motion) in enumerate(zip(robot.bodies, motions, strict=True)):
        with region("virtual_moment", i):
            composite = composite_in_motion(body.inertia, trip.motions[i])
            moments.append(transposed_coriolis(composite, motion.twist))
    for i, parent in inward(robot):
        with region("virtual_moment", i):
            moment = moment_in_parent(frames[i], virtual[i].momentum, moments[i])
            moments[parent] = add(moments[parent], moment)
    return moments
