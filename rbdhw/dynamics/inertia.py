"""Second moments of mass: another form of the inertia, with fewer products in the recursions."""

from __future__ import annotations

from rbdhw.robot.model import Inertia

ROUNDING = 1e-13
"""A second moment below this fraction of the largest moment counts as a rounding error."""

SymmetricMatrix = tuple[float, float, float, float, float, float]
"""Entries ``(xx, xy, xz, yy, yz, zz)``."""


def second_moments(inertia: Inertia) -> SymmetricMatrix:
    """Return the integral of ``r r^T`` over the mass, about the origin: ``trace(I)/2 - I`` (kg m^2)."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    half = 0.5 * (xx + yy + zz)
    largest = max(abs(entry) for entry in inertia.rotational)
    x, y, z = (0.0 if abs(half - entry) <= ROUNDING * largest else half - entry for entry in (xx, yy, zz))
    return x, -xy, -xz, y, -yz, z
