"""Converters between IEEE singles and integers of any format.

Both implement :mod:`rbdhw.fixed.single_precision` bit for bit, one number per cycle.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.format import Format
from rbdhw.fixed.single_precision import EXPONENT_ALL_ONES, EXPONENT_BIAS, FRACTION_BITS
from rbdhw.model.interface import SINGLE_BITS

SINGLE = data.StructLayout({"fraction": FRACTION_BITS, "exponent": 8, "sign": 1})
MANTISSA_BITS = FRACTION_BITS + 1


class SingleToFixed(wiring.Component):
    """The integer nearest to a single, ties upward; one number per cycle.

    A number out of range saturates, or wraps on request. Infinities, not-a-numbers and subnormals are refused
    and give zero.

    Raises ValueError for a width below 32.
    """

    latency = 4
    """Cycles from a single to its integer."""

    def __init__(
        self,
        *,
        formats: tuple[Format, ...],  # the formats that may be requested, all of `width` bits
        width: int,  # bits of the integers, at least 32
        wraps: bool,  # whether any number may wrap
    ) -> None:
        if width < SINGLE_BITS:
            raise ValueError(f"width: is {width}; expected at least {SINGLE_BITS}")
        self.width = width
        self._up = width - 1 if wraps else width - MANTISSA_BITS
        scales = [self.scale_of(chosen) for chosen in formats]
        self._scale = range(min(-1, *scales, -1), max(0, *scales, 0) + 1)
        super().__init__(
            {
                "single": In(SINGLE),
                "used": In(1),  # whether the input is a number; if not, the result is zero
                "scale": In(self._scale),  # `scale_of` the requested format
                "wrap": In(1),  # whether the number wraps
                "number": Out(signed(self.width)),  # the integer, `latency` cycles later; registered
                "refused": Out(1),  # whether the single was refused; valid together with `number`
            }
        )

    def scale_of(self, chosen: Format) -> int:
        """Return the right shift, for an exponent of zero, of a mantissa in the highest position."""
        return self._up + EXPONENT_BIAS + FRACTION_BITS - chosen.binary_point

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        mantissa = Signal(MANTISSA_BITS, reset_less=True)
        exponent = Signal(8, reset_less=True)
        scale = Signal(self._scale, reset_less=True)
        sign, wrap, refused = (Signal(name=name, reset_less=True) for name in ("sign", "wrapping", "none"))
        normal = (self.single.exponent != 0) & (self.single.exponent != EXPONENT_ALL_ONES)
        zero = (self.single.exponent == 0) & (self.single.fraction == 0)
        counts = self.used & normal
        m.d.sync += [
            mantissa.eq(Cat(self.single.fraction, C(1, 1)) & counts.replicate(MANTISSA_BITS)),
            exponent.eq(self.single.exponent),
            sign.eq(self.single.sign),
            scale.eq(self.scale),
            wrap.eq(self.wrap),
            refused.eq(self.used & ~normal & ~zero),
        ]
        down = scale - exponent
        value = Signal(signed(MANTISSA_BITS + 1), reset_less=True)
        most = self._up + MANTISSA_BITS + 1
        shift = Signal(range(most + 1), reset_less=True)
        beyond = Signal(reset_less=True)
        empty = Signal(reset_less=True)
        m.d.sync += [
            value.eq(Mux(sign, -mantissa, mantissa)),
            shift.eq(Mux(down < 0, 0, Mux(down > most, most, down))),
            beyond.eq(mantissa.any() & ~wrap & (down <= self._up + MANTISSA_BITS - self.width)),
            empty.eq(wrap & (down < 0)),
        ]
        self._round(m, value, shift, beyond, empty)
        none = [refused] + [Signal(name=f"none_{k}", reset_less=True) for k in range(self.latency - 1)]
        m.d.sync += [later.eq(now) for now, later in pairwise(none)]
        m.d.comb += self.refused.eq(none[-1])
        return m

    def _round(self, m: Module, value: Any, shift: Any, beyond: Any, empty: Any) -> None:
        """Shift right with one extra bit, round, and saturate numbers out of range."""
        moved = Signal(signed(self._up + MANTISSA_BITS + 2), reset_less=True)
        saturates = Signal(reset_less=True)
        negative = Signal(reset_less=True)
        number = Signal(signed(self.width), reset_less=True)
        limits = Format(self.width, 0)
        m.d.sync += [
            moved.eq(Mux(empty, 0, Cat(C(0, self._up + 1), value).as_signed() >> shift)),
            saturates.eq(beyond),
            negative.eq(value < 0),
            number.eq(Mux(saturates, Mux(negative, limits.lowest, limits.highest), (moved + 1) >> 1)),
        ]
        m.d.comb += self.number.eq(number)


class FixedToSingle(wiring.Component):
    """The single nearest to a fixed-point number, ties to even; one number per cycle.

    Zero becomes plus zero. The formats are such that every result is zero or a normal number
    (:func:`rbdhw.fixed.single_precision.check_singles`).

    The ``exponent`` of a number is that of its format (:meth:`exponent_of`). The single comes from registers,
    :attr:`latency` cycles later.

    Raises ValueError for a width below 32.
    """

    latency = 4
    """Cycles from an integer to its single."""

    def __init__(self, *, width: int) -> None:
        if width < SINGLE_BITS:
            raise ValueError(f"width: is {width}; expected at least {SINGLE_BITS}")
        self.width = width
        super().__init__({"number": In(signed(width)), "exponent": In(signed(11)), "single": Out(SINGLE)})

    def exponent_of(self, chosen: Format) -> int:
        """Return the exponent field of an integer whose magnitude uses all bits."""
        return EXPONENT_BIAS + self.width - 1 - chosen.binary_point

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        magnitude = Signal(self.width, reset_less=True)
        sign = Signal(reset_less=True)
        exponent = Signal.like(self.exponent, reset_less=True)
        m.d.sync += [
            sign.eq(self.number < 0),
            magnitude.eq(Mux(self.number < 0, -self.number, self.number)),
            exponent.eq(self.exponent),
        ]
        steps = [1 << k for k in reversed(range((self.width - 1).bit_length()))]
        half = len(steps) // 2
        for part in (steps[:half], steps[half:]):
            sign, exponent, magnitude = self._normalise(m, part, sign, exponent, magnitude)
        fraction = magnitude[-MANTISSA_BITS:-1]
        below = magnitude[: self.width - MANTISSA_BITS]
        up = below[-1] & (below[:-1].any() | fraction[0])
        rounded = Cat(fraction, exponent[:8]) + up
        single = Signal(SINGLE_BITS, reset_less=True)
        m.d.sync += single.eq(Mux(magnitude[-1], Cat(rounded[: SINGLE_BITS - 1], sign), 0))
        m.d.comb += self.single.eq(single)
        return m

    def _normalise(self, m: Module, steps: list[int], sign: Any, exponent: Any, magnitude: Any) -> Any:
        """Shift left past leading zeros by these steps; one cycle of latency."""
        for step in steps:
            clear = ~magnitude[-step:].any()
            magnitude = Mux(clear, Cat(C(0, step), magnitude)[: self.width], magnitude)
            exponent = Mux(clear, exponent - step, exponent)
        held = [Signal(name=f"sign_{steps[0]}", reset_less=True)]
        held.append(Signal(signed(11), name=f"exponent_{steps[0]}", reset_less=True))
        held.append(Signal(self.width, name=f"magnitude_{steps[0]}", reset_less=True))
        m.d.sync += [now.eq(value) for now, value in zip(held, (sign, exponent, magnitude), strict=True)]
        return held
