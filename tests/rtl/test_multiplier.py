"""Multipliers with registers: the portable one equals integers, every device's block the portable one."""

import subprocess
from itertools import product

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from rbdhw.rtl.multiplier import PLUS, Multiplier, PreAdded, Signs, addend_delay, multiply_add
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import TARGETS, target
from rbdhw.verilator.simulator import Harness, make_simulator
from tests.support.marks import some
from tests.support.simulation import Simulation
from tests.support.verilog import count

PRIMITIVES = list({device.primitive.name: device.primitive for device in TARGETS.values()}.values())
SMALL = (4, 5)

HARNESS = b"""
#include <cstdio>
#include <cstdlib>
#include "Vtop.h"
int main(int, char** arguments) {
    Vtop top;
    for (long cycle = 0; cycle < atol(arguments[1]); ++cycle)
        for (int clk = 0; clk < 2; ++clk) { top.rst = cycle == 0; top.clk = clk; top.eval(); }
    printf("%d %d\\n", int(top.different), int(top.moved));
}
"""


@pytest.mark.parametrize("registers", [1, 2, 3])
@pytest.mark.parametrize(("widths", "addend"), [((4, 3), 9), ((18, 18), 30), ((27, 34), 5)])
def test_the_portable_multiplier_equals_integers(widths, addend, registers):
    unit = Multiplier(widths, addend, registers)
    rng = np.random.default_rng(registers)
    sizes = [2 ** (width - 1) for width in (*widths, addend)]
    columns = [rng.integers(-size, size, 300).tolist() for size in sizes]

    async def testbench(ctx):
        for cycle in range(300):
            ctx.set(unit.a, columns[0][cycle])
            ctx.set(unit.b, columns[1][cycle])
            ctx.set(unit.addend, columns[2][cycle - unit.addend_delay])
            if cycle >= registers:
                a, b, c = (column[cycle - registers] for column in columns)
                assert ctx.get(unit.o) == a * b + c
            await ctx.tick()

    Simulation(unit).run(testbench)


CONSTANTS = tuple(
    Signs(product, addend, constant)
    for product, addend, constant in [(False, False, 5), (True, False, 9), (False, True, 0), (True, True, 77)]
)
SIGNS = (PLUS, Signs(product=True), *CONSTANTS)


PRE_ADDED = [(subtracts, signs) for subtracts in (False, True) for signs in SIGNS[:2]]


def fitting(primitive, signs):
    """Return the inputs, by number, that blocks without registers take with these signs."""
    if signs == PLUS:
        return range(5)
    if signs.addend or signs.constant or not primitive.shift:
        return range(3 if primitive.adds else 0)
    return range(5)


