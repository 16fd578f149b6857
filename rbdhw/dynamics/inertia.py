"""Second moments of mass: another form of the inertia, with fewer products in the recursions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from rbdhw.robot.model import Inertia
from rbdhw.scalar import Scalar

ROUNDING = 1e-13
"""A second moment below this fraction of the largest moment counts as a rounding error."""

SymmetricMatrix = tuple[float, float, float, float, float, float]
"""Entries ``(xx, xy, xz, yy, yz, zz)``."""


@dataclass(frozen=True)
class LoadedInertia:
    """An inertia whose numbers are scalars, in place of :class:`rbdhw.robot.model.Inertia`.

    ``second`` are the second moments ``(xx, xy, xz, yy, yz, zz)``.
    """

    mass: Scalar
    first_moment: tuple[Scalar, Scalar, Scalar]
    second: tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

    @property
    def rotational(self) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
        """The entries of the rotational inertia."""
        xx, xy, xz, yy, yz, zz = self.second
        return yy + zz, -1.0 * xy, -1.0 * xz, xx + zz, -1.0 * yz, xx + yy


def second_moments(inertia: Inertia) -> SymmetricMatrix:
    """Return the integral of ``r r^T`` over the mass, about the origin: ``trace(I)/2 - I`` (kg m^2)."""
    if isinstance(inertia, LoadedInertia):
        return cast(SymmetricMatrix, inertia.second)
    xx, xy, xz, yy, yz, zz = inertia.rotational
    half = 0.5 * (xx + yy + zz)
    largest = max(abs(entry) for entry in inertia.rotational)
    x, y, z = (0.0 if abs(half - entry) <= ROUNDING * largest else half - entry for entry in (xx, yy, zz))
    return x, -xy, -xz, y, -yz, z
