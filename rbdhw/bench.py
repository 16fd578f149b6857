"""The README's tables, measured: the generated hardware, the generator, and the simulation.

Counts (operations, multipliers, cycles, errors) are the same on every machine; seconds and megabytes are
this machine's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rbdhw.choice import longest_paths
from rbdhw.comparison import link_rows, published_rows, small_rows
from rbdhw.config import BuildOptions, Mounting
from rbdhw.errors import InputError
from rbdhw.estimate.core import counts
from rbdhw.extras import check_installed
from rbdhw.fixed.widths import port_widths
from rbdhw.graph.graph import Graph
from rbdhw.manifest import function_counts
from rbdhw.mounting import mounted
from rbdhw.passes.factor import factor
from rbdhw.planning import Plan, planned
from rbdhw.preparation import (
    DEFAULT_DELAYS,
    ROOT_ALGORITHMS,
    multiplications,
    operation_delay,
    optimised,
    prepare,
    traced,
)
from rbdhw.progress import Progress
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import candidate_roots, reroot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.sampling import sample
from rbdhw.schedule.model import Resource
from rbdhw.tracing import Algorithms, trace
from rbdhw.uniform import uniform_errors

Row = dict[str, Any]

ALL = tuple(FUNCTIONS)
ROBOTS = ("toy", "iiwa14", "hyq", "atlas")
FREE = (
    ("hyq", "floating"),
    ("spot_arm", "floating"),
    ("atlas", "floating"),
    ("iiwa14", "given"),
    ("tiago", "fixed"),
    ("hand22", "fixed"),
)
"""Robots that float, ride on a planar joint or a moving base, or have many branches."""

WIDTHS = (18, 27)
INTERVALS = (1, 2, 4, 8, 16)

UNIFORM_TASKS = 4096
"""Tasks by which Q16.16 is judged."""

PAPERS = Algorithms("columns", "articulated", "dense", "repeated")
"""What the published accelerators compute by."""

GENERATED = (("iiwa14", "id", 1), ("iiwa14", ",".join(ALL), 1), ("atlas", ",".join(ALL), 32))
SIMULATED = (
    ("toy", ",".join(ALL), ("--tasks", "1000")),
    ("iiwa14", "id", ("--tasks", "1000")),
    ("iiwa14", "dfd", ("--tasks", "200000", "--bulk")),
)


def measure(progress: Progress, only: str = "") -> dict[str, list[Row]]:
    """The tables whose titles contain some text, by title; all of them without one.

    Raises
    ------
    InputError
        Where no title contains it, or a package that a table needs is not installed.
    """
    titles = [title for title in TABLES if only.casefold() in title.casefold()]
    if not titles:
        raise InputError(f"only: no table's title contains '{only}'; expected part of {', '.join(TABLES)}")
    for package in {package: None for title in titles for package in NEEDED.get(title, ())}:
        check_installed(package)
    results: dict[str, list[Row]] = {}
    for title in titles:
        progress(title)
        results[title] = TABLES[title]()
    return results


def markdown(results: dict[str, list[Row]]) -> str:
    """The tables in Markdown."""
    parts = []
    for title, rows in results.items():
        columns = list(rows[0])
        lines = [f"### {title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line([_cell(row[column]) for column in columns]) for row in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def operations() -> list[Row]:
    """Operations of every function: built alone, within the build of all, and by the papers' algorithms."""
    rows = []
    for name in ROBOTS:
        source = align_axes(load_urdf(bundled()[name]))
        together = graph_of(name, ALL)
        for function in ALL:
            alone = function_counts(graph_of(name, (function,)), function)
            papers = factor(trace(source, (function,), (), PAPERS))
            rows.append(
                {
                    "robot": name,
                    "function": function,
                    "multiplications": _products(alone),
                    "additions": alone["additions"],
                    "reciprocals": alone["reciprocals"],
                    "multiplications in the build of all": _products(function_counts(together, function)),
                    "multiplications by columns and articulated bodies": multiplications(papers),
                }
            )
    return rows


