"""Placement and routing for ECP5 with nextpnr: running it on a netlist, and reading its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdhw.boards.tools import find_tool, run_tool
from rbdhw.boards.yosys import Resources

NEXTPNR = "nextpnr-ecp5"

SEED = 1
"""Of a placement for which nobody gives another."""

DEVICES: Mapping[str, tuple[str, ...]] = {
    "ecp5-85": ("--85k", "--package", "CABGA381", "--speed", "6"),
}
"""What nextpnr is told of each target that it can place."""

# Modules that hold regions, or stand around the accelerator.
_FRAMES = frozenset({"shell", "accelerator", "core", "forward_backward"})


@dataclass(frozen=True)
class Report:
    """What nextpnr tells of a routed design with one clock.

    Parameters
    ----------
    achieved_mhz, asked_mhz : float
        The clock that the slowest path allows, and that which was to be kept.
    resources : Resources
        What it occupies.
    start, end : str
        The regions, or other modules, in which the slowest path begins and ends.
    """

    achieved_mhz: float
    asked_mhz: float
    resources: Resources
    start: str
    end: str

    def missed(self, where: str, report: Path) -> str | None:
        """How the clock is missed on the device ``where``, None where it is kept; ``report`` tells more."""
        if self.achieved_mhz >= self.asked_mhz:
            return None
        return (
            f"timing: the design reaches {self.achieved_mhz:.1f} MHz of {self.asked_mhz:g} MHz on {where}; "
            f"its slowest path goes from {self.start} to {self.end}, see {report}"
        )


def place_and_route(netlist: Path, target: str, clock_mhz: float, seed: int) -> Path:
    """Place and route a netlist of Yosys, a JSON file, on a target of :data:`DEVICES`; the report's path.

    The report, ``placement.json``, and the log, ``placement.log``, stand beside the netlist. Its ports go to
    any pins. A clock that is missed is no failure. Raises :class:`~rbdhw.boards.tools.ToolError` if nextpnr
    is missing or fails.
    """
    folder, report, log = netlist.parent, netlist.parent / "placement.json", netlist.parent / "placement.log"
    report.unlink(missing_ok=True)
    options = ("--freq", f"{clock_mhz:g}", "--seed", str(seed), "--timing-allow-fail")
    files = ("--json", netlist.name, "--report", report.name, "--log", log.name, "--lpf-allow-unconstrained")
    run_tool(NEXTPNR, [find_tool(NEXTPNR), "-q", *DEVICES[target], *options, *files], folder=folder, log=log)
    return report


def read_report(path: Path) -> Report:
    """The report that nextpnr wrote of a routed design with one clock."""
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
        start=region_of(slowest[0]["from"]["cell"]),
        end=region_of(slowest[-1]["to"]["cell"]),
    )


def region_of(cell: str) -> str:
    """The region in which a cell of a flattened design lies, by the cell's name.

    Its path names the modules from the outermost. Those that only hold regions are passed over; a cell
    beside them is in the last of them, or ``top``.
    """
    modules = cell.split(".")[:-1]
    inner = [module for module in modules if module not in _FRAMES]
    return inner[0] if inner else (modules or ["top"])[-1]
