"""After synthesis for ECP5 the accelerator's responses still equal the model's, bit for bit."""

from dataclasses import replace
from pathlib import Path

import pytest

from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.boards.yosys import ECP5, synthesis
from rbdhw.design.folder import Design, write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.target import SPARE_BLOCK_RAMS, TARGETS, target
from tests.support.ecp5_cells import cell_models


def synthesized(design: Design, folder: Path) -> str:
    """Return the netlist of a design's Verilog, with models of its cells; Yosys' files are in ``folder``."""
    folder.mkdir()
    (folder / "accelerator.v").write_text(design.verilog)
    commands = (
        "read_verilog accelerator.v",
        *synthesis(ECP5, "accelerator", [design.verilog]),
        "write_verilog -noattr netlist.v",
    )
    (folder / "netlist.ys").write_text("\n".join(commands))
    command = [find_tool("yosys"), "-q", "netlist.ys"]
    run_tool("yosys", command, folder=folder, log=folder / "netlist.log")
    return cell_models() + (folder / "netlist.v").read_text()


def check(design: Design, netlist: str, folder: Path) -> None:
    """Compare a netlist, in the place of the design's Verilog, with the model of the design."""
    write(replace(design, verilog=netlist), folder)
    report = simulate(folder, 500, seed=5, bulk=True)
    assert (report.tasks, report.mismatches) == (500, 0)
    assert report.ok


@pytest.mark.verify(minutes=2)
@pytest.mark.parametrize(("clock", "registered"), [(50.0, False), (90.0, True)])
def test_toy_of_all_functions(tmp_path: Path, clock: float, registered: bool) -> None:
    options = BuildOptions(
        functions=DEFAULT_FUNCTIONS, ii=8, target="ecp5-85", clock_mhz=clock, width=18, data_width=64
    )
    design = generate(path("toy"), options)
    netlist = synthesized(design, tmp_path / "yosys")
    for cell in ("MULT18X18D", "DP16KD", "TRELLIS_DPR16X4", "CCU2C", "PFUMX"):
        assert f"\n  {cell} " in netlist
    accelerator = netlist.partition("module accelerator")[2]
    assert "*" not in accelerator
    assert ('.REG_INPUTA_CLK("CLK0")' in accelerator) == registered
    check(design, netlist, tmp_path / "design")


@pytest.mark.verify(minutes=2)
def test_an_array_without_block_rams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All operand memories are in look-up tables, whose models can be written."""
    device = replace(target("ecp5-85"), block_rams=SPARE_BLOCK_RAMS)
    monkeypatch.setitem(TARGETS, "ecp5-85", device)
    options = BuildOptions(
        functions=("id", "fd"), ii=12, target="ecp5-85", width=18, data_width=64, core="array", samples=256
    )
    design = generate(path("toy"), options)
    netlist = synthesized(design, tmp_path / "yosys")
    for cell in ("MULT18X18D", "TRELLIS_DPR16X4", "CCU2C", "PFUMX", "L6MUX21"):
        assert f"\n  {cell} " in netlist
    check(design, netlist, tmp_path / "design")
