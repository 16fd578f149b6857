"""The exploration of a build: resources, latency and rate at many initiation intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdhw.cores.checks import check_build
from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES, shares
from rbdhw.estimate.resources import RESOURCES
from rbdhw.explore.algorithm_search import search_build
from rbdhw.explore.initiation_interval import intervals as usual_intervals
from rbdhw.explore.search import BuildSearch
from rbdhw.frontend.read import read
from rbdhw.model.traffic import rate_text
from rbdhw.options.build import CHEAPER_CORE, BuildOptions, Pacing
from rbdhw.progress import Progress, silent
from rbdhw.remarks import warn
from rbdhw.runtime.executor import execute_in_order


def explore(
    urdf: Path,
    options: BuildOptions,
    intervals: Sequence[int] = (),
    progress: Progress = silent,
    overrides: Overrides | None = None,
    cluster: str | None = None,
) -> dict[str, Any]:
    """Return the resources, latencies and rates of a build at each interval, and the rates of its link.

    The ``core`` of the options is explored, or both cores if none is given or ``auto`` is. Without
    ``intervals`` those of :func:`rbdhw.explore.initiation_interval.intervals` are explored, and the one that
    the options give or have chosen. With the address of a Dask scheduler as ``cluster``, its workers compute
    the intervals, which here share what they have in common.

    Returns
    -------
    dict
        ``robot``, ``target``, ``functions``, ``clock_mhz``, ``width``, ``tdata``, ``streams``,
        ``bandwidth``, ``fit``;
        ``chosen``: the interval and core that ``generate`` takes with these options, and why. The interval is
        None if no interval meets the options; ``chosen`` is None if no option concerns the interval;
        ``rows``: for each interval and core the resources, their shares of the target, the latency of each
        function in cycles, and the tasks per second;
        ``refused``: the intervals at which a core cannot be built, and why;
        ``link``: for each function the bytes of a task, and the tasks per second that the link carries.
        Look-up tables, flip-flops and block RAMs are estimates.
    """
    if options.clock_goal is not None:
        reason = f"{options.clock_goal} is not possible where intervals are compared"
        raise InputError("clock", reason, "a number of MHz")
    bandwidth = options.pacing.bandwidth if options.pacing else None
    every = replace(options, ii=None, pacing=Pacing(bandwidth=bandwidth), core=options.core or CHEAPER_CORE)
    check_build(every)
    source, _ = read(urdf, every, progress)
    build = search_build(source, every, overrides, progress)
    chosen = _choose_interval(build, options)
    among = intervals or usual_intervals(build.unit)
    every_ii = sorted({*among, *([chosen["ii"]] if chosen and chosen["ii"] else [])})
    rows, refused = _rows(build, every_ii, cluster, progress)
    traffic, clock_mhz = build.link(rows[0]["ii"])
    link = {
        function: {
            "bytes_in": packets.bytes_in,
            "bytes_out": packets.bytes_out,
            "tasks_per_second": round(packets.tasks_per_second(clock_mhz, bandwidth)),
        }
        for function, packets in traffic.items()
    }
    return {
        "robot": build.prepared.model.source.name,
        "target": options.target,
        "functions": list(traffic),
        "clock_mhz": clock_mhz,
        "width": list(build.program(rows[0]["ii"]).port_widths),
        "tdata": options.data_width,
        "streams": options.streams,
        "bandwidth": bandwidth,
        "fit": options.fit,
        "chosen": chosen,
        "rows": rows,
        "refused": refused,
        "link": link,
    }


Rows = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""The rows of cores, and the refusals."""


def _rows(build: BuildSearch, intervals: Sequence[int], cluster: str | None, progress: Progress) -> Rows:
    """Return a row for each interval and core, and the intervals that a core refuses."""
    if cluster is None:
        each = [_rows_at((build, ii)) for ii in intervals]
    else:
        jobs = {f"an II of {ii}": (replace(build, progress=silent), ii) for ii in intervals}
        each = execute_in_order(_rows_at, jobs, cluster, progress, warn)
    return [row for rows, _ in each for row in rows], [row for _, refused in each for row in refused]


