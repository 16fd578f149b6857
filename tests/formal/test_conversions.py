"""Converters of a lane are proven for every number: the integer is the nearest, and so is the single."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Elaboratable, Module, Mux, Signal, signed

from rbdhw.fixed.format import Format
from rbdhw.fixed.single_precision import EXPONENT_ALL_ONES, EXPONENT_BIAS, FRACTION_BITS
from rbdhw.rtl.single_precision import SINGLE, FixedToSingle, SingleToFixed
from tests.support.formal import mutant, prove

pytestmark = pytest.mark.verify

WIDTH = 32


class Held(Elaboratable):
    """A pipeline whose input stays the same."""

    def __init__(self, point, block, width=WIDTH):
        self.field, self.width = Format(width, point), width
        self.block = block
        self.number = Signal(max(width, 32), name="number_in")
        self.ports = [self.number]

    def settle(self, m, latency):
        """Hold the input; return whether the result is that of it."""
        kept, age = Signal.like(self.number), Signal(range(latency + 2))
        m.d.sync += [kept.eq(self.number), age.eq(Mux(age == latency + 1, age, age + 1))]
        m.d.comb += Assume((age == 0) | (kept == self.number))
        return age > latency


class ToFixed(Held):
    """An integer N nearest to m 2^k has (2 N - 1) <= m 2^(k + 1) < 2 N + 1."""

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(formats=(self.field,), width=self.width, wraps=False)
        single = Signal(SINGLE)
        scale = Const(dut.scale_of(self.field), dut.scale.shape())
        m.d.comb += [
            single.as_value().eq(self.number[:32]),
            dut.single.eq(single),
            dut.used.eq(1),
            dut.scale.eq(scale),
        ]
        settled = self.settle(m, dut.latency)
        normal = (single.exponent != 0) & (single.exponent != EXPONENT_ALL_ONES)
        zero = ~single.as_value()[:31].any()
        mantissa = Cat(single.fraction, Const(1, 1))
        # The value is the mantissa times 2^power.
        power = Signal(signed(11))
        offset = self.field.binary_point - EXPONENT_BIAS - FRACTION_BITS
        m.d.comb += power.eq(single.exponent + offset)
        magnitude = Signal(self.width + 1)
        m.d.comb += magnitude.eq(Mux(dut.number < 0, -dut.number, dut.number))
        with m.If(settled):
            m.d.comb += Assert(dut.refused == ~(normal | zero))
            with m.If(~normal):
                m.d.comb += Assert(dut.number == 0)
            with m.Elif(power >= 0):
                shift = Mux(power > self.width, self.width, power)[:6]
                self._whole(m, dut, single, (mantissa << shift), magnitude)
            with m.Else():
                down = Mux(power < -40, 40, -power)[:6]
                self._nearest(m, dut, single, mantissa, down)
        return m

    def _whole(self, m, dut, single, exact, magnitude):
        """A whole number is itself, or the limit beyond which it is."""
        highest = Mux(single.sign, -self.field.lowest, self.field.highest)
        m.d.comb += Assert(magnitude == Mux(exact > highest, highest, exact))
        m.d.comb += Assert((dut.number < 0) == single.sign)

    def _nearest(self, m, dut, single, mantissa, down):
        value = Signal(signed(26))
        m.d.comb += value.eq(Mux(single.sign, -mantissa, mantissa))
        twice, below = Signal(signed(80)), Signal(signed(80))
        m.d.comb += [twice.eq(value << 1), below.eq(((dut.number << 1) - 1) << down)]
        m.d.comb += Assert((below <= twice) & (twice < below + (Const(2) << down)))


class ToSingle(Held):
    """The single nearest to N errs by at most half of its last bit, or a quarter below a power of two."""

    def elaborate(self, _platform):
        m = Module()
        m.submodules.dut = dut = self.block(width=self.width)
        m.d.comb += [dut.number.eq(self.number), dut.exponent.eq(dut.exponent_of(self.field))]
        settled = self.settle(m, dut.latency)
        whole = self.number.as_signed()
        magnitude, single = Signal(self.width), Signal(SINGLE)
        m.d.comb += [magnitude.eq(Mux(whole < 0, -whole, whole)), single.eq(dut.single)]
        # The single is its mantissa times 2^power steps of the number.
        power = Signal(signed(12))
        offset = self.field.binary_point - EXPONENT_BIAS - FRACTION_BITS
        m.d.comb += power.eq(single.exponent + offset)
        mantissa = Cat(single.fraction, Const(1, 1))
        with m.If(settled & (whole == 0)):
            m.d.comb += Assert(single.as_value() == 0)
        with m.Elif(settled):
            m.d.comb += Assert(single.sign == (whole < 0))
            up, down = Signal(6), Signal(6)
            m.d.comb += [up.eq(power), down.eq(-power)]
            with m.If(power <= 0):
                m.d.comb += Assert((magnitude << down) == mantissa)
                m.d.comb += Assert(power > -FRACTION_BITS - 1)
            with m.Else():
                exact, half = mantissa << up, (Const(1) << up) >> 1
                error = Signal(signed(80))
                m.d.comb += error.eq(exact - magnitude)
                least = Mux(single.fraction == 0, half >> 1, half)  # towards the finer singles below
                m.d.comb += [
                    Assert(power <= self.width - FRACTION_BITS),
                    Assert((error <= least) & (error >= -half)),
                    Assert(((error != half) & (error != -half)) | ~single.fraction[0]),
                ]
        return m


CASES = [
    (ToFixed, 26, SingleToFixed),
    (ToSingle, 26, FixedToSingle),
    *((ToFixed, point, SingleToFixed) for point in (-3, 10, 33)),
    *((ToSingle, point, FixedToSingle) for point in (-3, 40)),
]


@pytest.mark.parametrize(("harness", "point", "block"), CASES)
def test_a_converter_is_proven(tmp_path, harness, point, block):
    outcome = prove(harness(point, block), tmp_path, depth=block.latency + 4, mode="bmc")
    outcome.assert_proven()


MUTANTS = [
    (ToFixed, SingleToFixed, "(moved + 1) >> 1", "moved >> 1"),
    (ToFixed, SingleToFixed, "down <= self._up", "down < self._up"),
    (ToFixed, SingleToFixed, "refused.eq(self.used & ~normal & ~zero)", "refused.eq(self.used & ~normal)"),
    (ToSingle, FixedToSingle, "below[:-1].any() | fraction[0]", "below[:-1].any()"),
    (ToSingle, FixedToSingle, "exponent - step", "exponent - 1"),
]


@pytest.mark.parametrize(("harness", "block", "right", "wrong"), MUTANTS)
def test_a_mutation_is_refuted_with_a_trace(tmp_path, harness, block, right, wrong):
    changed = mutant(block, right, wrong)
    outcome = prove(harness(26, changed), tmp_path, depth=block.latency + 4, mode="bmc")
    outcome.assert_refuted()
