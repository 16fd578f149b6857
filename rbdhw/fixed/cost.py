"""The cost of a step of a rollout: weighted errors, squared and added, in formats that hold every value.

An error is the difference of a word of the state and its reference, or a force. It is rounded to
:data:`ERROR_BITS` if it has more. Its weight is the root of the user's, scaled so that an error as large as
the word's whole format becomes one at most. The product is rounded to :data:`WEIGHTED`, squared and added
exactly, and the sum of a step is rounded to :data:`COST_POINT` bits behind the binary point. So nothing
overflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Format, Integers, round_half_up, wrap
from rbdhw.fixed.program import Word

ERROR_BITS = 27
"""The most bits of an error, the wide port of a multiplier."""

WEIGHTED = Format(18, 17)
"""The format of a weighted error, and the width of a weight."""

COST_POINT = 30
"""The binary point of a cost."""

SQUARE_DROP = 2 * WEIGHTED.binary_point - COST_POINT
"""The bits by which the sum of a step's squares is rounded."""


@dataclass(frozen=True)
class CostTerm:
    """A term of the cost: an element of the state, or a force, whose ``reference`` is None."""

    word: Word
    weight: str
    reference: str | None

    @property
    def wraps(self) -> bool:
        """Whether the error is that of an angle without limits, which wraps."""
        return self.word.lowest is None

    @property
    def bits(self) -> int:
        """The bits of an error before it is rounded."""
        return self.word.format.width + (self.reference is not None and not self.wraps)

    @property
    def error_drop(self) -> int:
        """The bits by which an error is rounded; one bit is kept for the rounding."""
        return max(0, self.bits + 1 - ERROR_BITS)

    @property
    def weighted_drop(self) -> int:
        """The bits by which the product of an error and its weight is rounded."""
        return self.bits - 1 - self.error_drop

    @property
    def weight_format(self) -> Format:
        """The format of the weight; the largest error times the largest weight is one step below one."""
        return Format(WEIGHTED.width, WEIGHTED.binary_point + self.exponent)

    @property
    def exponent(self) -> int:
        """The binary logarithm of the largest error."""
        return self.bits - 1 - self.word.format.binary_point

    def weighted(self, values: Integers, reference: Integers | int, weight: Integers | int) -> Integers:
        """Return the weighted error in the format :data:`WEIGHTED`."""
        error = values - reference
        if self.wraps:
            error = wrap(error, self.word.format.width)
        return round_half_up(round_half_up(error, self.error_drop) * weight, self.weighted_drop)


def cost_terms(state: Sequence[Word], forces: Sequence[Word], nq: int) -> tuple[CostTerm, ...]:
    """Return the terms of words of the state and of forces, in this order; ``nq`` as in the robot."""
    terms = []
    for word in state:
        name = WordName.parse(word.name)
        index = (name.index[0] + (nq if name.array == "v" else 0),)
        weight, reference = (str(WordName(array, index)) for array in ("x_weight", "x_ref"))
        terms.append(CostTerm(word, weight, reference))
    for word in forces:
        weight = str(replace(WordName.parse(word.name), array="tau_weight"))
        terms.append(CostTerm(word, weight, None))
    return tuple(terms)


def cost_format(terms: int, steps: int) -> Format:
    """Return the format of the sum of all terms of all steps."""
    return Format(COST_POINT + 1 + (terms * steps).bit_length(), COST_POINT)


def stage_cost(
    terms: Sequence[CostTerm], values: Mapping[str, Integers], row: Mapping[str, Integers | int]
) -> Integers:
    """Return the cost (N,) of a step, for words (N,) of the state behind it and of its forces."""
    squares = [
        term.weighted(
            values[term.word.name],
            0 if term.reference is None else row[term.reference],
            row[term.weight],
        )
        ** 2
        for term in terms
    ]
    return round_half_up(np.sum(squares, axis=0), SQUARE_DROP)
