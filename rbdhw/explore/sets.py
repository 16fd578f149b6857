"""The exploration of accelerators with several cores: resources, latencies and rates of sets of cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdhw.cores.checks import check_build
from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES, shares
from rbdhw.estimate.resources import RESOURCES
from rbdhw.explore.accelerator import Planner, check_fit
from rbdhw.explore.intervals import Table
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.explore.search import prepare_build
from rbdhw.frontend.read import read
from rbdhw.model.traffic import rate_text, traffic
from rbdhw.options.build import DEFAULT_CORE, BuildOptions, CoreRequest
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
from rbdhw.remarks import warn
from rbdhw.runtime.executor import execute_in_order
from rbdhw.runtime.number_bounds import MOST_II

SHARES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The shares of the device for which cores for a mix are chosen."""

FACTORS = (1, 2, 4, 8, 16)
"""The factors by which the intervals of given cores are made longer."""


def explore(
    urdf: Path,
    options: BuildOptions,
    progress: Progress = silent,
    overrides: Overrides | None = None,
    cluster: str | None = None,
) -> dict[str, Any]:
    """Return the resources, latencies and rates of several sets of cores.

    With a mix, the sets are those that are chosen for different shares of the device, up to that of the
    options; of equal sets the first is kept. With given cores they are these cores and the same at longer
    intervals. With copies of one core they are fewer copies, too. With the address of a Dask scheduler as
    ``cluster``, its workers plan the sets, which here share what they have in common.

    Returns
    -------
    dict
        ``robot``, ``target``, ``functions``, ``tdata``, ``streams``, ``bandwidth``, ``fit``;
        ``chosen``: the number of the set that ``generate`` takes with these options, and why; the number is
        None if it refuses them;
        ``rows``: for each set its ``cores``, the clock, the resources, their shares of the target, and for
        each function the latency in cycles and the tasks per second that its cores and the link carry; with a
        mix also the mixes per second, what limits them, and the share of the device that was allowed;
        ``refused``: the sets that cannot be built, and why.
        Look-up tables, flip-flops and block RAMs are estimates.
    """
    check_build(options)
    source, _ = read(urdf, options, progress)
    planner = Planner(prepare_build(source, options, overrides, progress), options, progress)
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    chosen: dict[str, Any] = {}
    candidates = list(_candidates(options))
    for each, (row, why) in zip(candidates, _planned(planner, candidates, cluster), strict=True):
        if row is None:
            refused.append({"cores": _cores_text(each), "fit": each.fit, "why": why})
            continue
        if not rows or row["cores"] != rows[-1]["cores"]:
            rows.append(row)
        if each == options:
            chosen = _chosen(why, options, len(rows))
    return {
        "robot": source.name,
        "target": options.target,
        "functions": [name for name in FUNCTIONS if name in options.functions],
        "tdata": options.data_width,
        "streams": options.streams,
        "bandwidth": _bandwidth(options),
        "fit": options.fit,
        "chosen": chosen or {"set": None, "why": refused[-1]["why"]},
        "rows": rows,
        "refused": refused,
    }


def _candidates(options: BuildOptions) -> Iterator[BuildOptions]:
    """Yield the options of each set, those that the user gave last."""
    if options.mix:
        whole = options.fit or 1.0
        yield from (replace(options, fit=share) for share in SHARES if share < whole)
    elif options.cores:
        for factor in reversed(FACTORS[1:]):
            if all(core.ii * factor <= MOST_II for core in options.cores):
                slower = tuple(replace(core, ii=core.ii * factor) for core in options.cores)
                yield replace(options, cores=slower)
    else:
        yield from (replace(options, copies=copies) for copies in range(1, options.copies))
    yield options


Planned = tuple[dict[str, Any] | None, str]
"""The row of a set, and why it takes more of the device than it may; or None, and why it cannot be built."""


def _planned(planner: Planner, candidates: Sequence[BuildOptions], cluster: str | None) -> list[Planned]:
    """Return what becomes of each set."""
    if cluster is None:
        return [_plan((planner, each)) for each in candidates]
    jobs = {
        f"set {k}": (replace(planner, progress=silent), each) for k, each in enumerate(candidates, start=1)
    }
    return execute_in_order(_plan, jobs, cluster, planner.progress, warn)


def _plan(job: tuple[Planner, BuildOptions]) -> Planned:
    planner, options = job
    try:
        plan = replace(planner, options=options).serve_mix() if options.mix else planner.plan_cores(options)
    except InputError as error:
        return None, str(error)
    try:
        check_fit(plan, options)
    except InputError as error:
        return _row(plan, options), str(error)
    return _row(plan, options), ""


