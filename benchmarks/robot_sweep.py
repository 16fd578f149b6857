"""A sweep: every URDF file of a folder through the generator, in parallel processes.

:mod:`benchmarks.robot_check` defines the checks of each robot.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.markdown_tables import markdown as table
from benchmarks.robot_check import (
    DRAWS,
    TASKS,
    TOLERANCE,
    WIDTH,
    Build,
    File,
    Row,
    check_robot_file,
    on_base,
)
from benchmarks.robot_subsets import SUBSETS
from rbdhw.errors import InputError
from rbdhw.golden.pinocchio import Reference
from rbdhw.options.build import DEFAULT_MAX_ERROR
from rbdhw.progress import Progress
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.runtime.executor import execute
from rbdhw.runtime.garbage_collector import SELDOM

BASES = ("fixed", "floating")


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep."""

    folder: Path
    files: tuple[File, ...]
    rows: tuple[Row, ...]
    seconds: float
    processor_seconds: float
    jobs: int

    @property
    def passed(self) -> bool:
        """Whether every accepted robot passed every check."""
        return not any(row.failures for row in self.rows)

    def json(self) -> dict[str, Any]:
        """Return the result for the JSON report."""
        return {
            "rows": [row.json() for row in self.rows],
            "refusals": {file.name: file.refusal for file in self.files if file.robot is None},
            "remarks": remarks_of(self),
            "seconds": round(self.seconds, 1),
            "processor_seconds": round(self.processor_seconds, 1),
            "jobs": self.jobs,
        }


def sweep(folder: Path, progress: Progress, jobs: int | None = None, cluster: str | None = None) -> Sweep:
    """Check every URDF file of a folder and its subfolders, on a fixed and on a floating base.

    Parameters
    ----------
    progress
        Receives the number of checked robots, of all robots, and the last one.
    jobs
        The number of processes; None for one per core.
    cluster
        The address of a Dask scheduler, whose workers compute instead.

    Raises
    ------
    InputError
        If there is no such folder, no URDF file in it, or Pinocchio is not installed.
    """
    start = time.perf_counter()
    paths = sorted(folder.rglob("*.urdf"))
    if not paths:
        raise InputError(str(folder), "no URDF file", "a folder with *.urdf files in or below it")
    Reference.available()
    jobs = jobs or os.cpu_count() or 1
    files = tuple(_read(path, str(path.relative_to(folder))) for path in paths)
    ordered = sorted(_builds(files), key=lambda build: -_size(build.robot))
    builds = {f"{build.files[0].name}, {build.base}": build for build in ordered}
    results = execute(
        _check,
        builds,
        cluster=cluster,
        workers=jobs,
        told=lambda name, _, done: progress(f"checking: {done} of {len(builds)} robots, last {name}"),
        warn=warn,
        keep_errors=True,
    )
    checked = [_rows(builds[name], result) for name, result in results.items()]
    rows, spent = [row for part in checked for row in part], sum(part[-1].seconds for part in checked)
    order = {(file.name, base): k for k, (file, base) in enumerate((f, b) for f in files for b in BASES)}
    rows.sort(key=lambda row: order[row.name, row.base])
    return Sweep(folder, files, tuple(rows), time.perf_counter() - start, spent, jobs)


def _read(path: Path, name: str) -> File:
    """Return the file as read, or with the reason for its refusal."""
    try:
        robot = load_urdf(path)
        return File(name, path, robot, robot.remarks)
    except InputError as error:
        return File(name, path, None, (), str(error).removeprefix(str(path))[2:])


def _builds(files: Iterable[File]) -> list[Build]:
    """Return the builds: every distinct robot with moving joints, on each base."""
    same: dict[tuple[Robot, str], list[File]] = {}
    for file in files:
        if file.robot is not None:
            nameless = replace(file.robot, name="", fixed_links=())
            same.setdefault((nameless, "floating"), []).append(file)
            if nameless.bodies and not nameless.floats:
                same.setdefault((nameless, "fixed"), []).append(file)
    return [Build(on_base(robot, base), base, tuple(copies)) for (robot, base), copies in same.items()]


def _size(robot: Robot) -> int:
    """Return a measure of a build's run time, so that the longest can start first."""
    return sum(len(robot.path(i)) for i in range(len(robot.bodies))) * len(robot.bodies)


def _check(build: Build) -> list[Row]:
    """Return the rows of a build; the garbage collector runs seldom."""
    gc.set_threshold(*SELDOM)
    return check_robot_file(build)


def _rows(build: Build, result: list[Row] | BaseException) -> list[Row]:
    """Return the rows of a build; an error in its process is the failure of all of them."""
    if not isinstance(result, BaseException):
        return result
    reason = f"{type(result).__name__}: {result}".splitlines()[0]
    robot = build.robot
    failed = (math.nan, None, 0.0, (reason,))
    return [Row(file.name, build.base, robot.nv, robot.depth, *failed) for file in build.files]


def remarks_of(sweep: Sweep) -> dict[str, list[str]]:
    """Return all remarks by file: those on reading, then those of its builds."""
    remarks = {file.name: list(file.remarks) for file in sweep.files}
    for row in sweep.rows:
        remarks[row.name] += [remark for remark in row.remarks if remark not in remarks[row.name]]
    return {name: lines for name, lines in remarks.items() if lines}


