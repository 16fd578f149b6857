"""The stages of Runge-Kutta: each with its own hardware, in turn in that of one, or looping through one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.builds import robot_of
from benchmarks.rows import Row, Rows
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.cores.steps.loop import LoopCore
from rbdhw.explore.algorithm_search import search_build
from rbdhw.explore.plan import Scheduled
from rbdhw.explore.search import BuildSearch
from rbdhw.options.build import LOOP, BuildOptions

BUILDS = (("iiwa14", "rk4"), ("iiwa14", "drk4"), ("hyq", "rk4"))
"""The robots and functions of the comparison."""

INTERVALS = (2, 4)

BITS = 24
"""The width of the multipliers."""


def stage_rows(builds: Sequence[tuple[str, str]] = BUILDS, among: Sequence[int] = INTERVALS) -> Rows:
    """Return units, resources, latency and errors by robot, function and interval, for each way to share.

    Stages loop at intervals that are a multiple of their number. The way that ``auto`` chooses is marked.
    """
    rows: Rows = []
    for name, function in builds:
        options = BuildOptions(functions=(function,), width=BITS, data_width=1024, samples=1024)
        search = search_build(robot_of(name), options)
        for ii in among:
            chosen = _sharing(search.schedule(search.choose(ii).core, ii))
            for scheduled in _ways(search, ii):
                line = _row(scheduled, function)
                chooses = {"chosen": line["in_turn"] == chosen}
                rows.append({"robot": name, "function": function, "ii": ii, **line, **chooses})
    return rows


def _ways(search: BuildSearch, ii: int) -> Iterator[Scheduled]:
    """Yield a build at an interval with each way to share the hardware of a stage."""
    for share in ("off", "on", LOOP):
        asked = search.with_options(replace(search.options, share_stages=share))
        for core in asked.cores(ii):
            yield asked.schedule(core, ii)


def _row(scheduled: Scheduled, function: str) -> Row:
    """Return the hardware of a build, its latency, and its errors in ordinary motions."""
    motion = scheduled.formats.errors[function].strata["motion"]
    return {
        "in_turn": _sharing(scheduled),
        "dsp_blocks": scheduled.core.dsp_blocks,
        "luts": scheduled.estimate.luts,
        "flip_flops": scheduled.estimate.flip_flops,
        "latency": scheduled.core.latency[function],
        "median": motion.median,
        "max": motion.max,
    }


def _sharing(build: Scheduled) -> str:
    """Return what shares hardware in a build."""
    if isinstance(build.core, LoopCore):
        return "stages in a loop"
    assert isinstance(build.core, PipelineCore)
    if not build.core.schedule.twins:
        return "nothing"
    return "stages" if build.sharing.stages else "limbs"


def stage_layout(rows: Rows) -> Rows:
    """Return a line for each build."""
    return [
        {
            "robot": row["robot"],
            "function": row["function"],
            "II": row["ii"],
            "in turn": row["in_turn"],
            "DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs, by estimate": f"{row['luts']:,}",
            "flip-flops": f"{row['flip_flops']:,}",
            "core latency": f"{row['latency']} cycles",
            "errors, median / largest": f"{row['median']:.1e} / {row['max']:.1e}",
            "chosen": "yes" if row["chosen"] else "",
        }
        for row in rows
    ]
