"""The table of inertial parameters at run time: what they cost in multiplications."""

from __future__ import annotations

from collections.abc import Mapping

from rbdhw.bench.rows import Row, Rows
from rbdhw.domain.overrides import ParameterBounds
from rbdhw.domain.parameter_bounds import bound_parameters
from rbdhw.frontend.build_graph import multiplications, prepare, trace_model
from rbdhw.passes.factor import factor
from rbdhw.protocol import PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import leaf_link, load_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

FUNCTIONS = ("id", "fd", "did", "dfd")
"""The functions that are counted, each built alone."""

WHOLE = ParameterBounds(mass=0.2, centre=0.02, inertia=0.2)
"""Bounds within which all ten parameters of a link vary, whatever is zero in the URDF."""

CASES: Mapping[str, tuple[str, ParameterBounds]] = {
    "constant": ("none", ParameterBounds()),
    "last link, what is not zero": ("last", ParameterBounds()),
    "last link, all ten": ("last", WHOLE),
    "every link, what is not zero": ("every", ParameterBounds()),
    "every link, all ten": ("every", WHOLE),
}
"""The links whose parameters are given at run time, and their bounds."""


def parameter_costs() -> Rows:
    """Return the multiplications of functions of iiwa14, and the numbers of parameters that are held."""
    robot = load_urdf(path("iiwa14"))
    return [
        _row(case, bound_parameters(_load(robot, links), given)) for case, (links, given) in CASES.items()
    ]


def _load(robot: Robot, links: str) -> Robot:
    names = {"none": [], "last": [leaf_link(robot)], "every": [body.name for body in robot.bodies]}[links]
    return load_inertias(robot, names) if names else robot


def _row(case: str, robot: Robot) -> Row:
    row: Row = {"case": case}
    for function in FUNCTIONS:
        graph = factor(trace_model(prepare(robot, (function,)), (function,)))
        row[function] = multiplications(graph)
        row["held"] = sum(name.startswith(PARAMETERS) for name in graph.inputs)
    return row


def parameter_layout(rows: Rows) -> Rows:
    """Return a line for each case."""
    return [
        {"parameters at run time": row["case"], "numbers": row["held"]}
        | {function: f"{row[function]:,}" for function in FUNCTIONS}
        for row in rows
    ]
