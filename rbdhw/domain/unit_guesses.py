"""Guesses at the unit of numbers that are too large to be meant in radians or metres."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALLEST, LARGEST = 4.0 * math.pi, 720.0
"""Magnitudes that are suspicious: beyond two turns in radians, up to two turns in degrees."""

STEP = 0.5
"""Bounds in degrees are multiples of this; multiples of pi are not."""


FAR = 2.0
"""How many times as large as the largest limit a value is that is far beyond it."""


def looks_like_degrees(values: ArrayLike, limits: tuple[float, float] | None = None) -> bool:
    """Whether angles that should be in radians look like degrees.

    Parameters
    ----------
    values
        Angles of one joint. Infinite values and NaN are left out.
    limits
        The joint's finite limits (rad). With them, angles look like degrees if some go far beyond the limits
        and all lie within them when converted from degrees. Without them, the values are bounds themselves:
        they look like degrees if all are multiples of :data:`STEP`.
    """
    angles = np.asarray(values, np.float64).ravel()
    angles = angles[np.isfinite(angles)]
    largest = float(np.abs(angles).max(initial=0.0))
    if limits is None:
        return SMALLEST < largest <= LARGEST and bool((angles % STEP == 0.0).all())
    return _fits_scaled(angles, limits, math.radians(1.0), math.radians(STEP))


def looks_like_millimetres(values: ArrayLike, limits: tuple[float, float] | None = None) -> bool:
    """Whether lengths that should be in metres look like millimetres.

    They do if they leave the limits of their joint (m) but lie within them when converted; never without
    limits.
    """
    lengths = np.asarray(values, np.float64).ravel()
    return limits is not None and _fits_scaled(lengths[np.isfinite(lengths)], limits, 1e-3, 1e-3)


def _fits_scaled(values: NDArray[np.float64], limits: tuple[float, float], unit: float, slack: float) -> bool:
    """Whether values go far beyond limits, but keep to them when they are multiplied by ``unit``."""
    lower, upper = limits
    far = FAR * max(abs(lower), abs(upper))
    scaled = unit * values
    kept = (scaled >= lower - slack) & (scaled <= upper + slack)
    return bool((np.abs(values) > far).any() and kept.all())
