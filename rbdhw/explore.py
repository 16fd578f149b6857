"""What a robot's accelerator takes and gives at many initiation intervals, beside what its link allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdhw.config import BuildOptions
from rbdhw.interval import INTERVALS, Interval
from rbdhw.pipeline import Alternatives, Progress, alternatives, read, silent


def explore(
    urdf: Path,
    options: BuildOptions,
    intervals: Sequence[int] = INTERVALS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The hardware, latencies and rates of a build at each interval, and the rates that its link allows.

    Parameters
    ----------
    options
        Of the build; its ``pacing`` tells the bandwidth of the link.

    Returns
    -------
    dict
        ``robot``, ``target``, ``functions``, ``clock_mhz``, ``width``, ``rows`` (one an interval: hardware,
        latencies in cycles by function, tasks a second) and ``link`` (by function bytes a task, and the tasks
        a second that the link carries). Look-up tables, flip-flops and block RAMs are estimates.

    Raises
    ------
    InputError
        For a robot or an option that cannot be built.
    """
    source, _ = read(urdf, options, progress)
    build = alternatives(source, options, progress=progress)
    progress("choosing number formats")
    build.program(intervals[0])
    rows = []
    for ii in intervals:
        progress(f"scheduling at an II of {ii}")
        rows.append(_row(build, ii))
    bandwidth = options.pacing.bandwidth if options.pacing else None
    packets, clock_mhz = build.traffic(intervals[0])
    link = {
        function: {
            "bytes_in": own.bytes_in,
            "bytes_out": own.bytes_out,
            "tasks_per_second": round(own.tasks_per_second(clock_mhz, bandwidth)),
        }
        for function, own in packets.items()
    }
    return {
        "robot": build.robot,
        "target": options.target,
        "functions": list(packets),
        "clock_mhz": clock_mhz,
        "width": list(build.program(intervals[0]).port_widths),
        "bandwidth": bandwidth,
        "rows": rows,
        "link": link,
    }


def _row(build: Alternatives, ii: int) -> dict[str, Any]:
    plan = build.plan(Interval(ii, "explored"))
    return {
        "ii": ii,
        "multipliers": plan.multipliers,
        **plan.estimate.json(),
        "latency": {function: cycles + 1 for function, cycles in plan.bound.latency.items()},
        "tasks_per_second": round(plan.bound.clock_mhz * 1e6 / ii),
    }


def table(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of what :func:`explore` found; the last row tells the rates of the link."""
    functions = found["functions"]
    columns = ["II", "multipliers", "DSP blocks", "LUTs", "flip-flops", "block RAMs"]
    columns += [f"{function} (cycles)" for function in functions] + ["tasks/s", "tasks/s by the link"]
    link = min(own["tasks_per_second"] for own in found["link"].values())
    rows = []
    for row in found["rows"]:
        counts = [row[name] for name in ("multipliers", "dsp_blocks", "luts", "flip_flops", "block_rams")]
        rate = row["tasks_per_second"]
        cells = [row["ii"], *counts, *(row["latency"][function] for function in functions)]
        rows.append([*(f"{cell:,}" for cell in cells), rate_text(rate), rate_text(min(rate, link))])
    return columns, rows


def rate_text(rate: float) -> str:
    """Tasks a second in millions."""
    return f"{rate / 1e6:.4g} M"
