"""Measurement of the README's tables: the generated hardware, the generator, and the simulation.

Counts, cycles and errors are the same on every machine. Seconds, megabytes and Pinocchio's rates depend on
the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbdhw.bench import markdown_tables
from rbdhw.bench.builds import ALL, errors_of, graph_of, plan_of, robot_of
from rbdhw.bench.processors import (
    accelerator_layout,
    accelerator_rows,
    compile_rows,
    model_layout,
    model_rows,
    processor_layout,
    processor_rows,
)
from rbdhw.bench.published import measure_link, measure_published, measure_small, small_layout
from rbdhw.bench.q16_16 import uniform_errors
from rbdhw.config import DEFAULT_MAX_ERROR
from rbdhw.domain.strata import STRATA, draw
from rbdhw.emit.manifest import function_counts
from rbdhw.emit.operation_counts import program_counts
from rbdhw.errors import InputError
from rbdhw.estimate.core import counts
from rbdhw.fixed.figures import FunctionErrors
from rbdhw.frontend.algorithms import longest_paths
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, ROOT_ALGORITHMS, multiplications, operation_delay
from rbdhw.frontend.functions import Algorithms, trace
from rbdhw.passes.factor import factor
from rbdhw.progress import Progress
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import candidate_roots, reroot
from rbdhw.robots import bundled
from rbdhw.runtime.extras import check_installed

Row = dict[str, Any]
Rows = list[Row]
Text = Callable[[Row], str]

FIXED = (("iiwa14", "fixed"), ("hyq", "fixed"), ("atlas", "fixed"))
OTHERS = (
    ("hyq", "floating"),
    ("spot_arm", "floating"),
    ("atlas", "floating"),
    ("iiwa14", "given"),
    ("tiago", "fixed"),
    ("hand22", "fixed"),
)
"""Robots with a floating, planar or moving base, or with many branches."""

NAMES = {
    "hyq": "HyQ",
    "atlas": "Atlas",
    "spot_arm": "Spot with arm",
    "tiago": "TIAGo, planar base",
    "hand22": "hand of 22 joints",
}
"""The bundled robots' names in documents."""

BASES = {"fixed": "", "floating": ", floating", "given": ", base's motion given"}

BUILDS: tuple[tuple[str, int | None], ...] = (
    ("iiwa14", 18),
    ("iiwa14", 27),
    ("iiwa14", None),
    ("hyq", 18),
    ("hyq", 27),
    ("atlas", 18),
)
"""Robots and widths of the error tables; None stands for the default error budget."""

LATENCIES: tuple[tuple[str, int, str | None], ...] = (
    ("iiwa14", 18, None),
    ("iiwa14", 18, "single_pivots"),
    ("iiwa14", 27, None),
    ("hyq", 27, None),
)
"""Robots, widths and algorithms of the latency table."""

UNIFORM_TASKS = 4096
"""Tasks for the errors of Q16.16."""

PAPERS = Algorithms("columns", "articulated", "dense", "repeated")
"""The algorithms of the published accelerators."""

UNIFORM = "Q16.16"
"""The entry for Q16.16 in the column of bits."""

ALL_STRATA = "all"
"""The entry for all tasks in the column of strata."""

SIMULATED_TASKS = 200_000


@dataclass(frozen=True)
class Table:
    """A table of a document.

    Parameters
    ----------
    title
        The title for readers; documents mark the table's place with its name.
    rows
        Measures the rows.
    layout
        Arranges the rows for documents.
    packages
        The optional packages that it needs. They are checked before the first table is measured.
    varies
        Whether the figures depend on the machine.
    """

    title: str
    rows: Callable[[], Rows]
    layout: Callable[[Rows], Rows] = list
    packages: tuple[str, ...] = ()
    varies: bool = False


def measure(
    progress: Progress,
    only: str = "",
    among: Iterable[str] | None = None,
    keep: Callable[[str, Rows], None] = lambda *_: None,
) -> dict[str, Rows]:
    """Return the tables whose titles contain ``only``, by title; all tables if it is empty.

    Parameters
    ----------
    among
        Names of :data:`TABLES` that limit the choice.
    keep
        Receives the name and the rows of every table as soon as it is measured, to save them.

    Raises
    ------
    InputError
        If no title contains the text, or a package that a table needs is not installed.
    """
    known = {name: TABLES[name] for name in (TABLES if among is None else among)}
    chosen = {name: own for name, own in known.items() if only.casefold() in f"{name} {own.title}".casefold()}
    if not chosen:
        titles = ", ".join(own.title for own in known.values())
        raise InputError("only", f"no table's title contains '{only}'", f"part of {titles}")
    for package in {package: None for own in chosen.values() for package in own.packages}:
        check_installed(package)
    results: dict[str, Rows] = {}
    for name, own in chosen.items():
        progress(own.title)
        results[own.title] = own.rows()
        keep(name, results[own.title])
    return results


