"""Second moments of mass: the inertia's other face, in which the recursions multiply less."""

from __future__ import annotations

from rbdhw.robot.model import Inertia

ROUNDING = 1e-13
"""Second moments below this fraction of the largest are what is left of a cancellation."""

SymmetricMatrix = tuple[float, float, float, float, float, float]
"""Entries ``(xx, xy, xz, yy, yz, zz)``."""


def second_moments(inertia: Inertia) -> SymmetricMatrix:
    """The integral of ``r r^T`` over the mass, about the frame's origin: ``trace(I)/2 - I`` (kg m^2)."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    half = 0.5 * (xx + yy + zz)
    largest = max(abs(entry) for entry in inertia.rotational)
    x, y, z = (0.0 if abs(half - entry) <= ROUNDING * largest else half - entry for entry in (xx, yy, zz))
    return x, -xy, -xz, y, -yz, z
