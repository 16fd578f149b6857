"""Reciprocals in integers: the result of the reciprocal unit, bit for bit.

The operand's magnitude is shifted until its leading one is the top bit, which makes it a mantissa ``m`` in
[1, 2). The mantissa's next ``index_bits`` select a segment of the table. A polynomial of ``order`` 1 or 2,
which equals ``1/m`` at the segment's Chebyshev nodes, covers the rest. The result gets the operand's sign, is
shifted right according to the formats and the operand's size, and is rounded once, at the end. Thus one unit
serves operands and results of any format; each operation gives it one shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.polynomial import operand_widths

DIGIT = 4
"""The bits of an operand among which the unit finds a leading one at once."""

CHOICES = 3
"""The digits among which the unit chooses the first with a one, in one level of look-up tables."""

FINE = 2
"""The low bits of a result's shift, by which the unit shifts it before its register."""

GUARD = 3
"""The number of bits by which the mantissa's reciprocal is longer than the widest result."""

MOST_INDEX_BITS = {1: 10, 2: 11}
"""The largest number of index bits for polynomials of each order."""

QUICK_INDEX_BITS = 13
"""The largest number of index bits of a unit whose results are to be there soon."""


@dataclass(frozen=True)
class ReciprocalSpec:
    """Parameters of the unit.

    ``width`` is the width of the widest operand. ``result_bits`` is the number of fractional bits of the
    mantissa and of its reciprocal, before the result is rounded.
    """

    width: int
    result_bits: int
    index_bits: int
    order: int

    @property
    def rest_bits(self) -> int:
        """Bits of the mantissa within a segment; a product with the rest is cut by as many bits."""
        return self.result_bits - self.index_bits

    @property
    def largest_shift(self) -> int:
        """The shift from which on every result is zero."""
        return self.result_bits + 2

    @property
    def beyond(self) -> int:
        """The result for zero, which exceeds every format."""
        return 1 << (self.result_bits + 1)

    @property
    def accuracy(self) -> float:
        """A bound of the absolute error of the mantissa's reciprocal, which lies in (1/2, 1].

        The result's relative error is at most twice that, plus half a step of its format for rounding. The
        bound includes one step for the last cut and the rounded coefficient added to it, one for operands
        with more bits than the mantissa, and the rest for the other coefficients and products.
        """
        steps = 2.0 + 0.25 * self.order + 0.5 * (self.order - 1)
        return remainder(self.index_bits, self.order) + math.ldexp(steps, -self.result_bits)

    @cached_property
    def tables(self) -> tuple[Integers, ...]:
        """Coefficients by power of the rest; entry ``k`` belongs to segment ``k``.

        Power 0 includes half a step, which centres the error of cutting the bits below it.
        """
        half_segment = math.ldexp(1.0, -self.index_bits - 1)
        middle = 1.0 + half_segment * (2.0 * np.arange(2**self.index_bits) + 1.0)
        between = middle**2 - (half_segment * math.cos(math.pi / (2 * self.order + 2))) ** 2
        if self.order == 1:
            columns = [middle / between, -1.0 / between]
        else:
            columns = [1.0 / middle, -1.0 / between, 1.0 / (middle * between)]
        scaled = [np.ldexp(values, self.coefficient_bits(power)) for power, values in enumerate(columns)]
        scaled[0] = scaled[0] + 0.5
        return tuple(np.floor(values + 0.5).astype(np.int64) for values in scaled)

    @property
    def multipliers(self) -> tuple[tuple[int, int], ...]:
        """Operand widths of the unit's multipliers, one for each power."""
        cuts = [self.rest_bits] * self.order
        return tuple((width, self.rest_bits) for width in operand_widths(self.tables, self.rest_bits, cuts))

    def coefficient_bits(self, power: int) -> int:
        """Return the fractional bits of the coefficient of ``rest**power`` (the rest is < 2**-index_bits)."""
        return self.result_bits - power * self.index_bits


def remainder(index_bits: int, order: int) -> float:
    """Return the largest error of the polynomials of this order, which occurs in the first segment."""
    half_segment = math.ldexp(1.0, -index_bits - 1)
    error: float = half_segment ** (order + 1) / 2**order
    return error


def reciprocal_spec(width: int, result_width: int) -> ReciprocalSpec:
    """Return the smallest unit whose polynomials err by at most 1/4 step of the widest result."""
    for order, most in MOST_INDEX_BITS.items():
        index_bits = _fewest_index_bits(result_width, order)
        if index_bits <= most:
            return ReciprocalSpec(width, result_width + GUARD, index_bits, order)
    return ReciprocalSpec(width, result_width + GUARD, MOST_INDEX_BITS[2], 2)


def quick(spec: ReciprocalSpec) -> ReciprocalSpec:
    """Return a unit with one product and a longer table, for results of the same width.

    It is the same unit if the table would have more than :data:`QUICK_INDEX_BITS`.
    """
    index_bits = _fewest_index_bits(spec.result_bits - GUARD, 1)
    return replace(spec, index_bits=index_bits, order=1) if index_bits <= QUICK_INDEX_BITS else spec


def _fewest_index_bits(result_width: int, order: int) -> int:
    """Return the index bits from which on polynomials err by at most 1/4 step of a result."""
    quarter_step = math.ldexp(1.0, -result_width - 1)
    return next(bits for bits in count(3) if remainder(bits, order) <= quarter_step)


def shift_of(spec: ReciprocalSpec, operand: Format, result: Format) -> int:
    """Return the right shift of the result for an operand whose leading one is bit 0."""
    return spec.result_bits - operand.binary_point - result.binary_point


def reciprocal(spec: ReciprocalSpec, x: Integers, shift: int) -> Integers:
    """Return the rounded reciprocals of integers, before they saturate.

    A result too large for the unit's widest format stays too large for it. So does the reciprocal of zero,
    which counts as positive.
    """
    magnitude = np.abs(x)
    leading = np.frexp(magnitude.astype(np.float64))[1].astype(np.int64) - 1
    up = spec.result_bits - np.maximum(leading, 0)
    mantissa = (magnitude << np.maximum(up, 0)) >> np.maximum(-up, 0)
    inverse = _polynomial(spec, mantissa & (2**spec.result_bits - 1))
    by = np.clip(shift + leading, 0, spec.largest_shift)
    full = (np.where(x < 0, -inverse, inverse) + (1 << by >> 1)) >> by
    return np.where(x == 0, spec.beyond, full)


def _polynomial(spec: ReciprocalSpec, fraction: Integers) -> Integers:
    """Return the reciprocal of a mantissa from its fraction: Horner's rule from the segment's middle."""
    index = fraction >> spec.rest_bits
    rest = (fraction & (2**spec.rest_bits - 1)) - 2 ** (spec.rest_bits - 1)
    total: Integers = spec.tables[spec.order][index]
    for column in reversed(spec.tables[: spec.order]):
        total = column[index] + (total * rest >> spec.rest_bits)
    return total
