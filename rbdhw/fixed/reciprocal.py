"""One over a positive integer: what the reciprocal unit computes, bit for bit.

The operand is shifted left until its leading one is its top bit, which makes it a mantissa in [1, 2). The
next ``index_bits`` bits name a segment, tables hold the reciprocal at the segment's middle and its slope (and
half curvature), and a polynomial of ``order`` 1 or 2 in the rest gives the mantissa's reciprocal, in
(1/2, 1], with ``result_bits`` fractional bits. The result is that, shifted right by as much as the
operation's formats and the leading zeros say, and rounded once more.

An operand that is zero or negative has no reciprocal here (pivots of a mass matrix are positive): the result
then does not fit any format, which flags the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rbdhw.fixed.format import Format, Integers

GUARD = 3
"""Bits kept below the result's last until the polynomial is rounded."""


@dataclass(frozen=True)
class ReciprocalSpec:
    """Parameters of the unit; ``width`` is the operand's."""

    width: int
    result_bits: int
    index_bits: int
    order: int

    @property
    def rest_bits(self) -> int:
        """Bits of the mantissa within a segment."""
        return self.width - 2 - self.index_bits

    @property
    def largest_shift(self) -> int:
        """The shift beyond which every result is zero."""
        return self.result_bits + 2

    @property
    def accuracy(self) -> float:
        """A bound of the absolute error of the mantissa's reciprocal.

        Half a step of rounding, a guard step for each rounded coefficient, and the polynomial's remainder.
        """
        step: float = 2.0**-self.result_bits
        return step * (0.5 + (1.0 + self.order) * 2.0**-GUARD) + remainder(self.index_bits, self.order)

    @cached_property
    def tables(self) -> tuple[Integers, ...]:
        """Coefficients by power of the rest; entry ``k`` belongs to segment ``k``.

        Power 0 holds half a step of the result more, so that cutting the sum's low bits rounds it.
        """
        segments = 2**self.index_bits
        middles = 1.0 + (np.arange(segments) + 0.5) / segments
        half = 0.5 / segments
        coefficients = [1.0 / middles, -1.0 / middles**2, 1.0 / middles**3]
        if self.order == 1:
            coefficients[0] = coefficients[0] + half**2 / (2.0 * middles**3)
        else:
            coefficients[1] = coefficients[1] - 0.75 * half**2 / middles**4
        rounded = [
            np.floor(np.ldexp(values, self.coefficient_bits(power)) + 0.5).astype(np.int64)
            for power, values in enumerate(coefficients[: self.order + 1])
        ]
        rounded[0] += 2 ** (GUARD - 1)
        return tuple(rounded)

    @property
    def multipliers(self) -> tuple[tuple[int, int], ...]:
        """Operand widths of the unit's multipliers, one a power."""
        return tuple((int(abs(column).max()).bit_length() + 1, self.rest_bits) for column in self.tables[1:])

    def coefficient_bits(self, power: int) -> int:
        """Fractional bits of the coefficient of ``rest**power``: the rest is below ``2**-index_bits``."""
        return self.result_bits + GUARD - power * self.index_bits

    @property
    def product_cut(self) -> int:
        """Fractional bits that a product with the rest has beyond the next lower coefficient."""
        return self.width - 2 - self.index_bits


def remainder(index_bits: int, order: int) -> float:
    """The largest error of the polynomials of this order: with the error shared out over the segment."""
    half: float = 2.0 ** -(index_bits + 1)
    return half**2 / 2.0 if order == 1 else half**3 / 4.0


def reciprocal_spec(width: int, result_bits: int) -> ReciprocalSpec:
    """The smallest unit whose polynomial errs by less than a quarter of a step of its result."""
    quarter_step = 2.0 ** -(result_bits + 2)
    for order, largest in ((1, 9), (2, 10)):
        for index_bits in range(2, largest + 1):
            if remainder(index_bits, order) <= quarter_step or index_bits == width - 3:
                return ReciprocalSpec(width, result_bits, index_bits, order)
    return ReciprocalSpec(width, result_bits, 10, 2)


def shift_of(spec: ReciprocalSpec, operand: Format, result: Format) -> int:
    """The right shift of the result where the operand's leading one is bit 0."""
    return spec.result_bits - operand.binary_point - result.binary_point


def reciprocal(spec: ReciprocalSpec, x: Integers, shift: int) -> Integers:
    """The rounded reciprocal of integers; ``2**(result_bits + 1)`` where ``x`` is not positive."""
    positive = x > 0
    magnitude = np.where(positive, x, 1)
    leading = np.frexp(magnitude.astype(np.float64))[1].astype(np.int64) - 1
    mantissa = magnitude << (spec.width - 2 - leading)
    index = (mantissa >> spec.rest_bits) & (2**spec.index_bits - 1)
    rest = (mantissa & (2**spec.rest_bits - 1)) - (1 << spec.rest_bits >> 1)
    total = spec.tables[spec.order][index]
    for power in reversed(range(1, spec.order)):
        total = spec.tables[power][index] + (total * rest >> spec.product_cut)
    full = (spec.tables[0][index] << spec.product_cut) + total * rest
    inverse = full >> (spec.product_cut + GUARD)
    by = np.clip(shift + leading, 1, spec.largest_shift)
    return np.where(positive, ((inverse >> (by - 1)) + 1) >> 1, 1 << (spec.result_bits + 1))
