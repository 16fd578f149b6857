"""Products without a multiplier: sums of shifted copies of a factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

Summand = TypeVar("Summand")


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the sum: the factor times a signed power of two, a one below it for rounding, or both."""

    shift: int
    """The position of the lowest bit."""
    negative: bool = False
    """Whether the term is subtracted."""
    one: int | None = 0
    """The distance of the factor above a one at the lowest bit; 0 if there is no one, None if there is only a
    one."""


def recode(constant: int) -> tuple[Term, ...]:
    """Return the fewest signed powers of two that add up to a constant, the lowest first.

    No two of them are adjacent: this is the canonical signed digit form (Reitwiesner, 1960).
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
    """Return the terms of a product by a constant plus half of ``drop`` bits for rounding, the lowest first.

    The half takes no term of its own if a factor is added above it.
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
    """Return the sum of one or more summands; neighbours are added first."""
    while len(summands) > 1:
        pairs = zip(summands[::2], summands[1::2], strict=False)
        summands = [*(add(a, b) for a, b in pairs), *summands[len(summands) & ~1 :]]
    return summands[0]


@dataclass(frozen=True, slots=True)
class ShiftAdd:
    """The adders that multiply: their bits, their number, and the most on a path."""

    bits: int
    adders: int
    levels: int


@dataclass(frozen=True, slots=True)
class _Sum:
    """A summand: its lowest bit, the bit above its highest, its sign, and the adders so far."""

    low: int
    top: int
    negative: bool
    adders: ShiftAdd = ShiftAdd(0, 0, 0)

    def plus(self, other: _Sum) -> _Sum:
        """Add a summand that starts no lower; low bits below it need no adder unless this is negated."""
        top = max(self.top, other.top) + 1
        start = self.low if self.negative and not other.negative else other.low
        one, two = self.adders, other.adders
        adders = ShiftAdd(
            one.bits + two.bits + top - start,
            one.adders + two.adders + 1,
            max(one.levels, two.levels) + 1,
        )
        return _Sum(self.low, top, self.negative and other.negative, adders)


def shift_add(width: int, constant: int, drop: int) -> ShiftAdd:
    """Return the adders that multiply a number of a width by a positive constant and round ``drop`` bits."""
    spans = [
        _Sum(term.shift, term.shift + (2 if term.one is None else term.one + width), term.negative)
        for term in round_constant(constant, drop)
    ]
    return pair_summands(spans, _Sum.plus).adders


@dataclass(frozen=True, slots=True)
class Booth:
    """The rows that multiply two numbers in look-up tables: multiples of the wider one, from -2 to 2.

    There is a row for each pair of bits of the narrower one (Booth, 1951; MacSorley, 1961). Two chains of
    adders add one row after the other, so that a row and its addition share look-up tables, and then each
    other's sum. The first chain begins with the ones that complete negative rows.
    """

    wide: int
    narrow: int

    @classmethod
    def of(cls, widths: Sequence[int]) -> Booth:
        """Return the rows of a product of operands with these widths."""
        narrow, wide = sorted(widths)
        return cls(wide, narrow)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return (self.narrow + 1) // 2

    @property
    def levels(self) -> int:
        """The adders on the longest path: the rows of the first chain, and one that joins the chains."""
        return self.rows // 2 + 1

    @property
    def adders(self) -> ShiftAdd:
        """The adders of all rows; the first row of the second chain counts as one."""
        joined = self.wide + self.narrow - 2 * (self.levels - 1)
        return ShiftAdd(self.rows * (self.wide + 2) + joined, self.rows, self.levels)

    def breaks(self, registers: int) -> tuple[int, ...]:
        """Return the levels of adders in front of each of so many pipeline registers."""
        return tuple(self.levels * k // (registers + 1) for k in range(1, registers + 1))

    def stages(self, registers: int) -> tuple[int, ...]:
        """Return the levels of adders in front of, between and behind so many pipeline registers."""
        return tuple(high - low for low, high in pairwise((0, *self.breaks(registers), self.levels)))

    def register_bits(self, registers: int) -> int:
        """Return the bits of pipeline registers: of the sums, and of operands that later rows need."""
        breaks = self.breaks(registers)
        operands = sum(level < self.levels - 1 for level in breaks) * (self.wide + self.narrow)
        return sum(2 * (self.wide + 2 * level) for level in breaks) + operands
