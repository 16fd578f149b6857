"""The timing check beside nextpnr, on designs that are placed and routed."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from benchmarks.durations import keep_work, on_all_cores
from benchmarks.rows import Rows
from benchmarks.synthesis import ALL, Subject, keep_netlist, planned
from rbdhw.boards.nextpnr import DEVICES, LOG, NEXTPNR, REPORT, SEED
from rbdhw.boards.place import TOP, FoldedAccelerator
from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.boards.yosys import FAMILIES
from rbdhw.design.replacement import VERILOG
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import target as find_target
from rbdhw.timing.analysis import Graph, Times
from rbdhw.timing.devices import FABRICS
from rbdhw.timing.ecp5 import ECP5
from rbdhw.timing.edges import PORT
from rbdhw.timing.netlist import Netlist, read_netlist
from rbdhw.timing.wires import Wires
from rbdhw.verilog_names import DEFAULT_NAME

ROUNDS = 6
"""The rounds of a fit."""

LEAST_WIRE = 200.0
"""The delay (ps) of a connection from which on it leaves its tile, or takes a wire in it."""

BEND = 10
"""The length of wires (tiles) from which on they take less for each tile."""

NEIGHBOURS = 4
"""The cells in a row, without wires between them, of which one has a place."""

PLACES = "places.json"
"""The file in which nextpnr writes the placed design."""

LEAST_SHARE = 0.7
"""The share of the period from which on the arrival at an end counts in a fit."""

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


def routed_once() -> Iterable[Subject]:
    """Yield the designs for which it takes up to half an hour, with the first seed."""
    yield Subject("toy", ALL, 16, 18, "ecp5-85", 64)
    yield Subject("toy", ALL, 8, 18, "ecp5-85", 64, clock_mhz=95.0)
    yield Subject("hyq", ("id",), 16, 18, "ecp5-85", 64)
    yield Subject("iiwa14", ("id",), 8, 18, "ecp5-85", 64, clock_mhz=100.0)


def unrouted() -> Iterable[Subject]:
    """Yield the designs that are only placed: their wires are those of routed ones of the same lengths."""
    iiwa = partial(Subject, "iiwa14", target="ecp5-85", tdata=64)
    yield iiwa(("m",), 16, 18, clock_mhz=90.0)
    yield iiwa(("id",), 16, 18)
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


@dataclass(frozen=True)
class Run:
    """What nextpnr makes of a netlist with a seed."""

    places: dict[str, tuple[int, int]]
    """The tile of each cell that nextpnr placed."""
    mhz: float = math.nan
    """The clock that a routed design reaches."""
    arrivals: dict[str, float] = field(default_factory=dict)
    """The latest arrival (ps) at each cell of a routed design."""
    wires: tuple[tuple[int, float], ...] = ()
    """The lengths (tiles) and delays (ps) of the wires in the slowest paths."""

    @classmethod
    def of(cls, netlist: Path, seed: int, clock_mhz: float, *, route: bool) -> Run:
        """Place and route a netlist, or only place it; the results are kept."""
        kept = netlist.with_name(f"nextpnr-{seed}.json")

        def place() -> None:
            files = ("--json", netlist.name, "--log", LOG, "--write", PLACES, "--lpf-allow-unconstrained")
            settings = ("--freq", f"{clock_mhz:g}", "--timing-allow-fail", "--seed", str(seed))
            ends = ("--report", REPORT, "--detailed-timing-report") if route else ("--no-route",)
            command = [find_tool(NEXTPNR), "-q", *DEVICES["ecp5-85"], *settings, *files, *ends]
            run_tool(NEXTPNR, command, folder=netlist.parent, log=netlist.parent / LOG)
            placed, report = ((netlist.parent / name) for name in (PLACES, REPORT))
            run = cls(_places(placed), *(_routed(report) if route else ()))
            placed.unlink()
            kept.write_text(json.dumps(vars(run)))

        keep_work(kept, place)
        return cls(**json.loads(kept.read_text()))


def _places(written: Path) -> dict[str, tuple[int, int]]:
    """Return the tiles of the cells of the design that nextpnr wrote."""
    places: dict[str, tuple[int, int]] = {}
    for module in json.loads(written.read_text())["modules"].values():
        for name, cell in module["cells"].items():
            if place := re.match(r"X(\d+)/Y(\d+)/", cell["attributes"].get("NEXTPNR_BEL", "")):
                places[name.partition("$")[0]] = (int(place[1]), int(place[2]))
    return places


def _routed(path: Path) -> tuple[float, dict[str, float], list[tuple[int, float]]]:
    """Return clock, arrivals and wires of nextpnr's report."""
    report = json.loads(path.read_text())
    (rate,) = report["fmax"].values()
    arrivals: dict[str, float] = {}
    for net in report["detailed_net_timings"]:
        for end in net["endpoints"]:
            arrivals[end["cell"]] = max(arrivals.get(end["cell"], 0.0), 1000.0 * end["delay"][1])
    steps = [step for path in report["critical_paths"] for step in path["path"] if step["type"] == "routing"]
    wires = [(_length(step["from"]["loc"], step["to"]["loc"]), 1000.0 * step["delay"]) for step in steps]
    return (
        float(rate["achieved"]),
        arrivals,
        [(length, delay) for length, delay in wires if delay > LEAST_WIRE],
    )


