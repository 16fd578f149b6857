"""The weights of samples by their costs, and their sums: the twin of :mod:`rbdhw.fixed.softmin`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.softmin import (
    FRACTION,
    INDEX_BITS,
    MOST_DROP,
    MOST_EXPONENT,
    MOST_FALL,
    MOST_SAMPLES,
    PLACE_BITS,
    SCALE,
    SQUARE_BITS,
    SUM_BITS,
    WEIGHT,
    lines,
)
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import delayed

SCALE_BITS, EXPONENT_BITS = SCALE.width - 1, MOST_EXPONENT.bit_length()
DROP_BITS, FALL_BITS = MOST_DROP.bit_length(), MOST_FALL.bit_length()
WEIGHT_BITS = WEIGHT.width - 1
COUNT_BITS = MOST_SAMPLES.bit_length()

SUMMED = 9
"""Cycles from the costs to all sums. The fall of the reference is there after five, weights after seven."""


class Softmin(wiring.Component):
    """Weighs samples that come together, :data:`SUMMED` cycles or more after those before.

    Results stay until those of the next samples.
    """

    def __init__(self, *, samples: int, cost_bits: int) -> None:
        self.samples, self.cost_bits = samples, cost_bits
        super().__init__(
            {
                "clear": In(1),  # begins new sums
                # What costs are multiplied by, and the power of two by which they are divided.
                "scale": In(SCALE_BITS),
                "exponent": In(EXPONENT_BITS),
                "begin": In(1),  # these samples are weighed: their costs, and whether each weighs nothing
                "costs": In(samples * cost_bits),
                "bad": In(samples),
                "drop": Out(DROP_BITS),  # octaves by which the reference fell
                "weights": Out(samples * WEIGHT_BITS),
                # The least cost, the sums of weights and of their squares, and the samples that count.
                "least": Out(cost_bits),
                "weight": Out(SUM_BITS),
                "square": Out(SQUARE_BITS),
                "counted": Out(COUNT_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._at = [delayed(m, self.begin, k) for k in range(SUMMED)]
        self._some = Signal()  # whether a sample of this mean has counted
        good = self._kept(m, 0, "good", ~self.bad)
        exponents = [self._exponent(m, k) for k in range(self.samples)]
        falls = self._refer(m, good, [x[FRACTION:] for x in exponents])
        weights = [self._weigh(m, k, good[k], exponents[k][:FRACTION], falls[k]) for k in range(self.samples)]
        m.d.comb += self.weights.eq(Cat(weights))
        self._add(m, good, weights)
        return m

    def _kept(self, m: Module, cycle: int, name: str, value: Any) -> Any:
        """Return a value that is kept after this cycle from the costs."""
        kept = Signal(value.shape(), name=name, reset_less=True)
        with m.If(self._at[cycle]):
            m.d.sync += kept.eq(value)
        return kept

    def _exponent(self, m: Module, k: int) -> Any:
        """Return the exponent of a cost, three cycles later. The product is that of both halves."""
        cost = self.costs[k * self.cost_bits : (k + 1) * self.cost_bits]
        middle = self.cost_bits // 2
        low = self._kept(m, 0, f"low_{k}", cost[:middle] * self.scale)
        high = self._kept(m, 0, f"high_{k}", cost[middle:] * self.scale)
        scaled = (low + Cat(Const(0, middle), high))[: self.cost_bits + SCALE_BITS]
        scaled = self._kept(m, 1, f"scaled_{k}", scaled)
        return self._kept(m, 2, f"exponent_{k}", shift_right(m, f"exponent_{k}", scaled, self.exponent))

    def _refer(self, m: Module, good: Any, wholes: Sequence[Any]) -> list[Any]:
        """Take the least whole exponent as the reference; return by how many octaves each is above."""
        width = len(wholes[0])
        reference, before = Signal(width, name="reference"), Signal(width, name="before")
        first = Signal(name="first")
        least, known = reference, self._some
        for k, whole in enumerate(wholes):
            lower = Signal(width, name=f"least_{k}")
            m.d.comb += lower.eq(Mux(good[k] & (~known | (whole < least)), whole, least))
            least, known = lower, known | good[k]
        with m.If(self._at[3]):
            m.d.sync += [
                before.eq(reference),
                reference.eq(least),
                first.eq(~self._some & good.any()),
                self._some.eq(known),
            ]
        with m.If(self.clear):
            m.d.sync += self._some.eq(0)
        drop = _at_most((before - reference)[:width], MOST_DROP)
        with m.If(self._at[4]):
            m.d.sync += self.drop.eq(Mux(first, MOST_DROP, Mux(good.any(), drop, 0)))
        return [
            self._kept(m, 4, f"fall_{k}", _at_most((whole - reference)[:width], MOST_FALL))
            for k, whole in enumerate(wholes)
        ]

    def _weigh(self, m: Module, k: int, good: Any, fraction: Any, fall: Any) -> Any:
        """Return the weight of a sample, from its fraction and the octaves by which it is above."""
        start_bits, fall_bits = (max(column).bit_length() for column in zip(*lines(), strict=True))
        words = [start | less << start_bits for start, less in lines()]
        table = Memory(shape=unsigned(start_bits + fall_bits), depth=1 << INDEX_BITS, init=words)
        m.submodules[f"table_{k}"] = table
        port = table.read_port(domain="sync")
        m.d.comb += [port.addr.eq(fraction[PLACE_BITS:]), port.en.eq(self._at[3])]
        place = Cat(Const(1, 1), fraction[:PLACE_BITS])
        less = self._kept(m, 4, f"less_{k}", port.data[start_bits:] * place + half(PLACE_BITS + 1))
        power = (port.data[:start_bits] - less[PLACE_BITS + 1 :])[:start_bits]
        power = self._kept(m, 5, f"power_{k}", power)
        moved = rounded_shift(m, f"weight_{k}", power, fall)[:WEIGHT_BITS]
        return self._kept(m, 6, f"weight_{k}", Mux(good, moved, 0))

    def _add(self, m: Module, good: Any, weights: Sequence[Any]) -> None:
        """Add weights, their squares, and the samples that count."""
        least = self.least
        for k in range(self.samples):
            cost = self._kept(m, 0, f"cost_{k}", self.costs[k * self.cost_bits : (k + 1) * self.cost_bits])
            lower, known = Signal(self.cost_bits, name=f"lowest_{k}"), self.counted.any() | good[:k].any()
            m.d.comb += lower.eq(Mux(good[k] & (~known | (cost < least)), cost, least))
            least = lower
        squares = [
            self._kept(m, 7, f"square_{k}", weight * weight)[:SQUARE_BITS] for k, weight in enumerate(weights)
        ]
        before = self._kept(m, 6, "weight_before", rounded_shift(m, "weight", self.weight, self.drop))
        twice = Cat(Const(0, 1), self.drop)
        square = self._kept(m, 6, "square_before", rounded_shift(m, "square", self.square, twice))
        with m.If(self._at[7]):
            m.d.sync += [
                self.weight.eq(sum(weights, before)),
                self.counted.eq(self.counted + sum(good)),
                self.least.eq(least),
            ]
        with m.If(self._at[8]):
            m.d.sync += self.square.eq(sum(squares, square))
        with m.If(self.clear):
            m.d.sync += [self.weight.eq(0), self.square.eq(0), self.counted.eq(0), self.least.eq(0)]


def shift_right(m: Module, name: str, value: Any, amount: Any) -> Any:
    """Return a number shifted right, with its sign."""
    for k in range(len(amount)):
        moved = Signal(value.shape(), name=f"{name}_right_{k}")
        m.d.comb += moved.eq(Mux(amount[k], value >> (1 << k), value))
        value = moved
    return value


def rounded_shift(m: Module, name: str, value: Any, amount: Any) -> Any:
    """Return a number shifted right and rounded to the nearest, ties upward."""
    is_signed = value.shape().signed
    guarded = Cat(Const(0, 1), value)
    moved = shift_right(m, name, guarded.as_signed() if is_signed else guarded, amount)
    return (moved + 1) >> 1


def _at_most(number: Any, most: int) -> Any:
    """Return a number, or the most where it is larger; ``most`` is all ones."""
    bits = most.bit_length()
    return number[:bits] | number[bits:].any().replicate(bits)


def softmin_products(samples: int, cost_bits: int) -> list[tuple[int, int]]:
    """Return the operand widths of the products."""
    middle, fall = cost_bits // 2, max(fall for _, fall in lines())
    each = [
        *((bits + 1, SCALE.width) for bits in (middle, cost_bits - middle)),
        (fall.bit_length() + 1, PLACE_BITS + 2),
        (WEIGHT.width, WEIGHT.width),
    ]
    return each * samples


def softmin_cells(samples: int, cost_bits: int, fabric: Fabric) -> Cells:
    """Return the cells of the weights and their sums."""
    exponent = cost_bits + SCALE_BITS
    shifts = shift_luts(exponent, EXPONENT_BITS, fabric) + shift_luts(WEIGHT_BITS, FALL_BITS, fabric)
    entry = sum(max(column).bit_length() for column in zip(*lines(), strict=True))
    each = Cells(
        luts=shifts + 4.5 * exponent + fabric.constants(1 << INDEX_BITS, entry),
        flip_flops=3.5 * exponent + cost_bits + 5 * WEIGHT_BITS,
    )
    sums = SUM_BITS + SQUARE_BITS
    shifts = shift_luts(SUM_BITS, DROP_BITS, fabric) + shift_luts(SQUARE_BITS, DROP_BITS + 1, fabric)
    return each * samples + Cells(luts=shifts + 2 * sums + exponent, flip_flops=2 * sums + 2 * exponent)


def shift_luts(width: int, stages: int, fabric: Fabric) -> float:
    """Return the look-up tables of a shift of ``width`` bits in so many stages of two choices."""
    return (width + 1) * stages * min(fabric.select[2], fabric.select[4] / 2.0)
