"""Products by constants without a multiplier: sums of the other factor, shifted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

Summand = TypeVar("Summand")


@dataclass(frozen=True, slots=True)
class Term:
    """What is added up: the factor times a signed power of two, a one below it that rounds, or both.

    Parameters
    ----------
    shift
        The lowest bit.
    negative
        Whether it is subtracted.
    one
        How far the factor lies above a one at the lowest bit; 0 without one, None where there is a one alone.
    """

    shift: int
    negative: bool = False
    one: int | None = 0


def recode(constant: int) -> tuple[Term, ...]:
    """The fewest signed powers of two that add up to a constant, the lowest first.

    No two of them are neighbours: the constant in canonical signed digits (Reitwiesner, 1960).
    """
    terms, rest, shift = [], constant, 0
    while rest:
        if rest & 1:
            digit = 2 - (rest & 3)
            terms.append(Term(shift, digit < 0))
            rest -= digit
        rest >>= 1
        shift += 1
    return tuple(terms)


def round_constant(constant: int, drop: int) -> tuple[Term, ...]:
    """The terms of a product by a constant and of half of ``drop`` bits, the lowest first.

    The half takes no term of its own where the factor is added above it.
    """
    terms = list(recode(constant))
    if drop:
        room = (k for k, term in enumerate(terms) if not term.negative and term.shift >= drop)
        k = next(room, None)
        if k is None:
            terms.append(Term(drop - 1, one=None))
        else:
            terms[k] = replace(terms[k], shift=drop - 1, one=terms[k].shift - drop + 1)
    return tuple(sorted(terms, key=lambda term: term.shift))


def pair_summands(summands: Sequence[Summand], add: Callable[[Summand, Summand], Summand]) -> Summand:
    """The sum of one summand or more, neighbours added first."""
    while len(summands) > 1:
        pairs = zip(summands[::2], summands[1::2], strict=False)
        summands = [*(add(a, b) for a, b in pairs), *summands[len(summands) & ~1 :]]
    return summands[0]


@dataclass(frozen=True, slots=True)
class ShiftAdd:
    """Adders that multiply by a constant: the bits of all, their number, and that on the longest way."""

    bits: int
    adders: int
    levels: int


@dataclass(frozen=True, slots=True)
class _Sum:
    """A summand: its lowest bit, the one above its highest, and the adders so far."""

    low: int
    top: int
    negative: bool
    found: ShiftAdd = ShiftAdd(0, 0, 0)

    def plus(self, other: _Sum) -> _Sum:
        """The sum with a summand that starts no lower; what is below that passes by unless it is negated."""
        top = max(self.top, other.top) + 1
        start = self.low if self.negative and not other.negative else other.low
        mine, others = self.found, other.found
        found = ShiftAdd(
            mine.bits + others.bits + top - start,
            mine.adders + others.adders + 1,
            max(mine.levels, others.levels) + 1,
        )
        return _Sum(self.low, top, self.negative and other.negative, found)


def shift_add(width: int, constant: int, drop: int) -> ShiftAdd:
    """What multiplies a number of a width by a constant above 0, and rounds ``drop`` bits."""
    spans = [
        _Sum(term.shift, term.shift + (2 if term.one is None else term.one + width), term.negative)
        for term in round_constant(constant, drop)
    ]
    return pair_summands(spans, _Sum.plus).found
