"""Polynomials in integers by Horner's rule: how wide their coefficients and running sums are.

A table has the coefficients of each power, an entry a segment. Beginning with the highest power, a sum is
multiplied by the rest of the argument, the product cut, and the coefficient below added to it. The rest is
signed and takes every value of its bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdhw.fixed.format import Integers

LEAST_WIDTH = 2
"""Of the words that hold coefficients, those that are all zero too."""


def coefficient_width(column: Integers) -> int:
    """Bits of the signed words that hold the coefficients of one power."""
    return _signed_width(column, column)


def operand_widths(table: Sequence[Integers], rest_bits: int, cuts: Sequence[int]) -> tuple[int, ...]:
    """Bits of what the rest is multiplied by, from power 1 up: of the sum of a power and all above it.

    ``cuts[k]`` are the low bits that the product below power ``k + 1`` loses. The least and the largest sum
    of every segment are those at the ends of the rest, as cutting keeps the order of what is cut: so they
    are exact up to order 2, and bounds beyond it.
    """
    lowest_rest, highest_rest = -(1 << (rest_bits - 1)), (1 << (rest_bits - 1)) - 1
    low = high = table[-1]
    widths = [_signed_width(low, high)]
    for power in reversed(range(1, len(table) - 1)):
        ends = np.stack(
            [end * rest >> cuts[power] for end in (low, high) for rest in (lowest_rest, highest_rest)]
        )
        low, high = table[power] + ends.min(axis=0), table[power] + ends.max(axis=0)
        widths.append(_signed_width(low, high))
    return tuple(reversed(widths))


def _signed_width(low: Integers, high: Integers) -> int:
    """Bits of a signed word that holds all integers between the least and the largest given."""
    most = max(int(high.max()), ~int(low.min()))
    return max(most.bit_length() + 1, LEAST_WIDTH)
