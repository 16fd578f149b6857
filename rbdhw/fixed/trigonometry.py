"""Sine and cosine in integers: the result of the trigonometry unit, bit for bit.

The angle is a fraction of a turn, so range reduction drops whole turns. The top two bits select the quadrant,
and the next ``index_bits`` a segment of it. The tables hold sine and cosine at the segment's middle and their
slopes (and half curvatures) per turn; a Taylor polynomial of ``order`` 1 or 2 covers the rest. The value 1 is
not representable and becomes the largest integer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.polynomial import operand_widths

GUARD = 3
"""The number of bits kept below the result's last until the final rounding."""


EXHAUSTED = 1 << 22
"""The most phases of a quadrant that are tried one by one to find a unit's error."""

LIBRARY = 1e-15
"""A bound of the error of sines and cosines in double precision."""


@dataclass(frozen=True)
class TrigonometrySpec:
    """Parameters of the unit.

    ``width`` is the width of the results, whose binary point is ``width - 1``. ``phase_bits`` is the binary
    point of the angle in turns.
    """

    width: int
    phase_bits: int
    index_bits: int
    order: int

    @property
    def format(self) -> Format:
        return Format(self.width, self.width - 1)

    @property
    def rest_bits(self) -> int:
        return self.phase_bits - 2 - self.index_bits

    @property
    def accuracy(self) -> float:
        """A bound of the absolute error for any angle that the phase represents exactly.

        It includes half a step of rounding, the polynomial's remainder, one guard step for the table and for
        each product, and the step lost at the value 1.
        """
        half_segment: float = math.pi / 4.0 / 2**self.index_bits
        remainder = half_segment ** (self.order + 1) / math.factorial(self.order + 1)
        steps: float = 1.0 + (1.0 + self.order) * 2.0**-GUARD
        return self.format.step * steps + remainder

    @cached_property
    def tables(self) -> tuple[tuple[Integers, ...], tuple[Integers, ...]]:
        """Coefficients of sine and of cosine by order; entry ``k`` belongs to segment ``k``.

        Their fractional bits are :meth:`coefficient_bits`. Order 0 includes half a step of the result, so
        that cutting the low bits of the sum rounds it.
        """
        middles = (np.arange(2**self.index_bits) + 0.5) / 2 ** (self.index_bits + 2) * 2.0 * np.pi
        s, c = np.sin(middles), np.cos(middles)
        turn = 2.0 * np.pi
        sine = (s, turn * c, -turn * turn * s / 2.0)
        cosine = (c, -turn * s, -turn * turn * c / 2.0)
        return self._quantise(sine), self._quantise(cosine)

    @property
    def multipliers(self) -> tuple[tuple[int, int], ...]:
        """Operand widths of the unit's multipliers, one for each power of sine and of cosine."""
        return tuple((width, self.rest_bits) for table in self.tables for width in self.operand_widths(table))

    def operand_widths(self, table: tuple[Integers, ...]) -> tuple[int, ...]:
        """Return the widths of the sums that are multiplied by the rest: :func:`operand_widths`."""
        return operand_widths(table, self.rest_bits, [self.product_cut(power) for power in range(self.order)])

    def coefficient_bits(self, power: int) -> int:
        """Return the fractional bits of the coefficient of ``rest**power``.

        The rest is below ``2**-(index_bits + 3)`` of a turn, so the coefficient needs ``index_bits + 2``
        fewer bits for each power.
        """
        return self.width - 1 + GUARD - power * (self.index_bits + 2)

    def _quantise(self, coefficients: tuple[np.ndarray, ...]) -> tuple[Integers, ...]:
        rounded = [
            np.floor(np.ldexp(values, self.coefficient_bits(power)) + 0.5).astype(np.int64)
            for power, values in enumerate(coefficients[: self.order + 1])
        ]
        rounded[0] += 2 ** (GUARD - 1)
        return tuple(rounded)

    def product_cut(self, power: int) -> int:
        """Return the fractional bits of a product with the rest beyond those of the coefficient below it."""
        return self.coefficient_bits(power + 1) + self.phase_bits - self.coefficient_bits(power)


def trigonometry_spec(width: int) -> TrigonometrySpec:
    """Return the smallest unit whose polynomials err by less than 1/4 step of ``width`` bits."""
    quarter_step = 2.0 ** -(width + 1)
    for order in (1, 2):
        for index_bits in range(3, 11):
            half_segment = math.pi / 4.0 / 2**index_bits
            if half_segment ** (order + 1) / math.factorial(order + 1) <= quarter_step:
                return TrigonometrySpec(width, width + 3, index_bits, order)
    return TrigonometrySpec(width, width + 3, 10, 2)


def sin_cos(spec: TrigonometrySpec, phase: Integers) -> tuple[Integers, Integers]:
    """Return sine and cosine of ``phase * 2**-phase_bits`` turns, for any integer phase."""
    phase = phase & (2**spec.phase_bits - 1)
    quadrant = phase >> (spec.phase_bits - 2)
    index = (phase >> spec.rest_bits) & (2**spec.index_bits - 1)
    rest = (phase & (2**spec.rest_bits - 1)) - 2 ** (spec.rest_bits - 1)
    sine, cosine = (_polynomial(spec, table, index, rest) for table in spec.tables)
    return (
        np.select([quadrant == 0, quadrant == 1, quadrant == 2], [sine, cosine, -sine], -cosine),
        np.select([quadrant == 0, quadrant == 1, quadrant == 2], [cosine, -sine, -cosine], sine),
    )


def _polynomial(
    spec: TrigonometrySpec, table: tuple[Integers, ...], index: Integers, rest: Integers
) -> Integers:
    """Evaluate Horner's rule in ``rest``, phase steps from the segment's middle; round once, at the end."""
    total = table[spec.order][index]
    for power in reversed(range(1, spec.order)):
        total = table[power][index] + (total * rest >> spec.product_cut(power))
    full = (table[0][index] << spec.product_cut(0)) + total * rest
    magnitude: Integers = np.minimum(full >> spec.product_cut(0) + GUARD, spec.format.highest)
    return magnitude


@cache
def sine_error(spec: TrigonometrySpec) -> float:
    """Return a bound of the error of sines and cosines for phases: the largest of all, where they are few.

    The other quadrants have the values of the first, but for their sign. A unit with many phases has the
    bound :attr:`TrigonometrySpec.accuracy`.
    """
    phases = 1 << (spec.phase_bits - 2)
    if phases > EXHAUSTED:
        return spec.accuracy
    phase = np.arange(phases)
    angle = np.ldexp(2.0 * np.pi * phase, -spec.phase_bits)
    values = zip(sin_cos(spec, phase), (np.sin(angle), np.cos(angle)), strict=True)
    return LIBRARY + max(float(np.abs(spec.format.real(unit) - exact).max()) for unit, exact in values)
