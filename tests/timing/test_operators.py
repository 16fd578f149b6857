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


def verilog(operator: str, bits: int) -> str:
    """Return a design with an operator between registers."""
    return f"""module top(input clk, input signed [17:0] a_, b_, c_, d_, input [1:0] s_,
    output reg signed [{bits - 1}:0] o);
  reg signed [17:0] a, b, c, d; reg [1:0] s; reg signed [{bits - 1}:0] result;
  always @(posedge clk) begin
    a <= a_; b <= b_; c <= c_; d <= d_; s <= s_; result <= {operator}; o <= result;
  end
endmodule
"""


@pytest.mark.parametrize("name", ["xcvu9p", long("xck26"), long("xc7a200t"), long("xc7a100t")])
@pytest.mark.parametrize(
    "kind", ["product_and_sum", *map(long, ("sum", "narrow_sum", "rounded_sum", "choice"))]
)
def test_an_operator_takes_no_longer_than_its_delay(name: str, kind: str) -> None:
    period = 1000.0 / time_verilog(verilog(*OPERATORS[kind]), "top", name).clock_mhz
    delays = target(name).sized(400, 2).delays
    expected = {
        "sum": delays.sum(19),
        "narrow_sum": delays.sum(9),
        "rounded_sum": delays.sum(20, rounds=True),
        "choice": delays.choice(4, 36),
        "product_and_sum": delays.multiply + delays.sum(20),
    }[kind]
    assert period * (1.0 + MARGIN) <= expected + delays.overhead
    assert period >= 0.6 * (expected + delays.overhead) / (1.0 + MARGIN)
