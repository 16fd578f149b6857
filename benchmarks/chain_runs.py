"""Forward dynamics of chains on a processor and in fixed point: errors and times by the number of links.

Long chains are ill-conditioned: rounding errors of forces become large errors of accelerations, the larger
the longer the chain. Errors of floating point are relative to a result in extended precision for the same
numbers. Those of fixed point are the generator's own, without a search for a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.forward_dynamics import WAYS, model, snake
from benchmarks.rows import Row, Rows, microseconds_text
from benchmarks.timing import timed_software
from rbdhw.cores.prepared import Prepared
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.strata import ordinary_motions
from rbdhw.emit.software import emit_software
from rbdhw.explore.search import BuildSearch
from rbdhw.frontend.build_graph import optimise, trace_model
from rbdhw.graph.interpret import interpret
from rbdhw.graph.twins import no_twins
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.formats import choose_formats
from rbdhw.software.float_library import REALS, FloatLibrary
from rbdhw.software.floating import trace_sources
from rbdhw.software.folder import Software
from rbdhw.target import target

TASKS = 256
"""The motions over which errors of floating point are taken, and of which calls are timed."""

SAMPLES = 1024
"""The tasks for which formats of fixed point are chosen."""

WIDTHS = (18, 32)
"""The widths of multipliers in fixed point."""

LONGEST_IN_FIXED_POINT = 32
"""The links of the longest chain in fixed point."""

ALL_LINKS = (7, 32, 1024)
"""The links of the chains whose errors are found."""

TIMED_LINKS = (10, 32, 100, 200)
"""The links of the chains that are timed. The paper on parallel forward dynamics has 10 to 200."""

MOST_LINKS = {"inverse": 32, "solves": 64, "reduced": 100, "eliminated": 32}
"""The longest chains whose C is compiled, by way: compiling others takes too long, or they do not exist."""

CALLS = (1, 10, 100, 1000, 10_000)
"""The tasks of a call."""

Array = NDArray[np.float64]
Long = NDArray[np.longdouble]


def chain_errors(links: Iterable[int] = ALL_LINKS, widths: Iterable[int] = WIDTHS) -> Rows:
    """Return the median and the largest relative error of ``fd`` by chain, way and number format."""
    return [row for count in links for row in _errors(count, tuple(widths))]


def chain_times(links: Iterable[int] = TIMED_LINKS) -> Rows:
    """Return the microseconds of ``fd`` for one task, in ``float`` on one core, by chain, way and call."""
    rows = []
    for count in links:
        drawn = motions(count)
        tasks = {name: np.resize(array, (CALLS[-1], *array.shape[1:])) for name, array in drawn.items()}
        for way in ways(count):
            library = timed_software(software(count, way), "float32")
            times = {f"{calls:,}": 1e6 * library.seconds("fd", tasks, calls) / calls for calls in CALLS}
            rows.append({"links": count, "way": way} | times)
    return rows


def software(links: int, way: str) -> Software:
    """Return ``fd`` of a chain in C."""
    robot_model = model(links, way)
    return emit_software(robot_model, trace_sources(robot_model, ("fd",)), "c")


def motions(links: int) -> dict[str, Array]:
    """Return ordinary motions of a chain whose numbers are all of single precision, always the same."""
    robot = snake(links)
    drawn = ordinary_motions(robot, input_domain(robot), TASKS, np.random.default_rng(0))
    return {name: array.astype(np.float32).astype(np.float64) for name, array in drawn.items()}


def reference(links: int, tasks: Mapping[str, Array]) -> Long:
    """Return the accelerations (N, nv) of tasks, propagated through a chain in extended precision."""
    graph = trace_model(model(links, "propagated"), ("fd",))
    turn = 8.0 * np.arctan(np.asarray(1.0, np.longdouble))
    scaled = {"q": tasks["q"] / turn, "v": tasks["v"], "tau": tasks["tau"]}
    inputs = {f"{name}[{k}]": array[:, k] for name, array in scaled.items() for k in range(links)}
    results = interpret(graph, inputs, np.longdouble)
    return np.stack([results[f"fd.a[{k}]"] for k in range(links)], axis=1)


def _errors(links: int, widths: tuple[int, ...]) -> Rows:
    tasks = motions(links)
    exact = reference(links, tasks)
    rows = []
    for way in ways(links):
        made = software(links, way)
        row: Row = {"links": links, "way": way}
        for number in REALS:
            off = _norm(_run(made, number, tasks) - exact) / _norm(exact)
            row[number] = {"median": float(np.median(off)), "max": float(off.max())}
        rows.append(row | (fixed_errors(links, way, widths) if links <= LONGEST_IN_FIXED_POINT else {}))
    return rows


def _run(made: Software, number: str, tasks: Mapping[str, Array]) -> Array:
    """Return the accelerations (N, nv) of tasks by the C of a robot."""
    library = FloatLibrary(made.sources, {"fd": made.arrays("fd")}, number)
    inputs = {name: tasks[name].astype(library.dtype) for name in ("q", "v", "tau")}
    accelerations = np.zeros_like(inputs["v"])
    library.compute("fd", inputs, {"a": accelerations})
    return accelerations.astype(np.float64)


def fixed_errors(links: int, way: str, widths: Iterable[int]) -> Row:
    """Return the errors of ordinary motions by the width of multipliers."""
    options = BuildOptions(("fd",), ii=links, samples=SAMPLES)
    robot_model = model(links, way)
    graph = optimise(trace_model(robot_model, ("fd",)), target(options.target).delays)
    search = BuildSearch(Prepared(robot_model, input_domain(robot_model.source), graph), options)
    row: Row = {}
    for width in widths:
        formats = choose_formats(search.observed(), replace(options, width=width), no_twins(graph))
        motion = formats.errors["fd"].strata["motion"]
        row[f"{width} bits"] = {"median": motion.median, "max": motion.max}
    return row


def _norm(rows: Long) -> Long:
    return np.asarray(np.sqrt((rows * rows).sum(axis=1)))


def ways(links: int) -> list[str]:
    """Return the ways whose C is compiled for a chain."""
    return [way for way in WAYS if links <= MOST_LINKS.get(way, links)]


def errors_layout(rows: Rows) -> Rows:
    """Return a line for each chain and way: median and largest errors."""
    columns = [key for key in rows[0] if key not in ("links", "way")]
    return [_label(row) | {key: _pair(row[key]) if key in row else "-" for key in columns} for row in rows]


def times_layout(rows: Rows) -> Rows:
    """Return a line for each chain and way: microseconds of a task."""
    return [
        _label(row) | {key: microseconds_text(row[key]) for key in row if key not in ("links", "way")}
        for row in rows
    ]


def _label(row: Row) -> Row:
    return {"links": f"{row['links']:,}", "way": row["way"]}


def _pair(figures: Mapping[str, float]) -> str:
    return f"{figures['median']:.1e} / {figures['max']:.1e}"
