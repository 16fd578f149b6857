"""The reciprocal unit: 1 / x for fixed-point numbers of any format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.polynomial import coefficient_width
from rbdhw.fixed.reciprocal import DIGIT, ReciprocalSpec
from rbdhw.rtl.delay import after, register
from rbdhw.rtl.polynomial import coefficients, horner_step
from rbdhw.target import Primitive

SHIFT_BITS = 9
"""Bits of an operand's shift: binary points lie within a few hundred bits."""

MOST_EXTRA = 3
"""The most registers that a slow device may need in addition to those of the tables and products."""


class ReciprocalUnit(wiring.Component):
    """Computes :func:`rbdhw.fixed.reciprocal.reciprocal`, one operand per cycle.

    Raises ValueError for a latency outside this range.
    """

    def __init__(
        self,
        spec: ReciprocalSpec,  # widths, tables and order of the polynomial
        # Cycles from the operand to the result: one for the tables, and for each power of the polynomial one
        # plus `registers`. Up to three more cycles register the place of the leading one, then the magnitude
        # before it, then the result.
        latency: int,
        # Pipeline registers of each product, and the device's multiplier: see `multiplier`.
        registers: int = 0,
        primitive: Primitive | None = None,
    ) -> None:
        least = 1 + spec.order * (1 + registers)
        if not least <= latency <= least + MOST_EXTRA:
            raise ValueError(f"a reciprocal takes {least} to {least + MOST_EXTRA} cycles, not {latency}")
        self.spec = spec
        self.latency = latency
        self.registers = registers
        self.primitive = primitive
        self._extra = latency - least
        super().__init__(
            {
                "x": In(signed(spec.width)),
                # The right shift of the result for an operand whose leading one is bit 0.
                "shift": In(signed(SHIFT_BITS)),
                # The result, `latency` cycles later; unless registered, it comes from a shifter.
                "y": Out(signed(spec.result_bits + 3)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spec, extra = self.spec, self._extra
        negative: Any = self.x[-1]
        magnitude: Any = Signal(spec.width)
        m.d.comb += magnitude.eq((self.x ^ negative.replicate(spec.width)) + negative)
        shift, negative, magnitude = after(
            m, extra >= 2, shift=self.shift, negative=negative, magnitude=magnitude
        )
        first, zeros = _find_one(m, magnitude)
        shift, negative, magnitude, first, zeros = after(
            m, extra >= 1, shift=shift, negative=negative, magnitude=magnitude, first=first, zeros=zeros
        )
        empty = ~first.any()
        wanted: Any = Signal(signed(SHIFT_BITS + 1))
        m.d.comb += wanted.eq(shift + (spec.width - 1) - _count(first, zeros))
        wanted, negative, empty = after(m, 1, wanted=wanted, negative=negative, empty=empty)
        by, rounding = self._shift_back(m, wanted, negative)
        waiting = (spec.order - 1) * (1 + self.registers)
        by, negative, empty, rounding = after(
            m, waiting, by=by, negative=negative, empty=empty, rounding=rounding.as_signed()
        )
        inverse = self._polynomial(m, self._fraction(m, magnitude, first, zeros), rounding)
        by, negative, empty = after(m, self.registers, by=by, negative=negative, empty=empty)
        signed_inverse = inverse ^ negative.replicate(len(inverse)).as_signed()
        by, inverse = after(
            m,
            1,
            by=Mux(empty, 0, by),
            inverse=Mux(empty, Const(spec.beyond, signed(spec.result_bits + 3)), signed_inverse).as_signed(),
        )
        m.d.comb += self.y.eq(*after(m, extra == MOST_EXTRA, result=inverse >> by))
        return m

    def _shift_back(self, m: Module, wanted: Any, negative: Any) -> tuple[Any, Any]:
        """Return the right shift of the result, and half of what it cuts, with the bits of the sign below.

        The shift is limited to 0 and to that which leaves nothing of the result. The half needs no limit: it
        is known from the shift that is wanted.
        """
        largest = self.spec.largest_shift
        by = Signal(range(largest + 1))
        m.d.comb += by.eq(Mux(wanted < 0, 0, Mux(wanted > largest, largest, wanted)))
        half = Cat(*(wanted == k for k in range(1, largest)), wanted >= largest)
        return by, half ^ negative.replicate(largest + 1).as_signed()

    def _fraction(self, m: Module, magnitude: Any, first: Any, zeros: Any) -> Any:
        """Return the operand's bits below its leading one: its digit comes to the top, then the one."""
        spec = self.spec
        whole = Cat(Const(0, DIGIT * len(first) - spec.width), magnitude)
        moved, shifted = Signal(len(whole), name="moved"), Signal(len(whole), name="shifted")
        m.d.comb += moved.eq(_choose(first, [whole << DIGIT * k for k in range(len(first))]))
        m.d.comb += shifted.eq(moved << zeros)
        below = Cat(Const(0, spec.result_bits), shifted[:-1])
        return below[-spec.result_bits :]

    def _polynomial(self, m: Module, fraction: Any, addend: Any) -> Any:
        """Evaluate the polynomial by Horner's rule, with a register after each power but the last.

        ``addend`` arrives with the operands of the last product and is added to it.
        """
        spec = self.spec
        rest: Any = Cat(fraction[: spec.rest_bits - 1], ~fraction[spec.rest_bits - 1]).as_signed()
        (rest,) = after(m, 1, rest=rest)
        by_power = coefficients(m, "table", spec.tables, fraction[spec.rest_bits :])
        total = by_power[-1]
        for power in reversed(range(1, spec.order)):
            width, _ = spec.multipliers[power - 1]
            total = register(
                m, f"total_{power}", self._power(m, power, total, rest, by_power[power]), signed(width)
            )
            waiting = 1 + self.registers
            others = {f"coefficient_{k}": value for k, value in enumerate(by_power[:power])}
            rest, *by_power = after(m, waiting, rest=rest, **others)
        return self._power(m, 0, total, rest, by_power[0] + addend)

    def _power(self, m: Module, power: int, total: Any, rest: Any, coefficient: Any) -> Any:
        names = f"power_{power}", "coefficient"
        return horner_step(m, self, names, total, rest, coefficient, self.spec.rest_bits)


def _find_one(m: Module, bits: Any) -> tuple[Any, Any]:
    """Return the digit with the leading one, one-hot with the top digit first, and the zeros above it there.

    Digits of :data:`DIGIT` bits are looked at side by side, so this takes three levels of logic.
    """
    digits = -(-len(bits) // DIGIT)
    whole = Cat(Const(0, DIGIT * digits - len(bits)), bits)
    parts = [whole[DIGIT * k : DIGIT * (k + 1)] for k in reversed(range(digits))]
    used = [part.any() for part in parts]
    first = Signal(digits, name="first_digit")
    zeros = Signal(range(DIGIT), name="zeros_in_digit")
    m.d.comb += first.eq(Cat(used[k] & ~Cat(*used[:k]).any() for k in range(digits)))
    places = [Mux(part[3], C(0, 2), Mux(part[2], C(1, 2), Mux(part[1], C(2, 2), C(3, 2)))) for part in parts]
    m.d.comb += zeros.eq(_choose(first, places))
    return first, zeros


def _choose(chosen: Any, choices: Sequence[Any]) -> Any:
    """Return the choice whose bit is 1; zero if none is."""
    return reduce(or_, (Mux(bit, choice, 0) for bit, choice in zip(chosen, choices, strict=True)))


def _count(first: Any, zeros: Any) -> Any:
    """Return the number of leading zeros of an operand that is not zero."""
    digit = Cat(
        Cat(first[k] for k in range(len(first)) if k >> bit & 1).any()
        for bit in range((len(first) - 1).bit_length())
    )
    return Cat(zeros, digit)


def reciprocal_cells(unit: ReciprocalSpec, fabric: Fabric) -> Cells:
    """Return the cells of a unit with its table."""
    bits = sum(coefficient_width(column) for column in unit.tables)
    cells = fabric.reciprocal.cells(unit.width, unit.order)
    return cells + fabric.table(bits, len(unit.tables[0]))
