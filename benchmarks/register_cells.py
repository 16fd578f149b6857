"""The cells of the registers on each family of devices, as Yosys counts them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.rows import Rows
from rbdhw.boards.yosys import FAMILIES, synthesize_target
from rbdhw.estimate.resources import Resources
from rbdhw.registers.map import Constants
from rbdhw.rtl.registers import Registers
from rbdhw.rtl.verilog import to_verilog

DEVICES = {"xcup": "UltraScale+", "xc7": "7 series", "ecp5": "ECP5"}
"""The names of families in documents."""

ALL_FUNCTIONS = Constants(64, 1, False, (0, 1, 2, 3, 4, 5, 6), 1, 125_000, 125_000, "2d711642b726b044" * 4)
"""What the registers hold of a build of all seven functions, with some identity."""


def register_cells(family: str) -> Resources:
    """Return what the registers of a build take on a family."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        source = Path(folder) / "registers.v"
        source.write_text(to_verilog(Registers(constants=ALL_FUNCTIONS), "registers"), encoding="utf-8")
        return synthesize_target((source,), "registers", FAMILIES[family], Path(folder) / family)


def register_rows() -> Rows:
    """Return the cells on each family."""
    return [{"family": family, "cells": register_cells(family)} for family in DEVICES]


def register_layout(rows: Rows) -> Rows:
    """Return a line for each family."""
    return [
        {
            "": DEVICES[row["family"]],
            "LUTs": str(row["cells"].luts),
            "flip-flops": str(row["cells"].flip_flops),
        }
        for row in rows
    ]
