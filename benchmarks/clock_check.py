"""The timing check beside nextpnr, on designs that are placed and routed."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.durations import keep_work, on_all_cores
from benchmarks.rows import Rows
from benchmarks.synthesis import ALL, Subject, keep_netlist, planned
from rbdhw.boards.nextpnr import DEVICES, NEXTPNR, SEED, place_and_route
from rbdhw.boards.place import TOP, FoldedAccelerator
from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.boards.yosys import FAMILIES
from rbdhw.design.replacement import VERILOG
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import target as find_target
from rbdhw.timing.analysis import Graph
from rbdhw.timing.devices import FABRICS
from rbdhw.timing.ecp5 import ECP5
from rbdhw.timing.edges import PORT
from rbdhw.timing.netlist import Netlist, read_netlist
from rbdhw.timing.wires import Wires
from rbdhw.verilog_names import DEFAULT_NAME

ROUNDS = 6
"""The rounds of a fit."""

SEEDS = (SEED, SEED + 1, SEED + 2)


def routed() -> Iterable[Subject]:
    """Yield the designs that nextpnr routes in minutes, with each of the seeds."""
    toy = partial(Subject, "toy", target="ecp5-85", tdata=64)
    yield toy(("id",), 8, 18, clock_mhz=100.0)
    yield toy(("id",), 1, 18)
    yield toy(("id",), 4, 27)
    yield toy(("id",), 8, 18, core="array")
    yield toy(("id",), 4, 18, number="float32")
    yield toy(("fd",), 2, 18)
    yield toy(("fd",), 8, 24)
    yield toy(("did",), 8, 18)
    yield toy(("minv",), 4, 24, clock_mhz=70.0)
    yield toy(("minv",), 1, 18)
    yield toy(("m",), 4, 18, clock_mhz=90.0)
    yield toy(ALL, 16, 18)
    yield toy(ALL, 8, 18, clock_mhz=95.0)


def routed_once() -> Iterable[Subject]:
    """Yield the designs for which it takes a quarter of an hour, with the first seed."""
    yield Subject("iiwa14", ("m",), 16, 18, "ecp5-85", 64, clock_mhz=90.0)
    yield Subject("hyq", ("id",), 16, 18, "ecp5-85", 64)


def unrouted() -> Iterable[Subject]:
    """Yield the designs whose clock is that which nextpnr estimates before it routes."""
    iiwa = partial(Subject, "iiwa14", target="ecp5-85", tdata=64)
    yield iiwa(("id",), 16, 18)
    yield iiwa(("id",), 8, 18, clock_mhz=100.0)
    yield iiwa(("m", "minv"), 16, 18)
    yield Subject("tiago", ("m",), 8, 18, "ecp5-85", 64)
    yield iiwa(("fd",), 32, 18)
    yield Subject("iiwa14", ALL, 32, 18, "ecp5-85", 128, core="array", clock_mhz=40.0)


def subjects() -> Iterable[Subject]:
    """Yield the designs of the table, of each kind from small to large ones."""
    yield from routed()
    yield from routed_once()
    yield from unrouted()


def netlist_of(subject: Subject) -> Path:
    """Return the netlist of a design with its streams folded onto a few pins."""
    _, verilog = planned(subject)
    folded = to_verilog(FoldedAccelerator(data_width=subject.tdata, name=DEFAULT_NAME), TOP)
    return keep_netlist({VERILOG: verilog, f"{TOP}.v": folded}, TOP, find_target(subject.target))


def placement_of(netlist: Path, seed: int, clock_mhz: float) -> tuple[float, str]:
    """Return the clock that nextpnr reaches with a seed, and the cell at the end of its slowest path.

    The report is kept.
    """
    kept = netlist.with_name(f"placed-{seed}.json")

    def place() -> None:
        _, report = place_and_route(netlist, "ecp5-85", clock_mhz, [seed])
        report.rename(kept)

    keep_work(kept, place)
    report = json.loads(kept.read_text())
    ((clock, rate),) = report["fmax"].items()
    edge = f"posedge {clock}"
    slowest = next(p["path"] for p in report["critical_paths"] if p["from"] == p["to"] == edge)
    return float(rate["achieved"]), slowest[-1]["to"]["cell"]


def estimate_of(netlist: Path, seed: int, clock_mhz: float) -> float:
    """Return the clock that nextpnr estimates when it has placed a design; the log is kept."""
    kept = netlist.with_name(f"estimate-{seed}.log")

    def place() -> None:
        log = netlist.with_name("placement.log")
        files = ("--json", netlist.name, "--log", log.name, "--lpf-allow-unconstrained", "--no-route")
        settings = ("--freq", f"{clock_mhz:g}", "--timing-allow-fail", "--seed", str(seed))
        command = [find_tool(NEXTPNR), "-q", *DEVICES["ecp5-85"], *settings, *files]
        run_tool(NEXTPNR, command, folder=netlist.parent, log=log)
        log.rename(kept)

    keep_work(kept, place)
    return float(re.findall(r"Max frequency for clock .*: ([\d.]+) MHz", kept.read_text())[0])


@dataclass(frozen=True)
class PlacedDesign:
    """A design as the check sees it, and what nextpnr makes of it."""

    name: str
    graph: Graph
    mhz: tuple[float, ...]
    """The clocks that nextpnr reaches with each seed, or estimates after placement."""
    ends: tuple[str, ...]
    """The cells at the ends of its slowest paths; none if it did not route."""

    @property
    def period(self) -> float:
        """The mean of nextpnr's periods (ps)."""
        return statistics.fmean(1e6 / mhz for mhz in self.mhz)

    def error(self, wires: Wires) -> float:
        """Return how much faster the check's clock is than nextpnr's."""
        return self.period / self.graph.times(wires).period - 1.0

    def rank(self, wires: Wires) -> float | None:
        """Return the share of ends that the check finds slower than the slowest of nextpnr, at its worst."""
        cells = self.graph.netlist.cells
        order = [
            cells[cell].name if cell != PORT else "" for _, cell in self.graph.times(wires).slowest_ends()
        ]
        ranks = [order.index(end) / len(order) for end in self.ends if end in order]
        return max(ranks, default=None)


