"""The cost of a step of a rollout: weighted errors, squared and added, in formats that hold every value.

An error (:mod:`rbdhw.fixed.state_error`) is the difference of a word of the state, or of a frame's position,
and its reference, or a force. Its weight is the root of the user's, scaled so that an error as large as
the word's whole format becomes one at most. The product is rounded to :data:`WEIGHTED`, squared and added
exactly, and the sum of a step is rounded to :data:`COST_POINT` bits behind the binary point. So nothing
overflows.

A residual is a sum of coefficients times errors of the state, less a constant. It is computed exactly,
rounded to :data:`RESIDUAL`, weighted and squared like an error. One that exceeds its format flags its step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Format, Integers, round_half_up, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import ERROR_BITS, ErrorTerm, error_terms

WEIGHTED = Format(18, 17)
"""The format of a weighted error, and the width of a weight."""

COST_POINT = 30
"""The binary point of a cost."""

HALF = 0.5
"""The share of the sum of weighted squares that a problem costs; an accelerator adds up all of them."""

SQUARE_DROP = 2 * WEIGHTED.binary_point - COST_POINT
"""The bits by which the sum of a step's squares is rounded."""

RESIDUAL = Format(ERROR_BITS, ERROR_BITS - 1)
"""The format of a residual and of its constant, in a unit that its coefficients share: one is the limit."""

COEFFICIENT = Format(18, 17)
"""The format of a coefficient, in that unit for the largest error of the word."""

PRODUCT_DROP = ERROR_BITS - 2 + COEFFICIENT.binary_point - RESIDUAL.binary_point
"""The bits by which a residual's sum of products is rounded."""


@dataclass(frozen=True)
class CostTerm(ErrorTerm):
    """A term of the cost: an error and the name of its weight."""

    weight: str

    @property
    def weight_of(self) -> str:
        """The array of the weight: ``x_weight``, ``p_weight`` or ``tau_weight``."""
        return WordName.parse(self.weight).array

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


@dataclass(frozen=True)
class ErrorSum(ABC):
    """A sum of this ``number``: coefficients times errors of the state, less a constant if it has one."""

    number: int
    terms: tuple[ErrorTerm, ...]

    @property
    def constant(self) -> str | None:
        """The name of what is subtracted."""
        return None

    @property
    @abstractmethod
    def weight(self) -> str:
        """The name of the sum's weight."""

    @abstractmethod
    def stored(self, term: ErrorTerm) -> str:
        """Return the name of a coefficient among those of all sums."""

    @property
    def sum_bits(self) -> int:
        """The bits of the exact sum, before it is rounded."""
        return ERROR_BITS + COEFFICIENT.width - 2 + (len(self.terms) + 1).bit_length()

    def value(self, errors: Mapping[str, Integers], row: Mapping[str, Integers | int]) -> Integers:
        """Return the sum (N,) in steps of :data:`RESIDUAL`, not limited.

        ``errors`` (N,) have the names of their references, and ``row`` has coefficients and the constant.
        """
        total = np.zeros((), np.int64)
        if self.constant is not None:
            total = -(np.asarray(row[self.constant]) << PRODUCT_DROP)
        for term in self.terms:
            total = total + (errors[term.reference or ""] << term.shift) * row[self.stored(term)]
        return round_half_up(total, PRODUCT_DROP)


@dataclass(frozen=True)
class Residual(ErrorSum):
    """A residual of the cost, from the errors of the words of the state."""

    @property
    def constant(self) -> str:
        return str(WordName("y", (self.number,)))

    @property
    def weight(self) -> str:
        return str(WordName("y_weight", (self.number,)))

    def coefficient(self, term: ErrorTerm) -> str:
        """Return the name of a coefficient that the load of this residual brings."""
        return str(WordName("C", (term.element,)))

    def stored(self, term: ErrorTerm) -> str:
        return str(WordName("C", (self.number, term.element)))


def cost_terms(
    state: Sequence[Word], forces: Sequence[Word], nq: int, positions: Sequence[Word] = ()
) -> tuple[CostTerm, ...]:
    """Return the terms of words of the state, of ``positions`` of frames, and of forces, in this order.

    ``nq`` is that of the robot.
    """
    terms = []
    for term in error_terms(state, "x_ref", nq):
        assert term.reference is not None
        weight = replace(WordName.parse(term.reference), array="x_weight")
        terms.append(CostTerm(term.word, term.reference, str(weight)))
    for word in positions:
        name = WordName.parse(word.name)
        terms.append(CostTerm(word, *(str(replace(name, array=array)) for array in ("p_ref", "p_weight"))))
    for word in forces:
        weight = replace(WordName.parse(word.name), array="tau_weight")
        terms.append(CostTerm(word, None, str(weight)))
    return tuple(terms)


def cost_residuals(terms: Sequence[CostTerm], count: int) -> tuple[Residual, ...]:
    """Return ``count`` residuals, which are sums over the terms that are errors of the state."""
    errors = tuple(term for term in terms if term.weight_of == "x_weight")
    return tuple(Residual(number, errors) for number in range(count))


def cost_format(terms: int, steps: int) -> Format:
    """Return the format of the sum of all terms of all steps."""
    return Format(COST_POINT + 1 + (terms * steps).bit_length(), COST_POINT)


def stage_cost(
    terms: Sequence[ErrorTerm],
    values: Mapping[str, Integers],
    row: Mapping[str, Integers | int],
    residuals: Sequence[Integers] = (),
) -> Integers:
    """Return the cost (N,) of a step, for words (N,) of what is behind it and of its forces.

    Of the ``terms`` only those with weights cost something. ``residuals`` (N,) are those of
    :func:`weighted_residuals`.
    """
    squares = [
        term.weighted(
            values[term.word.name],
            0 if term.reference is None else row[term.reference],
            row[term.weight],
        )
        ** 2
        for term in terms
        if isinstance(term, CostTerm)
    ]
    squares += [weighted**2 for weighted in residuals]
    return round_half_up(np.sum(squares, axis=0), SQUARE_DROP)


def weighted_residuals(
    residuals: Sequence[ErrorSum], values: Mapping[str, Integers], row: Mapping[str, Integers | int]
) -> tuple[list[Integers], NDArray[np.bool_]]:
    """Return each residual (N,) in the format :data:`WEIGHTED`, and whether one exceeds its format.

    ``values`` are words (N,) of the state. A residual that exceeds its format wraps.
    """
    exceeds, weighted = np.zeros(len(next(iter(values.values()))), np.bool_), []
    errors = {
        term.reference: term.error(values[term.word.name], row[term.reference])
        for term in dict.fromkeys(term for residual in residuals for term in residual.terms)
        if term.reference is not None
    }
    for residual in residuals:
        value = residual.value(errors, row)
        fitting = wrap(value, RESIDUAL.width)
        exceeds |= fitting != value
        weighted.append(round_half_up(fitting * row[residual.weight], RESIDUAL.binary_point))
    return weighted, exceeds
