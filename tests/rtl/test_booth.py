"""Products in look-up tables equal integers, for any widths, rounding and registers."""

from itertools import product

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.sim import Simulator

from rbdhw.boards.yosys import FAMILIES, synthesize_target
from rbdhw.estimate.fabric import FABRICS
from rbdhw.fixed.recoding import Booth
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.booth import BoothMultiplier
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import target
from tests.support.marks import long, quick_among


def corners(width):
    most = 1 << (width - 1)
    values = {-most, 1 - most, -most // 3, -1, 0, 1, most // 2, most - 1}
    return sorted(value for value in values if -most <= value < most)


def pairs(widths, count):
    """Return all small pairs of operands, or random ones and all pairs of corners."""
    if sum(widths) <= 9:
        return list(product(*(range(-(1 << width - 1), 1 << width - 1) for width in widths)))
    rng = np.random.default_rng(sum(widths))
    columns = [rng.integers(-(1 << width - 1), 1 << width - 1, count).tolist() for width in widths]
    return [*product(*map(corners, widths)), *zip(*columns, strict=True)]


SMALL = [((1, 1), 0), ((1, 1), 2), ((1, 6), 3), ((2, 5), 1), ((3, 2), 5), ((4, 5), 0)]
SMALL += [((5, 4), drop) for drop in (1, 4, 9, 10)]

LARGE = [((5, 4), drop) for drop in (2, 3, 5, 6, 7, 8)]
LARGE += [((18, 18), 17), ((18, 18), 18), ((27, 18), 20), ((9, 32), 12), ((13, 31), 44)]


@pytest.mark.parametrize(
    ("widths", "drop", "registers"),
    [
        *((*case, registers) for case in SMALL for registers in range(3)),
        *quick_among(
            [(*case, registers) for case in LARGE for registers in range(3)],
            ((5, 4), 2, 0),
            ((18, 18), 17, 1),
            ((9, 32), 12, 0),
        ),
    ],
)
def test_a_product_is_exact_and_holds_the_half(widths, drop, registers):
    unit = BoothMultiplier(widths, drop, registers)
    tasks = pairs(widths, 100)

    async def testbench(ctx):
        results = []
        for a, b in [*tasks, *tasks[:registers]]:
            ctx.set(unit.a, a)
            ctx.set(unit.b, b)
            await ctx.delay(5e-7)
            results.append(ctx.get(unit.o))
            await ctx.delay(5e-7)
        assert results[registers:] == [a * b + half(drop) for a, b in tasks]

    simulator = Simulator(unit)
    if registers:
        simulator.add_clock(1e-6, phase=9e-7)
    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize("widths", [(1, 1), (2, 3), (3, 3), long((18, 18)), long((18, 27)), (7, 12)])
def test_the_adders_are_counted(widths):
    text = rtlil.convert(BoothMultiplier(widths, 0, 1))
    assert text.count("cell $add ") == Booth.of(widths).adders.adders
    assert "$mul" not in text
    assert "$sub" not in text


def test_registers_part_the_adders():
    booth = Booth.of((18, 18))
    assert (booth.rows, booth.levels) == (9, 5)
    assert [booth.stages(registers) for registers in range(3)] == [(5,), (2, 3), (1, 2, 2)]
    assert [booth.register_bits(registers) for registers in range(2)] == [0, 80]


@pytest.mark.verify(minutes=0.5)
@pytest.mark.parametrize("name", ["xcvu9p", "ecp5-85"])
@pytest.mark.parametrize("widths", [(18, 18), (27, 18), (14, 12)])
def test_yosys_counts_the_estimated_tables(tmp_path, widths, name):
    family = target(name).family
    source = tmp_path / "top.v"
    source.write_text(to_verilog(BoothMultiplier(widths, widths[1] - 1, 0), "top"))
    counted = synthesize_target((source,), "top", FAMILIES[family], tmp_path)
    assert counted.luts == pytest.approx(FABRICS[family].row * Booth.of(widths).adders.bits, rel=0.1)
    assert counted.dsp_blocks == 0
