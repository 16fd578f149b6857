"""Wide multiplexers: as an expression, or in the cells of a family for which synthesis maps them badly.

Lattice's ECP5 combines the look-up tables of a slice through dedicated multiplexers (FPGA-TN-02200: PFUMX,
L6MUX21): sixteen inputs take eight look-up tables per bit. Yosys uses more than thirty, so these cells are
instantiated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Instance, Module, Signal

from rbdhw.target import Primitive

CELL = "multiplexer_ecp5_"
"""What precedes the number of inputs in the modules' names; the name of the design precedes it."""

FAMILY = "MULT18X18D"
"""The multiplier block that identifies the family."""

JOINED = 4
"""The most select bits for which the dedicated multiplexers suffice."""

PAIR = "16'hCACA"
"""The look-up table of a multiplexer of two: C selects B instead of A."""


def multiplex(m: Module, name: str, inputs: Sequence[Any], choice: Any, primitive: Primitive | None) -> Any:
    """Return the input with the number ``choice``, of several inputs of one shape.

    Where ``choice`` exceeds the number of inputs, the result is arbitrary. ``name`` is the prefix of the
    submodule's name.
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


def write_cells(verilog: str, name: str) -> str:
    """Return the text of a design's Verilog with the modules of the multiplexers that it instantiates.

    Their names then begin with ``name``, as those of the other modules.
    """
    sizes = sorted({int(size) for size in re.findall(rf"\b{CELL}(\d+)\b", verilog)})
    if not sizes:
        return verilog
    whole = verilog + "".join(cell(size) for size in sizes)
    return re.sub(rf"\b{CELL}\d+\b", rf"{name}_\g<0>", whole)


def cell(size: int) -> str:
    """Return the Verilog module of a multiplexer with ``size`` inputs.

    Verilator compiles its behaviour instead of the cells.
    """
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
    """Return the look-up tables per bit of a multiplexer with ``size`` inputs."""
    if size <= 2:
        return size - 1
    bits = (size - 1).bit_length()
    half = 1 << (bits - 1)
    split = tables(half) + tables(size - half) + 1
    return min(half, split) if bits <= JOINED else split


def _build_cell(lines: list[str], inputs: Sequence[str]) -> str:
    """Append the cells of a multiplexer; return the wire of its output."""
    size = len(inputs)
    if size == 1:
        return inputs[0]
    bits = (size - 1).bit_length()
    half = 1 << (bits - 1)
    if size > 2 and bits <= JOINED and tables(size) == half:
        return _join(lines, [*inputs, *[inputs[-1]] * (2 * half - size)], bits)
    return _pair(lines, _build_cell(lines, inputs[:half]), _build_cell(lines, inputs[half:]), bits - 1)


def _join(lines: list[str], inputs: Sequence[str], bits: int) -> str:
    """Append a multiplexer of a power of two inputs: look-up tables of pairs, then dedicated multiplexers."""
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
