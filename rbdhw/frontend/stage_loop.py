"""The stages of the Runge-Kutta method as steps of a sweep: one graph, which each task passes in turns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.frontend.build_graph import Model, optimise
from rbdhw.frontend.functions import record_stage
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.result_elements import travelling
from rbdhw.frontend.stage_step import STAGES, SWEEP
from rbdhw.graph.graph import Edge, Graph, Op
from rbdhw.graph.sweeps import Carried, Constant, Shared, Source, Sweep, Sweeps
from rbdhw.graph.trace import Recorder
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.passes.unread import leave_out_unread
from rbdhw.protocol import NEXT_STATE
from rbdhw.robot.model import Robot
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.target import Delays

Array = NDArray[np.float64]


@seldom_collect()
def record_loop(model: Model, function: str, delays: Delays) -> Sweeps:
    """Return a function of several stages as the steps of one sweep.

    Derivatives that turn out not to change from stage to stage are constants: it is recorded again with them.
    """
    steady: frozenset[str] = frozenset()
    # A number that is constant may make others constant, so this is repeated until no further one appears.
    while True:
        graph, sources = _trace(model, function, steady)
        further = _steady(graph, sources)
        if not further:
            break
        steady |= further
    named = {name: sources.get(name, Shared()) for name in graph.inputs}
    whole = leave_out_unread(Sweeps(STAGES, (Sweep(SWEEP, graph),), named, function, NEXT_STATE, ""))
    (step,) = whole.sweeps
    graph = optimise(step.step, delays)
    sources = {name: whole.sources[name] for name in graph.inputs}
    return replace(whole, sweeps=(replace(step, step=graph),), sources=sources)


def _trace(model: Model, function: str, steady: Collection[str]) -> tuple[Graph, Mapping[str, Source]]:
    """Return the graph of a stage, with equal numbers computed once, and the sources of its inputs."""
    recorder = Recorder()
    stage = record_stage(
        recorder, model.robot, function, model.loaded_bodies, model.choice.algorithms, steady
    )
    for name, value in stage.handed.items():
        recorder.output(f"{SWEEP}.{name}", value)
    graph = prune(recorder.builder.finish(recorder.outputs))
    merged = merge(graph, _states(model.robot, graph, stage.sources))
    return prune(replace(merged, outputs=travelling(merged, [function]))), stage.sources


def _states(robot: Robot, graph: Graph, sources: Mapping[str, Source]) -> dict[str, Array]:
    """Return values of a stage's inputs in random states: the stage's state is another than the task's."""
    states = random_states(robot, graph.inputs)
    for k, (name, values) in enumerate(states.items()):
        source = sources.get(name)
        if isinstance(source, Constant) and source.chooses:
            states[name] = np.roll(np.arange(len(values)) // 2 % 2, k).astype(np.float64)
        coordinate = name.removeprefix(f"{SWEEP}_")
        if isinstance(source, Carried) and coordinate.startswith("q["):
            states[name] = np.roll(random_states(robot, [coordinate])[coordinate], 1)
    return states


def _steady(graph: Graph, sources: Mapping[str, Source]) -> frozenset[str]:
    """Return the numbers that stages read and hand on, and that stay as they were before the first one."""
    outputs = dict(graph.outputs)
    read = {name: source for name in graph.inputs if isinstance(source := sources.get(name), Carried)}
    return frozenset(
        source.output.removeprefix(f"{SWEEP}.")
        for name, source in read.items()
        if outputs[source.output] == Edge(graph.inputs[name])
        or _constant(graph, outputs[source.output]) == source.first
    )


def _constant(graph: Graph, edge: Edge) -> float | None:
    """Return the value of a constant edge, or None for any other."""
    node = graph.nodes[edge.node]
    return (
        math.ldexp(-node.value if edge.negative else node.value, edge.shift)
        if node.op is Op.CONSTANT
        else None
    )
