"""Second derivatives by hand or by differentiation of the graph, and what the steps of ``sfd`` take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchmarks.rows import Row, Rows
from benchmarks.second_order import SHAPES
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, multiplications, optimise, prepare, trace_accelerator
from rbdhw.graph.graph import Graph, Op
from rbdhw.page.figures import group_of
from rbdhw.robot.model import Robot

LINKS = (4, 8)

WAYS = ("columns", "differentiated")
"""The algorithms: derived by hand, and by differentiation of the graph of inverse dynamics."""

STEPS = {
    "second derivatives of forces": ("second", "second_correction", "virtual_forward"),
    "inner products": ("second_product",),
    "products with M⁻¹": ("inverse_product", "solve"),
    "M⁻¹ and its derivatives": ("factorization", "inverse", "inverse_derivative"),
    "first derivatives": (
        *("rnea_forward", "rnea_backward", "composite", "mass_matrix", "shared_axes"),
        *("derivatives", "columns_forward", "columns_backward", "forward_dynamics"),
    ),
}
"""The steps of ``sfd``, and the names of their submodules."""


def second_ways(links: Iterable[int] = LINKS) -> Rows:
    """Return the multiplications of ``sid`` and ``hid`` by algorithm, and those of the steps of ``sfd``."""
    return [_row(shape, count) for shape in SHAPES for count in links]


def _row(shape: str, links: int) -> Row:
    robot = SHAPES[shape](links)
    row: Row = {"robot": f"{shape} of {links}"}
    for function in ("sid", "hid"):
        for way in WAYS:
            row[f"{function}, {way}"] = multiplications(_graph(robot, function, way))
    steps = Counter(
        _step_of(str(node.region))
        for node in _graph(robot, "sfd", WAYS[0]).nodes
        if node.op in (Op.MULTIPLY, Op.SCALE)
    )
    return row | {"sfd": sum(steps.values()), "steps": {step: steps[step] for step in STEPS}}


def _graph(robot: Robot, function: str, way: str) -> Graph:
    model = prepare(robot, (function,), forced={"second": way})
    return optimise(trace_accelerator(model, (function,)), DEFAULT_DELAYS)


def _step_of(submodule: str) -> str:
    name, _ = group_of(submodule)
    (step,) = (step for step, names in STEPS.items() if name in names)
    return step


def ways_layout(rows: Rows) -> Rows:
    """Return a line for each robot: multiplications, and shares of the steps of ``sfd``."""
    return [
        {"": row["robot"]}
        | {key: f"{row[key]:,}" for key in row if key not in ("robot", "steps")}
        | {f"sfd: {step}": f"{count / row['sfd']:.0%}" for step, count in row["steps"].items()}
        for row in rows
    ]
