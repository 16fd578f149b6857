"""Single operators, mapped by Yosys, are no slower in the check than the delays that schedules rest on."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.lib.wiring import Component, In, Out

from rbdhw.boards.yosys import time_verilog
from rbdhw.fixed.program import Operand
from rbdhw.rtl.arithmetic import total
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import target
from rbdhw.timing.report import MARGIN

OPERATORS = {
    "sum": ("a + b", 20),
    "narrow_sum": ("$signed(a[7:0]) + $signed(b[7:0])", 9),
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


class RoundedSum(Component):
    """A sum that rounds three bits away, or a difference, between registers."""

    def __init__(self, negative: bool) -> None:
        self.negative = negative
        super().__init__({"a": In(signed(18)), "b": In(signed(18)), "o": Out(signed(17))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002 - Amaranth gives it by position
        m = Module()
        a, b = Signal(signed(18)), Signal(signed(18))
        operands = (Operand(0), Operand(1, self.negative))
        m.d.sync += [a.eq(self.a), b.eq(self.b), self.o.eq(total(operands, [a, b], 3, paired=True) >> 3)]
        return m


def mapped(kind: str) -> str:
    """Return a design with an operator."""
    if kind.startswith("rounded"):
        return to_verilog(RoundedSum(kind == "rounded_difference"), "top")
    return verilog(*OPERATORS[kind])


@pytest.mark.verify
@pytest.mark.parametrize("name", ["xcvu9p", "xck26", "xc7a200t", "xc7a100t"])
@pytest.mark.parametrize(
    "kind", ["product_and_sum", "sum", "narrow_sum", "rounded_sum", "rounded_difference", "choice"]
)
def test_an_operator_takes_no_longer_than_its_delay(name: str, kind: str) -> None:
    period = 1000.0 / time_verilog(mapped(kind), "top", name).clock_mhz
    delays = target(name).sized(400, 2).delays
    expected = {
        "sum": delays.sum(19),
        "narrow_sum": delays.sum(9),
        "rounded_sum": delays.sum(20, rounds=True),
        "rounded_difference": delays.sum(20, rounds=True),
        "choice": delays.choice(4, 36),
        "product_and_sum": delays.multiply + delays.sum(20),
    }[kind]
    assert period * (1.0 + MARGIN) <= expected + delays.overhead
    assert period >= 0.6 * (expected + delays.overhead) / (1.0 + MARGIN)
