"""Solvers that Yosys maps: the error of their estimates, and the clock of the timing check."""

from __future__ import annotations

from pathlib import Path

from benchmarks.checked_clocks import both, clocks
from benchmarks.durations import on_all_cores
from benchmarks.rows import Row, Rows
from benchmarks.solver_cores import Build
from benchmarks.synthesis import keep_netlist
from rbdhw.boards.yosys import FAMILIES, count_resources
from rbdhw.design.replacement import VERILOG
from rbdhw.estimate.resources import RESOURCES
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.target import target
from rbdhw.timing.devices import device_of
from rbdhw.timing.report import check_timing

COUNTED: tuple[Build, ...] = (
    Build("toy", "xcvu9p", 4),
    Build("toy", "xcvu9p", 1, 24, problems=4),
    Build("toy", "xcvu9p", 1, 24, blocks=2),
    Build("iiwa14", "xck26", 64, 680, core="array"),
)


def count_rows() -> Rows:
    """Return what is estimated and counted of each solver, and its clocks."""
    return list(on_all_cores(count_row, COUNTED))


def count_row(build: Build) -> Row:
    """Return the row of a solver."""
    design, device = generate(Path(path(build.robot)), build.options), target(build.target)
    name = design.manifest["name"]
    netlist = keep_netlist({VERILOG: design.verilog}, name, device)
    report = check_timing(netlist, name, device_of(build.target))
    counted = count_resources(netlist.with_name("resources.json").read_text(), FAMILIES[device.family]).json()
    estimate, clock_mhz = design.manifest["estimate"], design.manifest["clock_mhz"]
    return {
        "build": build._asdict(),
        **{kind: (estimate[kind], counted[kind]) for kind in RESOURCES},
        "shares": {kind: counted[kind] / getattr(device, kind) for kind in RESOURCES},
        "scheduled": clock_mhz,
        "check": report.clock_mhz,
        "safe": report.safe_mhz,
        "confirmed": report.confirms(clock_mhz),
    }


def count_layout(rows: Rows) -> Rows:
    """Return a line for each solver."""
    return [_line(row) for row in rows]


def _line(row: Row) -> Row:
    build, shares = Build(**row["build"]), row["shares"]
    turns = {"problems": build.problems, "blocks": build.blocks}
    several = "".join(f", {count} {name}" for name, count in turns.items() if count > 1)
    core = "" if build.core is None else f", {build.core}"
    return {
        "": f"{build.robot}, {build.target}{core}, II {build.ii}{several}",
        "look-up tables": f"{both(*row['luts'])}, {shares['luts']:.0%}",
        "flip-flops": f"{both(*row['flip_flops'])}, {shares['flip_flops']:.0%}",
        "DSP blocks": f"{both(*row['dsp_blocks'])}, {shares['dsp_blocks']:.0%}",
        "block RAMs": f"{both(*row['block_rams'])}, {shares['block_rams']:.0%}",
        **clocks(row),
    }
