"""Wide multiplexers: as an expression, or in the cells of a family whose synthesis makes them badly.

Lattice's ECP5 joins the look-up tables of a slice by dedicated multiplexers (FPGA-TN-02200: PFUMX, L6MUX21):
sixteen choices take eight look-up tables a bit. Yosys makes more than thirty of them, so the cells are named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Instance, Module, Signal

from rbdhw.target import Primitive

CELL = "multiplexer_ecp5_"
"""What the names of modules of such cells begin with; the number of choices follows."""

FAMILY = "MULT18X18D"
"""The multiplier by which the family is known."""

JOINED = 4
"""Bits of choice up to which the dedicated multiplexers reach."""

PAIR = "16'hCACA"
"""The look-up table of two choices: C selects B instead of A."""


def multiplex(m: Module, name: str, inputs: Sequence[Any], choice: Any, primitive: Primitive | None) -> Any:
    """The input, of several of one shape, whose number is ``choice``; of larger numbers any.

    ``name`` is what the names of submodules begin with.
    """
    if len(inputs) == 1:
        return inputs[0]
    if primitive is None or primitive.name != FAMILY:
        return Array(inputs)[choice]
    chosen = Signal(inputs[0].shape(), name=f"{name}_chosen")
    m.submodules[name] = Instance(
        f"{CELL}{len(inputs)}", p_WIDTH=len(chosen), i_i=Cat(inputs), i_s=choice, o_o=chosen
    )
    return chosen


def write_cells(verilog: str) -> str:
    """A Verilog text and the modules of multiplexers that it names."""
    sizes = sorted({int(size) for size in re.findall(rf"\b{CELL}(\d+)\b", verilog)})
    return verilog + "".join(cell(size) for size in sizes)


def cell(size: int) -> str:
    """The Verilog module of a multiplexer of so many choices; Verilator sees what it does, not the cells."""
    lines: list[str] = []
    out = _build_cell(lines, [f"i[{k} * WIDTH + k]" for k in range(size)])
    bits = (size - 1).bit_length()
    return "\n".join(
        [
            "",
            f"module {CELL}{size} #(parameter WIDTH = 1) (",
            f"  input [{size} * WIDTH - 1:0] i, input [{bits - 1}:0] s, output [WIDTH - 1:0] o",
            ");",
            "`ifdef VERILATOR",
            "  assign o = i[s * WIDTH +: WIDTH];",
            "`else",
            "  genvar k;",
            "  generate for (k = 0; k < WIDTH; k = k + 1) begin : bits",
            *lines,
            f"    assign o[k] = {out};",
            "  end endgenerate",
            "`endif",
            "endmodule",
            "",
        ]
    )


def tables(size: int) -> int:
    """Look-up tables that a multiplexer of so many choices takes a bit."""
    if size <= 2:
        return size - 1
    bits = (size - 1).bit_length()
    half = 1 << (bits - 1)
    split = tables(half) + tables(size - half) + 1
    return min(half, split) if bits <= JOINED else split


def _build_cell(lines: list[str], inputs: Sequence[str]) -> str:
    """The wire of a choice among inputs."""
    size = len(inputs)
    if size == 1:
        return inputs[0]
    bits = (size - 1).bit_length()
    half = 1 << (bits - 1)
    if size > 2 and bits <= JOINED and tables(size) == half:
        return _join(lines, [*inputs, *[inputs[-1]] * (2 * half - size)], bits)
    return _pair(lines, _build_cell(lines, inputs[:half]), _build_cell(lines, inputs[half:]), bits - 1)


def _join(lines: list[str], inputs: Sequence[str], bits: int) -> str:
    """A choice among a power of two by look-up tables of pairs, and dedicated multiplexers."""
    if bits == 1:
        return _pair(lines, inputs[0], inputs[1], 0)
    half = len(inputs) // 2
    low, high = _join(lines, inputs[:half], bits - 1), _join(lines, inputs[half:], bits - 1)
    kind, ports = ("PFUMX", ("BLUT", "ALUT", "C0")) if bits == 2 else ("L6MUX21", ("D0", "D1", "SD"))
    return _cell(lines, kind, "", dict(zip(ports, (low, high, f"s[{bits - 1}]"), strict=True)))


def _pair(lines: list[str], low: str, high: str, bit: int) -> str:
    return _cell(lines, "LUT4", f" #(.INIT({PAIR}))", {"A": low, "B": high, "C": f"s[{bit}]", "D": "1'b0"})


def _cell(lines: list[str], kind: str, parameters: str, ports: dict[str, str]) -> str:
    number = len(lines)
    wired = ", ".join(f".{port}({wire})" for port, wire in ports.items())
    lines.append(f"    wire w{number}; {kind}{parameters} c{number}({wired}, .Z(w{number}));")
    return f"w{number}"
