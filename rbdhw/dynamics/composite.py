"""Composite rigid bodies: all bodies from a joint to the leaves as one, in the frame of the joint's body.

Besides mass, first and second moments a composite has its momentum ``p`` and its *gyration* ``G``, the
integral of ``v r^T`` over the mass. Forces do not change under a uniform velocity (Galilean invariance), so
each frame takes its own origin as at rest, and the linear velocity of the bodies is never needed. When a
composite moves to a frame with another origin, the relative velocity of the two origins is added.

In these terms the body-Coriolis matrix of Echeandia and Wensing ("Numerical methods to compute the Coriolis
matrix and Christoffel symbols for rigid-body systems", 2021) is ``2B = [[2 (tr G - G), 0], [-2 p x, 0]]``. It
has twelve numbers, and frame changes and sums keep this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rbdhw.dynamics.inertia import second_moments
from rbdhw.dynamics.joint import Coordinate, dofs, inward, rates
from rbdhw.dynamics.rnea import STILL, Motion, RoundTrip
from rbdhw.dynamics.spatial import (
    ZERO,
    Tensor,
    Vector,
    add,
    carry,
    cross,
    cross_tensor,
    multiply,
    outer,
    scale,
    sum_of,
    transpose,
    transpose_tensor,
)
from rbdhw.robot.model import Inertia, Joint, Robot
from rbdhw.scalar import Scalar, label, region

ZERO_TENSOR: Tensor = (ZERO, ZERO, ZERO)


@dataclass(frozen=True)
class Composite:
    """Mass (kg), first moment (kg m), second moments (kg m^2), momentum (Ns) and gyration (Nms)."""

    mass: Scalar
    first: Vector
    second: Tensor
    momentum: Vector = ZERO
    gyration: Tensor = ZERO_TENSOR

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.mass + other.mass,
            add(self.first, other.first),
            sum_of(self.second, other.second),
            add(self.momentum, other.momentum),
            sum_of(self.gyration, other.gyration),
        )

    def shift_origin(self, offset: Vector, boost: Vector) -> Composite:
        """Return the composite about a point at ``-offset``; ``boost`` is the old origin's velocity to it."""
        momentum = add(self.momentum, scale(self.mass, boost))
        across = outer(self.first, offset)
        second = sum_of(self.second, across, transpose_tensor(across), scale_square(self.mass, offset))
        gyration = sum_of(self.gyration, outer(boost, self.first), outer(momentum, offset))
        return Composite(self.mass, add(self.first, scale(self.mass, offset)), second, momentum, gyration)


def scale_square(factor: Scalar, a: Vector) -> Tensor:
    """Return ``factor a a^T``."""
    return outer(scale(factor, a), a)


def composite_at_rest(inertia: Inertia) -> Composite:
    """Return the composite of one body at rest."""
    xx, xy, xz, yy, yz, zz = second_moments(inertia)
    return Composite(inertia.mass, inertia.first_moment, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def composite_in_motion(inertia: Inertia, motion: Motion) -> Composite:
    """Return the composite of one body with its angular velocity; its origin counts as at rest."""
    body, velocity = composite_at_rest(inertia), motion.velocity
    return replace(body, gyration=cross_tensor(velocity, body.second), momentum=cross(velocity, body.first))


def composites(
    robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar], trip: RoundTrip
) -> list[Composite]:
    """Return for each body the composite of all bodies from its joint to the leaves, in the body's frame."""
    bodies: list[Composite] = []
    spans = dofs(robot)
    for i, body in enumerate(robot.bodies):
        with region("composite", i):
            bodies.append(composite_in_motion(body.inertia, trip.motions[i]))
    for i, parent in inward(robot):
        with region("composite", i):
            boost = origin_velocity(robot.bodies[i].joint, q[i], v[spans[i]], trip.motions[parent])
            bodies[parent] += in_parent(robot, i, q[i], boost, trip.motions[parent], bodies[i])
            label("first_moment", bodies[parent].first)
            label("second_moment", bodies[parent].second)
            label("momentum", bodies[parent].momentum)
    return bodies


def composites_at_rest(robot: Robot, q: Sequence[Coordinate]) -> list[Composite]:
    """Return :func:`composites` of a robot at rest."""
    rest = RoundTrip(STILL, [STILL] * len(robot.bodies), {}, [])
    return composites(robot, q, [0.0] * dofs(robot)[-1].stop, rest)


def in_parent(
    robot: Robot, i: int, q: Coordinate, boost: Vector, parent: Motion, composite: Composite
) -> Composite:
    """Transform body ``i``'s composite to its parent's frame; ``boost`` is its :func:`origin_velocity`."""
    joint = robot.bodies[i].joint
    turned = Composite(
        composite.mass,
        q.out_of(composite.first),
        q.tensor_out_of(composite.second),
        q.out_of(composite.momentum),
        q.tensor_out_of(composite.gyration),
    )
    at_offset = turned.shift_origin(q.shift, boost)
    rotation = joint.placement.rotation
    placed = Composite(
        at_offset.mass,
        multiply(rotation, at_offset.first),
        carry(rotation, at_offset.second),
        multiply(rotation, at_offset.momentum),
        carry(rotation, at_offset.gyration),
    )
    offset = joint.placement.translation
    return placed.shift_origin(offset, cross(parent.velocity, offset))


def origin_velocity(joint: Joint, q: Coordinate, v: Sequence[Scalar], parent: Motion) -> Vector:
    """Return the velocity of a body's origin relative to its joint frame's origin, in the joint's frame."""
    _, slide = rates(joint, v)
    velocity = multiply(transpose(joint.placement.rotation), parent.velocity)
    return add(cross(velocity, q.shift), q.out_of(slide))
