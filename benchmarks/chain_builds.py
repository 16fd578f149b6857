"""Dynamics of chains in hardware: multipliers, cycles, errors, and the time of the generator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from benchmarks.forward_dynamics import snake
from benchmarks.rows import Row, Rows
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.options.build import BuildOptions, CoreName
from rbdhw.pipeline import emit_design, plan_build

BUILDS: tuple[tuple[str, CoreName, int, int], ...] = (
    ("fd", "array", 16, 64),
    ("fd", "chain", 16, 64),
    ("fd", "array", 32, 256),
    ("fd", "chain", 32, 256),
    ("fd", "chain", 64, 64),
    ("fd", "chain", 1024, 1024),
    ("id", "chain", 64, 64),
    ("id", "chain", 1024, 1024),
)
"""The function, the core, the links and the interval of each build."""

WIDTHS: dict[CoreName, int] = {"array": 27, "chain": 32, "pipeline": 32}
"""The operand width of each core's multipliers."""

INTERVALS = {16: 16, 32: 64}
"""The links and the interval of each pipeline whose latency is compared."""

WAYS: dict[str, dict[str, str]] = {"solves": {"forward": "inverse", "products": "solves"}} | {
    way: {"forward": way} for way in ("propagated", "reduced")
}
"""The ways of these pipelines, and their algorithms."""

EFFORT = 3.0
"""The bound of a joint's force (Nm) over the power 3/2 of the links: it holds nearly every pose."""


def chain_builds(builds: Iterable[tuple[str, CoreName, int, int]] = BUILDS) -> Rows:
    """Return hardware, errors and processor time of ``fd`` of chains by propagation, and of ``id``."""
    return [_row(*build) for build in builds]


def bounds(links: int) -> Overrides:
    """Return the bounds of velocities (rad/s) and joint forces (Nm) of a chain."""
    return Overrides(default=JointBounds(velocity=3.0, effort=EFFORT * links**1.5))


def chain_latencies(intervals: Mapping[int, int] = INTERVALS) -> Rows:
    """Return the same, but for the time, of ``fd`` of chains on pipelines, by the way."""
    rows = []
    for links, ii in intervals.items():
        for way, algorithms in WAYS.items():
            options = _options("fd", "pipeline", ii, algorithms)
            plan = plan_build(snake(links), options, bounds(links))
            rows.append({"links": links, "way": way} | _figures(plan))
    return rows


def _row(function: str, kind: CoreName, links: int, ii: int) -> Row:
    options = _options(function, kind, ii, {"forward": "propagated"} if kind == "array" else {})
    start = time.process_time()
    plan = plan_build(snake(links), options, bounds(links))
    verilog = emit_design(plan, options).verilog
    seconds = time.process_time() - start
    row = {"function": function, "core": kind, "links": links} | _figures(plan)
    return row | {"verilog": len(verilog), "seconds": seconds}


def _options(function: str, kind: CoreName, ii: int, algorithms: Mapping[str, str]) -> BuildOptions:
    return BuildOptions(
        (function,), ii=ii, width=WIDTHS[kind], core=kind, samples=256, algorithms=dict(algorithms)
    )


def _figures(plan: AcceleratorPlan) -> Row:
    (core,) = plan.cores
    (errors,) = plan.parts[0].plan.formats.errors.values()
    (latency,) = core.latency.values()
    return {
        "ii": plan.parts[0].plan.ii,
        "multipliers": core.multipliers,
        "dsp_blocks": core.dsp_blocks,
        "luts": plan.estimate.luts,
        "flip_flops": plan.estimate.flip_flops,
        "latency": latency,
        "median": errors.whole.median,
        "max": errors.whole.max,
    }


def latencies_layout(rows: Rows) -> Rows:
    """Return a line for each way and length."""
    return [{"links": f"{row['links']}", "way": row["way"]} | _hardware(row) for row in rows]


def builds_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {
            "": row["function"],
            "links": f"{row['links']:,}",
            "core": row["core"],
            **_hardware(row),
            "Verilog": f"{row['verilog'] / 1e6:.1f} MB",
            "`generate`, one core": f"{row['seconds']:.0f} s",
        }
        for row in rows
    ]


def _hardware(row: Row) -> dict[str, str]:
    return {
        "II": f"{row['ii']:,}",
        "multipliers": f"{row['multipliers']}",
        "DSP blocks": f"{row['dsp_blocks']:,}",
        "LUTs, by estimate": f"{row['luts']:,}",
        "flip-flops": f"{row['flip_flops']:,}",
        "core latency": f"{row['latency']:,} cycles",
        "errors, median / largest": f"{row['median']:.1e} / {row['max']:.1e}",
    }
