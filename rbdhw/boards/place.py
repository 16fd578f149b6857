"""Placement and routing of a stand-alone accelerator on a device, without a board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rbdhw.boards.build import Implementation
from rbdhw.boards.design import DesignFiles
from rbdhw.boards.folding import FoldedAccelerator
from rbdhw.boards.nextpnr import NEXTPNR, place_and_route
from rbdhw.boards.tools import tool_version
from rbdhw.boards.yosys import FAMILIES, NETLIST, synthesize_target
from rbdhw.progress import Progress, silent
from rbdhw.rtl.verilog import to_verilog
from rbdhw.target import Target

TOP = "folded"


def place(
    design: DesignFiles, device: Target, work: Path, *, seeds: Sequence[int], progress: Progress = silent
) -> Implementation:
    """Place and route the accelerator of ``design`` at its own clock, its streams folded onto a few pins.

    ``device`` is one of :data:`~rbdhw.boards.nextpnr.DEVICES`. The seeds are tried in order until one reaches
    the clock. The folder ``work`` keeps the output of Yosys, and that of nextpnr for the best placement. The
    same accelerator, seeds and programs give the same result.

    Raises
    ------
    InputError
        If the design does not fit, or a program is missing.
    ToolError
        If a program fails.
    """
    versions = {name: tool_version(name) for name in ("yosys", NEXTPNR)}
    wrapper = work / f"{TOP}.v"
    wrapper.write_text(to_verilog(FoldedAccelerator(data_width=design.data_width, name=design.name), TOP))
    sources = (design.verilog, wrapper)
    counts = synthesize_target(sources, TOP, FAMILIES[device.family], work, netlist=True, progress=progress)
    design.check_fit(counts, device)
    placed, path = place_and_route(work / NETLIST, device.name, design.clock_mhz, seeds, progress)
    return Implementation(
        tool=f"yosys, {NEXTPNR}",
        clock_mhz=design.clock_mhz,
        fastest_mhz=placed.report.achieved_mhz,
        resources=placed.report.resources,
        missed=placed.explain_miss(device.name, path),
        versions=versions,
        tries=placed.tries,
        seed=placed.seed,
    )
