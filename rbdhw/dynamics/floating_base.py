"""A body that floats, in coordinates that know neither gravity nor its linear velocity.

Forces do not change under a uniform velocity, and gravity is felt like an acceleration. Everything that a
floating body's linear velocity and attitude do to the dynamics therefore lies in its *proper acceleration*,
what an accelerometer at its origin reads::

    A = a + w x v - g

with ``a`` the derivative of the body-frame velocity ``v``, ``w`` the angular velocity and ``g`` gravity in
the body frame. Inverse and forward dynamics work with ``A`` in place of ``a``; their derivatives by attitude
and velocity follow from those of ``A``, by the columns of the mass matrix, or, after the inverse, by
themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.dynamics.spatial import UNIT, Vector, add, cross, subtract


@dataclass(frozen=True)
class FloatingBody:
    """Angular and linear velocity, and gravity, in the body frame."""

    angular: Vector
    linear: Vector
    gravity: Vector

    def proper(self, acceleration: Vector) -> Vector:
        """The proper acceleration of a body whose linear velocity changes by ``acceleration``."""
        return subtract(add(acceleration, cross(self.angular, self.linear)), self.gravity)

    def coordinate(self, proper: Vector) -> Vector:
        """The change of the linear velocity of a body with that proper acceleration."""
        return add(subtract(proper, cross(self.angular, self.linear)), self.gravity)

    def by_attitude(self) -> tuple[Vector, Vector, Vector]:
        """Derivatives of ``A`` by turns about the body's axes; its place changes nothing."""
        x, y, z = (cross(axis, self.gravity) for axis in UNIT)
        return x, y, z

    def by_linear(self) -> tuple[Vector, Vector, Vector]:
        """Derivatives of ``A`` by the linear velocity."""
        x, y, z = (cross(self.angular, axis) for axis in UNIT)
        return x, y, z

    def by_angular(self) -> tuple[Vector, Vector, Vector]:
        """Derivatives of ``A`` by the angular velocity."""
        x, y, z = (cross(axis, self.linear) for axis in UNIT)
        return x, y, z
