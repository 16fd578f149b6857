"""What a robot's accelerator takes and gives at many initiation intervals, beside what its link allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdhw.config import CHEAPER_CORE, CORES, BuildOptions
from rbdhw.errors import InputError
from rbdhw.interval import INTERVALS
from rbdhw.pipeline import read
from rbdhw.planning import Alternatives, Progress, alternatives, silent


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
        Of the build; its ``pacing`` tells the bandwidth of the link, its ``core`` which are explored: where
        that is to be the cheaper one, both.

    Returns
    -------
    dict
        ``robot``, ``target``, ``functions``, ``clock_mhz``, ``width``, ``bandwidth``, ``rows`` (one an
        interval and core: hardware, latencies in cycles by function, tasks a second), ``refused`` (where the
        array finds no place, and why) and ``link`` (by function bytes a task, and the tasks a second that the
        link carries). Look-up tables, flip-flops and block RAMs are estimates.

    Raises
    ------
    InputError
        For a robot or an option that cannot be built.
    """
    source, _ = read(urdf, options, progress)
    build = alternatives(source, options, progress=progress)
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for ii in intervals:
        for core in build.cores(ii):
            try:
                rows.append(_row(build, core, ii))
            except InputError as error:
                if options.core != CHEAPER_CORE or core == CORES[0]:
                    raise
                refused.append({"ii": ii, "core": core, "why": str(error)})
    bandwidth = options.pacing.bandwidth if options.pacing else None
    packets, clock_mhz = build.traffic(rows[0]["ii"])
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
        "width": list(build.program(rows[0]["ii"]).port_widths),
        "bandwidth": bandwidth,
        "rows": rows,
        "refused": refused,
        "link": link,
    }


def _row(build: Alternatives, core: str, ii: int) -> dict[str, Any]:
    plan = build.planned(core, ii)
    return {
        "ii": ii,
        "core": core,
        "multipliers": plan.multipliers,
        **plan.estimate.json(),
        "latency": plan.latency,
        "core_latency": plan.core_latency,
        "tasks_per_second": round(plan.bound.clock_mhz * 1e6 / ii),
    }


def table(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of what :func:`explore` found; a function's column tells its latency in cycles."""
    functions = found["functions"]
    columns = ["II", "core", "multipliers", "DSP blocks", "LUTs", "flip-flops", "block RAMs"]
    columns += [*functions, "tasks/s", "tasks/s by the link"]
    link = min(own["tasks_per_second"] for own in found["link"].values())
    rows = []
    for row in found["rows"]:
        counts = [row[name] for name in ("multipliers", "dsp_blocks", "luts", "flip_flops", "block_rams")]
        rate = row["tasks_per_second"]
        cells = [*counts, *(row["latency"][function] for function in functions)]
        numbers = [f"{cell:,}" for cell in cells]
        rows.append([str(row["ii"]), row["core"], *numbers, rate_text(rate), rate_text(min(rate, link))])
    return columns, rows


def rate_text(rate: float) -> str:
    """Tasks a second in millions."""
    return f"{rate / 1e6:.4g} M"
