"""The four stages of Runge-Kutta: unrolled in the graph, or four passes through the hardware of one stage.

What is built is the unrolled graph, whose stages share units in slots. The other way is counted from a core
of one stage's dynamics, which works at a quarter of the interval, and from the products that join the stages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rbdhw.bench.builds import robot_of
from rbdhw.bench.integrators import BITS, INSIDE
from rbdhw.bench.rows import Rows
from rbdhw.config import BuildOptions
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.frontend.build_graph import multiplications

STAGES = 4

INTERVALS = (1, 4, 8)
"""The intervals of the comparison; one that is no multiple of the stages leaves no time for four passes."""


def stage_rows(
    name: str = "iiwa14", functions: Sequence[str] = ("rk4", "drk4"), among: Sequence[int] = INTERVALS
) -> Rows:
    """Return DSP blocks, look-up tables and latency of both ways, by function and interval.

    The products beyond four times the dynamics join the stages after the first. Through the hardware of one
    stage a third of them takes multipliers in each pass. Their adders are not counted, nor is their latency.
    """
    rows = []
    for function in functions:
        whole, one = _search(name, function), _search(name, INSIDE[function][0])
        beyond = multiplications(whole.prepared.graph) - STAGES * multiplications(one.prepared.graph)
        joining = math.ceil(beyond / (STAGES - 1))
        for ii in among:
            unrolled = whole.schedule("pipeline", ii)
            row = {
                "function": function,
                "ii": ii,
                "dsp_blocks": unrolled.core.dsp_blocks,
                "luts": unrolled.estimate.luts,
                "latency": unrolled.core.latency[function],
            }
            if ii % STAGES == 0:
                stage = one.schedule("pipeline", ii // STAGES)
                row |= {
                    "stage_dsp_blocks": stage.core.dsp_blocks,
                    "joining": math.ceil(joining * STAGES / ii),
                    "stage_luts": stage.estimate.luts,
                    "stage_latency": stage.core.latency[INSIDE[function][0]],
                }
            rows.append(row)
    return rows


def _search(name: str, function: str) -> BuildSearch:
    """Return the search of builds of one function at any interval."""
    options = BuildOptions(functions=(function,), width=BITS, data_width=1024, samples=1024)
    return BuildSearch(prepare_build(robot_of(name), options), options)


def stage_layout(rows: Rows) -> Rows:
    """Return a line for each function and interval, with both ways side by side."""
    return [
        {
            "function": row["function"],
            "II": row["ii"],
            "unrolled: DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs by estimate": f"{row['luts']:,}",
            "core latency": f"{row['latency']} cycles",
            "one stage: DSP blocks": _blocks(row),
            "its LUTs by estimate": f"{row['stage_luts']:,}" if "joining" in row else "–",
            "four passes": f"{STAGES * row['stage_latency']} cycles" if "joining" in row else "–",
        }
        for row in rows
    ]


def _blocks(row: dict[str, int]) -> str:
    """Return the DSP blocks of a stage and of the products that join stages."""
    if "joining" not in row:
        return "–"
    return f"{row['stage_dsp_blocks']:,} + {row['joining']:,}"