def write(path: Path, progress: Progress, only: str = "") -> dict[str, Rows]:
    """Measure the tables that a document has markers for, and insert each as soon as it is measured.

    Raises
    ------
    InputError
        As :func:`measure`, and if the document has no marker, or one of an unknown table.
    """
    places = markdown_tables.tables(path)
    if not places:
        raise InputError(str(path), "no place for a table", "lines such as '<!-- bench: operations -->'")
    for name in places:
        if name not in TABLES:
            raise InputError(f"{path}, table '{name}'", "is unknown", f"one of {', '.join(TABLES)}")

    def keep(name: str, rows: Rows) -> None:
        markdown_tables.replace_table(path, name, grid(TABLES[name].layout(rows)))

    return measure(progress, only, places, keep)


def lay_out(results: dict[str, Rows]) -> dict[str, Rows]:
    """Return the measured tables by title, arranged for documents."""
    layouts = {own.title: own.layout for own in TABLES.values()}
    return {title: layouts[title](rows) for title, rows in results.items()}


def markdown(results: dict[str, Rows]) -> str:
    """Return tables in Markdown below their titles."""
    return "\n\n".join(f"### {title}\n\n{grid(rows)}" for title, rows in results.items()) + "\n"


def grid(rows: Rows) -> str:
    """Return a table in Markdown; the columns are those of its first row."""
    columns = list(rows[0])
    return markdown_tables.markdown(columns, ([_cell(row[column]) for column in columns] for row in rows))


def operations(robots: Iterable[tuple[str, str]] = FIXED) -> Rows:
    """Return the operations of every function, in the program of all functions and in graphs.

    Programs are 18 bits wide. The graphs are that of the function alone and, for robots that they support,
    that of the published accelerators' algorithms.
    """
    rows = []
    for name, base in robots:
        source = robot_of(name, base)
        plain = align_axes(elementary(source))
        published = PAPERS.possible_for(source)
        program = plan_of(name, base=base).program
        for function in ALL:
            built = program_counts(program, function)
            alone = function_counts(graph_of(name, (function,), base), function)
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "degrees of freedom": source.nv,
                    "function": function,
                    "multiplications": _products(built),
                    "additions": built["additions"],
                    "reciprocals": built["reciprocals"],
                    "multiplications of the function alone": _products(alone),
                    "multiplications by columns and articulated bodies": (
                        multiplications(factor(trace(plain, (function,), (), PAPERS))) if published else None
                    ),
                }
            )
    return rows


def operations_layout(rows: Rows) -> Rows:
    """Return lines of built multiplications / those of the graph alone, and of published algorithms."""
    return _by_function(
        rows,
        (_robot, _both_counts),
        (
            lambda row: f"{_robot(row)}, published algorithms",
            lambda row: f"{row['multiplications by columns and articulated bodies']:,}",
        ),
    )


def others_layout(rows: Rows) -> Rows:
    """Return lines of degrees of freedom, and of built multiplications / those of the graph alone."""
    freedoms = {_robot(row): row["degrees of freedom"] for row in rows}
    shown = _by_function(rows, (_robot, _both_counts))
    return [{"": row[""], "nv": freedoms[row[""]]} | row for row in shown]


def roots() -> Rows:
    """Return the effect of another root on Atlas: depth, operations, and time to the results."""
    base = robot_of("atlas", "floating")
    rows = []
    for robot in (base, best_depth(base)):
        plain = regroup_inertias(align_axes(elementary(robot)))
        graph = factor(trace(plain, ALL, (), ROOT_ALGORITHMS))
        paths = longest_paths(graph, operation_delay(DEFAULT_DELAYS))
        for function in ALL:
            rows.append(
                {
                    "root": robot.bodies[0].name,
                    "depth": robot.depth,
                    "function": function,
                    "multiplications": _products(function_counts(graph, function)),
                    "nanoseconds": round(paths[function]),
                }
            )
    return rows


def roots_layout(rows: Rows) -> Rows:
    """Return lines of each root's depth, and of each function's operations and longest path."""
    return _by_function(
        rows,
        (
            lambda row: f"{row['root']}, {row['depth']} bodies deep",
            lambda row: f"{row['multiplications']:,}, {row['nanoseconds']} ns",
        ),
    )


def best_depth(robot: Robot) -> Robot:
    """Return a floating robot with the root that minimises its depth."""
    return reroot(robot, candidate_roots(robot)[0][0])


def latencies(builds: Iterable[tuple[str, int, str | None]] = LATENCIES) -> Rows:
    """Return core latencies at II = 1, and those with reciprocals on the critical path."""
    rows = []
    for name, width, inverse in builds:
        plan = plan_of(name, width=width, inverse=inverse)
        ports = "×".join(map(str, plan.program.port_widths))
        rows += [
            {"robot": name, "bits": ports, "inverse": inverse, "function": function, "cycles": cycles}
            for function, cycles in plan.core.latency.items()
        ]
    return rows


