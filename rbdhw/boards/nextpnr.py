"""Placement and routing for ECP5 with nextpnr: several seeds, progress, and reports."""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.errors import told_apart
from rbdhw.estimate.resources import Resources
from rbdhw.progress import Progress, silent, within
from rbdhw.remarks import warn
from rbdhw.runtime.executor import execute_in_order
from rbdhw.timing.netlist import place_of

NEXTPNR = "nextpnr-ecp5"

SEED = 1
"""The default seed of the first placement."""

REPORT, LOG = "placement.json", "placement.log"
"""The files of nextpnr beside a netlist."""

LARGEST_SEED = 2**31 - 1

TRIES = 3
"""The default of the most placements of a design."""

DEVICES: Mapping[str, tuple[str, ...]] = {
    "ecp5-85": ("--85k", "--package", "CABGA381", "--speed", "6"),
}
"""The options of nextpnr for each supported target."""

# Log lines of the router, of simulated annealing, and of the analytical placer.
_ROUTED = re.compile(r"Info: +\d+ \|[^|]*\|[^|]*\| *(\d+)\|")
_REFINED = re.compile(r"Info: +at iteration #(\d+): temp")
_PLACED = re.compile(r"Info: +at iteration #(\d+), type")


@dataclass(frozen=True)
class Report:
    """The report of nextpnr on a routed design with one clock."""

    achieved_mhz: float
    """The clock that the slowest path permits."""
    asked_mhz: float
    resources: Resources
    start: str
    """The region, or other module, at the beginning of the slowest path."""
    end: str

    @property
    def met(self) -> bool:
        """Whether the design reaches the requested clock."""
        return self.achieved_mhz >= self.asked_mhz


@dataclass(frozen=True)
class Attempt:
    """A placement: its seed, and the clock that its slowest path permits."""

    seed: int
    achieved_mhz: float


@dataclass(frozen=True)
class Placed:
    """The best of several placements of one design."""

    tries: tuple[Attempt, ...]
    """All placements in order."""
    seed: int
    """Of the best placement, as is the report."""
    report: Report

    def explain_miss(self, where: str, path: Path) -> str | None:
        """Return the message about a missed clock on the device ``where``, or None if it is reached.

        The message names remedies and ``path``, the report's file.
        """
        report, count = self.report, len(self.tries)
        if report.met:
            return None
        digits = len(f"{report.achieved_mhz:.0f}") + 1
        achieved, asked = told_apart(report.achieved_mhz, report.asked_mhz, digits)
        reached = f"--clock {math.floor(report.achieved_mhz)} --seed {self.seed}"
        which = f"seed {self.seed}" if count == 1 else f"seed {self.seed}, the best of {count} tries"
        return (
            f"timing: the design reaches {achieved} MHz of {asked} MHz on {where} with {which}; "
            f"its slowest path goes from {report.start} to {report.end}, see {path}; "
            f"synthesize with {reached}, which it reached, or with more --tries, "
            "or generate with a lower --clock, a larger --ii, a smaller --width or fewer --functions"
        )


def seeds_from(first: int, tries: int) -> range:
    """Return the seeds of at most ``tries`` placements, starting with ``first``."""
    return range(first, min(first + tries, LARGEST_SEED + 1))


def best_placement(
    seeds: Sequence[int],
    run: Callable[[int, Progress], Report],
    results: Sequence[Path],
    progress: Progress = silent,
) -> Placed:
    """Place a design with one seed after the other until one reaches the clock; keep the best placement.

    ``run`` places with a seed, writes the files ``results`` and returns the report. At the end these files
    are those of the best placement.
    """
    tries: list[Attempt] = []
    best: tuple[int, Report] | None = None
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as aside:
        for number, seed in enumerate(seeds, start=1):
            step = f"placement with nextpnr, try {number} of {len(seeds)}, seed {seed}"
            if best is not None:
                step += f"; best {best[1].achieved_mhz:.1f} of {best[1].asked_mhz:g} MHz"
            progress(step)
            report = run(seed, within(step, progress))
            tries.append(Attempt(seed, report.achieved_mhz))
            if best is None or report.achieved_mhz > best[1].achieved_mhz:
                best = seed, report
                for path in results:
                    shutil.copy2(path, aside)
            if report.met:
                break
        assert best is not None
        if best[0] != tries[-1].seed:
            for path in results:
                shutil.copy2(Path(aside, path.name), path)
    return Placed(tuple(tries), *best)


