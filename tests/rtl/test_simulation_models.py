"""The models of a device's cells equal those of Yosys for all inputs, by its SAT solver."""

from pathlib import Path

import pytest

from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.rtl.add_subtract import INIT
from rbdhw.rtl.simulation_models import models

YOSYS_MODELS = "+/lattice/common_sim.vh +/lattice/ccu2c_sim.vh"

TABLE = "16'h6C1D"
"""The content of a look-up table that depends on all four inputs."""

CELLS = {
    "CCU2C": (
        "CIN A0 B0 C0 D0 A1 B1 C1 D1",
        "S0 S1 COUT",
        f'#(.INIT0({INIT}), .INIT1({TABLE}), .INJECT1_0("NO"), .INJECT1_1("NO"))',
    ),
    "LUT4": ("A B C D", "Z", f"#(.INIT({TABLE}))"),
    "PFUMX": ("ALUT BLUT C0", "Z", ""),
    "L6MUX21": ("D0 D1 SD", "Z", ""),
}
"""Inputs, outputs and parameters of the cells of ECP5 without registers."""


def instance(name: str) -> str:
    """Return a module that contains only a cell."""
    inputs, outputs, parameters = CELLS[name]
    ports = ", ".join(f".{port}({port})" for port in f"{inputs} {outputs}".split())
    declared = f"input {inputs.replace(' ', ', ')}, output {outputs.replace(' ', ', ')}"
    return f"module top({declared}); {name} {parameters} cell_0({ports}); endmodule\n"


@pytest.mark.parametrize("name", CELLS)
def test_a_model_equals_that_of_yosys(tmp_path: Path, name: str) -> None:
    (tmp_path / "top.v").write_text(instance(name))
    (tmp_path / "ours.v").write_text(models()[f"{name}.v"])
    commands = []
    for side, sources in (("ours", "ours.v"), ("theirs", YOSYS_MODELS)):
        commands += [f"read_verilog {sources} top.v", "prep -flatten -top top"]
        commands += [f"rename top {side}", f"design -stash {side}"]
    commands += [f"design -copy-from {side} {side}" for side in ("ours", "theirs")]
    commands += ["miter -equiv -flatten ours theirs both", "sat -verify -prove trigger 0 both"]
    (tmp_path / "equal.ys").write_text("\n".join(commands))
    run_tool("yosys", [find_tool("yosys"), "-q", "equal.ys"], folder=tmp_path, log=tmp_path / "equal.log")
