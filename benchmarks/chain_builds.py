"""Forward dynamics of chains in hardware: multipliers, cycles, errors, and the time of the generator."""

from __future__ import annotations

import time
from collections.abc import Iterable

from benchmarks.forward_dynamics import snake
from benchmarks.rows import Row, Rows
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import emit_design, plan_build

BUILDS = (
    ("array", 16, 64),
    ("chain", 16, 64),
    ("array", 32, 256),
    ("chain", 32, 256),
    ("chain", 64, 64),
    ("chain", 1024, 1024),
)
"""The core, the links and the interval of each build."""

WIDTHS = {"array": 27, "chain": 32}
"""The operand width of each core's multipliers."""

EFFORT = 3.0
"""The bound of a joint's force (Nm) over the power 3/2 of the links: it holds nearly every pose."""


def chain_builds(builds: Iterable[tuple[str, int, int]] = BUILDS) -> Rows:
    """Return multipliers, memory, latency, errors and processor time of ``fd`` of chains by propagation."""
    return [_row(*build) for build in builds]


def bounds(links: int) -> Overrides:
    """Return the bounds of velocities (rad/s) and joint forces (Nm) of a chain."""
    return Overrides(default=JointBounds(velocity=3.0, effort=EFFORT * links**1.5))


def _row(kind: str, links: int, ii: int) -> Row:
    algorithms = {"forward": "propagated"} if kind == "array" else {}
    options = BuildOptions(("fd",), ii=ii, width=WIDTHS[kind], core=kind, samples=256, algorithms=algorithms)
    start = time.process_time()
    plan = plan_build(snake(links), options, bounds(links))
    verilog = emit_design(plan, options).verilog
    seconds = time.process_time() - start
    (core,) = plan.cores
    whole = plan.parts[0].plan.formats.errors["fd"].whole
    return {
        "core": kind,
        "links": links,
        "ii": ii,
        "multipliers": core.multipliers,
        "dsp_blocks": core.dsp_blocks,
        "luts": plan.estimate.luts,
        "flip_flops": plan.estimate.flip_flops,
        "latency": core.latency["fd"],
        "median": whole.median,
        "max": whole.max,
        "verilog": len(verilog),
        "seconds": seconds,
    }


def builds_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {
            "links": f"{row['links']:,}",
            "core": row["core"],
            "II": f"{row['ii']:,}",
            "multipliers": f"{row['multipliers']}",
            "DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs, by estimate": f"{row['luts']:,}",
            "flip-flops": f"{row['flip_flops']:,}",
            "core latency": f"{row['latency']:,} cycles",
            "errors, median / largest": f"{row['median']:.1e} / {row['max']:.1e}",
            "Verilog": f"{row['verilog'] / 1e6:.1f} MB",
            "`generate`, one core": f"{row['seconds']:.0f} s",
        }
        for row in rows
    ]