def _row(plan: AcceleratorPlan, options: BuildOptions) -> dict[str, Any]:
    clock_mhz, rates = plan.clock_mhz, {}
    for name, packets in traffic(plan.interface).items():
        part = plan.part_of(name)
        core = part.copies * clock_mhz * 1e6 / part.plan.ii
        rates[name] = round(min(core, packets.tasks_per_second(clock_mhz, _bandwidth(options))))
    requests = [
        CoreRequest(part.functions, part.plan.ii, part.plan.core.name, part.copies) for part in plan.parts
    ]
    return {
        "cores": " ".join(map(_core_text, requests)),
        "clock_mhz": clock_mhz,
        "multipliers": sum(core.multipliers for core in plan.cores),
        **plan.estimate.json(),
        "shares": shares(plan.estimate, plan.device),
        "latency": {name: plan.latency(name) for name in rates},
        "tasks_per_second": rates,
        **({"allowed": options.fit or 1.0} if options.mix else {}),
        **(plan.mix.model_dump(include={"mixes_per_second", "limited_by"}) if plan.mix else {}),
    }


def _chosen(too_large: str, options: BuildOptions, number: int) -> dict[str, Any]:
    """Return the set that ``generate`` takes, unless it takes more of the device than it may."""
    if too_large:
        return {"set": None, "why": too_large}
    return {"set": number, "why": "the most mixes a second" if options.mix else "asked for"}


def _bandwidth(options: BuildOptions) -> float | None:
    return options.pacing.bandwidth if options.pacing else None


def _cores_text(options: BuildOptions) -> str:
    """Return the cores that the options give; none if they are to be chosen."""
    cores = options.cores or (CoreRequest(options.functions, options.least_ii, copies=options.copies),)
    return "" if options.mix else " ".join(map(_core_text, cores))


def _core_text(core: CoreRequest) -> str:
    """Return a core in the syntax of ``--cores``; a pipeline is not named."""
    kind = f":{core.core}" if core.core not in (None, DEFAULT_CORE) else ""
    copies = f"*{core.copies}" if core.copies > 1 else ""
    return f"{','.join(core.functions)}:{core.ii}{kind}{copies}"


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the results of :func:`explore` as tables: sets, hardware, rates and latencies."""
    title, functions = f"{results['robot']} on {results['target']}", results["functions"]
    sets, hardware, rates, latencies = [], [], [], []
    for number, row in enumerate(results["rows"], 1):
        first = f"{number}*" if number == results["chosen"]["set"] else str(number)
        sets.append([first, *_mix_cells(row), f"{row['clock_mhz']:g}", row["cores"]])
        hardware.append([first, *(f"{row[name]:,} {row['shares'][name]:.1%}" for name in RESOURCES)])
        rates.append([first, *(rate_text(row["tasks_per_second"][name]) for name in functions)])
        latencies.append([first, *(str(row["latency"][name]) for name in functions)])
    resources = [NAMES[name] for name in RESOURCES]
    of_mix = ["share", "mixes/s"] if any("allowed" in row for row in results["rows"]) else []
    return [
        (f"{title}: sets of cores", ["set", *of_mix, "MHz", "cores"], sets),
        (f"{title}: hardware by estimate, and share of the device", ["set", *resources], hardware),
        (f"{title}: tasks a second of each function alone", ["set", *functions], rates),
        (f"{title}: latencies in cycles", ["set", *functions], latencies),
    ]


def _mix_cells(row: dict[str, Any]) -> list[str]:
    """Return the share of the device that a set for a mix may use, and its rate."""
    if "allowed" not in row:
        return []
    return [f"{row['allowed']:.0%}", rate_text(row["mixes_per_second"])]


def remarks(results: dict[str, Any]) -> list[str]:
    """Return the lines below the tables: the set that is taken, what limits each, and what was refused."""
    chosen = results["chosen"]
    if chosen["set"] is None:
        lines = [f"generate takes none: {chosen['why']}"]
    else:
        lines = [f"* generate takes set {chosen['set']}: {chosen['why']}"]
    limits = [(k, row["limited_by"]) for k, row in enumerate(results["rows"], 1) if "limited_by" in row]
    lines += [f"set {number} is limited by {limit}" for number, limit in limits]
    for refused in results["refused"]:
        name = refused["cores"] or f"{refused['fit'] or 1.0:.0%} of {results['target']}"
        lines.append(f"{name}: {refused['why']}")
    return lines
