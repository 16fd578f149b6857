"""The fixed-point format of a signal, and the one rounding used everywhere.

When low bits are dropped, the value is rounded to the nearest step, ties toward plus infinity: half a step is
added and the low bits are cut (:func:`round_half_up`). Values do not saturate: a value that does not fit
wraps and is flagged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
IntegerLike = TypeVar("IntegerLike", int, Integers)


@dataclass(frozen=True, slots=True)
class Format:
    """Two's complement of ``width`` bits; the value is the integer times ``2**-binary_point``.

    The binary point may lie outside the word (negative, or beyond its width).
    """

    width: int
    binary_point: int

    @property
    def step(self) -> float:
        """The distance between neighbouring values."""
        return math.ldexp(1.0, -self.binary_point)

    @property
    def lowest(self) -> int:
        return -(1 << (self.width - 1))

    @property
    def highest(self) -> int:
        return (1 << (self.width - 1)) - 1

    def quantise(self, values: NDArray[np.float64]) -> Integers:
        """Return the nearest integers to real values, saturated; not-a-number becomes the lowest."""
        scaled = np.floor(np.ldexp(values, self.binary_point) + 0.5)
        scaled = np.nan_to_num(scaled, nan=self.lowest, posinf=self.highest, neginf=self.lowest)
        return np.clip(scaled, self.lowest, self.highest).astype(np.int64)

    def real(self, integers: Integers) -> NDArray[np.float64]:
        return np.ldexp(integers.astype(np.float64), -self.binary_point)


def exponent_above(magnitude: float) -> int:
    """Return the smallest e with ``magnitude < 2**e``, or 0 for a magnitude of zero."""
    return math.frexp(magnitude)[1] if magnitude > 0.0 else 0


def round_half_up(value: IntegerLike, drop: int) -> IntegerLike:
    """Return ``value / 2**drop`` rounded to the nearest integer, ties upward; ``drop`` is not negative."""
    if drop == 0:
        return value
    return (value + (1 << (drop - 1))) >> drop


def align(value: IntegerLike, shift: int) -> IntegerLike:
    """Shift ``value`` left, or right with its low bits cut."""
    return value << shift if shift >= 0 else value >> -shift


def wrap(value: Integers, width: int) -> Integers:
    """Return the signed integer in the low ``width`` bits."""
    spare = 64 - width
    return (value << spare) >> spare
