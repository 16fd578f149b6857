"""Adders that can negate a number: as expressions, and in a family's cells, interpreted cell by cell."""

import random
import re

import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.sim import Simulator

from rbdhw.rtl.add_subtract import CELL, MODULE, add_subtract, write_adders
from rbdhw.target import DSP48E2, MULT18X18D


def half(init: int, carry: int, ports: tuple[int, int, int, int]) -> tuple[int, int]:
    """Return sum and carry of half a cell, as the vendor's library defines them."""
    a, b, _, _ = ports
    propagated = init >> sum(bit << k for k, bit in enumerate(ports)) & 1
    generated = init >> (a + 2 * b) & 1
    return propagated ^ carry, carry if propagated else generated


def interpreted(width: int, a: int, b: int, negative: int) -> int:
    """Return the output of the module's chain of cells; with an odd width the last half adds zeros."""
    inits = [int(value, 16) for value in re.findall(r"\.INIT[01]\(16'h(\w+)\)", MODULE)]
    carry, total = negative, 0
    for k in range(width + width % 2):
        ports = (a >> k & 1, b >> k & 1, negative, 1)
        one, carry = half(inits[k % 2], carry, ports)
        total |= one << k
    return total & ((1 << width) - 1)


@pytest.mark.parametrize("width", [2, 3, 18, 31])
def test_cells_add_or_subtract(width):
    rng, mask = random.Random(width), (1 << width) - 1
    for _ in range(500):
        a, b, negative = rng.getrandbits(width), rng.getrandbits(width), rng.randrange(2)
        assert interpreted(width, a, b, negative) == (a - b if negative else a + b) & mask


@pytest.mark.parametrize("width", [5, 30])
def test_the_expression_adds_or_subtracts(width):
    m = Module()
    a, b, negative = Signal(signed(width)), Signal(signed(width)), Signal()
    total = add_subtract(m, "sum", a, b, negative, DSP48E2)
    rng, mask = random.Random(width), (1 << width) - 1

    async def bench(context):
        for _ in range(200):
            x, y, turned = rng.getrandbits(width), rng.getrandbits(width), rng.randrange(2)
            for signal, value in ((a, x), (b, y), (negative, turned)):
                context.set(signal, value)
            assert context.get(total) & mask == (x - y if turned else x + y) & mask

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_the_module_is_added_where_it_is_named():
    m = Module()
    numbers = Signal(signed(9)), Signal(signed(9)), Signal()
    assert len(add_subtract(m, "sum", *numbers, MULT18X18D)) == 9
    text = f"{CELL} #(.WIDTH(9)) sum();\n"
    written = (text + MODULE).replace(CELL, f"left_{CELL}")
    assert write_adders(text, "left") == written
    assert write_adders("module m; endmodule\n", "left") == "module m; endmodule\n"
