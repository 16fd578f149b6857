"""Polynomials in integers by Horner's rule: the widths of their coefficients and running sums.

A table holds the coefficients of one power, one entry for each segment. Beginning with the highest power,
a sum is multiplied by the rest of the argument, the product is cut, and the next lower coefficient is added.
The rest is signed and takes every value of its bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdhw.fixed.format import Integers

LEAST_WIDTH = 2
"""The least width of the words that hold coefficients, even if all are zero."""


def coefficient_width(column: Integers) -> int:
    """Return the width of the signed words that hold the coefficients of one power."""
    return _signed_width(column, column)


def operand_widths(table: Sequence[Integers], rest_bits: int, cuts: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of the sums that are multiplied by the rest, from power 1 up.

    The sum at a power includes all higher powers. ``cuts[k]`` is the number of low bits that the product
    below power ``k + 1`` loses. The least and the largest sum of every segment occur at the ends of the rest,
    because cutting preserves the order. The widths are exact up to order 2, and upper bounds above it.
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
    """Return the width of a signed word that holds all integers between the least and the largest given."""
    most = max(int(high.max()), ~int(low.min()))
    return max(most.bit_length() + 1, LEAST_WIDTH)
