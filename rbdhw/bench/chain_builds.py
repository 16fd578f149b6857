"""Forward dynamics of chains on the array core: multipliers, cycles, and the time of the generator."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rbdhw.bench.forward_dynamics import snake
from rbdhw.bench.rows import Rows
from rbdhw.config import BuildOptions
from rbdhw.explore.accelerator import plan_accelerator
from rbdhw.pipeline import emit_design

BUILDS = ((16, 64), (32, 256), (64, 512))
"""The links and the interval of each build."""

WIDTH = 27


def chain_builds(builds: Iterable[tuple[int, int]] = BUILDS) -> Rows:
    """Return multipliers, memory, latency and processor time of ``fd`` of chains by propagation."""
    rows = []
    for links, ii in builds:
        options = BuildOptions(
            ("fd",), ii=ii, width=WIDTH, core="array", samples=256, algorithms={"forward": "propagated"}
        )
        start = time.process_time()
        plan = plan_accelerator(snake(links), options)
        verilog = emit_design(plan, options).verilog
        seconds = time.process_time() - start
        (core,) = plan.cores
        rows.append(
            {
                "links": links,
                "ii": ii,
                "multipliers": core.multipliers,
                "dsp_blocks": core.dsp_blocks,
                "latency": core.latency["fd"],
                "verilog": len(verilog),
                "seconds": seconds,
            }
        )
    return rows


def builds_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {
            "links": f"{row['links']}",
            "II": f"{row['ii']}",
            "multipliers": f"{row['multipliers']}",
            "DSP blocks": f"{row['dsp_blocks']}",
            "core latency": f"{row['latency']:,} cycles",
            "Verilog": f"{row['verilog'] / 1e6:.1f} MB",
            "`generate`, one core": f"{row['seconds']:.0f} s",
        }
        for row in rows
    ]
