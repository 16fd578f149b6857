"""Trace the requested functions of a robot into one dataflow graph.

The inputs of the graph are those of :mod:`rbdhw.frontend.inputs`. The outputs are named after the arrays of
the user's interface, preceded by the function's name: ``id.tau[0]``.

All functions share one chain of computations. Each function enters and leaves it at its own place::

    inverse dynamics -> derivatives -> did          (id leaves after the first)
    mass matrix -> inverse -> M^-1 (tau - C) -> fd  (m, minv leave on the way)
    - M^-1 d(tau) -> difd, dfd

The quantities on this way are those of :mod:`rbdhw.frontend.quantities`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdhw.arrays import kind_of
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.quantities import Quantities
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.recordings import RECORDINGS
from rbdhw.frontend.result_elements import result_elements, travelling
from rbdhw.frontend.setting import Setting
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import Robot
from rbdhw.scalar import region


def trace(
    robot: Robot,
    functions: Sequence[str],
    fext: Sequence[int] = (),
    algorithms: Algorithms = DEFAULT,
) -> Graph:
    """Return the graph of ``functions`` for a robot whose joint axes are all z."""
    graph = unmerged(robot, functions, fext, algorithms)
    merged = merge(graph, random_states(robot, graph.inputs))
    return prune(replace(merged, outputs=travelling(merged, functions)))


def unmerged(robot: Robot, functions: Sequence[str], fext: Sequence[int], algorithms: Algorithms) -> Graph:
    """Return the graph of :func:`trace` before equal numbers are found.

    Searches over many robots use it because it takes less time.
    """
    recorder = Recorder()
    record(recorder, robot, functions, fext, algorithms)
    return prune(recorder.builder.finish(recorder.outputs))


def record(
    recorder: Any, robot: Robot, functions: Sequence[str], fext: Sequence[int], algorithms: Algorithms
) -> None:
    """Record the functions with a recorder that has the methods of :class:`rbdhw.graph.trace.Recorder`."""
    quantities = Quantities(Setting(recorder, robot, functions, fext, algorithms))
    for function in FUNCTIONS:
        if function in functions:
            record_function(quantities, function)


def record_function(quantities: Quantities, function: str) -> None:
    """Record the results of one function as outputs."""
    recorder, results = quantities.setting.recorder, RECORDINGS[function](quantities)
    robot, entry = quantities.robot, FUNCTIONS[function]
    elements = list(result_elements(robot, function, entry.outputs, results))
    first = ",".join("0" for _ in kind_of(entry.outputs[0], function).dimensions)
    placeholder = f"{function}.{entry.outputs[0]}[{first}]"  # keeps the function if all entries are zero
    optional = results[len(entry.outputs) :]
    with region("encode"):
        for name, element in elements or [(placeholder, 0.0)]:
            recorder.output(name, element)
        for name, element in result_elements(robot, function, entry.optional_outputs, optional):
            recorder.output(name, element)
