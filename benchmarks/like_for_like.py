"""Published accelerators of iiwa14 beside builds of the same functions, bits and clock."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.builds import ALL, robot_of
from benchmarks.published import COMPARED, COMPARED_ROBOT, NOT_PUBLISHED, PUBLISHED, Published, pace
from benchmarks.rows import Row, Rows
from rbdhw.design.folder import write
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import accelerator_of
from rbdhw.model.traffic import traffic
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import emit_design
from rbdhw.target import target

INTERVALS = {"difd": (34, 2), "all": (12, 12)}
"""The cycles between tasks, published and built, by the functions.

Robomorphic computes one task at a time; two cycles are the fewest that take no more DSP blocks.
"""

WIDTH, STREAM = 32, 1024


def like_rows() -> Rows:
    """Return each published accelerator, and a build of the same functions, bits and clock."""
    return [row for published in PUBLISHED for row in (_published_row(published), _built_row(published))]


def _published_row(published: Published) -> Row:
    return {
        "accelerator": published.name,
        "functions": published.functions,
        "MHz": published.clock_mhz,
        "cycles a task": float(INTERVALS[published.functions][0]),
        "latency": published.latency,
        "DSP blocks": published.dsp_blocks,
        "errors": {},
    }


def _built_row(published: Published) -> Row:
    functions = ALL if published.functions == "all" else (published.functions,)
    _, interval = INTERVALS[published.functions]
    options = BuildOptions(
        functions, ii=interval, width=WIDTH, data_width=STREAM, clock_mhz=published.clock_mhz
    )
    plan = make_plan(robot_of(COMPARED_ROBOT), options)
    packets = traffic(plan.interface)[COMPARED]
    with tempfile.TemporaryDirectory() as folder:
        write(emit_design(accelerator_of(plan), options), Path(folder) / "design")
        cycles = pace(Path(folder) / "design", COMPARED)
    return {
        "accelerator": "rbdhw",
        "functions": published.functions,
        "MHz": plan.clock_mhz,
        "cycles a task": cycles,
        "latency": plan.latency[COMPARED],
        "DSP blocks": plan.estimate.dsp_blocks / target(options.target).dsp_blocks,
        "bytes": max(packets.bytes_in, packets.bytes_out),
        "errors": {name: errors.whole.max for name, errors in plan.formats.errors.items()},
    }


def like_layout(rows: Rows) -> Rows:
    """Return a line for each accelerator; what carries the tasks is the larger direction of its packets."""
    return [_line(row) for row in rows]


def _line(row: Row) -> Row:
    rate = row["MHz"] / row["cycles a task"]
    carried = f"{1e-3 * rate * row['bytes']:.2f} GB/s" if "bytes" in row else NOT_PUBLISHED
    line = {
        "accelerator": row["accelerator"],
        "functions": row["functions"],
        "bits": str(WIDTH),
        "MHz": f"{row['MHz']:g}",
        "latency": f"{row['latency']} cycles, {row['latency'] / row['MHz']:.2f} µs",
        "tasks a second": f"{rate:.2f} M",
        "carried by": carried,
        "DSP blocks": f"{row['DSP blocks']:.1%}",
    }
    return line | {f"error, {name}": _error(row, name) for name in ALL}


def _error(row: Row, name: str) -> str:
    if not row["errors"]:
        return NOT_PUBLISHED
    return f"{row['errors'][name]:.0e}" if name in row["errors"] else "-"
