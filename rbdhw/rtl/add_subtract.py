"""``number + term`` or ``number - term`` by a control bit: as an expression, or in a family's carry cells.

A carry cell of Lattice's ECP5 (FPGA-TN-02200: CCU2C) adds two bits of each number and can invert the bits of
one number under a third input. Yosys would spend separate look-up tables on the inversion, so these cells are
instantiated.
"""

from __future__ import annotations

import re
from typing import Any

from amaranth.hdl import Instance, Module, Signal

from rbdhw.rtl.multiplexer import FAMILY
from rbdhw.target import Primitive

CELL = "turned_adder_ecp5"
"""What follows the design's name in that of the Verilog module built from these cells."""

INIT = "16'h96aa"
"""The look-up table of half a cell with D = 1: propagate = A xor B xor C; where that is 0, the carry is A."""


def add_subtract(
    m: Module, name: str, number: Any, term: Any, negative: Any, primitive: Primitive | None
) -> Any:
    """Return ``number + term``, or ``number - term`` where ``negative`` is 1.

    All operands and the result have the same width. ``name`` names the submodule.
    """
    total = Signal(number.shape(), name=f"{name}_total")
    if primitive is None or primitive.name != FAMILY:
        m.d.comb += total.eq(number + (term ^ negative.replicate(len(term))) + negative)
        return total
    m.submodules[name] = Instance(
        CELL, p_WIDTH=len(total), i_a=number, i_b=term, i_negative=negative, o_o=total
    )
    return total


def write_adders(verilog: str, name: str) -> str:
    """Return the text of a design's Verilog with the module of these adders, if it instantiates any.

    The name of the module then begins with ``name``, as those of the other modules.
    """
    if f"{CELL} " not in verilog:
        return verilog
    return re.sub(rf"\b{CELL} ", f"{name}_{CELL} ", verilog + MODULE)


MODULE = f"""
module {CELL} #(parameter WIDTH = 1) (
  input [WIDTH - 1:0] a, input [WIDTH - 1:0] b, input negative, output [WIDTH - 1:0] o
);
`ifdef VERILATOR
  assign o = negative ? a - b : a + b;
`else
  localparam CELLS = (WIDTH + 1) / 2;
  wire [2 * CELLS - 1:0] x = a;
  wire [2 * CELLS - 1:0] y = b;
  wire [2 * CELLS - 1:0] z;
  wire [CELLS:0] carry;
  assign carry[0] = negative;
  assign o = z[WIDTH - 1:0];
  genvar k;
  generate for (k = 0; k < CELLS; k = k + 1) begin : pairs
    CCU2C #(.INIT0({INIT}), .INIT1({INIT}), .INJECT1_0("NO"), .INJECT1_1("NO")) cell_k (
      .CIN(carry[k]), .COUT(carry[k + 1]),
      .A0(x[2 * k]), .B0(y[2 * k]), .C0(negative), .D0(1'b1), .S0(z[2 * k]),
      .A1(x[2 * k + 1]), .B1(y[2 * k + 1]), .C1(negative), .D1(1'b1), .S1(z[2 * k + 1])
    );
  end endgenerate
`endif
endmodule
"""
"""The Verilog of :data:`CELL`. Verilator compiles its behaviour instead of the cells."""
