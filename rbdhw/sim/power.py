"""The toggles of an accelerator at work on one function, and an estimate of its power from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rbdhw.design.digests import check_digest, digest_of
from rbdhw.design.folder import Design, read
from rbdhw.design.manifest import read_manifest
from rbdhw.domain.strata import draw
from rbdhw.engines.engine import Source
from rbdhw.engines.packets import Connection
from rbdhw.engines.rtl import RtlEngine
from rbdhw.errors import unknown
from rbdhw.estimate.energy import Energy, energy_of
from rbdhw.model.packets import encode
from rbdhw.progress import Progress, silent
from rbdhw.sim.saif import Activity, read_saif
from rbdhw.sim.simulate import check_draw
from rbdhw.target import target as find_target
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance, Exchange

REFERENCE_TOGGLES = 0.34
"""Toggles of a bit in a cycle that stand for those of the published accelerators, which are not known.

They are those of the derivatives of forward dynamics with a given inverse of an iiwa, at an interval of 4 and
on random tasks.
"""


@dataclass(frozen=True)
class RegionActivity:
    """The bits of a region's signals, and how often each changes in a cycle on average."""

    bits: int
    toggles: float


@dataclass(frozen=True)
class PowerReport:
    """The activity of a design while tasks of one function follow each other without a pause.

    ``toggles`` is the average over all regions of cores. ``energy`` is None for devices without an estimate.
    """

    function: str
    tasks: int
    cycles: int
    toggles: float
    regions: dict[str, RegionActivity]
    energy: Energy | None

    def json(self) -> dict[str, Any]:
        return asdict(self)


class _TracedEngine(RtlEngine):
    """The Verilog in a simulator that counts toggles, and the cycles that it took."""

    cycles = 0

    def __init__(self, source: Source, saif: Path) -> None:
        super().__init__("rtl", source)
        self._saif = saif

    def connect(self, *, in_bulk: bool = True) -> Connection:
        del in_bulk  # only this bench counts
        check_digest(self.source.folder, self.source.digest)
        executable = bulk.build(self.source.folder, self.source.cache, traced=True)
        return partial(self._exchange, partial(bulk.exchange, executable, saif=self._saif))

    def _exchange(self, exchange: Connection, requests: Any, traffic: Disturbance) -> list[Exchange]:
        outcomes = exchange(requests, traffic)
        self.cycles = max(outcome.cycles for outcome in outcomes)
        return outcomes


def measure_power(
    directory: Path,
    function: str | None = None,
    tasks: int = 200,
    seed: int = 0,
    *,
    saif: Path | None = None,
    cache: Path | None = None,
    progress: Progress = silent,
) -> PowerReport:
    """Simulate random tasks of one function, and return toggle rates by region and the power they suggest.

    Parameters
    ----------
    function
        By default the first of the design.
    saif
        The file for the toggles of all signals, for a vendor's power report.

    Raises
    ------
    InputError
        For a folder without a design, a function that it does not have, or a number out of range.
    SimulationError
        If Verilator, the compiler or the simulation fails.
    """
    design = read(directory)
    read_manifest(directory)
    chosen = function or design.functions[0]
    if chosen not in design.functions:
        raise unknown("function", chosen, design.functions)
    check_draw(tasks, seed)
    with TemporaryDirectory(prefix="rbdhw-") as work:
        file = saif or Path(work) / "activity.saif"
        engine = _TracedEngine(Source(directory, digest_of(directory), design, cache), file)
        drawn = draw(design.robot, design.domain, tasks, np.random.default_rng(seed), design.fext)
        progress(f"simulating {tasks} tasks")
        engine.respond(chosen, encode(design, chosen, drawn.of(chosen)))
        return _report(design, chosen, tasks, engine.cycles, read_saif(file))


def _report(design: Design, function: str, tasks: int, cycles: int, activity: Activity) -> PowerReport:
    regions = dict(_regions(activity, cycles))
    inside = [region for name, region in regions.items() if _is_core(name)]
    toggles = sum(region.bits * region.toggles for region in inside) / sum(region.bits for region in inside)
    return PowerReport(function, tasks, cycles, toggles, regions, _energy(design, function, toggles))


def _energy(design: Design, function: str, toggles: float) -> Energy | None:
    device, entry = find_target(design.description.target), design.description.functions[function]
    activity = toggles / REFERENCE_TOGGLES
    return energy_of(
        design.program_of(function), function, entry.tasks_per_second, entry.latency_us, device, activity
    )


def _is_core(name: str) -> bool:
    return name.startswith("core")


def _regions(activity: Activity, cycles: int) -> Iterator[tuple[str, RegionActivity]]:
    """Yield what stands in the top module, with its cores by their regions."""
    (top,) = activity.children(("TOP",))
    for part in activity.children(top):
        inner = activity.children(part) if _is_core(part[-1]) else [part]
        for path in inner:
            bits, toggles = activity.within(path)
            yield "/".join(path[len(top) :]), RegionActivity(bits, toggles / (bits * cycles))
