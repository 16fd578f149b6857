"""Estimates of a solver's parts beside the cells that Yosys maps them to."""

import pytest
from amaranth.back import verilog

from rbdhw.boards.yosys import FAMILIES, synthesize_target
from rbdhw.cores.solver.expansion import expansion_cells
from rbdhw.cores.solver.forward import pass_cells
from rbdhw.cores.solver.policy import policy_cells
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.rtl.rollout_parts import hardware_of

TABLES, FLIP_FLOPS = (0.6, 1.3), (0.8, 1.25)
"""The shares of what Yosys counts between which estimates of small parts are.

Yosys leaves registers of products outside of UltraScale+'s blocks, and feedback is estimated without them.
"""


@pytest.mark.verify(minutes=2)
@pytest.mark.parametrize(
    "sizes", [{"width": 18, "ii": 8}, {"width": 27, "ii": 1, "problems": 4, "sweep_ii": 24}]
)
def test_parts_take_about_what_is_estimated(sizes, tmp_path):
    options = BuildOptions(("solve",), knots=3, alphas=2, iterations=3, samples=256, **sizes)
    solver = plan_build(load_urdf(path("toy")), options).solver
    family, shape = solver.core.device.family, solver.shape.rollout
    fabric, step = FABRICS[family], solver.interface.words("step")
    between = sum((part.cells(step, shape, fabric) for part in hardware_of(shape)), Cells())
    hardware = solver.component([solver.core], [solver.core.component(None)], None).solver
    parts = {
        "expansion": (hardware.expansion, expansion_cells(solver.timing, fabric)),
        "forward": (hardware.forward, pass_cells(solver.timing, fabric) + between),
        "policy": (hardware.rows, policy_cells(solver.timing, fabric)),
    }
    for name, (component, cells) in parts.items():
        source = tmp_path / f"{name}.v"
        source.write_text(verilog.convert(component, name=name, emit_src=False))
        counted = synthesize_target((source,), name, FAMILIES[family], tmp_path / name)
        assert TABLES[0] <= cells.luts / counted.luts <= TABLES[1]
        assert FLIP_FLOPS[0] <= cells.flip_flops / counted.flip_flops <= FLIP_FLOPS[1]