def place_and_route(
    netlist: Path,
    target: str,
    clock_mhz: float,
    seeds: Sequence[int],
    cluster: str | None = None,
    progress: Progress = silent,
) -> tuple[Placed, Path]:
    """Place and route a Yosys netlist (JSON) on a target of :data:`DEVICES`; return result and report file.

    The report ``placement.json`` and the log ``placement.log`` of the :func:`best_placement` are written next
    to the netlist. Its ports are assigned to arbitrary pins. A missed clock is not an error. The workers of
    the Dask scheduler ``cluster`` place with all seeds at once, of which those count that would be tried.
    Raises InputError if nextpnr is missing, :class:`~rbdhw.boards.tools.ToolError` if it fails.
    """
    report, log = netlist.parent / REPORT, netlist.parent / LOG
    distant: Mapping[int, tuple[str, str]] = {}
    if cluster is not None:
        jobs = {f"seed {seed}": (netlist.read_text(), target, clock_mhz, seed) for seed in seeds}
        distant = dict(zip(seeds, execute_in_order(_place_there, jobs, cluster, progress, warn), strict=True))

    def place(seed: int, watched: Progress) -> Report:
        if seed in distant:
            for path, text in zip((report, log), distant[seed], strict=True):
                path.write_text(text)
        else:
            _place(netlist, target, clock_mhz, seed, watched)
        return read_report(report)

    return best_placement(seeds, place, (report, log), progress), report


def _place(netlist: Path, target: str, clock_mhz: float, seed: int, progress: Progress) -> None:
    """Place and route with a seed; write :data:`REPORT` and :data:`LOG` beside the netlist."""
    folder = netlist.parent
    (folder / REPORT).unlink(missing_ok=True)
    timing = ("--freq", f"{clock_mhz:g}", "--timing-allow-fail", "--seed", str(seed))
    files = ("--json", netlist.name, "--report", REPORT, "--log", LOG, "--lpf-allow-unconstrained")
    command = [find_tool(NEXTPNR), "-q", *DEVICES[target], *timing, *files]
    run_tool(NEXTPNR, command, folder=folder, log=folder / LOG, progress=progress, state=state_of)


def _place_there(job: tuple[str, str, float, int]) -> tuple[str, str]:
    """Place the text of a netlist on a worker; return the report and the log."""
    text, target, clock_mhz, seed = job
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        netlist = Path(folder, "netlist.json")
        netlist.write_text(text)
        _place(netlist, target, clock_mhz, seed, silent)
        return (netlist.parent / REPORT).read_text(), (netlist.parent / LOG).read_text()


def state_of(log: str) -> str | None:
    """Return nextpnr's step at the end of its log, with its iteration or the connections left to route."""
    for line in reversed(log.splitlines()):
        if match := _ROUTED.match(line):
            return f"routing, {int(match[1]):,} connections left"
        if match := _REFINED.match(line):
            return f"refining, iteration {match[1]}"
        if match := _PLACED.match(line):
            return f"placing, iteration {match[1]}"
    return None


def read_report(path: Path) -> Report:
    """Return nextpnr's report on a routed design with one clock."""
    report: dict[str, Any] = json.loads(path.read_text())
    ((clock, rate),) = report["fmax"].items()
    used = {cell: count["used"] for cell, count in report["utilization"].items()}
    edge = f"posedge {clock}"
    slowest = next(p["path"] for p in report["critical_paths"] if p["from"] == p["to"] == edge)
    return Report(
        achieved_mhz=float(rate["achieved"]),
        asked_mhz=float(rate["constraint"]),
        resources=Resources(
            luts=used["TRELLIS_COMB"],
            flip_flops=used["TRELLIS_FF"],
            dsp_blocks=used["MULT18X18D"],
            block_rams=used["DP16KD"],
        ),
        start=place_of(slowest[0]["from"]["cell"]).region,
        end=place_of(slowest[-1]["to"]["cell"]).region,
    )
