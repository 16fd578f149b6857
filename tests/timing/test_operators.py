"""Single operators, mapped by Yosys, are no slower in the check than the delays that schedules rest on."""

import pytest

from rbdhw.boards.yosys import time_verilog
from rbdhw.target import target
from rbdhw.timing.report import MARGIN
from tests.support.marks import long

OPERATORS = {
    "sum": ("a + b", 20),
    "narrow_sum": ("$signed(a[7:0]) + $signed(b[7:0])", 9),
    "rounded_sum": ("(a + b + 4) >>> 3", 17),
    "choice": ("s[1] ? (s[0] ? a : b) : (s[0] ? c : d)", 18),
    "product_and_sum": ("((a * b) >>> 17) + c", 20),
}


def verilog() -> str:
    """Return a design with each operator between registers, in a module of its own."""
    modules = [
        f"""module {name}_between(input clk, input signed [17:0] a_, b_, c_, d_, input [1:0] s_,
    output reg signed [{bits - 1}:0] o);
  reg signed [17:0] a, b, c, d; reg [1:0] s; reg signed [{bits - 1}:0] result;
  always @(posedge clk) begin
    a <= a_; b <= b_; c <= c_; d <= d_; s <= s_; result <= {operator}; o <= result;
  end
endmodule
"""
        for name, (operator, bits) in OPERATORS.items()
    ]
    ports, parts = ["input clk"], []
    for name, (_, bits) in OPERATORS.items():
        ports += [f"input [73:0] i_{name}", f"output signed [{bits - 1}:0] o_{name}"]
        operands = ", ".join(f".{x}_(i_{name}[{18 * k + 17}:{18 * k}])" for k, x in enumerate("abcd"))
        parts.append(f"  {name}_between {name}(.clk(clk), {operands}, .s_(i_{name}[73:72]), .o(o_{name}));")
    return "".join([*modules, f"module top({', '.join(ports)});\n", "\n".join(parts), "\nendmodule\n"])


@pytest.mark.parametrize("name", ["xcvu9p", long("xck26"), long("xc7a200t"), long("xc7a100t")])
def test_operators_take_no_longer_than_their_delays(name: str) -> None:
    report = time_verilog(verilog(), "top", name)
    found = {path.region: path.ns for path in report.regions}
    delays = target(name).sized(400, 2).delays
    expected = {
        "sum": delays.sum(19),
        "narrow_sum": delays.sum(9),
        "rounded_sum": delays.sum(20, rounds=True),
        "choice": delays.choice(4, 36),
        "product_and_sum": delays.multiply + delays.sum(20),
    }
    for operator, delay in expected.items():
        assert found[operator] * (1.0 + MARGIN) <= delay + delays.overhead, operator
        assert found[operator] >= 0.6 * (delay + delays.overhead) / (1.0 + MARGIN), operator
