"""What a solver decides by: regularisations of its sweeps, and costs that count as equal."""

from __future__ import annotations

from rbdhw.fixed.format import IntegerLike

REGULARISATION_BITS = 3
"""The bits by which the word of a regularisation is shifted to raise or lower it."""

LEAST_REGULARISATION_WORD = 1 << REGULARISATION_BITS
"""The smallest word of a regularisation that is not zero."""

TOLERANCE_BITS = 14
"""The binary logarithm of how much more a cost is than the tolerance within which costs are equal.

Weighted errors of 18 bits leave a cost about as uncertain.
"""


def with_tolerance(cost: IntegerLike) -> IntegerLike:
    """Return the largest cost that equals a cost within the tolerance."""
    return cost + (cost >> TOLERANCE_BITS)


def raised(regularisation: int) -> int:
    """Return the word of the next larger regularisation."""
    return max(regularisation << REGULARISATION_BITS, LEAST_REGULARISATION_WORD)


def lowered(regularisation: int) -> int:
    """Return the word of the next smaller regularisation, or zero."""
    lower = regularisation >> REGULARISATION_BITS
    return lower if lower >= LEAST_REGULARISATION_WORD else 0