def latencies_layout(rows: Rows) -> Rows:
    """Return lines of each build's cycles by function."""

    def label(row: Row) -> str:
        pivots = ", pivots one by one" if row["inverse"] else ""
        return f"{_robot(row)}, {row['bits']} bits{pivots}"

    return _by_function(rows, (label, lambda row: str(row["cycles"])))


def base_pivots() -> Rows:
    """Return the latencies of eliminating a floating base: HyQ's inverse mass matrix, 27x18 bits, II = 1."""
    return [
        {
            "pivots": inverse.replace("_", " "),
            "core latency (cycles)": plan_of(
                "hyq", ("minv",), 27, inverse=inverse, base="floating"
            ).core.latency["minv"],
        }
        for inverse in ("single_pivots", "paired_pivots", "block_pivots")
    ]


def limbs(bases: Iterable[str] = ("fixed", "floating")) -> Rows:
    """Return the resources of HyQ with and without shared limb hardware: all functions, 18x18 bits."""
    rows = []
    for base in bases:
        for ii, share in ((1, "off"), (4, "off"), (4, "on")):
            plan = plan_of("hyq", ii=ii, base=base, share=share)
            taken = vars(counts(plan.program, plan.pipeline))
            named = {name.replace("_", " "): count for name, count in taken.items()}
            rows.append(
                {"base": base, "II": ii, "limbs": "in turn" if share == "on" else "each its own"} | named
            )
    return rows


def accuracy(builds: Iterable[tuple[str, int | None]] = BUILDS) -> Rows:
    """Return errors against the golden model, and after each robot's builds those of Q16.16."""
    rows: Rows = []
    builds = list(builds)
    for name in dict.fromkeys(name for name, _ in builds):
        for width in (width for robot, width in builds if robot == name):
            rows += _own_errors(name, width)
        rows += _uniform_errors(name)
    return rows


def _own_errors(name: str, width: int | None) -> Rows:
    plan = plan_of(name, width=width)
    bits = "×".join(map(str, plan.program.port_widths))
    if width is None:
        wide = len(plan.program.wide)
        wider = f" and {wide:,} wider products" if wide else ""
        bits = f"budget {DEFAULT_MAX_ERROR:g}: {bits}{wider}"
    return [row for function in ALL for row in _error_rows(name, bits, function, errors_of(plan, function))]


def _uniform_errors(name: str) -> Rows:
    plan = plan_of(name)
    source, robot = plan.prepared.model.source, plan.prepared.model.robot
    drawn = draw(source, plan.prepared.domain, UNIFORM_TASKS, np.random.default_rng(1))
    rows = []
    for function in ALL:
        floor = errors_of(plan, function).floor
        errors, overflow = uniform_errors(source, robot, function, drawn.arrays, floor)
        found = FunctionErrors.of(errors, ~overflow, drawn.stratum, STRATA, floor)
        rows += _error_rows(name, UNIFORM, function, found)
    return rows


def _error_rows(name: str, bits: str, function: str, found: FunctionErrors) -> Rows:
    """Return a row for all tasks, and one for each stratum."""
    return [
        {
            "robot": name,
            "bits": bits,
            "function": function,
            "stratum": stratum,
            "median": figures.median,
            "largest": figures.max,
            "tasks": figures.samples,
            "tasks counted": figures.samples - figures.flagged,
        }
        for stratum, figures in {ALL_STRATA: found.whole, **found.strata}.items()
    ]


def accuracy_layout(rows: Rows) -> Rows:
    """Return lines of median / largest error by function; with the counted tasks where some overflow."""

    def label(row: Row) -> str:
        return f"{_robot(row)}, {row['bits']}"

    whole = [row for row in rows if row["stratum"] == ALL_STRATA]
    tasks = {label(row): row["tasks"] for row in whole}
    shown = _by_function(whole, (label, _errors))
    return [{"": row[""], "tasks": tasks[row[""]]} | row for row in shown]


def strata() -> Rows:
    """Return errors by stratum of iiwa14 at the least width, by the default budget, and in Q16.16."""
    return accuracy([("iiwa14", 18), ("iiwa14", None)])


def strata_layout(rows: Rows) -> Rows:
    """Return lines of each stratum's median / largest error by function."""
    parts = [row for row in rows if row["stratum"] != ALL_STRATA]
    return _by_function(parts, (lambda row: f"{row['stratum']}, {row['bits']}", _errors))


def _errors(row: Row) -> str:
    if not row["tasks counted"]:
        return "-"
    missing = row["tasks counted"] < row["tasks"]
    counted = f" ({row['tasks counted']:,})" if missing else ""
    return f"{row['median']:.1e} / {row['largest']:.1e}{counted}"


