"""Solvers that Yosys maps: the error of their estimates, and the clock of the timing check."""

from __future__ import annotations

from pathlib import Path

from benchmarks.counts import count_cells, count_design
from benchmarks.durations import on_all_cores
from benchmarks.rows import Row, Rows
from benchmarks.solver_cores import Build
from rbdhw.pipeline import generate
from rbdhw.robots import path

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
    design = generate(Path(path(build.robot)), build.options)
    return {"build": build._asdict(), **count_design(design, build.target)}


def count_layout(rows: Rows) -> Rows:
    """Return a line for each solver."""
    return [_line(row) for row in rows]


def _line(row: Row) -> Row:
    build = Build(**row["build"])
    turns = {"problems": build.problems, "blocks": build.blocks}
    several = "".join(f", {count} {name}" for name, count in turns.items() if count > 1)
    core = "" if build.core is None else f", {build.core}"
    return {"": f"{build.robot}, {build.target}{core}, II {build.ii}{several}", **count_cells(row)}