def _length(start: Sequence[int], end: Sequence[int]) -> int:
    return sum(abs(a - b) for a, b in zip(start, end, strict=True))


class Lengths:
    """The delays (ps) of wires by their lengths, in least squares: a line with a bend."""

    def __init__(self, wires: Sequence[tuple[int, float]]) -> None:
        lengths, delays = np.array(wires).T
        self._terms = np.linalg.lstsq(self._shape(lengths), delays)[0]

    @staticmethod
    def _shape(lengths: NDArray[Any]) -> NDArray[np.float64]:
        near = np.minimum(lengths, BEND)
        return np.stack([np.ones(lengths.shape), near, lengths - near], axis=-1)

    def arrivals(self, graph: Graph, places: Mapping[str, Sequence[int]]) -> NDArray[np.float32]:
        """Return the latest arrivals (ps) at the ends of a graph whose cells are at these tiles."""
        at = _tiles(graph, places)
        ends = graph.owners[graph.source], graph.owners[graph.target]
        wires = (graph.counts[:, 0] > 0) & (ends[0] != PORT) & (ends[1] != PORT)
        start, end = (at[owners[wires]] for owners in ends)
        delays = graph.delay.copy()
        delays[wires] += self._shape(np.abs(end - start).sum(axis=1)) @ self._terms
        return graph.propagate(delays)[graph.ends[:, 0]]


def _tiles(graph: Graph, places: Mapping[str, Sequence[int]]) -> NDArray[np.float64]:
    """Return the tiles of cells; those that became part of another are where their neighbours are."""
    at = np.array([places.get(cell.name, (math.nan, math.nan)) for cell in graph.netlist.cells])
    middle = np.nanmean(at, axis=0)
    local = graph.counts[:, 0] == 0
    pairs = np.stack([graph.owners[graph.source[local]], graph.owners[graph.target[local]]], axis=1)
    pairs = pairs[(pairs != PORT).all(axis=1)]
    for here, there in NEIGHBOURS * [pairs.T, pairs.T[::-1]]:
        lost = np.isnan(at[here, 0]) & ~np.isnan(at[there, 0])
        at[here[lost]] = at[there[lost]]
    return np.where(np.isnan(at), middle, at)


@dataclass(frozen=True)
class PlacedDesign:
    """A design as the check sees it, and what nextpnr makes of it."""

    name: str
    graph: Graph
    mhz: tuple[float, ...]
    """The clocks that nextpnr reaches with each seed; of a design that is only placed, that of its wires."""
    arrivals: NDArray[np.float64]
    """By seed and end, when nextpnr's paths arrive (ps), or NaN; without seeds if it was only placed."""
    by_length: float
    """The clock by the lengths of wires, with the first seed."""

    @property
    def period(self) -> float:
        """The mean of nextpnr's periods (ps)."""
        return statistics.fmean(1e6 / mhz for mhz in self.mhz)

    def error(self, wires: Wires) -> float:
        """Return how much faster the check's clock is than nextpnr's."""
        return self.period / self.graph.times(wires).period - 1.0

    def rank(self, wires: Wires) -> float | None:
        """Return the share of ends that the check finds slower than the slowest of nextpnr's means."""
        if not len(self.arrivals):
            return None
        return share_above(self.graph.times(wires).at_ends, int(np.nanargmax(self.arrivals.mean(axis=0))))

    def rank_by_seed(self) -> float | None:
        """Return the share of ends that are slower by one seed than the slowest by another, at its worst."""
        pairs = permutations(self.arrivals, 2)
        return max((share_above(one, int(np.nanargmax(other))) for one, other in pairs), default=None)

    def equations(self, wires: Wires) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how the delays of paths depend on the numbers of :class:`Wires`, and what they should be.

        The paths are those to ends that are nearly as slow as the slowest, or the longest one if the
        design did not route. Both are relative to nextpnr's delays, and count as one path in all.
        """
        times = self.graph.times(wires)
        wanted = self.arrivals.mean(axis=0) if len(self.arrivals) else self._longest(times)
        cells, number, fan_out, blocks = times.shares().T.astype(float)
        chosen = (wanted > LEAST_SHARE * np.nanmax(wanted)) & (number > 0)
        counts = np.column_stack([number, number * self.graph.side, fan_out, blocks])
        weight = 1.0 / (wanted[chosen] * math.sqrt(chosen.sum()))
        return counts[chosen] * weight[:, None], (wanted - cells)[chosen] * weight

    def _longest(self, times: Times) -> NDArray[np.float64]:
        """Return nextpnr's period at the end of the longest path."""
        wanted = np.full(len(times.at_ends), np.nan)
        wanted[np.argmax(times.at_ends)] = self.period
        return wanted


