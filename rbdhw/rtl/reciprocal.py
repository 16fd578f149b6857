"""The reciprocal unit: 1 / x for fixed-point numbers of any format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.polynomial import coefficient_width
from rbdhw.fixed.program import Operation
from rbdhw.fixed.reciprocal import CHOICES, DIGIT, FINE, ReciprocalSpec
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
        # plus `registers`. Up to three more cycles register the place of the leading one, then the result,
        # then the last product. With one cycle less no register is behind the last product.
        latency: int,
        # Pipeline registers of each product, and the device's multiplier: see `multiplier`.
        registers: int = 0,
        primitive: Primitive | None = None,
        widths: Sequence[int] = (),  # of the results that saturate
    ) -> None:
        least = 1 + spec.order * (1 + registers)
        if not least - 1 <= latency <= least + MOST_EXTRA:
            raise ValueError(f"a reciprocal takes {least - 1} to {least + MOST_EXTRA} cycles, not {latency}")
        self.spec = spec
        self.latency = latency
        self.registers = registers
        self.primitive = primitive
        self.widths = tuple(sorted(set(widths)))
        self._extra = latency - least
        super().__init__(
            {
                "x": In(signed(spec.width)),
                # The right shift of the result for an operand whose leading one is bit 0.
                "shift": In(signed(SHIFT_BITS)),
                # The result, `latency` cycles later; unless registered, it comes from shifters. That of zero
                # exceeds every format.
                "y": Out(signed(spec.result_bits + 3)),
                # The same with all bits inverted if it is negative, and whether it is.
                "inverted": Out(signed(spec.result_bits + 3)),
                "negative": Out(1),
                # Whether the result exceeds a width, from a register if one is behind the last product.
                **{self._overflow(width): Out(1) for width in self.widths},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        spec, extra = self.spec, self._extra
        negative: Any = self.x[-1]
        inverted = self.x.as_unsigned() ^ negative.replicate(spec.width)
        magnitude: Any = Signal(spec.width)
        above, empty = Signal(name="one_above"), Signal(name="is_zero")
        m.d.comb += magnitude.eq(negative + inverted)
        m.d.comb += empty.eq(~self.x.any())
        m.d.comb += above.eq(negative & inverted[0] & ~(inverted[1:] & ~inverted[:-1]).any())
        # Down to its leading one, a bit of the inverted operand is 1 where the operand's bit differs from the
        # one above. The sign would be read by all bits, and its wire would be in the longest path.
        used, zeros = _find_one(m, Cat(self.x[:-1] ^ self.x[1:], Const(0, 1)))
        signals = {"magnitude": magnitude, "above": above, "used": used, "zeros": zeros}
        shift, negative, empty, *leading = after(
            m, extra >= 1, shift=self.shift, negative=negative, empty=empty, **signals
        )
        wanted, excess, fraction = self._normalise(m, shift, *leading)
        wanted, excess, negative, empty = after(
            m, 1, wanted=wanted, excess=excess, negative=negative, empty=empty
        )
        by, rounding = self._shift_back(m, wanted, excess, negative, empty)
        waiting = (spec.order - 1) * (1 + self.registers)
        by, negative, rounding = after(m, waiting, by=by, negative=negative, rounding=rounding.as_signed())
        inverse = self._polynomial(m, fraction, rounding)
        by, negative = after(m, self.registers, by=by, negative=negative)
        by, negative, inverse = after(m, extra == MOST_EXTRA, by=by, negative=negative, inverse=inverse)
        overflows = {self._overflow(width): self._exceeds(inverse, by, width) for width in self.widths}
        by, negative, inverse, *exceeds = after(
            m, extra >= 0, by=by, negative=negative, inverse=inverse >> by[:FINE], **overflows
        )
        result = inverse >> Cat(Const(0, FINE), by[FINE:])
        negative, result, *exceeds = after(
            m, extra >= 2, negative=negative, result=result, **dict(zip(overflows, exceeds, strict=True))
        )
        m.d.comb += [self.negative.eq(negative), self.inverted.eq(result)]
        m.d.comb += self.y.eq(self.inverted ^ negative.replicate(len(self.y)).as_signed())
        m.d.comb += [getattr(self, port).eq(bit) for port, bit in zip(overflows, exceeds, strict=True)]
        return m

    @staticmethod
    def _overflow(width: int) -> str:
        return f"overflow_{width}"

    def _exceeds(self, inverse: Any, by: Any, width: int) -> Any:
        """Return whether the inverse of a mantissa, shifted, exceeds a width.

        The inverse has ``result_bits`` bits, or one more, so the shift and the two top bits decide.
        """
        bits = self.spec.result_bits
        one, two = by == bits - width, by == bits - width + 1
        return (by < bits - width) | (one & inverse[bits - 1 : bits + 1].any()) | (two & inverse[bits])

    def saturated(self, operation: Operation) -> tuple[Any, Any]:
        """Return the result in an operation's format, saturated if it overflows, and whether it does.

        The format's width must be one of ``widths`` if the operation is checked.
        """
        width = operation.format.width
        if not operation.checked:
            return self.y[:width].as_signed(), Const(0)
        overflow, sign = getattr(self, self._overflow(width)), self.negative
        limited = Cat(
            self.inverted[: width - 1] | overflow.replicate(width - 1), self.inverted[width - 1] & ~overflow
        )
        return (limited ^ sign.replicate(width)).as_signed(), overflow

    def _normalise(
        self, m: Module, shift: Any, magnitude: Any, above: Any, used: Any, zeros: Any
    ) -> tuple[Any, Any, Any]:
        """Return the result's shift, whether it exceeds the largest, and the bits below the leading one.

        The leading one is that of the operand, whose bits are inverted if it is negative. The magnitude's is
        one place ``above`` where only ones were below it, and zeros remain.
        """
        spec = self.spec
        whole = Cat(Const(0, DIGIT * len(used) - spec.width), magnitude)
        moved, shifted = Signal(len(whole), name="moved"), Signal(len(whole), name="shifted")
        m.d.comb += moved.eq(_choose_first(used, [whole << DIGIT * k for k in range(len(used))]))
        m.d.comb += shifted.eq(moved << zeros)
        fraction = Cat(Const(0, spec.result_bits), shifted[:-1])[-spec.result_bits :]
        digits = _choose_first(used, [C(k, (len(used) - 1).bit_length()) for k in range(len(used))])
        count, base = Cat(zeros, digits), shift + spec.width
        wanted = Signal(signed(SHIFT_BITS + 2), name="wanted_shift")
        left = Signal(signed(SHIFT_BITS + 3), name="shift_left")
        rest = spec.largest_shift - base
        m.d.comb += [
            wanted.eq(
                (Cat(above, base).as_signed() + Cat(above, ~count, Const(1, 1)).as_signed())[1:].as_signed()
            ),
            left.eq((Cat(~above, rest).as_signed() + Cat(~above, count))[1:].as_signed()),
        ]
        return wanted, left[-1], fraction

    def _shift_back(self, m: Module, wanted: Any, excess: Any, negative: Any, empty: Any) -> tuple[Any, Any]:
        """Return the right shift of the result, and half of what it cuts, with the bits of the sign below.

        The shift is limited to 0, also for the reciprocal of zero, and to that which leaves nothing of the
        result, if it has ``excess``.
        """
        largest = self.spec.largest_shift
        by = Signal(range(largest + 1), name="shift_back")
        m.d.comb += by.eq(Mux(empty | wanted[-1], 0, Mux(excess, largest, wanted)))
        within = [(wanted[: len(by)] == k) & ~wanted[-1] for k in range(1, largest + 1)]
        half = Cat(*(bit & ~excess for bit in within[:-1]), excess | within[-1])
        return by, half ^ negative.replicate(largest + 1).as_signed()

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
    """Return which digits have a one, the top digit first, and the zeros above the leading one in its digit.

    Without a one it is the last bit. Digits of :data:`DIGIT` bits are looked at side by side.
    """
    digits = -(-len(bits) // DIGIT)
    missing = DIGIT * digits - len(bits)
    whole = Cat(Const(0, missing), bits)
    parts = [whole[DIGIT * k : DIGIT * (k + 1)] for k in reversed(range(digits))]
    used = Signal(digits, name="used_digits")
    zeros = Signal(range(DIGIT), name="zeros_in_digit")
    m.d.comb += used.eq(Cat(*(part.any() for part in parts[:-1]), Const(1, 1)))
    places = [_zeros(part, 0) for part in parts[:-1]] + [_zeros(parts[-1], missing)]
    m.d.comb += zeros.eq(_choose_first(used, places))
    return used, zeros


def _zeros(digit: Any, last: int) -> Any:
    """Return the zeros above the leading one of a digit; if there is none, those above the ``last`` bit."""
    result: Any = C(DIGIT - 1 - last, 2)
    for k in range(last + 1, DIGIT):
        result = Mux(digit[k], C(DIGIT - 1 - k, 2), result)
    return result


def _choose_first(used: Any, choices: Sequence[Any]) -> Any:
    """Return the choice of the first bit that is 1; the last one if none is.

    Groups of :data:`CHOICES` are looked at side by side.
    """
    bits = list(used)
    while len(choices) > 1:
        groups = [slice(k, k + CHOICES) for k in range(0, len(choices), CHOICES)]
        choices = [_first_of(bits[group], choices[group]) for group in groups]
        bits = [Cat(bits[group]).any() for group in groups]
    return choices[0]


def _first_of(bits: Sequence[Any], choices: Sequence[Any]) -> Any:
    result = choices[-1]
    for bit, choice in zip(bits[-2::-1], choices[-2::-1], strict=True):
        result = Mux(bit, choice, result)
    return result


def reciprocal_cells(unit: ReciprocalSpec, fabric: Fabric, *, soonest: bool = False) -> Cells:
    """Return the cells of a unit with its table.

    The ``soonest`` results come without registers of the inverse, its shift and sign, and of an overflow.
    """
    bits = sum(coefficient_width(column) for column in unit.tables)
    cells = fabric.reciprocal.cells(unit.width, unit.order)
    last = unit.result_bits + 3 + unit.largest_shift.bit_length() + 2
    cells += Cells(flip_flops=-last * soonest)
    return cells + fabric.table(bits, len(unit.tables[0]))
