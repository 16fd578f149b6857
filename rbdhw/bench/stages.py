"""The stages of Runge-Kutta, each with its own hardware or all in turn in that of one; and limbs in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbdhw.bench.builds import robot_of
from rbdhw.bench.integrators import BITS
from rbdhw.bench.rows import Rows
from rbdhw.config import BuildOptions
from rbdhw.cores.pipeline import PipelineCore
from rbdhw.estimate.core import counts
from rbdhw.explore.plan import Scheduled
from rbdhw.explore.search import BuildSearch, prepare_build

BUILDS = (("iiwa14", "rk4"), ("iiwa14", "drk4"), ("hyq", "rk4"))
"""The robots and functions of the comparison."""

INTERVALS = (1, 2, 4, 8)


def stage_rows(builds: Sequence[tuple[str, str]] = BUILDS, among: Sequence[int] = INTERVALS) -> Rows:
    """Return units, resources and latency by robot, function and interval: stages in turn, and not."""
    rows = []
    for name, function in builds:
        options = BuildOptions(functions=(function,), width=BITS, data_width=1024, samples=1024)
        search = BuildSearch(prepare_build(robot_of(name), options), options)
        for ii in among:
            for share in ("off", "on") if ii > 1 else ("off",):
                own = search.with_options(replace(options, share_stages=share)).schedule("pipeline", ii)
                assert isinstance(own.core, PipelineCore)
                rows.append(
                    {
                        "robot": name,
                        "function": function,
                        "ii": ii,
                        "in_turn": _in_turn(own),
                        "adders": counts(own.program, own.core.schedule).adders,
                        "dsp_blocks": own.core.dsp_blocks,
                        "luts": own.estimate.luts,
                        "flip_flops": own.estimate.flip_flops,
                        "latency": own.core.latency[function],
                    }
                )
    return rows


def _in_turn(build: Scheduled) -> str:
    """Return what shares hardware in a build."""
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
            "adders": f"{row['adders']:,}",
            "DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs, by estimate": f"{row['luts']:,}",
            "flip-flops": f"{row['flip_flops']:,}",
            "core latency": f"{row['latency']} cycles",
        }
        for row in rows
    ]