def share_above(arrivals: NDArray[Any], end: int) -> float:
    """Return the share of ends that paths reach later than one of them."""
    return float((arrivals > arrivals[end]).sum() / np.isfinite(arrivals).sum())


def place(subject: Subject) -> tuple[Path, list[Run]]:
    """Return a design's netlist, and what nextpnr makes of it with all of its seeds."""
    netlist, clock = netlist_of(subject), subject.clock_mhz or find_target(subject.target).clock_mhz
    seeds = SEEDS if subject in routed() else SEEDS[:1]
    return netlist, [Run.of(netlist, seed, clock, route=subject not in unrouted()) for seed in seeds]


def placed_design(subject: Subject, netlist: Path, runs: Sequence[Run], lengths: Lengths) -> PlacedDesign:
    """Return a design with what nextpnr makes of it at the ends of its graph."""
    graph = Graph(read_netlist(netlist, TOP), ECP5)
    cells = graph.netlist.cells
    names = ["" if cell == PORT else cells[cell].name for _, cell in graph.ends]
    rows = [[run.arrivals.get(name, math.nan) for name in names] for run in runs if run.arrivals]
    by_length = 1e6 / float(lengths.arrivals(graph, runs[0].places).max())
    mhz = tuple(run.mhz for run in runs) if rows else (by_length,)
    return PlacedDesign(str(subject), graph, mhz, np.array(rows).reshape(-1, len(names)), by_length)


def placed_designs() -> list[PlacedDesign]:
    """Return the designs of the table, of which each core places one at a time."""
    placed = list(on_all_cores(place, subjects()))
    lengths = Lengths([wire for _, runs in placed for run in runs for wire in run.wires])
    return [
        placed_design(subject, *placement, lengths)
        for subject, placement in zip(subjects(), placed, strict=True)
    ]


def fit(designs: Sequence[PlacedDesign], start: Wires = FABRICS["ecp5"].wires, rounds: int = ROUNDS) -> Wires:
    """Return the wires with which paths take as long as nextpnr's, by relative least squares.

    The longest path to each end depends on the wires, so both are found in turn, from some wires on.
    """
    values = np.array(list(vars(start).values()))
    for step in range(rounds):
        systems = [design.equations(Wires(*values)) for design in designs]
        matrix, wanted = (np.concatenate(parts) for parts in zip(*systems, strict=True))
        values += (nnls(matrix, wanted)[0] - values) / (1 + step / 4)
    return Wires(*values.round(1))


def count_luts(netlist: Netlist) -> int:
    """Return the look-up tables that a netlist takes, those of carry chains and memories among them."""
    return sum(FAMILIES["ecp5"].luts.get(cell.kind, 0) for cell in netlist.cells)


def clock_rows() -> Rows:
    """Return the clocks of the check and of nextpnr, and its errors, also by the wires of other designs."""
    return rows_of(placed_designs())


def rows_of(designs: Sequence[PlacedDesign]) -> Rows:
    """Return a row for each design."""
    wires, fitted = FABRICS["ecp5"].wires, fit(designs)
    return [
        {
            "design": design.name.replace(" ecp5-85", ""),
            "luts": count_luts(design.graph.netlist),
            "side": design.graph.side,
            "nextpnr": design.mhz if len(design.arrivals) else (),
            "by_length": design.by_length,
            "check": 1e6 / design.graph.times(wires).period,
            "error": design.error(wires),
            "left_out": design.error(fit([other for other in designs if other is not design], fitted, 2)),
            "rank": design.rank(wires),
            "rank_by_seed": design.rank_by_seed(),
        }
        for design in designs
    ]


def clock_layout(rows: Rows) -> Rows:
    """Return a line for each design, and one for all."""
    lines: Rows = []
    for row in rows:
        lines.append(
            {
                "design": row["design"],
                "LUTs": row["luts"],
                "side": f"{row['side']:.0f}",
                "nextpnr, MHz": _span(row["nextpnr"]),
                "by length": f"{row['by_length']:.1f}",
                "check, MHz": f"{row['check']:.1f}",
                "error": f"{row['error']:+.1%}",
                "error by the others": f"{row['left_out']:+.1%}",
                "slowest end in": _share(row["rank"]),
                "by another seed": _share(row["rank_by_seed"]),
            }
        )
    errors = [[row[key] for row in rows] for key in ("error", "left_out")]
    both = [f"{statistics.median(map(abs, e)):.1%} / {max(e):+.1%} / {min(e):+.1%}" for e in errors]
    last = ["median / too fast / too slow at most", "", "", "", "", "", *both, "", ""]
    return [*lines, dict(zip(lines[0], last, strict=True))]


def _span(clocks: Sequence[float]) -> str:
    """Return the lowest and the highest of some clocks."""
    return " to ".join(f"{mhz:.1f}" for mhz in sorted({min(clocks), max(clocks)})) if clocks else "-"


def _share(rank: float | None) -> str:
    return "-" if rank is None else f"{max(rank, 0.0001):.2%}"
