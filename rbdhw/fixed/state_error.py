"""The error of a word of the state, or of a force: its difference from a reference, rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Integers, round_half_up, wrap
from rbdhw.fixed.program import Word

ERROR_BITS = 27
"""The most bits of an error, the wide port of a multiplier."""


@dataclass(frozen=True)
class ErrorTerm:
    """The difference of an element of the state, or of a position, from its ``reference``; or a force.

    A force has no reference. An error of an angle without limits is at most half a turn.
    """

    word: Word
    reference: str | None

    @property
    def element(self) -> int:
        """The element of the state."""
        assert self.reference is not None
        return int(WordName.parse(self.reference).index[0])

    @property
    def wraps(self) -> bool:
        """Whether the error is that of an angle without limits, which wraps."""
        return self.word.lowest is None

    @property
    def reference_word(self) -> Word:
        """The word of the reference, in the slot and the format of that of the state."""
        assert self.reference is not None
        return replace(self.word, name=self.reference)

    @property
    def bits(self) -> int:
        """The bits of an error before it is rounded."""
        return self.word.format.width + (self.reference is not None and not self.wraps)

    @property
    def error_drop(self) -> int:
        """The bits by which an error is rounded; one bit is kept for the rounding."""
        return max(0, self.bits + 1 - ERROR_BITS)

    @property
    def error_bits(self) -> int:
        return self.bits - self.error_drop + bool(self.error_drop)

    @property
    def shift(self) -> int:
        """The zeros that are appended to an error, so that the largest errors of all words are equal."""
        return ERROR_BITS - 1 - (self.bits - self.error_drop)

    @property
    def exponent(self) -> int:
        """The binary logarithm of the largest error."""
        return self.bits - 1 - self.word.format.binary_point

    def error(self, values: Integers, reference: Integers | int) -> Integers:
        error = values - reference
        if self.wraps:
            error = wrap(error, self.word.format.width)
        return round_half_up(error, self.error_drop)


def error_terms(state: Sequence[Word], array: str, nq: int) -> tuple[ErrorTerm, ...]:
    """Return the errors of words of the state, beside references in ``array``; ``nq`` as in the robot."""
    terms = []
    for word in state:
        name = WordName.parse(word.name)
        index = name.index[0] + (nq if name.array == "v" else 0)
        terms.append(ErrorTerm(word, str(WordName(array, (index,)))))
    return tuple(terms)
