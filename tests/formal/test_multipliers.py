"""Products of several blocks are proven to be the sums that they stand for, whatever the blocks compute.

The blocks are free inputs: of each only the operands, and where its product is added, count. So the operands'
parts make up the operands, and the products are added at the sum of their parts' places. By the distributive
law that is the product.
"""

import re
from itertools import pairwise
from types import SimpleNamespace

import pytest
from amaranth.hdl import Assert, Const, Elaboratable, Module, Signal, signed

from rbdhw.rtl import multiplier
from rbdhw.rtl.multiplier import Multiplier, chain
from rbdhw.target import TARGETS
from tests.support.formal import mutant, reach

pytestmark = pytest.mark.verify

PRIMITIVES = {device.primitive.name: device.primitive for device in TARGETS.values()}
WIDTHS = [(19, 18), (27, 27), (32, 32), (40, 19), (18, 40), (36, 36), (54, 54)]
ADDEND = 40
EXACT = 140
"""Bits in which every sum is exact."""


class ProductHarness(Elaboratable):
    """Products of all widths that take several blocks, by the same inputs, whose low bits they take."""

    def __init__(self, primitive, registers, component=Multiplier):
        self.primitive, self.registers, self.component = primitive, registers, component
        self.cases = [widths for widths in WIDTHS if primitive.blocks(widths) > 1]
        self.cascade = False
        self.a, self.b = (
            Signal(signed(width), name=name) for name, width in zip("ab", (54, 54), strict=True)
        )
        self.addend = Signal(signed(ADDEND), name="addend")
        bits = sum(primitive.ports) if primitive.shift or not primitive.adds else multiplier.SUM_BITS
        count = max(primitive.blocks(widths) for widths in self.cases)
        self.products = [Signal(signed(bits), name=f"product_{k}") for k in range(count)]
        self.ports = [self.a, self.b, self.addend, *self.products]

    def block(self, m, name, primitive, a, b, addend, _registers, chained=None, _signs=None):
        """Stand in for :func:`rbdhw.rtl.multiplier.block`; a block of a cascade adds as AMD UG579 says."""
        self.operands[tuple(map(int, re.findall(r"\d+", name)))] = a, b
        product = self.products[len(self.operands) - 1]
        self.cascade = chained is not None
        if chained is None:
            return SimpleNamespace(o=product)
        total = Signal(signed(multiplier.SUM_BITS), name=name)
        below = 0 if chained.below is None else chained.below.o
        if chained.below is not None and chained.shifts:
            below = below >> primitive.shift
        m.d.comb += total.eq(product + addend + below)
        return SimpleNamespace(o=total)

    def elaborate(self, platform):
        m = Module()
        for k, widths in enumerate(self.cases):
            self.operands = {}
            unit = self.component(widths, ADDEND, self.registers, self.primitive)
            m.submodules[f"dut_{k}"] = unit.elaborate(platform)
            assert len(self.operands) == self.primitive.blocks(widths)
            m.d.comb += [unit.a.eq(self.a), unit.b.eq(self.b), unit.addend.eq(self.addend)]
            wholes = (unit.b, unit.a) if self.primitive.swaps_operands(widths) else (unit.a, unit.b)
            lows = [
                [sum(parts[:k]) for k in range(len(parts))]
                for parts in self.primitive.limbs((len(wholes[0]), len(wholes[1])))
            ]
            self.assert_parts(m, wholes, lows)
            pairs = zip(self.operands, self.products, strict=False)
            terms = [(lows[0][i] + lows[1][k], product) for (i, k), product in pairs]
            total = self.later(m, self.in_cascade(m, terms) if self.cascade else self.in_pairs(terms))
            result, expected = (
                Signal(len(unit.o), name=f"result_{k}"),
                Signal(len(unit.o), name=f"expected_{k}"),
            )
            m.d.sync += [result.eq(unit.o), expected.eq(total)]
            m.d.comb += Assert(result == expected)
        return m

    def assert_parts(self, m, wholes, lows):
        """The parts of an operand at the blocks fit their ports, and make it up."""
        for way, (whole, low, port) in enumerate(zip(wholes, lows, self.primitive.ports, strict=True)):
            for other in range(len(lows[1 - way])):
                keys = [(k, other) if way == 0 else (other, k) for k in range(len(low))]
                parts = [self.operands[key][way] for key in keys]
                assert max(len(part) + (not part.shape().signed) for part in parts) <= port
                m.d.comb += Assert(sum((part << low[k] for k, part in enumerate(parts)), 0) == whole)

    def in_pairs(self, terms):
        """Return the exact sum of products at their places and the addend."""
        sums = [*(product << shift for shift, product in terms), self.addend]
        while len(sums) > 1:  # in an order in which a solver finds the same sums
            sums = [*sums[2:], sums[0] + sums[1]]
        return sums[0]

    def in_cascade(self, m, terms):
        """Return the same sum from the lowest place on, with the bits of the addend at each place."""
        addend = Signal(signed(EXACT))
        m.d.comb += addend.eq(self.addend)
        total, shifts = Const(0, signed(1)), sorted({shift for shift, _ in terms})
        ends = dict(pairwise(shifts))
        for shift, product in sorted(terms, key=lambda term: term[0]):
            if shift in shifts:
                shifts.remove(shift)
                end = ends.get(shift)
                part = addend[shift:].as_signed() if end is None else addend[shift:end]
                product = product + part
            total = total + (product << shift)
        return total

    def later(self, m, total):
        """Return a sum as late as the hardware's."""
        wide, later = Signal(signed(EXACT)), Signal(signed(EXACT), reset_less=True)
        m.d.comb += wide.eq(total)
        m.d.sync += later.eq(wide)
        return wide if self.registers == 1 else later


def outcome_of(monkeypatch, tmp_path, name, registers, changed=None, *change):
    harness = ProductHarness(PRIMITIVES[name], registers)
    monkeypatch.setattr(multiplier, "block", harness.block)
    if changed is Multiplier:
        harness.component = mutant(Multiplier, *change)
    elif changed:
        monkeypatch.setattr(multiplier, changed.__name__, mutant(changed, *change))
    return reach(harness, tmp_path)


@pytest.mark.parametrize("registers", [1, 2, 3])
@pytest.mark.parametrize("name", PRIMITIVES)
def test_products_of_blocks_are_proven(monkeypatch, tmp_path, name, registers):
    outcome = outcome_of(monkeypatch, tmp_path, name, registers)
    outcome.assert_proven()


MUTANTS = [
    ("MULT18X18D", Multiplier, "part.o << (low + position)", "part.o << low"),
    ("MULT18X18D", Multiplier, "_total([*terms, self.addend])", "_total(terms)"),
    ("MULT18X18D", Multiplier, "if self.registers > 1 else total", "if self.registers > 2 else total"),
    ("DSP48E2", chain, "pairs[n - 1][0] != offset", "pairs[n - 1][0] == offset"),
    ("DSP48E2", chain, "whole[offset : offset + shift]", "whole[offset : offset + shift - 1]"),
    ("DSP48E2", chain, "bits.append(below.o[:shift])", "bits.append(below.o[1:shift])"),
    ("DSP48E2", chain, "Chained(below, shifts=begins", "Chained(below, shifts=True"),
    ("DSP48E2", chain, "if registers > 1 else total", "if registers > 2 else total"),
]


@pytest.mark.parametrize(("name", "changed", "right", "wrong"), MUTANTS)
def test_a_mutation_is_refuted(monkeypatch, tmp_path, name, changed, right, wrong):
    outcome = outcome_of(monkeypatch, tmp_path, name, 2, changed, right, wrong)
    outcome.assert_refuted()
