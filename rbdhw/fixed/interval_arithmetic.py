"""Intervals of real numbers in double precision, rounded outwards: they hold every result of their members.

Each operation rounds to nearest, which errs by less than the distance to the next number, and moves its ends
on by one number. An end that is zero stays: sums that are zero are exact, and so are products unless they
underflow, which is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """The numbers from ``low`` to ``high``."""

    low: float
    high: float

    @property
    def size(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    def wider(self) -> Interval:
        """Return the interval with its ends moved on by one number each."""
        low, high = math.nextafter(self.low, -math.inf), math.nextafter(self.high, math.inf)
        return Interval(low if self.low else 0.0, high if self.high else 0.0)

    def plus(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high).wider()

    def times(self, other: Interval) -> Interval:
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        corners = [a * b for a, b in pairs]
        if any(a and b and not product for (a, b), product in zip(pairs, corners, strict=True)):
            raise FloatingPointError("a product underflows")
        return Interval(min(corners), max(corners)).wider()


def outward(value: float) -> Interval:
    """Return an interval with the number of which ``value`` is the nearest."""
    return Interval(value, value).wider()


def around(middle: float, radius: float) -> Interval:
    """Return an interval with all numbers that differ from ``middle`` by at most ``radius``."""
    return Interval(middle - radius, middle + radius).wider()


def hull(first: Interval, second: Interval) -> Interval:
    """Return the least interval with both."""
    return Interval(min(first.low, second.low), max(first.high, second.high))


@dataclass(frozen=True)
class Rows:
    """Intervals (N,) together."""

    low: Array
    high: Array

    @staticmethod
    def unit(count: int, row: int) -> Rows:
        """Return intervals that are all zero but for one, which is one."""
        values = np.zeros(count)
        values[row] = 1.0
        return Rows(values, values)

    @property
    def size(self) -> Array:
        """The largest magnitudes (N,)."""
        return np.maximum(-self.low, self.high)

    def plus(self, other: Rows) -> Rows:
        """Return the sums of corresponding intervals."""
        return _wider(self.low + other.low, self.high + other.high)

    def times(self, factor: Interval) -> Rows:
        """Return the products with one interval."""
        with np.errstate(under="raise"):
            corners = [end * number for end in (self.low, self.high) for number in (factor.low, factor.high)]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        return _wider(low, high)


def _wider(low: Array, high: Array) -> Rows:
    """Return intervals with their ends moved on by one number."""
    with np.errstate(under="ignore"):  # of the numbers next to zero, which are not taken
        lower, higher = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return Rows(np.where(low == 0.0, 0.0, lower), np.where(high == 0.0, 0.0, higher))