def _rows_at(job: tuple[BuildSearch, int]) -> Rows:
    build, ii = job
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for core in build.cores(ii):
        try:
            rows.append(_row(build, core, ii))
        except InputError as error:
            if core == build.kinds[0].name:
                raise
            refused.append({"ii": ii, "core": core, "why": str(error)})
    return rows, refused


def _choose_interval(build: BuildSearch, options: BuildOptions) -> dict[str, Any] | None:
    """Return the interval and core that ``generate`` takes, or None if no option concerns the interval."""
    if options.ii is None and options.pacing is None and options.fit is None:
        return None
    check_build(options)
    try:
        asked = build.with_options(options)
        interval = asked.interval()
        core = asked.choose(interval.ii).core
    except InputError as error:
        return {"ii": None, "core": None, "why": str(error)}
    return {"ii": interval.ii, "core": core, "why": interval.why}


def _row(build: BuildSearch, core: str, ii: int) -> dict[str, Any]:
    plan = build.schedule(core, ii)
    return {
        "ii": ii,
        "core": core,
        "multipliers": plan.core.multipliers,
        **plan.estimate.json(),
        "shares": shares(plan.estimate, build.device),
        "latency": plan.latency,
        "core_latency": plan.core.latency,
        "tasks_per_second": round(plan.clock_mhz * 1e6 / ii),
    }


Table = tuple[str, list[str], list[list[str]]]
"""The title of a table, its columns and its rows."""


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the results of :func:`explore` as tables of up to 80 columns: hardware, rates and latencies."""
    title = f"{results['robot']} on {results['target']} at {results['clock_mhz']:g} MHz"
    hardware, times = [], []
    for row in results["rows"]:
        first = [_interval_text(row, results["chosen"]), row["core"]]
        used = [f"{row[name]:,} {row['shares'][name]:.1%}" for name in RESOURCES]
        hardware.append([*first, *used])
        cycles = [str(row["latency"][function]) for function in results["functions"]]
        times.append([*first, rate_text(row["tasks_per_second"]), *cycles])
    share = f"{title}: hardware by estimate, and share of the device"
    latency = f"{title}: tasks a second, and latencies in cycles"
    return [
        (share, ["II", "core", *(NAMES[name] for name in RESOURCES)], hardware),
        (latency, ["II", "core", "tasks/s", *results["functions"]], times),
    ]


def _interval_text(row: dict[str, Any], chosen: dict[str, Any] | None) -> str:
    starred = chosen is not None and (row["ii"], row["core"]) == (chosen["ii"], chosen["core"])
    return f"{row['ii']}*" if starred else str(row["ii"])


def remarks(results: dict[str, Any]) -> list[str]:
    """Return the lines below the tables: the link's rate, the chosen interval, and the cores' refusals."""
    function, slowest = min(results["link"].items(), key=lambda entry: entry[1]["tasks_per_second"])
    # The link's rate may have been rounded down by up to half a task per second.
    least = math.ceil(results["clock_mhz"] * 1e6 / (slowest["tasks_per_second"] + 0.5))
    pairs = f"{results['streams']} times " if results["streams"] > 1 else ""
    link = (
        f"{results['bandwidth']:g} GB/s"
        if results["bandwidth"]
        else f"{pairs}{results['tdata']} bits a cycle"
    )
    limit = "which limits no II" if least == 1 else f"which limits an II below {least}"
    lines = [f"link ({link}): {rate_text(slowest['tasks_per_second'])} tasks/s of {function}, {limit}"]
    chosen = results["chosen"]
    if chosen is not None and chosen["ii"] is None:
        lines.append(f"no II can be chosen: {chosen['why']}")
    elif chosen is not None:
        lines.append(f"* generate takes II {chosen['ii']} on the {chosen['core']}: {chosen['why']}")
    lines += [f"{row['core']} at an II of {row['ii']}: {row['why']}" for row in results["refused"]]
    return lines
