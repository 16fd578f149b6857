"""The trigonometry unit equals its model, with an angle every cycle."""

from itertools import product

import numpy as np
import pytest

from rbdhw.boards.yosys import FAMILIES, synthesize_target
from rbdhw.estimate.fabric import FABRICS
from rbdhw.fixed.trigonometry import TrigonometrySpec, sin_cos, trigonometry_spec
from rbdhw.rtl.trigonometry import TrigonometryUnit, trigonometry_cells
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import TARGETS
from tests.support.marks import long
from tests.support.simulation import Simulation
from tests.support.verilog import count


def latency_of(spec, registers=0, less=0):
    return 1 + spec.order * (1 + registers) - less


def assert_equal_to_model(spec, phases, registers=0, less=0):
    """The unit has this number of cycles ``less``."""
    unit = TrigonometryUnit(spec, latency_of(spec, registers, less), registers)
    sines, cosines = (values.tolist() for values in sin_cos(spec, phases))
    angles = phases.tolist()

    async def testbench(ctx):
        for cycle in range(len(angles) + unit.latency):
            ctx.set(unit.angle, angles[cycle] if cycle < len(angles) else 0)
            if cycle >= unit.latency:
                task = cycle - unit.latency
                assert (ctx.get(unit.sin), ctx.get(unit.cos)) == (sines[task], cosines[task]), angles[task]
            await ctx.tick()

    Simulation(unit).run(testbench)


@pytest.mark.parametrize("less", [0, 1])
@pytest.mark.parametrize("spec", [trigonometry_spec(8), long(TrigonometrySpec(9, 12, 3, 2))], ids=str)
def test_every_phase(spec, less):
    assert_equal_to_model(spec, np.arange(2**spec.phase_bits), less=less)


@pytest.mark.parametrize(
    ("width", "registers", "less"),
    [
        *((12, 0, 0), (18, 1, 0), (32, 3, 0), (18, 0, 1), (32, 2, 1)),
        *(long(*case) for case in product((12, 18, 24, 28, 32), range(4), (0, 1))),
    ],
)
def test_random_phases_and_the_edges_of_quadrants(width, registers, less):
    spec = trigonometry_spec(width)
    rng = np.random.default_rng(width)
    edges = (np.arange(4)[:, None] * 2 ** (spec.phase_bits - 2) + np.arange(-2, 3)).ravel()
    phases = np.concatenate([rng.integers(0, 2**spec.phase_bits, 200), edges]) % 2**spec.phase_bits
    assert_equal_to_model(spec, phases, registers, less)


@pytest.mark.parametrize(
    ("width", "registers", "latency"), [(8, 0, 2), (18, 0, 2), (28, 0, 3), (18, 2, 4), (28, 3, 9)]
)
def test_latency_is_a_cycle_and_one_a_power_and_those_of_its_product(width, registers, latency):
    spec = trigonometry_spec(width)
    assert [TrigonometryUnit(spec, latency - less, registers).latency for less in (0, 1)] == [
        latency,
        latency - 1,
    ]
    with pytest.raises(
        ValueError, match=f"a sine takes {latency - 1} to {latency} cycles, not {latency + 1}"
    ):
        TrigonometryUnit(spec, latency + 1, registers)


@pytest.mark.parametrize(("width", "name"), [(18, "xcvu9p"), long(27, "xc7a200t"), long(32, "ecp5-85")])
def test_it_takes_the_blocks_of_its_multipliers(width, name):
    device = TARGETS[name]
    spec = trigonometry_spec(width)
    verilog = to_verilog(TrigonometryUnit(spec, latency_of(spec, 2), 2, device.primitive))
    assert count(verilog, rf"\b{device.primitive.name} #") == sum(map(device.blocks, spec.multipliers))


@pytest.mark.parametrize(("width", "blocks"), [(12, 0), (16, 2), (26, 2)])
def test_large_tables_ask_for_block_rams(width, blocks):
    spec = trigonometry_spec(width)
    verilog = to_verilog(TrigonometryUnit(spec, latency_of(spec)))
    assert verilog.count('(* rom_style = "block" *)') == blocks


@pytest.mark.verify
@pytest.mark.parametrize("name", ["xcvu9p", "ecp5-85"])
@pytest.mark.parametrize("width", [16, 26])
def test_its_tables_are_in_the_estimated_block_rams(tmp_path, width, name):
    """At 26 bits Yosys would take look-up tables for the VU9P, as they weigh a little less there."""
    spec, family = trigonometry_spec(width), TARGETS[name].family
    source = tmp_path / "top.v"
    source.write_text(to_verilog(TrigonometryUnit(spec, latency_of(spec)), "top"))
    counted = synthesize_target((source,), "top", FAMILIES[family], tmp_path)
    assert counted.block_rams == trigonometry_cells(spec, FABRICS[family]).block_rams > 0