@dataclass(frozen=True)
class Placement:
    """The netlist of a design of the table, and what nextpnr makes of it, as in :class:`PlacedDesign`."""

    netlist: Path
    mhz: tuple[float, ...]
    ends: tuple[str, ...]


def place(subject: Subject) -> Placement:
    """Return a design's placements by all of its seeds."""
    netlist, clock = netlist_of(subject), subject.clock_mhz or find_target(subject.target).clock_mhz
    if subject in unrouted():
        return Placement(netlist, (estimate_of(netlist, SEED, clock),), ())
    seeds = SEEDS if subject in routed() else SEEDS[:1]
    mhz, ends = zip(*(placement_of(netlist, seed, clock) for seed in seeds), strict=True)
    return Placement(netlist, mhz, ends)


def placed_designs() -> list[PlacedDesign]:
    """Return the designs of the table, of which each core places one at a time."""
    return [
        PlacedDesign(
            str(subject), Graph(read_netlist(placement.netlist, TOP), ECP5), placement.mhz, placement.ends
        )
        for subject, placement in zip(subjects(), on_all_cores(place, subjects()), strict=True)
    ]


def fit(designs: Sequence[PlacedDesign]) -> Wires:
    """Return the wires with which the periods of designs are those of nextpnr, by relative least squares.

    The longest paths depend on the wires, so both are found in turn.
    """
    values = np.array(list(vars(FABRICS["ecp5"].wires).values()))
    for step in range(ROUNDS):
        wires = Wires(*values)
        rows, rests = [], []
        for design in designs:
            times = design.graph.times(wires)
            path = times.path_to(next(times.slowest_ends())[0])
            number, fan_out, blocks = path.counts
            counts = (number, number * design.graph.side, fan_out, blocks)
            rows.append(np.array(counts) / design.period)
            rests.append(1.0 - path.cells / design.period)
        values += (_nonnegative(np.array(rows), np.array(rests)) - values) / (1 + step / 4)
    return Wires(*values.round(1))


def _nonnegative(matrix: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least squares solution without negative numbers: the best of all choices of zeros."""
    columns = range(matrix.shape[1])
    best, least = np.zeros(len(columns)), math.inf
    for chosen in chain.from_iterable(combinations(columns, k) for k in range(1, len(columns) + 1)):
        solution = np.zeros(len(columns))
        solution[list(chosen)] = np.linalg.lstsq(matrix[:, chosen], values, rcond=None)[0]
        rest = float(np.linalg.norm(matrix @ solution - values))
        if solution.min() >= 0 and rest < least:
            best, least = solution, rest
    return best


def count_luts(netlist: Netlist) -> int:
    """Return the look-up tables that a netlist takes, those of carry chains and memories among them."""
    return sum(FAMILIES["ecp5"].luts.get(cell.kind, 0) for cell in netlist.cells)


def clock_rows() -> Rows:
    """Return the clocks of the check and of nextpnr, and its errors, also by the wires of other designs."""
    return rows_of(placed_designs())


def rows_of(designs: Sequence[PlacedDesign]) -> Rows:
    """Return a row for each design."""
    wires = FABRICS["ecp5"].wires
    return [
        {
            "design": design.name.replace(" ecp5-85", ""),
            "luts": count_luts(design.graph.netlist),
            "side": design.graph.side,
            "nextpnr": design.mhz,
            "routed": bool(design.ends),
            "check": 1e6 / design.graph.times(wires).period,
            "error": design.error(wires),
            "left_out": design.error(fit([other for other in designs if other is not design])),
            "rank": design.rank(wires),
        }
        for design in designs
    ]


def clock_layout(rows: Rows) -> Rows:
    """Return a line for each design, and one for all."""
    lines: Rows = []
    for row in rows:
        least, most = min(row["nextpnr"]), max(row["nextpnr"])
        lines.append(
            {
                "design": row["design"],
                "LUTs": row["luts"],
                "side": f"{row['side']:.0f}",
                "nextpnr, MHz": f"{least:.1f} to {most:.1f}" if most > least else f"{most:.1f}",
                "routed": "yes" if row["routed"] else "no",
                "check, MHz": f"{row['check']:.1f}",
                "error": f"{row['error']:+.1%}",
                "error by the others": f"{row['left_out']:+.1%}",
                "slowest end in": "-" if row["rank"] is None else f"{max(row['rank'], 0.0001):.2%}",
            }
        )
    errors = [[abs(row[key]) for row in rows] for key in ("error", "left_out")]
    both = [f"{statistics.median(values):.1%} / {max(values):.1%}" for values in errors]
    keys = list(lines[0])
    return [*lines, dict(zip(keys, ["median / largest", "", "", "", "", "", *both, ""], strict=True))]
