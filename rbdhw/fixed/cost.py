"""The cost of a step of a rollout: weighted errors, squared and added, in formats that hold every value.

An error (:mod:`rbdhw.fixed.state_error`) is the difference of a word of the state and its reference, or a
force. Its weight is the root of the user's, scaled so that an error as large as
the word's whole format becomes one at most. The product is rounded to :data:`WEIGHTED`, squared and added
exactly, and the sum of a step is rounded to :data:`COST_POINT` bits behind the binary point. So nothing
overflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Format, Integers, round_half_up
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import ErrorTerm, error_terms

WEIGHTED = Format(18, 17)
"""The format of a weighted error, and the width of a weight."""

COST_POINT = 30
"""The binary point of a cost."""

SQUARE_DROP = 2 * WEIGHTED.binary_point - COST_POINT
"""The bits by which the sum of a step's squares is rounded."""


@dataclass(frozen=True)
class CostTerm(ErrorTerm):
    """A term of the cost: an error and the name of its weight."""

    weight: str

    @property
    def weighted_drop(self) -> int:
        """The bits by which the product of an error and its weight is rounded."""
        return self.bits - 1 - self.error_drop

    @property
    def weight_format(self) -> Format:
        """The format of the weight; the largest error times the largest weight is one step below one."""
        return Format(WEIGHTED.width, WEIGHTED.binary_point + self.exponent)

    def weighted(self, values: Integers, reference: Integers | int, weight: Integers | int) -> Integers:
        """Return the weighted error in the format :data:`WEIGHTED`."""
        return round_half_up(self.error(values, reference) * weight, self.weighted_drop)


def cost_terms(state: Sequence[Word], forces: Sequence[Word], nq: int) -> tuple[CostTerm, ...]:
    """Return the terms of words of the state and of forces, in this order; ``nq`` as in the robot."""
    terms = []
    for term in error_terms(state, "x_ref", nq):
        assert term.reference is not None
        weight = replace(WordName.parse(term.reference), array="x_weight")
        terms.append(CostTerm(term.word, term.reference, str(weight)))
    for word in forces:
        weight = replace(WordName.parse(word.name), array="tau_weight")
        terms.append(CostTerm(word, None, str(weight)))
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
