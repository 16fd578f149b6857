"""Whole designs that Yosys maps: what is estimated and counted of them, and the clock of the timing check."""

from __future__ import annotations

from benchmarks.checked_clocks import both, clocks
from benchmarks.rows import Row
from benchmarks.synthesis import keep_netlist
from rbdhw.boards.yosys import FAMILIES, count_resources
from rbdhw.design.folder import Design
from rbdhw.design.replacement import VERILOG
from rbdhw.estimate.resources import RESOURCES
from rbdhw.target import target
from rbdhw.timing.devices import device_of
from rbdhw.timing.report import check_timing


def count_design(design: Design, device: str) -> Row:
    """Return what is estimated and counted of a design for a device, its shares of that, and its clocks."""
    part, name = target(device), design.manifest["name"]
    netlist = keep_netlist({VERILOG: design.verilog}, name, part)
    report = check_timing(netlist, name, device_of(device))
    counted = count_resources(netlist.with_name("resources.json").read_text(), FAMILIES[part.family]).json()
    estimate, clock_mhz = design.manifest["estimate"], design.manifest["clock_mhz"]
    return {
        **{kind: (estimate[kind], counted[kind]) for kind in RESOURCES},
        "shares": {kind: counted[kind] / getattr(part, kind) for kind in RESOURCES},
        "scheduled": clock_mhz,
        "check": report.clock_mhz,
        "safe": report.safe_mhz,
        "confirmed": report.confirms(clock_mhz),
    }


def count_cells(row: Row) -> Row:
    """Return the cells of a counted design."""
    shares = row["shares"]
    return {
        "look-up tables": f"{both(*row['luts'])}, {shares['luts']:.0%}",
        "flip-flops": f"{both(*row['flip_flops'])}, {shares['flip_flops']:.0%}",
        "DSP blocks": f"{both(*row['dsp_blocks'])}, {shares['dsp_blocks']:.0%}",
        "block RAMs": f"{both(*row['block_rams'])}, {shares['block_rams']:.0%}",
        **clocks(row),
    }
