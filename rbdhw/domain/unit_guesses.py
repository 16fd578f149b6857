"""Guess whether numbers that are too large for radians or metres are in degrees or millimetres."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALLEST, LARGEST = 4.0 * math.pi, 720.0
"""The range of suspicious magnitudes: beyond two turns in radians, up to two turns in degrees."""

STEP = 0.5
"""The step of bounds in degrees; multiples of pi are not multiples of it."""


FAR = 2.0
"""The ratio to the largest limit above which a value is far beyond the limits."""


def looks_like_degrees(values: ArrayLike, limits: tuple[float, float] | None = None) -> bool:
    """Return whether angles that should be in radians look like degrees.

    ``values`` are angles of one joint; infinite ones and NaN are ignored. With the joint's finite ``limits``
    (rad), angles look like degrees if some are far beyond them and all are within them when converted from
    degrees. Without limits, the values are bounds themselves; they look like degrees if all are multiples of
    :data:`STEP`.
    """
    angles = np.asarray(values, np.float64).ravel()
    angles = angles[np.isfinite(angles)]
    largest = float(np.abs(angles).max(initial=0.0))
    if limits is None:
        return SMALLEST < largest <= LARGEST and bool((angles % STEP == 0.0).all())
    return _fits_scaled(angles, limits, math.radians(1.0), math.radians(STEP))


def looks_like_millimetres(values: ArrayLike, limits: tuple[float, float] | None = None) -> bool:
    """Return whether lengths that should be in metres look like millimetres.

    They do if some are far beyond their joint's limits (m) and all are within them when converted. Without
    limits the result is False.
    """
    lengths = np.asarray(values, np.float64).ravel()
    return limits is not None and _fits_scaled(lengths[np.isfinite(lengths)], limits, 1e-3, 1e-3)


def _fits_scaled(values: NDArray[np.float64], limits: tuple[float, float], unit: float, slack: float) -> bool:
    """Return whether some values are far beyond limits, but all are within them times ``unit``."""
    lower, upper = limits
    far = FAR * max(abs(lower), abs(upper))
    scaled = unit * values
    kept = (scaled >= lower - slack) & (scaled <= upper + slack)
    return bool((np.abs(values) > far).any() and kept.all())
