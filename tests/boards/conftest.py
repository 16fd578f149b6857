"""A small accelerator of known cost, as `rbdhw generate` would write it."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from rbdhw.boards.tools import find_tool
from rbdhw.model.interface import Interface
from rbdhw.registers.map import Constants
from rbdhw.rtl.axi_accelerator import AxiAccelerator
from rbdhw.rtl.verilog import to_verilog
from tests.support.board_designs import write_manifest
from tests.support.edge import FUNCTIONS
from tests.support.remembered_tool import remember

# Answers each beat with the product of its halves: one 16 × 16 bit multiplier.
MULTIPLY = """
module accelerator(
    input clk, input rst,
    input [31:0] s_axis_tdata, input s_axis_tvalid, output s_axis_tready, input s_axis_tlast,
    output reg [31:0] m_axis_tdata, output reg m_axis_tvalid, input m_axis_tready, output reg m_axis_tlast
);
  wire signed [15:0] a = s_axis_tdata[15:0];
  wire signed [15:0] b = s_axis_tdata[31:16];
  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;
  always @(posedge clk) begin
    if (s_axis_tready) begin
      m_axis_tdata <= a * b;
      m_axis_tlast <= s_axis_tlast;
      m_axis_tvalid <= s_axis_tvalid;
    end
    if (rst) m_axis_tvalid <= 0;
  end
endmodule
"""


# In place of nextpnr: writes the report and, on a board, the placed design, at a clock given by the seed.
# Like nextpnr, it fails at less than 50 MHz unless an option allows that.
PLACER = """#!{python} -IS
import json, sys
from pathlib import Path
if "--version" in sys.argv:
    print("nextpnr-9.8")
    sys.exit()
value = lambda option: sys.argv[sys.argv.index(option) + 1]
path = [{{"delay": 1.0, "from": {{"cell": "top.a.x"}}, "to": {{"cell": "top.b.x"}}}}]
report = {{
    "critical_paths": [{{"from": "posedge clk", "to": "posedge clk", "path": path}}],
    "fmax": {{"clk": {{"achieved": {reached}[value("--seed")], "constraint": 50}}}},
    "utilization": {{c: {{"used": 1}} for c in ("TRELLIS_COMB", "TRELLIS_FF", "MULT18X18D", "DP16KD")}},
}}
Path(value("--report")).write_text(json.dumps(report))
Path(value("--log")).write_text("log of seed " + value("--seed"))
if "--textcfg" in sys.argv:
    Path(value("--textcfg")).write_text("placed with seed " + value("--seed"))
sys.exit({reached}[value("--seed")] < 50.0 and "--timing-allow-fail" not in sys.argv)
"""

# In place of ecppack: the bitstream is the placed design.
PACKER = """#!{python} -IS
import shutil, sys
if "--version" in sys.argv:
    print("ecppack 9.8")
    sys.exit()
value = lambda option: sys.argv[sys.argv.index(option) + 1]
shutil.copy(value("--input"), value("--bit"))
"""


@pytest.fixture(autouse=True, scope="session")
def remembered_synthesis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run Yosys once for equal designs: most tests here concern what follows its run, for the same design."""
    with pytest.MonkeyPatch.context() as patch:
        program = remember(find_tool("yosys"), tmp_path_factory.mktemp("yosys"))
        patch.setenv("YOSYS", str(program))
        yield


@pytest.fixture
def placer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[int, float]], None]:
    """Replace nextpnr and ecppack by programs for which the seed alone determines the achieved clock."""

    def install(reached: dict[int, float]) -> None:
        clocks = {str(seed): mhz for seed, mhz in reached.items()}
        for variable, text in (("NEXTPNR_ECP5", PLACER), ("ECPPACK", PACKER)):
            program = tmp_path / variable
            program.write_text(text.format(python=sys.executable, reached=clocks))
            program.chmod(0o755)
            monkeypatch.setenv(variable, str(program))

    return install


@cache
def registers() -> str:
    """Return the Verilog of the block with registers."""
    constants = Constants(4, 1, False, (0,), 1, 50_000, 50_000, "0" * 64)
    interface = Interface(FUNCTIONS, 32)
    block = AxiAccelerator(name="accelerator", interface=interface, constants=constants, crossing=False)
    return to_verilog(block, "accelerator_axi")


@pytest.fixture
def design(tmp_path: Path) -> Path:
    """A design folder for ecp5-85 at 50 MHz."""
    folder = tmp_path / "design"
    folder.mkdir()
    (folder / "accelerator.v").write_text(MULTIPLY)
    (folder / "accelerator_axi.v").write_text(registers())
    write_manifest(folder)
    return folder
