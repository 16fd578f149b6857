"""An accelerator placed and routed on a device by itself, without a board around it."""

from __future__ import annotations

from pathlib import Path

from rbdhw.boards.build import Implementation, Progress, silent
from rbdhw.boards.design import Design
from rbdhw.boards.folding import FoldedAccelerator
from rbdhw.boards.nextpnr import NEXTPNR, place_and_route, read_report
from rbdhw.boards.tools import tool_version
from rbdhw.boards.yosys import FAMILIES, NETLIST, synthesize_target
from rbdhw.rtl.shell import to_verilog
from rbdhw.target import Target

TOP = "folded"


def place(
    design: Design, device: Target, work: Path, *, seed: int, progress: Progress = silent
) -> Implementation:
    """Place and route the accelerator of ``design``, its streams folded onto a few pins, for its own clock.

    ``device`` is one of :data:`~rbdhw.boards.nextpnr.DEVICES`. The folder ``work`` keeps what Yosys and
    nextpnr write. The same accelerator, seed and programs give the same result.

    Raises
    ------
    InputError
        Where the design does not fit.
    ToolError
        Where a program is missing or fails.
    """
    versions = {name: tool_version(name) for name in ("yosys", NEXTPNR)}
    wrapper = work / f"{TOP}.v"
    wrapper.write_text(to_verilog(FoldedAccelerator(data_width=design.data_width), TOP))
    progress("synthesis with Yosys")
    sources = (design.verilog, wrapper)
    counts = synthesize_target(sources, TOP, FAMILIES[device.family], work, netlist=True)
    design.check_fit(counts, device)
    progress("placement and routing with nextpnr")
    path = place_and_route(work / NETLIST, device.name, design.clock_mhz, seed)
    report = read_report(path)
    return Implementation(
        tool=f"yosys, {NEXTPNR}",
        clock_mhz=design.clock_mhz,
        fastest_mhz=report.achieved_mhz,
        resources=report.resources,
        missed=report.missed(device.name, path),
        versions=versions,
        seed=seed,
    )
