"""Trace the requested functions of a robot into one dataflow graph.

The inputs of the graph are those of :mod:`rbdhw.frontend.inputs`. The outputs are named after the arrays of
the user's interface, preceded by the function's name: ``id.tau[0]``.

All functions share one chain of computations. Each function enters and leaves it at its own place::

    inverse dynamics -> derivatives -> did          (id leaves after the first)
    mass matrix -> inverse -> M^-1 (tau - C) -> fd  (m, minv leave on the way)
    - M^-1 d(tau) -> difd, dfd

The quantities on this way are those of :mod:`rbdhw.frontend.inverse_dynamics`,
:mod:`rbdhw.frontend.forward_dynamics` and :mod:`rbdhw.frontend.gradients`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdhw.arrays import kind_of
from rbdhw.dynamics.clearance import clearances
from rbdhw.dynamics.kinematics import frame_motion
from rbdhw.dynamics.regressor import regressor
from rbdhw.dynamics.shared_axes import Configuration
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.contact_gradients import ContactGradients
from rbdhw.frontend.contacts import Contacts
from rbdhw.frontend.forward_dynamics import ForwardDynamics, symmetric
from rbdhw.frontend.gradients import Gradients
from rbdhw.frontend.inputs import Task
from rbdhw.frontend.integrators import Dynamics, Integrator, Slopes
from rbdhw.frontend.inverse_dynamics import InverseDynamics
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.result_elements import Results, result_elements, travelling
from rbdhw.frontend.second_order import (
    acceleration_hessian,
    acceleration_tensors,
    force_hessian,
    force_tensors,
)
from rbdhw.frontend.second_quantities import SecondQuantities
from rbdhw.frontend.setting import Setting
from rbdhw.frontend.whole_body import WholeBody
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import chosen_frames
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region


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
    results = Functions(Setting(recorder, robot, functions, fext, algorithms))
    for function in FUNCTIONS:
        if function in functions:
            results.record(function)


class Functions:
    """The results of all functions, as outputs."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.robot, self.task = setting, setting.robot, setting.task
        self._inverse_dynamics = InverseDynamics(setting)
        self._forward_dynamics = ForwardDynamics(self._inverse_dynamics)
        self._gradients = Gradients(self._forward_dynamics)
        self._second = SecondQuantities(self._gradients)
        self._whole = WholeBody(setting)
        self._contacts = Contacts(self._forward_dynamics)
        self._contact_gradients = ContactGradients(self._contacts, self._gradients)
        self._contact_integrator = Integrator(
            setting.recorder, self.robot, self.task, lambda _: self._contact_gradients.dynamics
        )
        self.integrator = Integrator(setting.recorder, self.robot, self.task, self.dynamics_at)

    def record(self, function: str) -> None:
        recorder, results = self._setting.recorder, self._results(function)
        regular = FUNCTIONS[function].outputs
        elements = list(result_elements(self.robot, function, regular, results))
        first = ",".join("0" for _ in kind_of(regular[0], function).dimensions)
        placeholder = f"{function}.{regular[0]}[{first}]"  # keeps the function if all entries are zero
        with region("encode"):
            for name, entry in elements or [(placeholder, 0.0)]:
                recorder.output(name, entry)
            for name, entry in result_elements(
                self.robot, function, FUNCTIONS[function].optional_outputs, results[len(regular) :]
            ):
                recorder.output(name, entry)

    def _results(self, function: str) -> tuple[Results, ...]:
        inverse, forward, gradients = self._inverse_dynamics, self._forward_dynamics, self._gradients
        match function:
            case "id":
                return (inverse.bias,)
            case "gravity":
                return (inverse.gravity,)
            case "bias":
                return (inverse.bias_at_rest,)
            case "energy":
                return self._whole.energy
            case "com":
                whole = self._whole
                return ([*whole.centre], whole.velocity, whole.jacobian, whole.acceleration)
            case "centroidal":
                return (self._whole.momentum, self._whole.momentum_map, self._whole.momentum_rate)
            case "dcentroidal":
                return self._whole.centroidal_derivatives
            case "dfext":
                return self._pushed
            case "clearance":
                values, slopes = clearances(self.robot, self.task.poses)
                return (values, list(map(self._setting.coupling.gather, slopes)))
            case "regressor":
                return (self._regressor,)
            case "fd":
                return (forward.coordinate_accelerations,)
            case "cfd":
                return (self._contacts.accelerations, self._contacts.forces)
            case "cinertia":
                return (self._contacts.inertia,)
            case "impulse":
                return (self._contacts.velocities, self._contacts.impulses)
            case "dcfd":
                return self._contact_gradients.results
            case "cstep":
                return (self._contact_integrator.euler(),)
            case "dcstep":
                return self._contact_integrator.euler_derivatives()
            case "m":
                return (forward.mass_matrix,)
            case "minv":
                return (forward.inverse,)
            case "did":
                return (*gradients.completed(gradients.at_task), inverse.bias, forward.mass_matrix)
            case "difd":
                return gradients.of_accelerations(gradients.at_task)
            case "dfd":
                halves = gradients.of_accelerations(gradients.at_solution)
                return (*halves, forward.inverse, forward.coordinate_accelerations)
            case "sid":
                return force_tensors(self._second.state)
            case "sfd":
                tensors = acceleration_tensors(self._second.state, self._second.forward)
                held = self.task.held_base
                return tensors if held is None else tuple(map(held.clear_tensor, tensors))
            case "hid":
                return force_hessian(self._second.state, self._second.contraction)
            case "hfd":
                return self._acceleration_hessian
            case "kin":
                return self._kinematics
            case "pose":
                return self._kinematics[:1]
            case "position":
                return self._positions
            case "step":
                return (self.integrator.euler(),)
            case "dstep":
                return self.integrator.euler_derivatives()
            case "rk4":
                return (self.integrator.runge_kutta(),)
            case "drk4":
                return self.integrator.runge_kutta_derivatives()
        raise ValueError(f"function {function}: has no recording")

    @property
    def _acceleration_hessian(self) -> tuple[Results, ...]:
        """The second derivatives of ``lambda . a``."""
        second, held = self._second, self.task.held_base
        parts = acceleration_hessian(second.state, second.forward, second.contraction, self.task.lambda_a)
        return parts if held is None else tuple(map(held.clear_pairs, parts))

    @property
    def _kinematics(self) -> tuple[Results, ...]:
        coupling, v, base = self._setting.coupling, self._setting.v, self.task.base_twists
        accelerations, in_world = coupling.spread(self.task.a), self.robot.frame_axes == "world"
        frames = [
            frame_motion(self.robot, frame, self.task.poses, v, accelerations, base, in_world)
            for frame in chosen_frames(self.robot)
        ]
        gather = coupling.gather
        return (
            [frame.placement for frame in frames],
            [list(map(gather, frame.jacobian)) for frame in frames],
            [frame.velocity for frame in frames],
            [frame.acceleration for frame in frames],
            [list(map(gather, frame.velocity_by_position)) for frame in frames],
            [list(map(gather, frame.acceleration_by_position)) for frame in frames],
            [list(map(gather, frame.acceleration_by_velocity)) for frame in frames],
        )

    @property
    def _positions(self) -> tuple[Results, ...]:
        """The positions of frames in the world, and the linear rows of their Jacobians there."""
        rest = [0.0] * len(self._setting.v)
        frames = [
            frame_motion(self.robot, frame, self.task.poses, rest, rest, in_world=True)
            for frame in chosen_frames(self.robot)
        ]
        gather = self._setting.coupling.gather
        return (
            [[row[3] for row in frame.placement[:3]] for frame in frames],
            [list(map(gather, frame.jacobian[:3])) for frame in frames],
        )

    @property
    def _pushed(self) -> tuple[Results, ...]:
        """The derivatives (nv, frames, 6) of joint forces and accelerations by forces on frames."""
        rest, forward = [0.0] * len(self._setting.v), self._forward_dynamics
        in_world = self.robot.frame_axes == "world"
        columns, gained = [], []
        for frame in chosen_frames(self.robot):
            motion = frame_motion(self.robot, frame, self.task.poses, rest, rest, in_world=in_world)
            rows = list(map(self._setting.coupling.gather, motion.jacobian))
            columns.append([[-1.0 * entry for entry in row] for row in rows])
            gained.append([forward.inverse_times(forward.inverse, row) for row in rows])
        by_row = range(self.robot.nv)
        return tuple(
            [[[row[i] for row in frame] for frame in frames] for i in by_row] for frames in (columns, gained)
        )

    @property
    def _regressor(self) -> list[list[list[Scalar]]]:
        """The joint forces (nv, frames, 10) by the parameters of the frames' links."""
        turning = Configuration(self.robot, self.task.coordinates, {})
        trip = turning.round_trip(self._setting.v, self._inverse_dynamics.task_accelerations, self.task.base)
        links = [
            regressor(self.robot, turning.coordinates, trip, frame) for frame in chosen_frames(self.robot)
        ]
        columns = [list(map(self._setting.coupling.gather, rows)) for rows in links]
        return [[[row[i] for row in rows] for rows in columns] for i in range(self.robot.nv)]

    def dynamics_at(self, task: Task) -> Dynamics:
        """Return forward dynamics at the state of a task, which may be a stage of a step."""
        if task is not self.task:
            recorder, algorithms = self._setting.recorder, self._setting.algorithms
            stage = Setting(recorder, self.robot, ("dfd",), (), algorithms, task)
            return Functions(stage).dynamics_at(task)

        def slopes() -> Slopes:
            by_position, by_velocity = self._gradients.of_accelerations(self._gradients.at_solution)
            return Slopes(by_position, by_velocity, symmetric(self._forward_dynamics.inverse_to_use))

        return Dynamics(lambda: self._forward_dynamics.coordinate_accelerations, slopes)
