"""Results at random states in double precision, by the graph and by the golden model, for differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import ARRAYS
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.frontend.functions import trace
from rbdhw.graph.interpret import interpret
from rbdhw.model.interface import unflatten
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias

Array = NDArray[np.float64]
Arrays = dict[str, Array]

STATES = 8
"""The random states at which derivatives are compared."""


def random_states(robot: Robot) -> Arrays:
    """Return random states of a robot whose joints have one degree of freedom."""
    rng = np.random.default_rng(0)
    shape = (STATES, robot.nv)
    return {"q": rng.uniform(-3, 3, shape), "v": rng.uniform(-2, 2, shape), "a": rng.uniform(-5, 5, shape)}


def by_graph(robot: Robot, arrays: Arrays, function: str) -> Arrays:
    """Return a function's results by its graph, interpreted in double precision."""
    graph = trace(regroup_inertias(align_axes(elementary(robot))), (function,))
    shapes = {name: ARRAYS[name].shape(robot.sizes) for name in FUNCTIONS[function].outputs}
    results = {name: np.zeros((len(arrays["q"]), *shape)) for name, shape in shapes.items()}
    inputs = graph_inputs(robot, arrays)
    values = interpret(graph, {name: inputs[name] for name in graph.inputs})
    unflatten(results, values.items(), robot.nv)
    return results


def shifted(robot: Robot, arrays: Arrays, shifts: Sequence[tuple[str, float]]) -> Arrays:
    """Return tasks (nv, ..., N, ...) shifted along each coordinate of each array in turn."""
    n = robot.nv
    shape = (n,) * len(shifts)
    moved = {name: np.broadcast_to(array, (*shape, *array.shape)).copy() for name, array in arrays.items()}
    for axis, (name, step) in enumerate(shifts):
        offsets = np.expand_dims(
            step * np.eye(n), tuple(k + 1 if k >= axis else k for k in range(len(shape) - 1))
        )
        moved[name] += np.expand_dims(offsets, -2)
    return moved


def evaluated(robot: Robot, function: str, name: str, arrays: Arrays) -> Array:
    """Return a golden result for tasks that have several axes before those of one task."""
    lead = arrays["q"].shape[:-1]
    flat = {key: array.reshape(-1, *array.shape[len(lead) :]) for key, array in arrays.items()}
    values = golden.evaluate(robot, function, flat)[name]
    return values.reshape(*lead, *values.shape[1:])
