"""Trace the requested functions of a robot into one dataflow graph.

The inputs of the graph are those of :mod:`rbdhw.frontend.inputs`. The outputs are named after the arrays of
the user's interface, preceded by the function's name: ``id.tau[0]``.

All functions share one chain of computations. Each function enters and leaves it at its own place::

    inverse dynamics -> derivatives -> did          (id leaves after the first)
    mass matrix -> inverse -> M^-1 (tau - C) -> fd  (m, minv leave on the way)
    - M^-1 d(tau) -> difd, dfd

The first inverse dynamics uses the task's accelerations. Tasks that bring forces instead use zero
accelerations there, and obtain the bias ``C``. Their derivatives are needed at the accelerations of forward
dynamics, and there are two ways to find them. With ``corrected``, the derivatives at zero acceleration are
corrected by ``d(M a)/dq``, which does not depend on velocities. With ``repeated``, a second inverse dynamics
runs at the accelerations that the task brings or that forward dynamics finds, and the derivatives follow it.
This takes fewer operations, but every function with derivatives then waits for the inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from rbdhw.dynamics.articulated import articulated_inverse
from rbdhw.dynamics.columns import column_derivatives
from rbdhw.dynamics.derivatives import Matrix, inverse_dynamics_derivatives, mass_matrix
from rbdhw.dynamics.drives import with_armature, with_damping, with_drive_forces
from rbdhw.dynamics.factorization import Factors, factorize, inverse, solve
from rbdhw.dynamics.joint import dofs
from rbdhw.dynamics.kinematics import frame_motion
from rbdhw.dynamics.propagated import propagate
from rbdhw.dynamics.rnea import STILL, RoundTrip, joint_forces, newton_euler
from rbdhw.dynamics.second_columns import SecondDerivatives
from rbdhw.dynamics.second_derivatives import second_derivatives
from rbdhw.dynamics.shared_axes import Description, share_axes
from rbdhw.dynamics.spatial import ZERO, dot
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.inputs import Coupling, Task
from rbdhw.frontend.integrators import Dynamics, Integrator, Slopes
from rbdhw.frontend.random_states import random_states
from rbdhw.frontend.result_elements import Results, is_zero, result_elements, travelling
from rbdhw.frontend.second_order import (
    Forward,
    acceleration_hessian,
    acceleration_symbols,
    acceleration_tensors,
    contract,
    force_hessian,
    force_tensors,
    rates_by_symbols,
)
from rbdhw.frontend.state import State
from rbdhw.graph.graph import Graph
from rbdhw.graph.trace import Recorder, Signal
from rbdhw.passes.merge import merge
from rbdhw.passes.prune import prune
from rbdhw.protocol import FLAGS, FUNCTIONS, SECOND_ORDER, any_takes, functions_with, kind_of
from rbdhw.robot.link_frames import chosen_frames
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region

LARGEST_BLOCK = {"single_pivots": 1, "paired_pivots": 2, "block_pivots": 3}
"""The most degrees of freedom that each factorisation eliminates together."""

GIVEN, SUPPLIED = FLAGS

Vector = list[Scalar]

Halves = tuple[Matrix, Matrix]
"""Derivatives with respect to position and to velocity: two matrices, each as a list of rows."""


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
    recorder = Recorder()
    record(recorder, robot, functions, fext, algorithms)
    graph = prune(recorder.builder.finish(recorder.outputs))
    if any(own in SECOND_ORDER for own in functions):
        merged = merge(graph, random_states(robot, graph.inputs))
        graph = prune(replace(merged, outputs=travelling(merged, SECOND_ORDER)))
    return graph


def record(
    recorder: Any, robot: Robot, functions: Sequence[str], fext: Sequence[int], algorithms: Algorithms
) -> None:
    """Record the functions with a recorder that has the methods of :class:`rbdhw.graph.trace.Recorder`."""
    pipeline = _Pipeline(recorder, robot, functions, fext, algorithms)
    for function in FUNCTIONS:
        if function in functions:
            pipeline.record(function)


class _Pipeline:
    """The intermediate quantities of all functions. Each is recorded when a function first needs it.

    The vectors of accelerations here have an entry for every degree of freedom, including those of mimicking
    joints. A floating body's linear acceleration is the proper one (:mod:`rbdhw.dynamics.floating_base`).
    """

    def __init__(
        self,
        recorder: Any,
        robot: Robot,
        functions: Sequence[str],
        fext: Sequence[int],
        algorithms: Algorithms,
        task: Task | None = None,
    ) -> None:
        self.recorder = recorder
        self._functions = tuple(functions)
        self._algorithms = algorithms
        accumulates = any(FUNCTIONS[function].integrates for function in functions)
        self._task = task or Task(recorder, robot, fext, accumulates)
        self._robot = robot = self._task.robot
        self._coupling = Coupling(robot)
        self._v = self._coupling.spread(self._task.v)
        self._zeros = [0.0] * len(self._v)
        with region("decode"):
            self._given = self._flag(GIVEN, functions_with(lambda own: "fext" in own.inputs))
            dense = algorithms.products == "dense"
            self._takes_inverse = (
                self._flag(SUPPLIED, functions_with(lambda own: own.derivative_of == "fd"))
                if dense
                else False
            )

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
                return acceleration_tensors(self._state, self._forward)
            case "hid":
                return force_hessian(self._state, self._contraction)
            case "kin":
                return self._kinematics
            case "step":
                return (self._integrator.euler(),)
            case "dstep":
                return self._integrator.euler_derivatives()
            case "rk4":
                return (self._integrator.runge_kutta(),)
            case "drk4":
                return self._integrator.runge_kutta_derivatives()
            case _:
                return acceleration_hessian(
                    self._state, self._forward, self._contraction, self._task.lambda_a
                )

    @cached_property
    def _described(self) -> Description:
        """The robot, the coordinates and the external wrenches in the axes of the chosen algorithm."""
        given = Description(self._robot, self._task.coordinates, self._task.fext)
        return given if self._algorithms.axes == "turning" else share_axes(given)

    @cached_property
    def _unloaded(self) -> Description:
        """The same without gravity and external wrenches."""
        own = self._described
        return Description(replace(own.robot, gravity=(0.0, 0.0, 0.0)), own.coordinates, {})

    # Inverse dynamics

    @cached_property
    def _first(self) -> RoundTrip:
        """The round trip at the task's accelerations, or at zero for tasks that bring forces."""
        return self._round_trip(self._first_accelerations)

    @cached_property
    def _first_accelerations(self) -> Vector:
        """The accelerations of the first round trip."""
        return self._select_accelerations(self._zeros)

    def _round_trip(self, a: Sequence[Scalar]) -> RoundTrip:
        own = self._described
        return newton_euler(own.robot, own.coordinates, self._v, a, self._task.base, own.fext)

    @cached_property
    def _task_accelerations(self) -> Vector:
        """The accelerations of the task, of all degrees of freedom."""
        a = list(self._task.a)
        if self._task.floating is not None:
            with region("floating"):
                a[:3] = self._task.floating.proper((a[0], a[1], a[2]))
        return self._coupling.spread(a)

    def _select_accelerations(self, others: Vector) -> Vector:
        """Return the task's accelerations if the task brings them, and ``others`` if it brings forces."""
        chosen = []
        for i, place in enumerate(dofs(self._robot)):
            with region("rnea_forward", i):
                pairs = zip(self._task_accelerations[place], others[place], strict=True)
                chosen += [self.recorder.select(self._given, *pair) for pair in pairs]
        return chosen

    @cached_property
    def _bias(self) -> Vector:
        forces = joint_forces(self._robot, self._first)
        driven = with_drive_forces(self._robot, forces, self._v, self._first_accelerations)
        return self._coupling.gather(driven)

    # The mass matrix, its inverse, and forward dynamics

    @cached_property
    def _mass_matrix(self) -> Matrix:
        matrix = mass_matrix(self._described.robot, self._described.coordinates)
        return self._coupling.gather_both(with_armature(self._robot, matrix))

    @cached_property
    def _factors(self) -> Factors:
        return factorize(self._mass_matrix, LARGEST_BLOCK[self._algorithms.inverse])

    @cached_property
    def _inverse(self) -> Matrix:
        """The rows of the inverse's lower triangle."""
        if self._algorithms.inverse == "articulated":
            return articulated_inverse(self._described.robot, self._described.coordinates)
        return inverse(self._factors)

    @cached_property
    def _inverse_to_use(self) -> Matrix:
        """The inverse supplied with the task, or the computed one for other tasks."""
        rows = []
        for i, pair in enumerate(zip(self._task.supplied, self._inverse, strict=True)):
            with region("inverse_product", i):
                rows.append([self._select_inverse(*entries) for entries in zip(*pair, strict=True)])
        return rows

    def _select_inverse(self, supplied: Signal, computed: Scalar) -> Scalar:
        return (
            computed if is_zero(computed) else self.recorder.select(self._takes_inverse, supplied, computed)
        )

    @cached_property
    def _accelerations(self) -> Vector:
        """The accelerations ``M^-1 (tau - C)`` of forward dynamics, (nv,), proper for a floating body."""
        free = []
        for i, (tau, bias) in enumerate(zip(self._task.tau, self._bias, strict=True)):
            with region("forward_dynamics", i):
                free.append(tau - bias)
        if self._algorithms.forward == "propagated":
            return propagate(self._described.robot, self._described.coordinates, free)
        return self._inverse_times(self._inverse, free)

    @cached_property
    def _coordinate_accelerations(self) -> Vector:
        """The accelerations of forward dynamics as the user's interface defines them, (nv,)."""
        a = list(self._accelerations)
        if self._task.floating is not None:
            with region("floating"):
                a[:3] = self._task.floating.coordinate((a[0], a[1], a[2]))
        return a

    # Derivatives

    @cached_property
    def _task_gradient(self) -> Halves:
        """The derivatives of inverse dynamics at the task's accelerations."""
        derived = any("gradient" in FUNCTIONS[function].algorithms for function in self._functions)
        if derived and self._algorithms.gradient == "repeated":
            return self._repeated_gradient
        a = self._select_accelerations(self._zeros)
        return self._gradient(self._described, self._v, a, self._first)

    @cached_property
    def _forward_gradient(self) -> Halves:
        """The derivatives of inverse dynamics at the accelerations of forward dynamics."""
        if self._algorithms.gradient == "repeated":
            return self._repeated_gradient
        at_rest, a = self._unloaded, self._coupling.spread(self._accelerations)
        trip = newton_euler(at_rest.robot, at_rest.coordinates, self._zeros, a, STILL)
        by_position, by_velocity = self._task_gradient
        correction, _ = self._gradient(at_rest, self._zeros, a, trip)
        return self._sum(by_position, correction), by_velocity

    @cached_property
    def _repeated_gradient(self) -> Halves:
        """The derivatives after a second round trip, at the task's or forward dynamics' accelerations."""
        a = self._select_accelerations(self._coupling.spread(self._accelerations))
        return self._gradient(self._described, self._v, a, self._round_trip(a))

    def _gradient(
        self, own: Description, v: Sequence[Scalar], a: Sequence[Scalar], trip: RoundTrip
    ) -> Halves:
        """Return the derivatives by position and by velocity at the state of a round trip."""
        robot = own.robot
        if self._algorithms.derivatives == "columns":
            by_position, by_velocity = column_derivatives(robot, own.coordinates, v, a, own.fext)
            return by_position, with_damping(robot, by_velocity)
        result = inverse_dynamics_derivatives(robot, own.coordinates, v, trip)
        gather = self._coupling.gather_both
        return gather(result.by_position), gather(with_damping(robot, result.by_velocity))

    def _inverse_gradient(self, halves: Halves) -> Halves:
        """Return derivatives of inverse dynamics, completed by the terms of the proper acceleration."""
        return self._add_proper(halves, self._mass_matrix)

    def _acceleration_gradient(self, halves: Halves) -> Halves:
        """Return derivatives of accelerations from derivatives of inverse dynamics.

        They are ``-M^-1`` times the latter, completed by the terms of the proper acceleration. The proper
        acceleration of a floating body acts on forces by the first columns of the mass matrix, and ``-M^-1``
        times these columns are negative unit vectors.
        """
        by_position, by_velocity = (self._minus_inverse_times(half) for half in halves)
        n = len(by_position)
        units: Matrix = [[-1.0 if i == k else 0.0 for k in range(3)] for i in range(n)]
        return self._add_proper((by_position, by_velocity), units)

    def _add_proper(self, halves: Halves, columns: Matrix) -> Halves:
        """Return derivatives plus the first three ``columns`` times the proper acceleration's derivatives."""
        floating = self._task.floating
        if floating is None:
            return halves
        nothing = (ZERO, ZERO, ZERO)
        with region("floating"):
            moved = (*nothing, *floating.by_attitude())
            driven = (*floating.by_linear(), *floating.by_angular())
            by_position, by_velocity = (
                [
                    [
                        entry + dot((row[0], row[1], row[2]), proper[k]) if k < 6 else entry
                        for k, entry in enumerate(entries)
                    ]
                    for row, entries in zip(columns, half, strict=True)
                ]
                for half, proper in zip(halves, (moved, driven), strict=True)
            )
        return by_position, by_velocity

    # Second derivatives

    @cached_property
    def _state(self) -> State:
        """The state of the task at its own accelerations or, if it brings forces, at those they cause."""
        a = self._select_accelerations(
            self._coupling.spread(self._caused) if self._differentiates_forward else self._zeros
        )
        own, task = self._described, self._task
        return State(
            own.robot,
            own.coordinates,
            task.coordinates,
            self._v,
            a,
            self._round_trip(a),
            self._coupling,
            task.floating,
            differentiated=self._algorithms.second == "differentiated",
        )

    @property
    def _differentiates_forward(self) -> bool:
        asked = [FUNCTIONS[function] for function in self._functions]
        return any(own.takes_force and "second" in own.algorithms for own in asked)

    @cached_property
    def _forward(self) -> Forward:
        """The first derivatives of forward dynamics at that state, proper for a floating body."""
        state = self._state
        halves = self._gradient(self._described, self._v, state.a, state.trip)
        by_position, by_velocity = (self._minus_times(self._inverse, half) for half in halves)
        if self._algorithms.rates == "symbols":
            _, by_velocity = self._by_symbols
        return Forward(by_position, by_velocity, self._inverse, self._solve)

    def _solve(self, vector: Vector) -> Vector:
        """Return the inverse of the mass matrix times a vector."""
        return self._inverse_times(self._inverse, vector)

    @cached_property
    def _caused(self) -> Vector:
        """The accelerations of forward dynamics at which second derivatives are taken."""
        if self._algorithms.rates == "bias":
            return self._accelerations
        own, task = self._described, self._task
        still = newton_euler(own.robot, own.coordinates, self._zeros, self._zeros, task.base, own.fext)
        weights = joint_forces(own.robot, still)
        with region("forward_dynamics"):
            free = self._solve([tau - weight for tau, weight in zip(task.tau, weights, strict=True)])
            return [x + y for x, y in zip(free, self._by_symbols[0], strict=True)]

    @cached_property
    def _by_symbols(self) -> tuple[Vector, Matrix]:
        """The accelerations that velocities cause, and their derivatives by velocity."""
        own = self._unloaded
        trip = newton_euler(own.robot, own.coordinates, self._zeros, self._zeros, STILL)
        found = second_derivatives(own.robot, own.coordinates, self._zeros, trip)
        symbols = acceleration_symbols(self._solve, [own.momentum for own in found])
        return rates_by_symbols(symbols, self._v)

    @cached_property
    def _contraction(self) -> SecondDerivatives:
        """The contraction with the task's multipliers of forces, or with those that the others amount to."""
        if not any_takes(self._functions, "lambda_a"):
            return contract(self._state, self._task.lambda_tau)
        multipliers = self._forward.inverse_times(self._task.lambda_a)
        if any_takes(self._functions, "lambda_tau"):
            for i, pair in enumerate(zip(self._task.lambda_tau, multipliers, strict=True)):
                with region("second_product", i):
                    multipliers[i] = self.recorder.select(self._given, *pair)
        return contract(self._state, multipliers)

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

    @property
    def _integrator(self) -> Integrator:
        return Integrator(self.recorder, self._robot, self._task, self._dynamics_at)

    def _dynamics_at(self, task: Task) -> Dynamics:
        """Return forward dynamics at the state of a task, which may be a stage of a step."""
        if task is not self._task:
            own = _Pipeline(self.recorder, self._robot, ("dfd",), (), self._algorithms, task)
            return own._dynamics_at(task)

        def slopes() -> Slopes:
            by_position, by_velocity = self._acceleration_gradient(self._forward_gradient)
            inverse = self._inverse_to_use
            n = range(len(inverse))
            return Slopes(by_position, by_velocity, [[inverse[max(i, k)][min(i, k)] for k in n] for i in n])

        return Dynamics(lambda: self._coordinate_accelerations, slopes)

    def _sum(self, one: Matrix, other: Matrix) -> Matrix:
        rows = []
        for i, pair in enumerate(zip(one, other, strict=True)):
            with region("correction", i):
                rows.append([x + y for x, y in zip(*pair, strict=True)])
        return rows

    def _minus_inverse_times(self, matrix: Matrix) -> Matrix:
        """Return ``-M^-1`` times a matrix, with the inverse that the task may bring."""
        return self._minus_times(self._inverse_to_use, matrix)

    def _minus_times(self, inverse: Matrix, matrix: Matrix) -> Matrix:
        """Return ``-M^-1`` times a matrix, column by column."""
        columns = [[-1.0 * entry for entry in column] for column in zip(*matrix, strict=True)]
        products = [self._inverse_times(inverse, column) for column in columns]
        return [list(row) for row in zip(*products, strict=True)]

    def _inverse_times(self, inverse: Matrix, vector: Vector) -> Vector:
        if self._algorithms.products == "solves":
            return solve(self._factors, vector)
        product = []
        for i in range(len(vector)):
            with region("inverse_product", i):
                row = [inverse[max(i, k)][min(i, k)] for k in range(len(vector))]
                product.append(sum((x * y for x, y in zip(row, vector, strict=True)), 0.0))
        return product

    def _flag(self, name: str, readers: Sequence[str]) -> Signal | bool:
        """Return a flag that ``readers`` read: a constant if their tasks agree on it, otherwise an input."""
        functions, optional = FLAGS[name]
        raised = {function in functions for function in self._functions if function in readers}
        if raised == {True} and not optional:
            return True
        return self.recorder.input(name) if True in raised else False
