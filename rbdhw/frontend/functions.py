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

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from rbdhw.arrays import kind_of
from rbdhw.dynamics.kinematics import frame_motion
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.inputs import Task
from rbdhw.frontend.integrators import Dynamics, Integrator, Slopes
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.result_elements import Results, result_elements, travelling
from rbdhw.frontend.second_order import (
    acceleration_hessian,
    acceleration_tensors,
    force_hessian,
    force_tensors,
)
from rbdhw.frontend.second_quantities import SecondQuantities
from rbdhw.frontend.stage_step import StageStep
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import chosen_frames
from rbdhw.robot.model import Robot
from rbdhw.scalar import region


def trace(
    robot: Robot,
    functions: Sequence[str],
    fext: Sequence[int] = (),
    algorithms: Algorithms = DEFAULT,
) -> Graph:
    """Return the graph of ``functions`` for a robot whose joint axes are all z.

    Parameters
    ----------
    fext
        Indices of the bodies that take an external force.
    """
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
    pipeline = _Pipeline(recorder, robot, functions, fext, algorithms)
    for function in FUNCTIONS:
        if function in functions:
            pipeline.record(function)


def record_stage(
    recorder: Any,
    robot: Robot,
    function: str,
    fext: Sequence[int],
    algorithms: Algorithms,
    steady: Collection[str],
) -> StageStep:
    """Record one stage of a function, whose results are those of the function if the stage is the last.

    ``steady`` are the numbers that stages hand on and that never change (:class:`StageStep`).
    """
    pipeline = _StagePipeline(recorder, robot, (function,), fext, algorithms)
    pipeline.steady = steady
    pipeline.record(function)
    return pipeline.integrator


class _Pipeline(SecondQuantities):
    """The results of all functions, as outputs."""

    def record(self, function: str) -> None:
        """Record the results of a function as outputs: its arrays, then its optional arrays."""
        results = self._results(function)
        regular = FUNCTIONS[function].outputs
        elements = list(result_elements(self._robot, function, regular, results))
        first = ",".join("0" for _ in kind_of(regular[0], function).dimensions)
        placeholder = f"{function}.{regular[0]}[{first}]"  # keeps the function if all entries are zero
        with region("encode"):
            for name, entry in elements or [(placeholder, 0.0)]:
                self.recorder.output(name, entry)
            for name, entry in result_elements(
                self._robot, function, FUNCTIONS[function].optional_outputs, results[len(regular) :]
            ):
                self.recorder.output(name, entry)

    def _results(self, function: str) -> tuple[Results, ...]:
        match function:
            case "id":
                return (self._bias,)
            case "fd":
                return (self._coordinate_accelerations,)
            case "m":
                return (self._mass_matrix,)
            case "minv":
                return (self._inverse,)
            case "did":
                halves = self._inverse_gradient(self._task_gradient)
                return (*halves, self._bias, self._mass_matrix)
            case "difd":
                return self._acceleration_gradient(self._task_gradient)
            case "dfd":
                halves = self._acceleration_gradient(self._forward_gradient)
                return (*halves, self._inverse, self._coordinate_accelerations)
            case "sid":
                return force_tensors(self._state)
            case "sfd":
                tensors = acceleration_tensors(self._state, self._forward)
                held = self._task.held_base
                return tensors if held is None else tuple(map(held.clear_tensor, tensors))
            case "hid":
                return force_hessian(self._state, self._contraction)
            case "kin":
                return self._kinematics
            case "step":
                return (self.integrator.euler(),)
            case "dstep":
                return self.integrator.euler_derivatives()
            case "rk4":
                return (self.integrator.runge_kutta(),)
            case "drk4":
                return self.integrator.runge_kutta_derivatives()
            case "hfd":
                parts = acceleration_hessian(
                    self._state, self._forward, self._contraction, self._task.lambda_a
                )
                held = self._task.held_base
                return parts if held is None else tuple(map(held.clear_pairs, parts))
        raise ValueError(f"function {function}: has no recording")

    # Kinematics

    @property
    def _kinematics(self) -> tuple[Results, ...]:
        """The results of all chosen frames."""
        accelerations, base = self._coupling.spread(self._task.a), self._task.base_twists
        in_world = self._robot.frame_axes == "world"
        frames = [
            frame_motion(self._robot, frame, self._task.poses, self._v, accelerations, base, in_world)
            for frame in chosen_frames(self._robot)
        ]
        gather = self._coupling.gather
        return (
            [frame.placement for frame in frames],
            [list(map(gather, frame.jacobian)) for frame in frames],
            [frame.velocity for frame in frames],
            [frame.acceleration for frame in frames],
            [list(map(gather, frame.velocity_by_position)) for frame in frames],
            [list(map(gather, frame.acceleration_by_position)) for frame in frames],
            [list(map(gather, frame.acceleration_by_velocity)) for frame in frames],
        )

    # Steps in time

    @cached_property
    def integrator(self) -> Integrator:
        """The steps of the task."""
        return Integrator(self.recorder, self._robot, self._task, self._dynamics_at)

    def _dynamics_at(self, task: Task) -> Dynamics:
        """Return forward dynamics at the state of a task, which may be a stage of a step."""
        if task is not self._task:
            stage = _Pipeline(self.recorder, self._robot, ("dfd",), (), self._algorithms, task)
            return stage._dynamics_at(task)

        def slopes() -> Slopes:
            by_position, by_velocity = self._acceleration_gradient(self._forward_gradient)
            inverse = self._inverse_to_use
            n = range(len(inverse))
            return Slopes(by_position, by_velocity, [[inverse[max(i, k)][min(i, k)] for k in n] for i in n])

        return Dynamics(lambda: self._coordinate_accelerations, slopes)


class _StagePipeline(_Pipeline):
    """The results of a function of which one stage is recorded."""

    steady: Collection[str] = ()

    @cached_property
    def integrator(self) -> StageStep:
        """The stage."""
        return StageStep(self.recorder, self._robot, self._task, self._dynamics_at, self.steady)
