"""The feedback of rollouts to a force: gains times the errors of the state, in formats that hold every value.

Errors are those of :mod:`rbdhw.fixed.state_error`. A gain is a fraction of the largest one of its force and
element, with which an error of 2 ** -:data:`MARGIN` of the largest has as much effect as the largest force.
Products and their sum are exact. The sum is rounded once, to the steps of the force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Format, Integers, round_half_up
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import ErrorTerm

GAIN = Format(18, 17)
"""The format of a gain, a fraction of the largest one."""

MARGIN = 5
"""The binary logarithm of the largest gain, in a unit in which the largest error gives the largest force."""


@dataclass(frozen=True)
class Feedback:
    """The feedback to one force from the errors of all words of the state."""

    force: Word
    terms: tuple[ErrorTerm, ...]

    @property
    def coordinate(self) -> int:
        return int(WordName.parse(self.force.name).index[0])

    @property
    def exponent(self) -> int:
        """The binary logarithm of the largest force."""
        return self.force.format.width - 1 - self.force.format.binary_point

    @property
    def drop(self) -> int:
        """The bits by which the sum is rounded; negative if zeros are appended."""
        point = self._bits + GAIN.binary_point - 1 - MARGIN - self.exponent
        return point - self.force.format.binary_point

    @property
    def _bits(self) -> int:
        """The most bits of an error, without the one that is kept for its rounding."""
        return max(term.bits - term.error_drop for term in self.terms)

    def shift(self, term: ErrorTerm) -> int:
        """Return the zeros that are appended to a product, so that all have the same binary point."""
        return self._bits - (term.bits - term.error_drop)

    @property
    def sum_bits(self) -> int:
        widest = max(term.error_bits + self.shift(term) for term in self.terms)
        return widest + GAIN.width + len(self.terms).bit_length()

    def largest(self, term: ErrorTerm) -> float:
        """Return the largest gain, in units of the words of the force and of the state."""
        return 2.0 ** (MARGIN + self.exponent - term.exponent)

    def gain(self, term: ErrorTerm) -> str:
        """Return the name of the gain that the loads of this force bring."""
        assert term.reference is not None
        return str(WordName("gain", WordName.parse(term.reference).index))

    def stored(self, term: ErrorTerm) -> str:
        """Return the name of a gain among those of all forces."""
        return str(WordName("gain", (self.coordinate, *WordName.parse(self.gain(term)).index)))

    def added(
        self, values: Mapping[str, Integers], row: Mapping[str, int], gains: Mapping[str, int]
    ) -> Integers:
        """Return what is added to the force, in its steps, for words (N,) of the state.

        ``row`` are the references, and ``gains`` have the names of :meth:`stored`.
        """
        products = [
            term.error(values[term.word.name], row[term.reference or ""]) * gains[self.stored(term)]
            << self.shift(term)
            for term in self.terms
        ]
        total = np.sum(products, axis=0)
        return round_half_up(total, self.drop) if self.drop > 0 else total << -self.drop
