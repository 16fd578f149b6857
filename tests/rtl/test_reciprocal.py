"""The reciprocal unit equals its model, with an operand every cycle and at any latency."""

import numpy as np
import pytest
from amaranth.hdl import Cat, Elaboratable, Module, Signal, signed

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Kind, Operand, Operation
from rbdhw.fixed.reciprocal import GUARD, ReciprocalSpec, reciprocal, reciprocal_spec
from rbdhw.rtl.reciprocal import ReciprocalUnit
from rbdhw.rtl.verilog import to_verilog
from rbdhw.scalar import Region
from rbdhw.target import TARGETS
from tests.support.marks import long
from tests.support.simulation import Simulation
from tests.support.verilog import count


class Saturated(Elaboratable):
    """A unit with its result in the format of an operation."""

    def __init__(self, unit, width):
        self.unit, self.width = unit, width
        self.value, self.overflow = Signal(signed(width)), Signal()

    def elaborate(self, _platform):
        m = Module()
        m.submodules.unit = self.unit
        region = Region("inverse", 0)
        operation = Operation(Kind.RECIPROCAL, (Operand(0),), Format(self.width, 0), region, checked=True)
        m.d.comb += Cat(self.value, self.overflow).eq(Cat(*self.unit.saturated(operation)))
        return m


def assert_equal_to_model(spec, operands, shifts, extra=0, registers=0):
    """Also in a format as wide as the widest, or narrower."""
    width = spec.result_bits - GUARD - len(operands) % 5
    unit = ReciprocalUnit(spec, 1 + spec.order * (1 + registers) + extra, registers, widths=[width])
    lowest, highest = Format(width, 0).lowest, Format(width, 0).highest
    design = Saturated(unit, width)
    tasks = list(zip(operands.tolist(), shifts.tolist(), strict=True))
    expected = [int(reciprocal(spec, np.array([x]), shift)[0]) for x, shift in tasks]

    async def testbench(ctx):
        for cycle in range(len(tasks) + unit.latency):
            if cycle < len(tasks):
                ctx.set(unit.x, tasks[cycle][0])
                ctx.set(unit.shift, tasks[cycle][1])
            if cycle >= unit.latency:
                task = cycle - unit.latency
                if tasks[task][0]:
                    assert ctx.get(unit.y) == expected[task], tasks[task]
                limited = min(max(expected[task], lowest), highest)
                assert ctx.get(design.value) == limited, tasks[task]
                assert ctx.get(design.overflow) == (expected[task] != limited), tasks[task]
            await ctx.tick()

    Simulation(design).run(testbench)


@pytest.mark.parametrize(
    ("spec", "extra"),
    [
        long(reciprocal_spec(10, 8), -1),
        (reciprocal_spec(10, 8), 0),
        (ReciprocalSpec(10, 12, 3, 2), -1),
        long(ReciprocalSpec(10, 12, 3, 2), 0),
    ],
    ids=str,
)
def test_every_operand(spec, extra):
    operands = np.arange(-(2**9), 2**9)
    shifts = np.random.default_rng(0).integers(-14, spec.largest_shift + 3, operands.size)
    assert_equal_to_model(spec, operands, shifts, extra)


@pytest.mark.parametrize("extra", [-1, long(0), long(1), long(2), 3])
@pytest.mark.parametrize(
    ("width", "result_width"), [long(22, 18), (18, 22), long(31, 27), long(36, 32), (36, 18), (9, 8)]
)
def test_random_operands_of_every_size(width, result_width, extra):
    spec = reciprocal_spec(width, result_width)
    rng = np.random.default_rng(width)
    lowest, highest = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    drawn = rng.integers(lowest, highest, 60, endpoint=True) >> rng.integers(0, width, 60)
    operands = np.concatenate([drawn, np.tile([0, 1, -1, 2, -2, lowest, highest], 2)])
    shifts = rng.integers(-width - 3, spec.largest_shift + 3, operands.size)
    shifts[:4] = [-256, 255, 0, spec.largest_shift]
    assert_equal_to_model(spec, operands, shifts, extra)


@pytest.mark.parametrize(
    ("width", "result_width", "extra", "registers"),
    [
        *((22, 18, 0, 1), (31, 27, 3, 2), (36, 32, 1, 3), (36, 32, -1, 2)),
        *(
            long(*spec, registers)
            for spec in ((22, 18, 0), (22, 18, -1), (31, 27, 3), (36, 32, 1))
            for registers in (1, 2, 3)
        ),
    ],
)
def test_products_may_have_pipeline_registers(width, result_width, extra, registers):
    spec = reciprocal_spec(width, result_width)
    rng = np.random.default_rng(width)
    operands = rng.integers(-(2 ** (width - 1)), 2 ** (width - 1), 80) >> rng.integers(0, width, 80)
    shifts = rng.integers(-width - 3, spec.largest_shift + 3, operands.size)
    assert_equal_to_model(spec, operands, shifts, extra, registers)


@pytest.mark.parametrize(("width", "name"), [(18, "xcvu9p"), long(27, "ecp5-85"), long(36, "xc7a200t")])
def test_it_takes_the_blocks_of_its_multipliers(width, name):
    device = TARGETS[name]
    spec = reciprocal_spec(width + 4, width)
    verilog = to_verilog(ReciprocalUnit(spec, 1 + 3 * spec.order, 2, device.primitive))
    assert count(verilog, rf"\b{device.primitive.name} #") == sum(map(device.blocks, spec.multipliers))
