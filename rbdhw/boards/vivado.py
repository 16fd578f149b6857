"""Run Vivado and read its reports."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from rbdhw.boards.build import TOP, Implementation
from rbdhw.boards.tools import ToolError, run_tool
from rbdhw.estimate.resources import Resources
from rbdhw.progress import Progress, within

STOP_UNLESS_TIMED = """
foreach type {max min} {
    foreach path [get_timing_paths -delay_type $type] {
        set slack [get_property SLACK $path]
        if {$slack < 0} { error "timing: the worst $type path misses the clock by $slack ns" }
    }
}
"""
"""The end of a script before the bitstream: it stops if a path is too slow."""


def run_vivado(arguments: Sequence[str], work: Path, clock_mhz: float, progress: Progress) -> Implementation:
    """Run ``vivado``, or the program in VIVADO, in ``work``, for a design at a clock.

    Without Vivado, the result has no bitstream and ``tool`` states that Vivado did not run. Raises ToolError
    if Vivado fails, or if the design misses the clock; then there is no bitstream.
    """
    vivado = shutil.which(os.environ.get("VIVADO", "vivado"))
    if vivado is None:
        return Implementation(tool="vivado (not run)", clock_mhz=clock_mhz)
    bitstream = work / f"{TOP}.bit"
    bitstream.unlink(missing_ok=True)
    step = "synthesis, placement and routing with Vivado"
    progress(step)
    log = work / f"{TOP}.log"
    run_tool("vivado", [vivado, *arguments], folder=work, log=log, progress=within(step, progress))
    return Implementation(
        tool="vivado",
        clock_mhz=clock_mhz,
        fastest_mhz=1000.0 / (1000.0 / clock_mhz - _setup_slack(work / f"{TOP}_timing.rpt")),
        resources=_resources(work / f"{TOP}_utilization_place.rpt"),
        bitstream=bitstream,
    )


def _setup_slack(report: Path) -> float:
    """Return the worst setup slack in ns: the first figure in the design timing summary."""
    match = re.search(r"^ *WNS\(ns\).*\n[ -]+\n *(-?[0-9.]+)", report.read_text(), re.MULTILINE)
    if match is None:
        raise ToolError(f"vivado: {report} has no worst negative slack")
    return float(match[1])


def _resources(report: Path) -> Resources:
    """Return the used resources of the utilization report; slices of 7 series are CLBs of UltraScale+."""
    text = report.read_text()

    def used(site: str) -> int:
        match = re.search(rf"^\| *{site}\*? *\| *([0-9.]+)", text, re.MULTILINE)
        if match is None:
            raise ToolError(f"vivado: {report} has no line for '{site}'")
        return math.ceil(float(match[1]))

    sites = ("(?:CLB|Slice) LUTs", "(?:CLB|Slice) Registers", "DSPs", "Block RAM Tile")
    return Resources(*map(used, sites))
