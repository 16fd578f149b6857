"""The quantities of inverse and forward dynamics and of their derivatives, which functions share.

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
from rbdhw.dynamics.constraint_forces import accelerate
from rbdhw.dynamics.derivatives import Matrix, inverse_dynamics_derivatives, mass_matrix
from rbdhw.dynamics.drives import with_armature, with_damping, with_drive_forces
from rbdhw.dynamics.factorization import Factors, as_solved, factorize, inverse, solve
from rbdhw.dynamics.joint import dofs
from rbdhw.dynamics.propagated import propagate
from rbdhw.dynamics.rnea import STILL, RoundTrip, joint_forces, newton_euler
from rbdhw.dynamics.shared_axes import Description, share_axes
from rbdhw.dynamics.spatial import ZERO, dot
from rbdhw.frontend.alternatives import BY_CONSTRAINT_FORCES, Algorithms
from rbdhw.frontend.held_base import BASE_DOFS
from rbdhw.frontend.inputs import Coupling, Task
from rbdhw.frontend.result_elements import is_zero
from rbdhw.graph.trace import Signal
from rbdhw.protocol import FLAGS, FUNCTIONS, functions_with
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region

LARGEST_BLOCK = {"single_pivots": 1, "paired_pivots": 2, "block_pivots": 3}
"""The most degrees of freedom that each factorisation eliminates together."""

GIVEN, SUPPLIED = FLAGS

Vector = list[Scalar]

Halves = tuple[Matrix, Matrix]
"""Derivatives with respect to position and to velocity: two matrices, each as a list of rows."""


class Quantities:
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
            self._given = self._flag(GIVEN, functions_with(lambda entry: "fext" in entry.inputs))
            dense = algorithms.products == "dense"
            self._takes_inverse = (
                self._flag(SUPPLIED, functions_with(lambda entry: entry.derivative_of == "fd"))
                if dense
                else False
            )

    @cached_property
    def _described(self) -> Description:
        """The robot, the coordinates and the external wrenches in the axes of the chosen algorithm."""
        description = Description(self._robot, self._task.coordinates, self._task.fext)
        return description if self._algorithms.axes == "turning" else share_axes(description)

    @cached_property
    def _unloaded(self) -> Description:
        """The same without gravity and external wrenches."""
        description = self._described
        return Description(replace(description.robot, gravity=(0.0, 0.0, 0.0)), description.coordinates, {})

    # Inverse dynamics

    @cached_property
    def _first(self) -> RoundTrip:
        """The round trip at the task's accelerations, or at zero for tasks that bring forces."""
        return self._round_trip(self._first_accelerations)

    @cached_property
    def _first_accelerations(self) -> Vector:
        """The accelerations of the first round trip."""
        return self._select_accelerations(self._known_accelerations)

    @cached_property
    def _known_accelerations(self) -> Vector:
        """The accelerations that tasks with forces have beforehand: none but those of a held base.

        Solves take the latter from the task only when they reach the base.
        """
        held = self._task.held_base
        if held is None or self._algorithms.products == "solves":
            return self._zeros
        return held.choose(held.proper(), self._zeros)

    def _round_trip(self, a: Sequence[Scalar]) -> RoundTrip:
        description = self._described
        return newton_euler(
            description.robot, description.coordinates, self._v, a, self._task.base, description.fext
        )

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
        for i, span in enumerate(dofs(self._robot)):
            with region("rnea_forward", i):
                pairs = zip(self._task_accelerations[span], others[span], strict=True)
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
        apart = () if self._task.held_base is None else BASE_DOFS
        return factorize(self._mass_matrix, LARGEST_BLOCK[self._algorithms.inverse], apart)

    @cached_property
    def _inverse(self) -> Matrix:
        """The rows of the inverse's lower triangle."""
        if self._algorithms.inverse == "articulated":
            return articulated_inverse(self._described.robot, self._described.coordinates)
        held = self._task.held_base
        return inverse(self._factors if held is None else held.without_base(self._factors))

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
        """The accelerations of forward dynamics, (nv,), proper for a floating body."""
        held = self._task.held_base
        if held is None or self._algorithms.products == "solves":
            return self._added_accelerations
        return held.choose(held.proper(), self._added_accelerations)

    @cached_property
    def _added_accelerations(self) -> Vector:
        """The accelerations ``M^-1 (tau - C)``, to be added to those that are known before."""
        if self._algorithms.forward in BY_CONSTRAINT_FORCES:
            return self._constrained_accelerations
        free = []
        for i, (tau, bias) in enumerate(zip(self._task.tau, self._bias, strict=True)):
            with region("forward_dynamics", i):
                free.append(tau - bias)
        if self._algorithms.forward == "propagated":
            return propagate(self._described.robot, self._described.coordinates, free)
        held = self._task.held_base
        return self._inverse_times(self._inverse, free, None if held is None else held.proper())

    @cached_property
    def _constrained_accelerations(self) -> Vector:
        """The same by constraint forces, which need neither the bias nor shared axes."""
        friction = with_drive_forces(self._robot, self._zeros, self._v, self._zeros)
        free = [tau - lost for tau, lost in zip(self._task.tau, friction, strict=True)]
        task, eliminated = self._task, self._algorithms.forward == "eliminated"
        return accelerate(self._robot, task.coordinates, self._v, free, task.fext, eliminated)

    @cached_property
    def _coordinate_accelerations(self) -> Vector:
        """The accelerations of forward dynamics as the user's interface defines them, (nv,)."""
        a = list(self._accelerations)
        if self._task.floating is not None:
            with region("floating"):
                a[:3] = self._task.floating.coordinate((a[0], a[1], a[2]))
        held = self._task.held_base
        return a if held is None else held.choose(held.acceleration, a)

    # Derivatives

    @cached_property
    def _task_gradient(self) -> Halves:
        """The derivatives of inverse dynamics at the task's accelerations."""
        derived = any("gradient" in FUNCTIONS[function].algorithms for function in self._functions)
        if derived and self._algorithms.gradient == "repeated":
            return self._repeated_gradient
        return self._gradient(self._described, self._v, self._first_accelerations, self._first)

    @cached_property
    def _forward_gradient(self) -> Halves:
        """The derivatives of inverse dynamics at the accelerations of forward dynamics."""
        if self._algorithms.gradient == "repeated":
            return self._repeated_gradient
        at_rest, a = self._unloaded, self._coupling.spread(self._added_accelerations)
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
        self, description: Description, v: Sequence[Scalar], a: Sequence[Scalar], trip: RoundTrip
    ) -> Halves:
        """Return the derivatives by position and by velocity at the state of a round trip."""
        robot = description.robot
        if self._algorithms.derivatives == "columns":
            by_position, by_velocity = column_derivatives(
                robot, description.coordinates, v, a, description.fext
            )
            return by_position, with_damping(robot, by_velocity)
        result = inverse_dynamics_derivatives(robot, description.coordinates, v, trip)
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
        by_position, by_velocity = self._add_proper((by_position, by_velocity), units)
        held = self._task.held_base
        if held is None:
            return by_position, by_velocity
        return held.clear_columns(by_position), held.clear_columns(by_velocity)

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

    # Products and flags

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

    def _inverse_times(self, inverse: Matrix, vector: Vector, base: Vector | None = None) -> Vector:
        """Return ``M^-1`` times a vector; solves give a held base the entries ``base`` instead of zeros."""
        if self._algorithms.products == "solves":
            held = self._task.held_base
            return solve(self._factors, vector, held.settle(base or self._zeros) if held else as_solved)
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
