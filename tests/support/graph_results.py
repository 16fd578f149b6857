"""A graph's results beside those of the golden model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdhw import golden
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.fixed.result_words import result_words
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import interpret
from rbdhw.interface import unflatten
from rbdhw.protocol import DEFAULT_FUNCTIONS, FLAGS, WordName, flag_values
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from tests.support.strategies import random_states

TASKS = 4


def results(
    graph: Graph,
    robot: Robot,
    states: Mapping[str, np.ndarray],
    functions: Sequence[str],
    extended: bool = False,
) -> dict[str, dict[str, np.ndarray]]:
    """Return the arrays of each function's outputs that the graph has, by function and name."""
    flags = [flag_values(function, extended) for function in functions]
    chosen = {name: np.array([[own[name]] for own in flags], np.float64) for name in FLAGS}
    shape = (len(functions), len(states["q"]))
    inputs = {name: np.broadcast_to(x, shape) for name, x in (graph_inputs(robot, states) | chosen).items()}
    values = {name: np.broadcast_to(value, shape) for name, value in _by_words(graph, inputs).items()}
    found = {}
    for k, function in enumerate(functions):
        own = {name: value[k] for name, value in values.items() if WordName.parse(name).function == function}
        found[function] = _arrays(own, len(states["q"]), robot)
    return found


def _by_words(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the value of each output, from those of the words that travel."""
    values = interpret(graph, inputs)
    return {
        element.name: -values[word.name] if element.negative else values[word.name]
        for word in result_words(graph)
        for element in word.elements
    }


def _arrays(values: Mapping[str, np.ndarray], tasks: int, robot: Robot) -> dict[str, np.ndarray]:
    names = map(WordName.parse, values)
    arrays = {name.array: np.zeros((tasks, *name.kind.shape(robot.sizes))) for name in names}
    unflatten(arrays, values.items())
    return arrays


def assert_graph_is_golden(robot: Robot, seed: int, algorithms: Algorithms = DEFAULT) -> None:
    """Check all functions with external forces on every link, at random states, within 1e-9."""
    arrays = random_states(robot, TASKS, seed)
    arrays["Minv"] = golden.evaluate(robot, "minv", arrays)["Minv"]
    prepared = regroup_inertias(align_axes(elementary(robot)))
    graph = trace(prepared, DEFAULT_FUNCTIONS, prepared.links, algorithms)
    for function, found in results(graph, robot, arrays, DEFAULT_FUNCTIONS).items():
        for name, expected in golden.evaluate(robot, function, arrays).items():
            actual = found.get(name, np.zeros_like(expected))
            largest = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * largest, err_msg=function)
