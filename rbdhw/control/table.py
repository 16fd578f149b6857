"""The table of a study, and the candidate that it chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

STUDY = "study.json"
"""The file with the results of a study."""

WORSE = 1.05
"""How much larger the median error in the loop may be than in double precision."""

EXCESS = 1e-3
"""How much larger the cost of a problem may be, relative to its optimum."""

Row = dict[str, Any]

STUDY_COLUMNS = [
    "",
    "error in the loop\nmedian / max",
    "failed / flagged\n%",
    "alone: iterations\nexcess of cost",
    "DSP / LUTs",
    "bytes",
]
"""The columns of a study: the loop, its line searches and its answers, problems alone, and hardware."""


def study_rows(study: Mapping[str, Any]) -> list[list[str]]:
    """Return the cells of :data:`STUDY_COLUMNS` for each candidate."""
    exact, rows = study["rows"][0], []
    for row in study["rows"]:
        cells = ["-"] * (len(STUDY_COLUMNS) - 1)
        if "refused" not in row:
            cells[0] = f"{row['median']:.3g} / {row['max']:.3g}"
            failed = f"{100.0 * row['failed']:.0f}" if "failed" in row else "-"
            cells[1] = f"{failed} / {100.0 * row['flagged']:.2g}"
        if "iterations" in row:
            cells[2] = f"{np.mean(row['iterations']):.1f}, {excess(row, exact):.0e}"
        if "luts" in row:
            cells[3], cells[4] = f"{row['dsp_blocks']} / {row['luts']:,}", str(sum(row["bytes"].values()))
        rows.append([row["candidate"], *cells])
    return rows


def narrowest(rows: Sequence[Row]) -> str | None:
    """Return the name of the candidate with the fewest bits of multipliers that is as good as the first row.

    Its median error is at most :data:`WORSE` times as large, and its costs, if there are any, are within
    :data:`EXCESS`.
    """
    exact = rows[0]
    good = [row for row in rows[1:] if row.get("bits") is not None and as_good(row, exact)]
    return min(good, key=lambda row: float(row["bits"]))["candidate"] if good else None


def as_good(row: Row, exact: Row) -> bool:
    """Return whether a candidate does the task as double precision does."""
    return "refused" not in row and bool(
        row["median"] <= WORSE * exact["median"] and excess(row, exact) <= EXCESS
    )


def excess(row: Row, exact: Row) -> float:
    """Return the largest excess of a cost over that in double precision, relative to it; 0 without costs."""
    costs, optima = np.array(row.get("costs", ())), np.array(exact.get("costs", ()))
    return float(np.nan_to_num((costs - optima) / optima, nan=np.inf).max(initial=0.0))