def generator() -> Rows:
    """Return processor time and memory of `rbdhw generate`, including the start of Python."""
    rows = []
    for name, ii in (("iiwa14", 1), ("atlas", 32)):
        with tempfile.TemporaryDirectory() as folder:
            design = f"{folder}/design"
            taken = _run(["generate", str(bundled()[name]), "-o", design, "--ii", str(ii), "--width", "18"])
        rows.append({"what": f"`generate` {NAMES.get(name, name)}, all functions, II {ii}, 18 bits"} | taken)
    return rows


def simulation() -> Rows:
    """Return time and memory of `rbdhw simulate --bulk`, with and without Verilator's build."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        design = f"{folder}/design"
        _run(["generate", str(bundled()["iiwa14"]), "-o", design, "--functions", "did"])
        for state in ("with the build", "once built"):
            taken = _run(["simulate", design, "--bulk", "--tasks", str(SIMULATED_TASKS)])
            what = f"`simulate --bulk` iiwa14 ΔID, II 1, {SIMULATED_TASKS:,} tasks, {state}"
            rows.append({"what": what} | taken)
    return rows


def costs() -> Rows:
    """Return the run time and memory of the generator and of the simulation on this machine."""
    return generator() + simulation()


TABLES: dict[str, Table] = {
    "operations": Table("Operations of a task", operations, operations_layout),
    "errors": Table("Errors, median / largest", accuracy, accuracy_layout),
    "strata": Table("Errors of iiwa14 by stratum, median / largest", strata, strata_layout),
    "other-bases": Table("Operations of a task, other bases", lambda: operations(OTHERS), others_layout),
    "roots": Table("Atlas floating, from two roots", roots, roots_layout),
    "limbs": Table("HyQ, limbs shared or not, all functions, 18×18 bits, xcvu9p, 125 MHz", limbs),
    "latencies": Table("Core latency at II = 1, xcvu9p, 125 MHz", latencies, latencies_layout),
    "pivots": Table("HyQ floating, inverse mass matrix, 27×18 bits, xcvu9p, 125 MHz", base_pivots),
    "published": Table(
        "Beside published accelerators, iiwa14, ΔFD at given accelerations, xcvu9p",
        measure_published,
        packages=("verilator",),
    ),
    "link": Table(
        "Saturating a link of 32 GB/s each way, ΔFD alone, 18×18 bits, xcvu9p",
        measure_link,
        lambda rows: [row | {"robot": _robot(row)} for row in rows],
    ),
    "pinocchio": Table(
        "iiwa14, all functions, 18×18 bits, ecp5-85, beside Pinocchio on one core",
        measure_small,
        small_layout,
        packages=("pinocchio", "verilator"),
        varies=True,
    ),
    "processors": Table(
        "The functions in C beside Pinocchio in C++, on one core",
        processor_rows,
        processor_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "beside": Table(
        "iiwa14: an accelerator (xcvu9p, 125 MHz, II 1, default budget) beside one core",
        accelerator_rows,
        accelerator_layout,
        packages=("pinocchio",),
        varies=True,
    ),
    "model": Table("The bit-exact model in C and in NumPy, iiwa14", model_rows, model_layout, varies=True),
    "compilation": Table("Compiling all functions in C", compile_rows, varies=True),
    "costs": Table("Generating and simulating", costs, packages=("cocotb", "verilator"), varies=True),
}
"""The tables by name, in the order of measurement: tables that share builds are adjacent."""


def _by_function(rows: Rows, *lines: tuple[Text, Text]) -> Rows:
    """Join rows of one function each to lines of all functions, each with a label and a cell per function."""
    shown: dict[str, Row] = {}
    for row in rows:
        for label, cell in lines:
            shown.setdefault(label(row), {"": label(row)})[row["function"]] = cell(row)
    return list(shown.values())


def _robot(row: Row) -> str:
    name: str = row["robot"]
    return NAMES.get(name, name) + BASES[row.get("base", "fixed")]


def _both_counts(row: Row) -> str:
    """Return the multiplications in the program of all functions / those of the function's graph alone."""
    return f"{row['multiplications']:,} / {row['multiplications of the function alone']:,}"


def _products(found: dict[str, Any]) -> int:
    return sum(found["multiplications"].values())


def _run(arguments: Sequence[str]) -> Row:
    """Run an rbdhw command in a process of its own; return its time and its peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rbdhw", *arguments], stdout=subprocess.DEVNULL, start_new_session=True
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"rbdhw {' '.join(arguments)} exited with {process.returncode}")
    return {
        "seconds": round(time.perf_counter() - start),
        "seconds of processor": round(usage.ru_utime + usage.ru_stime),
        "memory (GB)": f"{usage.ru_maxrss / 2**20:.1f}",
    }


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