class Comparison(wiring.Component):
    """Multipliers in every device's block beside portable ones.

    The small ones get every pair of operands in turn. The others get operands from a linear feedback shift
    register (127 bits, of maximal length), moved by 100 bits a cycle.

    Members
    -------
    different, moved : Out
        Whether any block's result differed from the portable one's; whether any result was not zero.
    """

    def __init__(self):
        super().__init__({"different": Out(1), "moved": Out(1)})

    def elaborate(self, _platform):
        m = Module()
        random = Signal(127, init=1)
        count = Signal(sum(SMALL))
        m.d.sync += [random.eq(Cat(random[100:], random[:100] ^ random[1:101])), count.eq(count + 1)]
        pairs = []
        for primitive in PRIMITIVES:
            for registers in (1, 2, 3):
                small = count[: SMALL[0]], count[SMALL[0] :], random[-7:]
                ports = primitive.ports
                wide = random[: ports[0]], random[30 : 30 + ports[1]], random[60:96]
                turned = random[: ports[1]], random[30 : 30 + ports[0]], random[60:96]
                large = random[:32], random[30:62], random[60:96]
                broad = random[:32], random[30:48], random[60:96]
                inputs = (small, wide, turned, large, broad)
                pairs += [self._pair(m, primitive, registers, numbers) for numbers in inputs]
            for signs in (PLUS, Signs(product=True), *(CONSTANTS if primitive.constants else ())):
                pairs += [
                    self._unregistered(m, primitive, k, inputs[k], signs) for k in fitting(primitive, signs)
                ]
            if primitive.adds:
                pairs += [self._pre_added(m, primitive, random, *case) for case in PRE_ADDED]
        # Nothing is compared before the registers are filled.
        filled = Signal(range(5))
        with m.If(filled < 4):
            m.d.sync += filled.eq(filled + 1)
        with m.If((filled == 4) & Cat(block != portable for block, portable in pairs).any()):
            m.d.sync += self.different.eq(1)
        with m.If(Cat(block != 0 for block, _ in pairs).all()):
            m.d.sync += self.moved.eq(1)
        return m

    def _pair(self, m, primitive, registers, inputs):
        """Return the results of a device's block and of the portable multiplier for the same numbers."""
        widths = len(inputs[0]), len(inputs[1])
        results = []
        for kind in (primitive, None):
            unit = Multiplier(widths, len(inputs[2]), registers, kind)
            m.submodules += unit
            addend = inputs[2].as_signed()
            for _ in range(unit.addend_delay):
                later = Signal(addend.shape())
                m.d.sync += later.eq(addend)
                addend = later
            m.d.comb += [unit.a.eq(inputs[0]), unit.b.eq(inputs[1]), unit.addend.eq(addend)]
            results.append(unit.o)
        return results

    def _pre_added(self, m, primitive, random, subtracts, signs):
        """Return the same where the block adds up a factor that fills its port, of two different widths."""
        most, other = primitive.ports
        numbers = random[: most - 1], random[30 : 30 + most - 4], random[60 : 60 + other], random[80:110]
        first, second, b, addend = (number.as_signed() for number in numbers)
        pair = (second, first) if signs.product else (first, second)
        added = PreAdded(*pair, subtracts)
        assert len(added) == most
        return self._sums(m, primitive, f"pre_{subtracts}", (added, b, addend), signs)

    def _unregistered(self, m, primitive, k, inputs, signs):
        """Return the sums of a product without registers by a device's block, and in portable RTL."""
        return self._sums(m, primitive, str(k), [value.as_signed() for value in inputs], signs)

    def _sums(self, m, primitive, kind, numbers, signs):
        name = f"{primitive.name}_{kind}_{SIGNS.index(signs)}"
        kinds = {name: primitive, f"portable_{name}": None}
        return [
            multiply_add(m, prefix, *numbers, registers=0, primitive=kind, signs=signs)
            for prefix, kind in kinds.items()
        ]


def test_every_block_equals_the_portable_multiplier(tmp_path):
    """Small ones get all operands, large ones 20,000: both orders, several blocks, every latency.

    Without registers, products of one block are in it if it adds.
    """
    text = to_verilog(Comparison())
    for primitive in PRIMITIVES:
        blocks = sum(primitive.blocks(widths) for widths in (SMALL, primitive.ports, (32, 32), (32, 18)))
        one = 3 if primitive.adds else 0
        several = sum(primitive.blocks(widths) for widths in ((32, 32), (32, 18))) if primitive.shift else 0
        unregistered = (
            len(PRE_ADDED) * primitive.adds + 2 * (one + several) + one * len(CONSTANTS) * primitive.constants
        )
        assert count(text, rf"\b{primitive.name} #\(") == 3 * (1 + blocks) + unregistered
    (tmp_path / "accelerator.v").write_text(text)
    executable = make_simulator(tmp_path, None, Harness({"main.cpp": HARNESS}))
    done = subprocess.run([executable, "20000"], capture_output=True, text=True, check=True)
    assert done.stdout == "0 1\n"


@pytest.mark.parametrize(
    ("name", "widths"),
    some(product(TARGETS, [(18, 18), (25, 18), (18, 27), (32, 32), (40, 19)]), 3),
)
def test_a_product_takes_as_many_blocks_as_the_target_says(name, widths):
    primitive = target(name).primitive
    text = to_verilog(Multiplier(widths, 8, 2, primitive))
    assert count(text, rf"\b{primitive.name} #\(") == target(name).blocks(widths)


@pytest.mark.parametrize(
    ("name", "widths", "delays"),
    [
        (None, (18, 18), [0, 1, 1, 2]),
        ("xcvu9p", (18, 18), [0, 1, 1, 2]),
        ("ecp5-85", (18, 18), [0, 1, 2, 3]),
        ("ecp5-85", (19, 18), [0, 1, 1, 2]),
    ],
)
def test_the_addend_comes_where_it_is_added(name, widths, delays):
    primitive = None if name is None else target(name).primitive
    assert [addend_delay(registers, widths, primitive) for registers in range(4)] == delays
