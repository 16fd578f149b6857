"""A graph's results beside those of the golden model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.domain.graph_inputs import angular_coordinates, graph_inputs
from rbdhw.fixed.result_words import result_words
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.graph.check import check
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import interpret
from rbdhw.model.interface import unflatten
from rbdhw.protocol import DEFAULT_FUNCTIONS, FLAGS, FUNCTIONS, flag_values
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from tests.support.strategies import random_states

TASKS = 2


def results(
    graph: Graph,
    robot: Robot,
    states: Mapping[str, np.ndarray],
    functions: Sequence[str],
    extended: bool = False,
) -> dict[str, dict[str, np.ndarray]]:
    """Return the arrays of each function's outputs that the graph has, by function and name."""
    flags = [flag_values(function, extended) for function in functions]
    chosen = {name: np.array([[choice[name]] for choice in flags], np.float64) for name in FLAGS}
    shape = (len(functions), len(states["q"]))
    inputs = {name: np.broadcast_to(x, shape) for name, x in (graph_inputs(robot, states) | chosen).items()}
    values = {name: np.broadcast_to(value, shape) for name, value in _by_words(graph, inputs).items()}
    by_function = {}
    for k, function in enumerate(functions):
        words = {
            name: value[k] for name, value in values.items() if WordName.parse(name).function == function
        }
        by_function[function] = _arrays(words, len(states["q"]), robot)
    return by_function


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
    unflatten(arrays, values.items(), robot.nv)
    return arrays


def prepared(robot: Robot) -> Robot:
    """Return a robot as the algorithms take it, without a search for better frames."""
    return regroup_inertias(align_axes(elementary(robot)))


def assert_graph_is_golden(
    robot: Robot,
    seed: int,
    algorithms: Algorithms = DEFAULT,
    functions: Sequence[str] = (*DEFAULT_FUNCTIONS, "gravity", "bias"),
    within: float = 1e-9,
) -> None:
    """Check functions with forces on every link, at random states."""
    arrays = random_states(robot, TASKS, seed)
    if any(FUNCTIONS[function].takes_inverse for function in functions):
        arrays["Minv"] = golden.evaluate(robot, "minv", arrays)["Minv"]
    elements = prepared(robot)
    graph = trace(elements, functions, elements.links, algorithms)
    assert_results_are_golden(graph, robot, arrays, functions, within)


def assert_extended_graph_is_golden(robot: Robot, function: str, base_given: bool) -> None:
    """Check a function with its optional results, where the robot can on a base whose motion is given."""
    if base_given and not robot.floats:
        robot = replace(robot, base_given=True, gravity_given=True)
    elements, arrays = prepared(robot), random_states(robot, 2, seed=2)
    graph = trace(elements, (function,), elements.links)
    extended = bool(FUNCTIONS[function].optional_outputs)
    assert_results_are_golden(graph, robot, arrays, (function,), 1e-6, extended)


def assert_results_are_golden(
    graph: Graph,
    robot: Robot,
    arrays: Mapping[str, np.ndarray],
    functions: Sequence[str],
    within: float = 1e-9,
    extended: bool = False,
) -> None:
    """Check a graph, and each array of functions within a share of its largest element.

    Extended functions take the inverse of the mass matrix from the arrays, and return their optional results.
    """
    check(graph)
    given = {name: array for name, array in arrays.items() if extended or name != "Minv"}
    for function, computed in results(graph, robot, arrays, functions, extended).items():
        for name, expected in golden.evaluate(robot, function, given, extended).items():
            actual = computed.get(name, np.zeros_like(expected))
            if name == "x_next":
                actual[:, : robot.nq][:, angular_coordinates(robot)] *= 2.0 * np.pi  # graphs give turns
            largest = max(1e-3, np.abs(expected).max())
            np.testing.assert_allclose(
                actual, expected, rtol=0, atol=within * largest, err_msg=f"{function}.{name}"
            )
