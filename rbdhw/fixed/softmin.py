"""Weights of samples by their costs, and weighted means of forces, in formats that hold every value.

The exponent of a cost c is ``x = c * scale >> exponent``, with :data:`FRACTION` bits behind the binary point.
A sample has the weight ``2 ** (e - x)``, in the format :data:`WEIGHT`, where the reference e is the least
whole exponent so far. A power of two is a table of lines. When the reference falls by some octaves, all sums
are shifted by as many bits, rounded to the nearest integer, ties upward. So the best sample weighs between a
half and one, nothing overflows, and nothing but the order of the samples changes a bit.

The sums of forces are divided by the sum of weights at the end: both are shifted until the latter has its
leading one at a fixed place, and the former are multiplied by its reciprocal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rbdhw.fixed.format import Format, Integers

SCALE = Format(18, 0)
"""The format of the scale of costs, which is not negative."""

MOST_EXPONENT = 63
"""The largest exponent of two by which a scaled cost is divided."""

FRACTION = 16
"""The bits of an exponent behind the binary point."""

INDEX_BITS = 6
"""The bits of a fraction that choose a line; the others are the place in it."""

PLACE_BITS = FRACTION - INDEX_BITS

WEIGHT = Format(18, 16)
"""The format of a weight, which is at most one."""

MOST_SAMPLES = 1 << 16
"""The most samples of a mean."""

TOGETHER = 2
"""The samples that are weighed together: their weighted forces are added to sums that are shifted once."""

SUM_BITS = WEIGHT.binary_point + MOST_SAMPLES.bit_length()
"""The bits of the sum of weights."""

SQUARE_BITS = 2 * WEIGHT.binary_point + MOST_SAMPLES.bit_length()
"""The bits of the sum of squared weights."""

MOST_DROP = 63
"""The most octaves by which sums are shifted: they are zero then, whatever they were."""

MOST_FALL = 31
"""The most octaves by which a weight is shifted; it is zero then."""

GUARD = 6
"""The bits behind the binary point with which a sum of forces is divided by the sum of weights."""


@cache
def lines() -> tuple[tuple[int, int], ...]:
    """Return for each line of ``2 ** -f`` its start and its fall to the next, in steps of :data:`WEIGHT`."""
    count = 1 << INDEX_BITS
    starts = [round(2.0 ** (WEIGHT.binary_point - k / count)) for k in range(count + 1)]
    return tuple((start, start - end) for start, end in pairwise(starts))


def power(fraction: int) -> int:
    """Return ``2 ** -f`` of a fraction with :data:`FRACTION` bits, between a half and one."""
    start, fall = lines()[fraction >> PLACE_BITS]
    place = fraction & (1 << PLACE_BITS) - 1
    return start - (fall * (2 * place + 1) + (1 << PLACE_BITS) >> PLACE_BITS + 1)


def exponent_of(cost: int, scale: int, exponent: int) -> int:
    """Return the exponent of a cost."""
    return cost * scale >> exponent


def shifted(number: int, drop: int) -> int:
    """Return an integer without some low bits, rounded to the nearest, ties upward."""
    return ((number << 1) >> drop) + 1 >> 1


class Weighed(NamedTuple):
    """The octaves by which the reference fell, and the weights of samples."""

    drop: int
    weights: tuple[int, ...]


class Softmin:
    """The sums of the weights of samples so far."""

    def __init__(self, scale: int, exponent: int) -> None:
        self._scale, self._exponent = scale, exponent
        self._reference: int | None = None
        self.least = self.weight = self.square = self.counted = 0

    def add(self, costs: Sequence[int | None]) -> Weighed:
        """Weigh samples that come together; a cost of None weighs nothing."""
        good = [cost for cost in costs if cost is not None]
        if not good:
            return Weighed(0, (0,) * len(costs))
        wholes = [exponent_of(cost, self._scale, self._exponent) >> FRACTION for cost in good]
        before = self._reference
        self._reference = min(wholes if before is None else [before, *wholes])
        drop = MOST_DROP if before is None else min(before - self._reference, MOST_DROP)
        weights = tuple(0 if cost is None else self._weight(cost) for cost in costs)
        self.least = min(good if before is None else [self.least, *good])
        self.weight = shifted(self.weight, drop) + sum(weights)
        self.square = shifted(self.square, 2 * drop) + sum(weight**2 for weight in weights)
        self.counted += len(good)
        return Weighed(drop, weights)

    def _weight(self, cost: int) -> int:
        assert self._reference is not None
        x = exponent_of(cost, self._scale, self._exponent)
        fall = min((x >> FRACTION) - self._reference, MOST_FALL)
        return shifted(power(x & (1 << FRACTION) - 1), fall)


def quotient_bits(width: int) -> int:
    """Return the bits of the reciprocal behind its binary point, for forces of a width."""
    return width + GUARD


def reciprocal(weight: int, width: int) -> int:
    """Return the reciprocal of a sum of weights with its leading one at the highest place, rounded down."""
    normal = weight << SUM_BITS - weight.bit_length()
    return (1 << SUM_BITS - 1 + quotient_bits(width)) // normal


def mean(sums: Integers, weight: int, width: int) -> Integers:
    """Return the weighted means (...) of forces, whose words have at most ``width`` bits, from their sums."""
    drop = weight.bit_length() - GUARD
    guarded = (((sums << 1) >> drop) + 1 >> 1).astype(object)
    cut = quotient_bits(width) + GUARD - 1
    means: Integers = (guarded * reciprocal(weight, width) + (1 << cut - 1) >> cut).astype(np.int64)
    return means
