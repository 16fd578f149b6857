"""Delays of ECP5's cells in picoseconds, speed grade 6, at the slow corner.

They are those of Project Trellis (``cells.json`` of its database), as nextpnr-ecp5 uses them.
"""

from __future__ import annotations

from rbdhw.timing.cells import CellTiming, Family, Pins, constant
from rbdhw.timing.netlist import Cell


def _bus(name: str, width: int) -> Pins:
    return tuple(f"{name}{k}" for k in range(width))


def _mult18x18d(cell: Cell) -> CellTiming:
    """Inputs and output are registered or not; the register between them changes neither."""
    a, p = (*_bus("A", 18), *_bus("B", 18)), _bus("P", 36)
    entered, left = (
        cell.parameters.get(f"REG_{stage}_CLK", "NONE") != "NONE" for stage in ("INPUTA", "OUTPUT")
    )
    pipelined = cell.parameters.get("REG_PIPELINE_CLK", "NONE") != "NONE"
    if entered and left:
        return CellTiming(clocked={p: 735}, setup={a: 84}, period=2625 if pipelined else 3486)
    if entered:
        return CellTiming(clocked={p: 3864}, setup={a: 84})
    if left:
        return CellTiming(clocked={p: 735}, setup={a: 3486})
    return CellTiming(arcs=((a, p, 3927),))


def _dp16kd(cell: Cell) -> CellTiming:
    registered = {side: cell.parameters.get(f"REGMODE_{side}", "NOREG") == "OUTREG" for side in "AB"}
    return CellTiming(
        clocked={
            _bus("DOA", 18): 956 if registered["A"] else 5609,
            _bus("DOB", 18): 973 if registered["B"] else 5830,
        },
        setup={
            (*_bus("ADA", 14), *_bus("ADB", 14)): 251,
            (*_bus("DIA", 18), *_bus("DIB", 18), "CEA", "CEB", "OCEA", "OCEB"): 253,
            ("WEA", "WEB", *_bus("CSA", 3), *_bus("CSB", 3)): 139,
            ("RSTA", "RSTB"): 585,
        },
    )


def _pdpw16kd(cell: Cell) -> CellTiming:
    registered = cell.parameters.get("REGMODE", "NOREG") == "OUTREG"
    inputs = (*_bus("ADW", 9), *_bus("ADR", 14), *_bus("DI", 36), *_bus("BE", 4), "CEW", "CER", "OCER")
    return CellTiming(
        clocked={_bus("DO", 36): 973 if registered else 5830}, setup={inputs: 253, ("RST",): 585}
    )


def _ccu2c() -> CellTiming:
    first, second = (tuple(f"{pin}{half}" for pin in "ABCD") for half in (0, 1))
    return CellTiming(
        arcs=(
            (first, ("S0",), 236),
            (second, ("S1",), 236),
            (first, ("S1",), 447 + 403),
            ((*first, *second), ("COUT",), 447),
            (("CIN",), ("S0",), 443),
            (("CIN",), ("S1",), 71 + 403),
            (("CIN",), ("COUT",), 71),
        )
    )


ECP5_LOGIC = frozenset({"LUT4", "PFUMX", "L6MUX21", "CCU2C"})

ECP5 = Family(
    cells={
        "LUT4": constant(CellTiming(arcs=((("A", "B", "C", "D"), ("Z",), 236),))),
        "PFUMX": constant(CellTiming(arcs=((("ALUT", "BLUT"), ("Z",), 165), (("C0",), ("Z",), 256)))),
        "L6MUX21": constant(CellTiming(arcs=((("D0", "D1"), ("Z",), 242), (("SD",), ("Z",), 256)))),
        "CCU2C": constant(_ccu2c()),
        "TRELLIS_FF": constant(
            CellTiming(clocked={("Q",): 525}, setup={("DI", "M", "CE"): 0, ("LSR",): 424})
        ),
        "TRELLIS_DPR16X4": constant(
            CellTiming((((("RAD",), ("DO",), 236)),), {("DO",): 929}, {("DI", "WAD"): 0, ("WRE",): 392})
        ),
        "MULT18X18D": _mult18x18d,
        "DP16KD": _dp16kd,
        "PDPW16KD": _pdpw16kd,
    },
    local={
        ("PFUMX", "ALUT"): (frozenset({"LUT4"}), 0),
        ("PFUMX", "BLUT"): (frozenset({"LUT4"}), 0),
        ("L6MUX21", "D0"): (frozenset({"PFUMX", "L6MUX21"}), 0),
        ("L6MUX21", "D1"): (frozenset({"PFUMX", "L6MUX21"}), 0),
        ("CCU2C", "CIN"): (frozenset({"CCU2C"}), 0),
    },
    registers={"TRELLIS_FF": "DI"},
    beside_register=dict.fromkeys(ECP5_LOGIC, 130.0),
    blocks=frozenset({"MULT18X18D", "DP16KD", "PDPW16KD"}),
    # Of the ECP5-85F: 10,455 tiles of look-up tables, 156 multipliers.
    sites=(
        {"LUT4": 8, "CCU2C": 4, "TRELLIS_DPR16X4": 8 / 6},
        {"TRELLIS_FF": 8},
        {"MULT18X18D": 156 / 10_455},
    ),
    chain=("CCU2C", 447, 443),
)
