"""The stages of Runge-Kutta: each with its own hardware, or looping through that of one."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.builds import robot_of
from benchmarks.rows import Row, Rows
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.explore.algorithm_search import search_build
from rbdhw.explore.plan import Scheduled
from rbdhw.options.build import BuildOptions

BUILDS = (
    ("iiwa14", "step", 1),
    ("iiwa14", "rk4", 4),
    ("iiwa14", "dstep", 1),
    ("iiwa14", "drk4", 4),
    ("hyq", "step", 1),
    ("hyq", "rk4", 4),
)
"""The robots, functions and intervals: four cycles for methods of four stages, and one for those of one."""

BITS = 24
"""The width of the multipliers."""


def stage_rows(builds: Sequence[tuple[str, str, int]] = BUILDS) -> Rows:
    """Return units, resources, latency and errors by robot and function, with a loop of stages and without.

    The way that ``auto`` chooses is marked.
    """
    rows: Rows = []
    for name, function, ii in builds:
        options = BuildOptions(functions=(function,), width=BITS, data_width=1024, samples=1024)
        search = search_build(robot_of(name), options)
        chosen = search.choose(ii).core
        for core in search.cores(ii):
            line = _row(search.schedule(core, ii), function)
            rows.append({"robot": name, "function": function, "ii": ii, **line, "chosen": core == chosen})
    return rows


def _row(scheduled: Scheduled, function: str) -> Row:
    """Return the hardware of a build, its latency, and its errors in ordinary motions."""
    motion = scheduled.formats.errors[function].strata["motion"]
    return {
        "shared": _shared(scheduled),
        "dsp_blocks": scheduled.core.dsp_blocks,
        "luts": scheduled.estimate.luts,
        "flip_flops": scheduled.estimate.flip_flops,
        "latency": scheduled.core.latency[function],
        "median": motion.median,
        "max": motion.max,
    }


def _shared(build: Scheduled) -> str:
    """Return what shares hardware in a build."""
    if not isinstance(build.core, PipelineCore):
        return "stages"
    return "limbs" if build.core.schedule.twins else "nothing"


def stage_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {
            "robot": row["robot"],
            "function": row["function"],
            "II": row["ii"],
            "shared": row["shared"],
            "DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs, by estimate": f"{row['luts']:,}",
            "flip-flops": f"{row['flip_flops']:,}",
            "core latency": f"{row['latency']} cycles",
            "errors, median / largest": f"{row['median']:.1e} / {row['max']:.1e}",
            "chosen": "yes" if row["chosen"] else "",
        }
        for row in rows
    ]
