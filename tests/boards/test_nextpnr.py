"""nextpnr's report: the clock, the counts, and the regions of the slowest path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rbdhw.boards.nextpnr import Report, read_report, region_of
from rbdhw.boards.yosys import Resources

CLOCK = "$glbnet$clk"
EDGE = f"posedge {CLOCK}"
COUNTS = {"TRELLIS_COMB": 7, "TRELLIS_FF": 6, "MULT18X18D": 5, "DP16KD": 4, "DCCA": 1}


def segment(source: str, sink: str) -> dict[str, Any]:
    """A part of a path between two cells."""
    return {"delay": 1.0, "from": {"cell": source, "port": "Q"}, "to": {"cell": sink, "port": "D"}}


def written(path: Path, achieved: float) -> Path:
    """A report of a design at 50 MHz."""
    slowest = [
        segment("accelerator.core.forward_backward.rnea_forward_1.v5_TRELLIS_FF_Q", "a"),
        segment("a", "accelerator.core.v7_DI_LUT4_Z"),
        segment("accelerator.core.v7_DI_LUT4_Z", "accelerator.core.forward_backward.rnea_backward_0.x.y"),
    ]
    outside = [segment("ready$tr_io", "accelerator.assembler.busy")]
    report = {
        "critical_paths": [
            {"from": "<async>", "to": EDGE, "path": outside},
            {"from": EDGE, "to": EDGE, "path": slowest},
        ],
        "fmax": {CLOCK: {"achieved": achieved, "constraint": 50}},
        "utilization": {cell: {"available": 9, "used": used} for cell, used in COUNTS.items()},
    }
    path.write_text(json.dumps(report))
    return path


def test_report_is_read(tmp_path: Path) -> None:
    found = read_report(written(tmp_path / "report.json", 51.25))
    assert found == Report(51.25, 50.0, Resources(7, 6, 5, 4), "rnea_forward_1", "rnea_backward_0")
    assert found.missed("ecp5-85", tmp_path / "report.json") is None


def test_missed_clock_names_the_regions(tmp_path: Path) -> None:
    path = written(tmp_path / "report.json", 49.94)
    assert read_report(path).missed("ecp5-85", path) == (
        "timing: the design reaches 49.9 MHz of 50 MHz on ecp5-85; "
        f"its slowest path goes from rnea_forward_1 to rnea_backward_0, see {path}"
    )


@pytest.mark.parametrize(
    ("cell", "region"),
    [
        ("accelerator.core.forward_backward.rnea_forward_3.v12_TRELLIS_FF_Q_4", "rnea_forward_3"),
        ("accelerator.core.trigonometry.sin_cos_0.register$8_TRELLIS_FF_Q_16", "trigonometry"),
        ("accelerator.assembler.i__valid_TRELLIS_FF_Q", "assembler"),
        ("shell.core.accelerator.core.forward_backward.solve_1.v3", "solve_1"),
        ("shell.framer.crc", "framer"),
        ("accelerator.core.v3_TRELLIS_FF_Q", "core"),
        ("accelerator.m_axis_tdata_TRELLIS_FF_Q_1", "accelerator"),
        ("chain_TRELLIS_FF_Q", "top"),
    ],
)
def test_cell_is_in_the_outermost_module_that_says_something(cell: str, region: str) -> None:
    assert region_of(cell) == region
