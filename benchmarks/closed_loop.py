"""Number formats judged in a closed loop: the tip of the arm follows a figure-eight by optimal control."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.rows import Rows
from rbdhw import study
from rbdhw.control.table import STUDY_COLUMNS, study_rows
from rbdhw.robots import bundled

ROBOT = "iiwa14"

LOOP: dict[str, Any] = {
    "frames": ("iiwa_link_7",),
    "widths": (10, 12, 14, 16, 18, 20, 24),
    "budgets": (0.1,),
    "formats": ("Q12.10", "Q12.12", "Q12.14", "Q12.16"),
    "seconds": 2.0,
}
"""The frame that is tracked, the candidates, and how long."""


def loop_rows(name: str = ROBOT, **changes: Any) -> Rows:
    """Return the results of double precision and of each candidate; ``changes`` are those of :data:`LOOP`."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        rows: Rows = study(bundled()[name], Path(folder) / "judged", **LOOP | changes)["rows"]
        return rows


def loop_layout(rows: Rows) -> Rows:
    """Return a line for each candidate."""
    headings = [column.replace("\n", ", ") for column in STUDY_COLUMNS]
    return [dict(zip(headings, cells, strict=True)) for cells in study_rows({"rows": rows})]