def markdown(sweep: Sweep) -> str:
    """Return the report: the method, and tables of passing, failing and refused robots."""
    passing = [row for row in sweep.rows if not row.failures]
    failing = [row for row in sweep.rows if row.failures]
    refused = [file for file in sweep.files if file.robot is None]
    parts = [
        "# Robots",
        _introduction(sweep),
        "## Passing",
        table(HEADINGS, map(_cells, passing)),
    ]
    if failing:
        failures = ((f"`{row.name}`", row.base, "; ".join(row.failures)) for row in failing)
        parts += ["## Failing", table(("URDF", "base", "what"), failures)]
    if refused:
        reasons = ((f"`{file.name}`", _escape(file.refusal)) for file in refused)
        parts += ["## Refused", table(("URDF", "reason"), reasons)]
    parts += _remarks(sweep)
    return "\n\n".join(parts) + "\n"


HEADINGS = (
    "URDF",
    "base",
    "DoF",
    "depth",
    "golden, Pinocchio",
    "graph, golden",
    "evaluator, median / largest",
    "flagged",
    *DEFAULT_FUNCTIONS,
)
"""The headings of the table of passing robots."""


def _introduction(sweep: Sweep) -> str:
    passing = sum(not row.failures for row in sweep.rows)
    refused = sum(file.robot is None for file in sweep.files)
    subsets = "; ".join(f"{', '.join(subset)} up to {most} DoF" for subset, most in SUBSETS.items())
    libraries = ", ".join(f"{name} {version(name)}" for name in ("pin", "numpy"))
    sentences = [
        f"This is the report of `make sweep` on the {len(sweep.files)} URDF files of "
        f"{_package(sweep.folder)}, read without `--strict`. {_count(refused, 'file')} refused. "
        f"{passing} of {len(sweep.rows)} robots and bases pass. A robot without a moving joint is "
        "checked on a floating base only.",
        "",
        f"- *golden, Pinocchio*: the largest error of the golden model beside Pinocchio ({libraries}), which "
        f"reads the file itself, over all functions in {TASKS} random tasks, relative to the largest entry. "
        f"The limit is {TOLERANCE:g}.",
        "- *graph, golden*: the same of the graph in double precision beside the golden model.",
        f"- *evaluator, median / largest*: the error of the bit-exact program, {WIDTH} bits wide, beside the "
        f"golden model in {DRAWS.held_out} other tasks, relative in the Frobenius norm, for the worst "
        f"function. The limit is {DEFAULT_MAX_ERROR:g}.",
        "- *flagged*: tasks whose status is not zero. The limit is one in a hundred.",
        f"- Builds of some functions ({subsets}) keep to {DEFAULT_MAX_ERROR:g} by algorithms chosen as in a "
        "build; what no algorithms meet is listed as failing.",
        "- The last columns: multiplications of each function in the build of all functions, without a "
        "search for cheaper frames or algorithms. The manifest has those of a build.",
        "",
        f"The sweep took {sweep.seconds / 60.0:.0f} minutes in {_processes(sweep.jobs)}, "
        f"{sweep.processor_seconds / 60.0:.0f} minutes of processor time.",
    ]
    return "\n".join(sentences)


def _count(number: int, noun: str) -> str:
    """Return ``1 file is`` or ``2 files are``."""
    return f"{number} {noun} is" if number == 1 else f"{number} {noun}s are"


def _processes(jobs: int) -> str:
    return "one process" if jobs == 1 else f"{jobs} processes"


def _package(folder: Path) -> str:
    """Return the folder's name, with the version of the installed package of that name if there is one."""
    try:
        return f"{folder.name} {version(folder.name)}"
    except PackageNotFoundError:
        return folder.name


def _cells(row: Row) -> tuple[str, ...]:
    assert row.evaluated is not None
    errors = [figures.whole for figures in row.evaluated.errors.values()]
    operations = row.evaluated.operations
    return (
        f"`{row.name}`",
        row.base,
        str(row.dof),
        str(row.depth),
        f"{row.golden:.0e}",
        f"{row.evaluated.graph:.0e}",
        f"{max(e.median for e in errors):.0e} / {max(e.max for e in errors):.0e}",
        str(sum(e.flagged for e in errors)),
        *(f"{operations[function]:,}" if function in operations else "-" for function in DEFAULT_FUNCTIONS),
    )


def _remarks(sweep: Sweep) -> list[str]:
    remarks = remarks_of(sweep)
    if not remarks:
        return []
    lines = [
        "## Remarks",
        "`rbdhw` prints these lines as warnings. They say what is amiss in a file and what is taken instead, "
        "what the file says but nothing computes, and which bounds stand in for limits that bound nothing "
        "(`domain:`). Where the two bases differ, the lines of both are listed.",
    ]
    for name, of_file in remarks.items():
        lines += [f"`{name}`:", "\n".join(f"- {_escape(remark)}" for remark in of_file)]
    return lines


def _escape(text: str) -> str:
    """Escape ``text`` for Markdown: URDF elements in it must not be read as HTML."""
    return text.replace("<", "&lt;").replace("|", "\\|")
