"""The time of second derivatives in C over the number of links, beside first ones and their differences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.rows import Row, Rows
from benchmarks.second_order import binary_tree, chain
from benchmarks.timing import timed_software
from rbdhw.domain.bounds import input_domain, with_multipliers
from rbdhw.domain.sampling import sample
from rbdhw.emit.software import emit_software
from rbdhw.frontend.build_graph import prepare
from rbdhw.robot.model import Robot
from rbdhw.software.floating import trace_sources
from rbdhw.software.folder import Software

SHAPES = {"chain": chain, "binary tree": binary_tree}

SIZES = (2, 4, 8, 12)
"""The links. The code has no loops: of a longer chain a compiler takes minutes and gigabytes."""

FUNCTIONS = ("id", "did", "hid", "sid")

DIFFERENCES = "sid, by central differences of did"


def software_of_links(robot: Robot) -> Software:
    """Return inverse dynamics and its derivatives in C."""
    model = prepare(robot, FUNCTIONS)
    return emit_software(model, trace_sources(model, FUNCTIONS), "c")


def second_times(sizes: Iterable[int] = SIZES) -> Rows:
    """Return the microseconds of one task of each function, in double on one core."""
    return [_row(shape, size) for shape in SHAPES for size in sizes]


def _row(shape: str, size: int) -> Row:
    robot = SHAPES[shape](size)
    domain = with_multipliers(input_domain(robot), robot, None, ("lambda_tau",))
    tasks = sample(robot, domain, 64, np.random.default_rng(0))
    library = timed_software(software_of_links(robot), "float64")
    times = {function: 1e6 * library.seconds(function, tasks) for function in FUNCTIONS}
    return {"shape": shape, "links": size} | times | {DIFFERENCES: 4 * robot.nv * times["did"]}


def second_times_layout(rows: Rows) -> Rows:
    """Return a line for each robot, and for each shape the slopes, which are fitted powers of the links."""
    columns = (*FUNCTIONS, DIFFERENCES)
    lines = []
    for shape in dict.fromkeys(row["shape"] for row in rows):
        group = [row for row in rows if row["shape"] == shape]
        for row in group:
            lines.append(
                {"": f"{shape} of {row['links']}"} | {name: f"{row[name]:.3g} µs" for name in columns}
            )
        links = np.log([row["links"] for row in group])
        slopes = {name: np.polyfit(links, np.log([row[name] for row in group]), 1)[0] for name in columns}
        lines.append({"": f"{shape}, slope"} | {name: f"{slope:.1f}" for name, slope in slopes.items()})
    return lines
