"""Record one stage of the Runge-Kutta method, the same for all four: what passes four times through hardware.

A stage evaluates the rates ``K`` at its state, adds them up, and moves the state before the step by a time.
Numbers of the stage choose what differs between stages, as the four constants of each state::

    y = x in the first stage, else what the stage before hands on
    S = S of the stage before + w K             w = 1, 2, 2, 1
    R = K; in the last stage S / 4
    y of the next stage = x (+) c h R           c = 1/2, 1/2, 1, 2/3

So the state after the last stage is that of the step, as :class:`Integrator` computes it: ``c S / 4`` is a
sixth of ``S``. The derivatives of the state and of the rates pass through the same sums.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.delays import Delays
from rbdhw.dynamics.derivatives import Matrix
from rbdhw.dynamics.integration import lengthen
from rbdhw.frontend.build_graph import Model, optimise
from rbdhw.frontend.functions import record_function
from rbdhw.frontend.inputs import Task
from rbdhw.frontend.integrators import At, Integrator, Slopes, Stage, Vector, halves
from rbdhw.frontend.quantities import Quantities
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.result_elements import travelling
from rbdhw.frontend.setting import Setting
from rbdhw.graph.graph import Edge, Graph, Op
from rbdhw.graph.sweeps import Carried, Constant, Shared, Source, Sweep, Sweeps
from rbdhw.graph.trace import Recorder
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.passes.unread import leave_out_unread
from rbdhw.protocol import NEXT_STATE
from rbdhw.robot.model import Robot
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.scalar import Scalar, region

Array = NDArray[np.float64]

STAGES = 4
"""The stages of the method."""

SWEEP = "stage"
"""The name of the sweep through all stages, with which the names of what stages hand on begin."""

FIRST, MIDDLE, LAST = (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)
"""Which stages are the first, one of those with double weight, and the last."""

SHARES = (0.5, 0.5, 1.0, 2.0 / 3.0)
"""The parts of the step by which each stage moves the state; the last one by a fourth of the sum of rates."""

MEAN = 0.25
"""The factor of the sum of rates in the last stage. With it the sum is about as large as a rate."""


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


class StageStep(Integrator):
    """One stage of a task; its results are those of the step if the stage is the last one.

    The numbers ``steady`` by name, which every stage hands on as they were, are constants. ``sources`` has
    the source of each input that is no number of the task, and ``handed`` what the stage hands on, by name.
    """

    def __init__(self, recorder: Any, robot: Robot, task: Task, at: At, steady: Collection[str]) -> None:
        super().__init__(recorder, robot, task, at)
        self._steady = steady
        self.sources: dict[str, Source] = {}
        self.handed: dict[str, Scalar] = {}

    def runge_kutta(self) -> Vector:
        return self._move(self._evaluate())[0]

    def runge_kutta_derivatives(self) -> tuple[Vector, Matrix, Matrix]:
        """Return the state after this stage, and its derivatives by the state before the step and ``tau``."""
        stage = self._evaluate()
        state, velocity = self._move(stage)
        slopes = stage.dynamics.slopes()
        varying: dict[str, Scalar] = {}
        # What varies makes other derivatives vary in the next stage. Each round can only add some, so this
        # ends.
        while True:
            rows = self._rows(self._before(varying), slopes, velocity)
            changing = self._changing(rows)
            if changing.keys() == varying.keys():
                break
            varying = changing
        self.handed |= changing
        return (state, *halves([*rows[0], *rows[1]]))

    # The state

    def _evaluate(self) -> Stage:
        """Return the stage at its state: that of the task, or what the stage before hands on."""
        first = self._flag("first", FIRST)
        with region("state"):
            q, v = (
                [
                    self._recorder.select(first, number, self._carried(f"{array}[{k}]", 0.0))
                    for k, number in enumerate(numbers)
                ]
                for array, numbers in (("q", self._task.q), ("v", self._task.v))
            )
        dynamics = self._at(self._task.at(q, v))
        return Stage(dynamics, v, dynamics.accelerations())

    def _move(self, stage: Stage) -> tuple[Vector, Vector]:
        """Return the state after this stage, and the velocity that leads to it."""
        with region("mean_rate"):
            velocity, acceleration = (
                [self._rate(f"{name}[{k}]", rate) for k, rate in enumerate(rates)]
                for name, rates in (("velocity", stage.velocity), ("acceleration", stage.acceleration))
            )
        q, v = self._moved(self._time, velocity), self._pushed(self._task.state_v, self._time, acceleration)
        for array, numbers in (("q", q), ("v", v)):
            self.handed |= {f"{array}[{k}]": number for k, number in enumerate(numbers)}
        return [*q, *v], velocity

    @property
    def _time(self) -> Scalar:
        """The time by which this stage moves the state."""
        with region("time"):
            if isinstance(self._task.h, float):
                return self._constant("time", [share * self._task.h for share in SHARES])
            return self._task.h * self._constant("share", SHARES)

    def _rate(self, name: str, rate: Scalar) -> Scalar:
        """Return the rate with which this stage moves the state: its own, or in the last stage the mean."""
        last = self._flag("last", LAST)
        if isinstance(rate, float):
            return rate if rate == 0.0 else self._recorder.select(last, 1.5 * rate, rate)
        weighted = self._recorder.select(self._flag("middle", MIDDLE), 2.0 * rate, rate)
        total = self._carried(f"sum_{name}", 0.0) + weighted
        self.handed[f"sum_{name}"] = total
        return self._recorder.select(last, MEAN * total, rate)

    def _lengthening(self, quaternion: Vector) -> Scalar:
        """Return what brings a quaternion to unit length, in the last stage only."""
        return self._recorder.select(self._flag("last", LAST), lengthen(quaternion), 0.0)

    # The derivatives of the state

    def _rows(self, before: Sequence[Matrix], slopes: Slopes, velocity: Vector) -> list[Matrix]:
        """Return the derivatives after this stage, of the configuration and of the velocity."""
        moved, pushed = before
        by_velocity = self._used_rates("moved", pushed)
        by_acceleration = self._used_rates("pushed", self._rate_rows(slopes, moved, pushed))
        change = self._times(self._time, by_acceleration, "pushed")
        return [
            self._moved_rows(self._time, velocity, self._times(self._time, by_velocity, "moved")),
            self._sum(self._identity(1), change, "pushed"),
        ]

    def _used_rates(self, step: str, rows: Matrix) -> Matrix:
        """Return the derivatives of the rates with which this stage moves the state."""
        rates = []
        for i, row in enumerate(rows):
            with region("mean_row", i):
                rates.append([self._rate(f"{step}[{i},{j}]", entry) for j, entry in enumerate(row)])
        return rates

    def _before(self, varying: Collection[str]) -> list[Matrix]:
        """Return the derivatives of this stage's state, of which only some vary."""
        return [
            [
                [
                    self._carried(name, first) if (name := f"{step}[{i},{j}]") in varying else first
                    for j, first in enumerate(row)
                ]
                for i, row in enumerate(self._identity(block))
            ]
            for block, step in enumerate(("moved", "pushed"))
        ]

    def _changing(self, rows: Sequence[Matrix]) -> dict[str, Scalar]:
        """Return by name the derivatives after this stage that are not those before the first one."""
        changing: dict[str, Scalar] = {}
        for block, (step, matrix) in enumerate(zip(("moved", "pushed"), rows, strict=True)):
            for i, (row, before) in enumerate(zip(matrix, self._identity(block), strict=True)):
                for j, (entry, first) in enumerate(zip(row, before, strict=True)):
                    if not (isinstance(entry, float) and entry == first):
                        changing[f"{step}[{i},{j}]"] = entry
        return changing

    # What stages read

    def _flag(self, name: str, stages: Sequence[float]) -> Scalar:
        return self._input(name, Constant(tuple(stages), chooses=True))

    def _constant(self, name: str, values: Sequence[float]) -> Scalar:
        return self._input(name, Constant(tuple(values)))

    def _carried(self, name: str, first: float) -> Scalar:
        if name in self._steady:
            return first
        return self._input(name, Carried(f"{SWEEP}.{name}", first))

    def _input(self, name: str, source: Source) -> Scalar:
        input_name = f"{SWEEP}_{name}"
        self.sources[input_name] = source
        return self._recorder.input(input_name)


def _trace(model: Model, function: str, steady: Collection[str]) -> tuple[Graph, Mapping[str, Source]]:
    """Return the graph of a stage, with equal numbers computed once, and the sources of its inputs."""
    recorder = Recorder()
    setting = Setting(recorder, model.robot, (function,), model.loaded_bodies, model.choice.algorithms)
    quantities = Quantities(setting)
    stage = StageStep(recorder, quantities.robot, quantities.task, quantities.dynamics_at, steady)
    quantities.integrator = stage
    record_function(quantities, function)
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
    node = graph.nodes[edge.node]
    return (
        math.ldexp(-node.value if edge.negative else node.value, edge.shift)
        if node.op is Op.CONSTANT
        else None
    )
