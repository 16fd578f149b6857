"""A graph's results beside those of the golden model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw import golden
from rbdhw.domain.bounds import graph_inputs
from rbdhw.frontend.functions import DEFAULT, Algorithms, trace
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import interpret
from rbdhw.interface import unflatten
from rbdhw.protocol import FUNCTIONS, VECTORS, WordName, flag_values
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from tests.support.strategies import random_states

TASKS = 4


def results(
    graph: Graph, robot: Robot, states: Mapping[str, np.ndarray], function: str, extended: bool = False
) -> dict[str, np.ndarray]:
    """Return the arrays of a function's outputs that the graph has, by name."""
    flags = {name: np.asarray(float(value)) for name, value in flag_values(function, extended).items()}
    values = interpret(graph, graph_inputs(robot, states) | flags)
    own = {name: value for name, value in values.items() if WordName.parse(name).function == function}
    tasks, nv = len(states["q"]), robot.nv
    names = {WordName.parse(name).array for name in own}
    arrays = {name: np.zeros((tasks, nv) if name in VECTORS else (tasks, nv, nv)) for name in names}
    unflatten(arrays, own.items())
    return arrays


def assert_graph_is_golden(robot: Robot, seed: int, algorithms: Algorithms = DEFAULT) -> None:
    """Check all functions with external forces on every link, at random states, within 1e-9."""
    arrays = random_states(robot, TASKS, seed)
    arrays["Minv"] = golden.evaluate(robot, "minv", arrays)["Minv"]
    prepared = regroup_inertias(align_axes(elementary(robot)))
    graph = trace(prepared, tuple(FUNCTIONS), prepared.links, algorithms)
    for function in FUNCTIONS:
        found = results(graph, robot, arrays, function)
        for name, expected in golden.evaluate(robot, function, arrays).items():
            actual = found.get(name, np.zeros_like(expected))
            largest = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * largest, err_msg=function)