def floating() -> list[Row]:
    """Operations of every function of robots that are free in space or on wheels, in the build of all."""
    rows = []
    for name, base in FREE:
        source = mounted(load_urdf(bundled()[name]), Mounting(base))
        graph = factor(traced(prepare(source, ALL), ALL))
        row: Row = {"robot": name, "base": base, "degrees of freedom": source.nv}
        rows.append(row | {function: _products(function_counts(graph, function)) for function in ALL})
    return rows


def roots() -> list[Row]:
    """What another root does to Atlas: bodies on the longest path, operations, and time to the results."""
    base = load_urdf(bundled()["atlas"]).with_floating_base()
    rows = []
    for robot in (base, best_depth(base)):
        plain = regroup_inertias(align_axes(elementary(robot)))
        graph = factor(trace(plain, ALL, (), ROOT_ALGORITHMS))
        paths = longest_paths(graph, operation_delay(DEFAULT_DELAYS))
        row: Row = {"root": robot.bodies[0].name, "depth": robot.depth}
        for function in ALL:
            products = _products(function_counts(graph, function))
            row[function] = f"{products:,} in {paths[function]:.0f} ns"
        rows.append(row)
    return rows


def best_depth(robot: Robot) -> Robot:
    """A floating robot from the root that makes it least deep."""
    return reroot(robot, candidate_roots(robot)[0][0])


def latencies() -> list[Row]:
    """Core latencies at II = 1, and what taking reciprocals off the critical path saves."""
    rows = []
    for name in ("iiwa14", "hyq"):
        together = plan_of(name, ALL).core_latency
        single = plan_of(name, ALL, inverse="single_pivots").core_latency
        for function in ALL:
            rows.append(
                {
                    "robot": name,
                    "function": function,
                    "cycles, built alone": plan_of(name, (function,)).core_latency[function],
                    "cycles in the build of all": together[function],
                    "with single pivots": single[function],
                }
            )
    return rows


def base_pivots() -> list[Row]:
    """What eliminating a floating base by blocks saves: HyQ's inverse mass matrix, 27x18 bits, II = 1."""
    return [
        {
            "pivots": inverse,
            "core latency (cycles)": plan_of(
                "hyq", ("minv",), 27, inverse=inverse, base="floating"
            ).core_latency["minv"],
        }
        for inverse in ("single_pivots", "paired_pivots", "block_pivots")
    ]


def limbs() -> list[Row]:
    """What HyQ's legs in turn on one leg's hardware take, and each on its own: all functions, 18x18 bits."""
    rows = []
    for base in ("fixed", "floating"):
        for ii, share in ((1, "off"), (4, "off"), (4, "on")):
            plan = plan_of("hyq", ALL, ii=ii, base=base, share=share)
            taken = counts(plan.program, plan.pipeline)
            rows.append({"base": base, "II": ii, "--share-limbs": share} | vars(taken))
    return rows


def sharing() -> list[Row]:
    """What time-multiplexing does to iiwa14 with all functions."""
    rows = []
    for ii in INTERVALS:
        plan = plan_of("iiwa14", ALL, ii=ii)
        units = [unit for unit in plan.pipeline.units if unit.resource is Resource.MULTIPLIER]
        used = sum(len(unit.steps) for unit in units)
        rows.append(
            {
                "II": ii,
                "multipliers": len(units),
                "slots used": f"{used / (len(units) * ii):.1%}",
                **{f"{function} (cycles)": plan.latency[function] for function in ALL},
            }
        )
    return rows


def accuracy() -> list[Row]:
    """Relative errors against the golden model, median / largest, over the whole domain."""
    rows = []
    for name in ROBOTS:
        measured = {width: plan_of(name, ALL, width=width).formats.errors for width in WIDTHS}
        model, domain = plan_of(name, ALL).model, plan_of(name, ALL).domain
        arrays = sample(model.source, domain, UNIFORM_TASKS, np.random.default_rng(1))
        for function in ALL:
            row: Row = {"robot": name, "function": function}
            for width, errors in measured.items():
                error = errors[function].whole
                ports = "×".join(str(port) for port in port_widths(width))
                row[f"{ports} bits"] = f"{error.median:.1e} / {error.max:.1e}"
            uniform = uniform_errors(model.source, model.robot, function, arrays, model.choice.algorithms)
            row["Q16.16 throughout"] = f"{np.median(uniform):.1e} / {np.max(uniform):.1e}"
            rows.append(row)
    return rows


