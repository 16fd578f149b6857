"""Composite rigid bodies: all that hangs from a joint, as seen from the joint's body frame.

Beside mass, first and second moments a composite carries its momentum ``p`` and its *gyration* ``G``, the
integral of ``v r^T`` over the mass. Forces do not change under a uniform velocity (Galilean invariance), so
each frame counts its own origin as at rest and the linear velocity of the bodies is never needed; where a
frame does not share its parent's origin, the difference of the origins' velocities is added.

In these terms the body-Coriolis matrix of Echeandia and Wensing ("Numerical methods to compute the Coriolis
matrix and Christoffel symbols for rigid-body systems", 2021) is ``2B = [[2 (tr G - G), 0], [-2 p x, 0]]``:
twelve numbers, of which frame changes and sums keep the form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.inertia import second_moments
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import Motion
from rbdhw.dynamics.spatial import (
    ZERO,
    Tensor,
    Vector,
    add,
    carried,
    cross,
    multiply,
    out_of_turned,
    outer,
    scale,
    sum_of,
    tensor_out_of_turned,
    transposed,
)
from rbdhw.robot.model import BASE, Inertia, Matrix3, Robot
from rbdhw.scalar import Scalar, region

NOTHING: Tensor = (ZERO, ZERO, ZERO)


@dataclass(frozen=True)
class Composite:
    """Mass (kg), first moment (kg m), second moments (kg m^2), momentum (Ns) and gyration (Nms)."""

    mass: Scalar
    first: Vector
    second: Tensor
    momentum: Vector = ZERO
    gyration: Tensor = NOTHING

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.mass + other.mass,
            add(self.first, other.first),
            sum_of(self.second, other.second),
            add(self.momentum, other.momentum),
            sum_of(self.gyration, other.gyration),
        )

    def shifted(self, offset: Vector, boost: Vector) -> Composite:
        """Seen from a point at ``-offset``, against which the origin so far moves at ``boost``."""
        momentum = add(self.momentum, scale(self.mass, boost))
        across = outer(self.first, offset)
        second = sum_of(self.second, across, transposed(across), scaled_square(self.mass, offset))
        gyration = sum_of(self.gyration, outer(boost, self.first), outer(momentum, offset))
        return Composite(self.mass, add(self.first, scale(self.mass, offset)), second, momentum, gyration)


def scaled_square(factor: Scalar, a: Vector) -> Tensor:
    """``factor a a^T``."""
    return outer(scale(factor, a), a)


def still(inertia: Inertia) -> Composite:
    """One body at rest."""
    xx, xy, xz, yy, yz, zz = second_moments(inertia)
    return Composite(inertia.mass, inertia.first_moment, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def moving(inertia: Inertia, motion: Motion) -> Composite:
    """One body with its angular velocity; its origin counts as at rest."""
    body = still(inertia)
    rows = transposed(body.second)
    x, y, z = (cross(motion.velocity, column) for column in rows)
    return Composite(
        body.mass, body.first, body.second, cross(motion.velocity, body.first), transposed((x, y, z))
    )


def composites(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], motions: Sequence[Motion]
) -> list[Composite]:
    """For each body the composite of all that hangs from its joint, in the body's frame."""
    found: list[Composite] = []
    for i, body in enumerate(robot.bodies):
        with region("composite", i):
            found.append(moving(body.inertia, motions[i]))
    for i in reversed(range(len(robot.bodies))):
        parent = robot.bodies[i].parent
        if parent != BASE:
            with region("composite", i):
                found[parent] = found[parent] + in_parent(robot, i, q[i], v[i], motions, found[i])
    return found


def still_composites(robot: Robot, q: Sequence[Coordinate]) -> list[Composite]:
    """As :func:`composites`, of a robot at rest."""
    at_rest = Motion(ZERO, ZERO, ZERO, ZERO, ZERO)
    rest = [0.0] * len(robot.bodies)
    return composites(robot, q, rest, [at_rest] * len(robot.bodies))


def in_parent(
    robot: Robot,
    i: int,
    q: Coordinate,
    v: Scalar,
    motions: Sequence[Motion],
    composite: Composite,
) -> Composite:
    """Body ``i``'s composite in its parent's frame."""
    joint, parent = robot.bodies[i].joint, robot.bodies[i].parent
    if not joint.kind.rotates:
        composite = composite.shifted((0.0, 0.0, q.shift), slide(q.shift, v, motions[i]))
    turned = Composite(
        composite.mass,
        _back(q, joint.placement.rotation, composite.first),
        carried(joint.placement.rotation, tensor_out_of_turned(q.cos, q.sin, composite.second)),
        _back(q, joint.placement.rotation, composite.momentum),
        carried(joint.placement.rotation, tensor_out_of_turned(q.cos, q.sin, composite.gyration)),
    )
    offset = joint.placement.translation
    return turned.shifted(offset, cross(motions[parent].velocity, offset))


def slide(shift: Scalar, v: Scalar, motion: Motion) -> Vector:
    """Velocity of a sliding body's origin against the point where its joint is at zero, in its frame."""
    x, y, _ = motion.velocity
    return y * shift, -(x * shift), v


def _back(q: Coordinate, rotation: Matrix3, a: Vector) -> Vector:
    return multiply(rotation, out_of_turned(q.cos, q.sin, a))
