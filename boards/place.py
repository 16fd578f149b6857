"""An accelerator placed and routed on a device by itself, without a board around it."""

from __future__ import annotations

from pathlib import Path

from rbdhw.boards.build import Implementation, Progress, silent
from rbdhw.boards.folding import FoldedAccelerator
from rbdhw.boards.nextpnr import NEXTPNR, place_and_route, read_report
from rbdhw.boards.tools import tool_version
from rbdhw.boards.yosys import FAMILIES, NETLIST, synthesize_target
from rbdhw.rtl.shell import to_verilog
from rbdhw.target import Target

TOP = "folded"


def place(
    verilog: Path,
    work: Path,
    target: Target,
    *,
    data_width: int,
    clock_mhz: float,
    seed: int,
    progress: Progress = silent,
) -> Implementation:
    """Place and route the accelerator in the file ``verilog``, its streams folded onto a few pins.

    ``target`` is one of :data:`~rbdhw.boards.nextpnr.DEVICES`. ``work``, which is made, keeps what Yosys and
    nextpnr write. The same accelerator, seed and programs give the same result.

    Raises
    ------
    InputError
        Where the design does not fit.
    ToolError
        Where a program is missing or fails.
    """
    versions = {name: tool_version(name) for name in ("yosys", NEXTPNR)}
    work.mkdir(parents=True, exist_ok=True)
    wrapper = work / f"{TOP}.v"
    wrapper.write_text(to_verilog(FoldedAccelerator(data_width=data_width), TOP))
    progress("synthesis with Yosys")
    synthesize_target((verilog, wrapper), TOP, FAMILIES[target.family], work, netlist=True)
    progress("placement and routing with nextpnr")
    path = place_and_route(work / NETLIST, target.name, clock_mhz, seed)
    report = read_report(path)
    return Implementation(
        tool=f"yosys, {NEXTPNR}",
        clock_mhz=clock_mhz,
        fastest_mhz=report.achieved_mhz,
        resources=report.resources,
        missed=report.missed(target.name, path),
        versions=versions,
        seed=seed,
    )
