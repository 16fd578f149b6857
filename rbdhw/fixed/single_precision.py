"""Conversion of IEEE singles at the accelerator's interface, bit for bit, in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Format, Integers, wrap
from rbdhw.fixed.program import Word

Singles = NDArray[np.uint32]
"""IEEE singles as bits."""

FRACTION_BITS = 23
EXPONENT_BIAS = 127
EXPONENT_ALL_ONES = 255

FINE = 1 << 16
"""The size of a bound, in steps, from which on the rounding of a single may move it."""


def from_singles(
    singles: Singles, field: Format, *, wraps: bool = False
) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the integers of a field nearest to singles (ties upward), and which singles are not numbers.

    A value that does not fit the field saturates, or wraps if ``wraps``. Infinities, NaNs and subnormals are
    not numbers here; their integers are zero. A zero of either sign is zero.
    """
    exponent = singles >> FRACTION_BITS & EXPONENT_ALL_ONES
    fraction = singles & (1 << FRACTION_BITS) - 1
    refused = (exponent == EXPONENT_ALL_ONES) | ((exponent == 0) & (fraction != 0))
    values = np.where(refused, np.float32(0.0), singles.view(np.float32)).astype(np.float64)
    if not wraps:
        return field.quantise(values), refused
    steps = np.floor(np.ldexp(values, field.binary_point) + 0.5)
    return wrap(np.fmod(steps, 2.0**field.width).astype(np.int64), field.width), refused


def to_singles(integers: Integers, binary_point: int) -> Singles:
    """Return the singles nearest to integers of up to 53 bits times ``2**-binary_point``, ties to even.

    Zero becomes plus zero. :func:`check_singles` checks that all results are in the normal range.
    """
    return np.ldexp(integers.astype(np.float64), -binary_point).astype(np.float32).view(np.uint32)


def check_singles(word: Format) -> None:
    """Check that all numbers of a format are zero or normal singles; ValueError if some are not."""
    lowest, highest = -word.binary_point, word.width - 1 - word.binary_point
    if lowest <= -EXPONENT_BIAS or highest > EXPONENT_BIAS:
        raise ValueError(
            f"numbers of 2**{lowest} to 2**{highest}: beyond a normal single; "
            f"expected 2**{1 - EXPONENT_BIAS} to 2**{EXPONENT_BIAS}"
        )


def bound_as_singles(word: Word) -> Word:
    """Return the input word with bounds that contain every single nearest to a number of its domain.

    If a word is about as fine as a single, or finer, the single nearest to a bound may be converted to an
    integer beyond the bound.
    """
    if word.lowest is None or word.highest is None:
        return word
    lowest, highest = word.lowest, word.highest
    if lowest <= -FINE:
        lowest = max(_half_up(np.float32(lowest - 0.5)), word.format.lowest)
    if highest >= FINE:
        highest = min(_half_up(np.float32(np.nextafter(highest + 0.5, 0.0))), word.format.highest)
    return replace(word, lowest=lowest, highest=highest)


def _half_up(steps: np.float32) -> int:
    return int(np.floor(np.float64(steps) + 0.5))
