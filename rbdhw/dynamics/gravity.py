"""The joint forces of gravity, by composite bodies.

At rest every body has the same proper acceleration, minus gravity, in its own axes. A joint carries the
weight of all bodies beyond it as one: their mass and first moment are those of the composite.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, section 6.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.dynamics.composite import composites_at_rest
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import along
from rbdhw.dynamics.spatial import Vector, cross, multiply, scale, transpose
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.scalar import Scalar, label, region


def gravity_forces(
    robot: Robot, q: Sequence[Coordinate], gravity: Vector, floating: Vector | None = None
) -> list[Scalar]:
    """Return the forces that hold a robot at rest, one for each degree of freedom (Nm or N).

    ``q`` has a coordinate for each body, in the order of ``robot.bodies``. ``gravity`` (m/s^2) is in the axes
    of the base, and ``floating`` the same in those of a floating first body.
    """
    lifts = {BASE: scale(-1.0, gravity)}
    forces: list[Scalar] = []
    for i, (body, composite) in enumerate(zip(robot.bodies, composites_at_rest(robot, q), strict=True)):
        with region("gravity", i):
            if body.joint.kind is JointKind.FLOATING and floating is not None:
                lifts[i] = scale(-1.0, floating)
            else:
                lifts[i] = q[i].into(multiply(transpose(body.joint.placement.rotation), lifts[body.parent]))
            label("lift", lifts[i])
            wrench = cross(composite.first, lifts[i]), scale(composite.mass, lifts[i])
            forces += along(body.joint, wrench)
    return forces