def generator() -> list[Row]:
    """Seconds and memory of `rbdhw generate`, start of Python included."""
    rows = []
    for name, functions, ii in GENERATED:
        options = ["--functions", functions, "--ii", str(ii), "--width", "18"]
        with tempfile.TemporaryDirectory() as folder:
            seconds, megabytes = _timed(
                ["generate", str(bundled()[name]), "-o", f"{folder}/design", *options]
            )
        rows.append(
            {
                "robot": name,
                "functions": functions,
                "II": ii,
                "seconds": round(seconds, 1),
                "memory (MB)": round(megabytes),
            }
        )
    return rows


def simulation() -> list[Row]:
    """Seconds of `rbdhw simulate`, Verilator's build included, and once built."""
    rows = []
    for name, functions, arguments in SIMULATED:
        with tempfile.TemporaryDirectory() as folder:
            design = f"{folder}/design"
            _timed(
                ["generate", str(bundled()[name]), "-o", design, "--functions", functions, "--width", "18"]
            )
            with_build, _ = _timed(["simulate", design, *arguments])
            built, _ = _timed(["simulate", design, *arguments])
        rows.append(
            {
                "robot": name,
                "functions": functions,
                "arguments": " ".join(arguments),
                "seconds with build": round(with_build, 1),
                "seconds once built": round(built, 1),
            }
        )
    return rows


PUBLISHED_TITLE = "Beside published accelerators, iiwa14, ΔFD at given accelerations, xcvu9p"
SMALL_TITLE = "iiwa14, all functions, 18×18 bits, ecp5-85, beside Pinocchio on one core"
SIMULATING_TITLE = "Simulating"

TABLES: dict[str, Callable[[], list[Row]]] = {
    "Operations of a task": operations,
    "Operations of a task, other bases": floating,
    "Atlas floating, from two roots": roots,
    "Core latency at II = 1, 18×18 bits, xcvu9p, 125 MHz": latencies,
    "HyQ floating, inverse mass matrix, 27×18 bits, xcvu9p, 125 MHz": base_pivots,
    "HyQ, limbs shared or not, all functions, 18×18 bits, xcvu9p, 125 MHz": limbs,
    "iiwa14, all functions, 18×18 bits, xcvu9p, 125 MHz": sharing,
    "Saturating a link of 32 GB/s each way, ΔFD alone, 18×18 bits, xcvu9p": link_rows,
    PUBLISHED_TITLE: published_rows,
    SMALL_TITLE: small_rows,
    "Errors, median / largest of 16,384 tasks": accuracy,
    "Generating": generator,
    SIMULATING_TITLE: simulation,
}

NEEDED = {
    PUBLISHED_TITLE: ("verilator",),
    SMALL_TITLE: ("pinocchio", "verilator"),
    SIMULATING_TITLE: ("cocotb", "verilator"),
}
"""Packages of extras that tables need, by title. They are looked for before the first table is made."""


def graph_of(name: str, functions: tuple[str, ...]) -> Graph:
    """The graph that would be built for some functions of a bundled robot."""
    model = prepare(load_urdf(bundled()[name]), functions)
    return optimised(traced(model, functions), DEFAULT_DELAYS)


@cache
def plan_of(
    name: str,
    functions: tuple[str, ...],
    width: int = 18,
    ii: int = 1,
    inverse: str | None = None,
    base: str = "fixed",
    share: str = "auto",
) -> Plan:
    """A bundled robot's build, before its RTL; ``inverse`` forces that algorithm."""
    algorithms = {"inverse": inverse} if inverse else {}
    options = BuildOptions(functions=functions, width=width, ii=ii, algorithms=algorithms, share_limbs=share)
    return planned(mounted(load_urdf(bundled()[name]), Mounting(base)), options)


def _products(counts: dict[str, Any]) -> int:
    return sum(counts["multiplications"].values())


def _timed(arguments: Sequence[str]) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a command of ours in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rbdhw", *arguments], stdout=subprocess.DEVNULL, start_new_session=True
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"rbdhw {' '.join(arguments)} exited with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024.0


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
