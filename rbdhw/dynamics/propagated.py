"""Forward dynamics by the propagation of articulated bodies, without the mass matrix or its inverse.

The work grows with the number of bodies, and so does the longest path. The backward pass accumulates
articulated inertias and the wrenches that the joint forces leave over. The forward pass converts them to
accelerations. Source: Featherstone, *Rigid Body Dynamics Algorithms*, section 7.3; velocities, gravity and
external forces enter through the bias of inverse dynamics, so that these two passes have no terms of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.dynamics.articulated import Eliminated, eliminate, inertia_in_parent, project, rigid
from rbdhw.dynamics.columns import axis, in_child
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import along
from rbdhw.dynamics.rnea import backward as in_parent
from rbdhw.dynamics.spatial import Twist, Wrench, add_twist, power, scale_twist
from rbdhw.robot.model import BASE, Robot
from rbdhw.scalar import Scalar, region


def propagate(robot: Robot, q: Sequence[Coordinate], forces: Sequence[Scalar]) -> list[Scalar]:
    """Return the accelerations ``M^-1 forces`` (rad/s^2, m/s^2), one for each joint.

    ``robot`` has a fixed base, joints of one freedom, and all axes z. ``q`` is the coordinate of
    each joint. ``forces`` are the joint forces less the bias of inverse dynamics (Nm, N).
    """
    joints, left = _gather(robot, q, forces)
    return _release(robot, q, joints, left)


def _gather(
    robot: Robot, q: Sequence[Coordinate], forces: Sequence[Scalar]
) -> tuple[list[Eliminated], list[Scalar]]:
    """Backward pass: eliminate each joint; return also the force that is left over for each."""
    inertias = [rigid(body.inertia) for body in robot.bodies]
    wrenches: dict[int, Wrench] = {}
    joints: list[Eliminated] = []
    left: list[Scalar] = []
    for i, body in reversed(list(enumerate(robot.bodies))):
        with region("propagated_backward", i):
            eliminated, force = eliminate(body.joint, inertias[i]), forces[i]
            if i in wrenches:
                force = force - along(body.joint, wrenches[i])[0]
            joints.insert(0, eliminated)
            left.insert(0, force)
            if body.parent == BASE:
                continue
            inertia = project(body.joint, inertias[i], eliminated)
            inertias[body.parent] += inertia_in_parent(body.joint, q[i], inertia)
            caused = scale_twist(eliminated.factor * force, eliminated.column)
            if i in wrenches:
                caused = add_twist(wrenches[i], caused)
            caused = in_parent(body.joint, q[i], caused)
            above = wrenches.get(body.parent)
            wrenches[body.parent] = caused if above is None else add_twist(above, caused)
    return joints, left


def _release(
    robot: Robot, q: Sequence[Coordinate], joints: Sequence[Eliminated], left: Sequence[Scalar]
) -> list[Scalar]:
    """Forward pass: return the acceleration of each joint, from that of its parent's body."""
    accelerations: list[Scalar] = []
    twists: list[Twist] = []
    for i, (body, eliminated) in enumerate(zip(robot.bodies, joints, strict=True)):
        with region("propagated_forward", i):
            if body.parent == BASE:
                accelerations.append(eliminated.factor * left[i])
                twists.append(axis(body.joint, accelerations[i]))
                continue
            reached = in_child(body.joint, q[i], twists[body.parent])
            accelerations.append(eliminated.factor * (left[i] - power(eliminated.column, reached)))
            twists.append(add_twist(reached, axis(body.joint, accelerations[i])))
    return accelerations
