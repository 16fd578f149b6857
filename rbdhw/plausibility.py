"""Guesses at the unit of an angle that is too large to be meant in radians."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

SMALLEST, LARGEST = 4.0 * math.pi, 720.0
"""Magnitudes that are suspicious: beyond two turns in radians, up to two turns in degrees."""

STEP = 0.5
"""Bounds in degrees are multiples of this; multiples of pi are not."""


def looks_like_degrees(values: ArrayLike, limits: tuple[float, float] | None = None) -> bool:
    """Whether angles that should be in radians look like degrees.

    Parameters
    ----------
    values
        Angles of one joint. Infinite values and NaN are left out.
    limits
        The joint's finite limits (rad). With them, angles look like degrees if they leave the limits but lie
        within them when converted from degrees. Without them, the values are bounds themselves: they look
        like degrees if all are multiples of :data:`STEP`.
    """
    angles = np.asarray(values, np.float64).ravel()
    angles = angles[np.isfinite(angles)]
    largest = float(np.abs(angles).max(initial=0.0))
    if not SMALLEST < largest <= LARGEST:
        return False
    if limits is None:
        return bool((angles % STEP == 0.0).all())
    lower, upper = limits
    leaves = bool((angles < lower).any() or (angles > upper).any())
    converted = np.radians(angles)
    slack = np.radians(STEP)
    return leaves and bool(((converted >= lower - slack) & (converted <= upper + slack)).all())
