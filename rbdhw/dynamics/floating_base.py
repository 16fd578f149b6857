"""A floating body in coordinates without gravity and linear velocity.

Forces do not change under a uniform velocity, and gravity acts like an acceleration. The linear velocity and
the attitude of a floating body therefore enter the dynamics only through its *proper acceleration*, which an
accelerometer at its origin measures::

    A = a + w x v - g

Here ``a`` is the derivative of the body-frame velocity ``v``, ``w`` the angular velocity and ``g`` gravity in
the body frame. Inverse and forward dynamics use ``A`` in place of ``a``. The derivatives of inverse dynamics
by attitude and velocity are the derivatives of ``A`` times columns of the mass matrix; those of forward
dynamics follow from the derivatives of ``A`` directly.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.dynamics.spatial import UNIT, ZERO, Vector, add, cross, scale, subtract


@dataclass(frozen=True)
class FloatingBody:
    """Angular velocity, linear velocity and gravity of a floating body, in the body frame."""

    angular: Vector
    linear: Vector
    gravity: Vector

    def proper(self, acceleration: Vector) -> Vector:
        """Return the proper acceleration for a rate of change ``acceleration`` of the linear velocity."""
        return subtract(add(acceleration, cross(self.angular, self.linear)), self.gravity)

    def coordinate(self, proper: Vector) -> Vector:
        """Return the rate of change of the linear velocity for a proper acceleration."""
        return add(subtract(proper, cross(self.angular, self.linear)), self.gravity)

    def by_attitude(self) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives of ``A`` by rotations about the body's axes; position has no effect."""
        x, y, z = (cross(axis, self.gravity) for axis in UNIT)
        return x, y, z

    def by_linear(self) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives of ``A`` by the linear velocity."""
        x, y, z = (cross(self.angular, axis) for axis in UNIT)
        return x, y, z

    def by_angular(self) -> tuple[Vector, Vector, Vector]:
        """Return the derivatives of ``A`` by the angular velocity."""
        x, y, z = (cross(axis, self.linear) for axis in UNIT)
        return x, y, z

    def by_coordinates(self, n: int) -> list[Vector]:
        """Return the derivatives of ``A`` by the positions of all ``n`` degrees of freedom."""
        return [ZERO, ZERO, ZERO, *self.by_attitude(), *[ZERO] * (n - 6)]

    def by_rates(self, n: int) -> list[Vector]:
        """Return the derivatives of ``A`` by the velocities of all ``n`` degrees of freedom."""
        return [*self.by_linear(), *self.by_angular(), *[ZERO] * (n - 6)]

    def by_attitude_twice(self, j: int, k: int) -> Vector:
        """Return the derivative of ``A`` by rotations about axis ``j``, then about axis ``k``."""
        return scale(-1.0, cross(UNIT[j], cross(UNIT[k], self.gravity)))
