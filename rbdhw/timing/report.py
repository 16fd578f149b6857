"""The clock that a mapped design permits, and its slowest paths by region, step and joint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rbdhw.errors import InputError
from rbdhw.timing.analysis import Graph, Times
from rbdhw.timing.devices import Device
from rbdhw.timing.edges import PORT
from rbdhw.timing.netlist import place_of, read_netlist, signal_of

MOST_PATHS = 10
"""The paths of a report, of which no two have the same signals at both ends."""

EXAMINED = 2_000
"""The slowest ends among which they are looked for."""

MEDIAN_ERROR, LARGEST_ERROR = 0.039, 0.107
"""Errors of the clock, relative to placed ECP5 designs: the median, and by how much it is too fast at most.

The table of :mod:`benchmarks.clock_check` has them.
"""

MARGIN = 0.15
"""How much slower the safe clock is, for placement: more than it is too fast at most."""


@dataclass(frozen=True)
class TimedPath:
    """A slow path and where it is. A path through ports starts or ends at ``port``."""

    ns: float
    cells_ns: float
    wires_ns: float
    logic: int
    """The cells between its registers."""
    start: str
    end: str
    region: str
    """The region of its end, as are step and joint."""
    step: str
    joint: int | None


@dataclass(frozen=True)
class TimingReport:
    """The result of the check."""

    device: str
    speed_grade: str
    clock_mhz: float
    """The clock that the slowest path permits."""
    safe_mhz: float
    """The clock that it permits with the margin."""
    margin: float
    """The margin for placement, as a share of the period."""
    paths: tuple[TimedPath, ...]
    """The slowest ones."""
    regions: tuple[TimedPath, ...]
    """The slowest path that ends in each region."""

    def confirms(self, clock_mhz: float) -> bool:
        """Return whether the design keeps a clock, with the margin."""
        return self.safe_mhz >= clock_mhz

    def json(self) -> dict[str, Any]:
        """Return the report for JSON."""
        paths, regions = ([asdict(path) for path in paths] for paths in (self.paths, self.regions))
        error = {"median": MEDIAN_ERROR, "max": LARGEST_ERROR}
        return {**vars(self), "paths": paths, "regions": regions, "error": error}


def check_timing(netlist: Path, top: str, device: Device) -> TimingReport:
    """Return the timing of the module ``top`` in a netlist that Yosys mapped to a device's family.

    Raises InputError if the netlist is that of another design or family, or its logic closes a loop.
    """
    try:
        graph = Graph(read_netlist(netlist, top), device.fabric.family)
    except InputError as error:
        raise error.within(netlist) from error
    times = graph.times(device.fabric.wires, device.slower)
    period = max(times.period, 1.0)
    return TimingReport(
        device.name,
        device.grade,
        round(1e6 / period, 2),
        round(1e6 / period / (1.0 + MARGIN), 2),
        MARGIN,
        _slowest(graph, times),
        _by_region(graph, times),
    )


def _slowest(graph: Graph, times: Times) -> tuple[TimedPath, ...]:
    """Return the slowest paths between different pairs of signals."""
    paths: dict[tuple[str, str], TimedPath] = {}
    for node, cell in islice(times.slowest_ends(), EXAMINED):
        path = _timed_path(graph, times, node, cell)
        paths.setdefault((path.start, path.end), path)
        if len(paths) == MOST_PATHS:
            break
    return tuple(paths.values())


def _by_region(graph: Graph, times: Times) -> tuple[TimedPath, ...]:
    ends: dict[str, tuple[int, int]] = {}
    for node, cell in times.slowest_ends():
        ends.setdefault(place_of(_end_signal(graph, cell)).region, (node, cell))
    return tuple(_timed_path(graph, times, node, cell) for node, cell in ends.values())


def _timed_path(graph: Graph, times: Times, node: int, cell: int) -> TimedPath:
    path = times.path_to(node)
    signals = graph.netlist.signals
    start = signals.get(path.nets[0], "") if path.nets else _end_signal(graph, cell)
    end = _end_signal(graph, cell)
    place = place_of(end)
    ns, cells_ns, wires_ns = (round(ps / 1000, 3) for ps in (path.period, path.cells, path.wires))
    return TimedPath(ns, cells_ns, wires_ns, path.logic, start, end, **vars(place))


def _end_signal(graph: Graph, cell: int) -> str:
    """Return the signal that an end drives, or the name of its cell."""
    if cell == PORT:
        return "port"
    ended = graph.netlist.cells[cell]
    driven = (
        graph.netlist.signals.get(bit) for port in ("Q", "P", "DO") for bit in ended.ports.get(port, ())
    )
    return next(filter(None, driven), signal_of(ended.name))
