"""The derivatives of inverse and forward dynamics.

Derivatives of forward dynamics are needed at its accelerations, and there are two ways to find them. With
``corrected``, the derivatives at zero acceleration are corrected by ``d(M a)/dq``, which does not depend on
velocities. With ``repeated``, a second inverse dynamics runs at the accelerations that the task brings or
that forward dynamics finds, and the derivatives follow it. This takes fewer operations, but every function
with derivatives then waits for the inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rbdhw.dynamics.columns import column_derivatives
from rbdhw.dynamics.derivatives import Matrix, inverse_dynamics_derivatives
from rbdhw.dynamics.drives import with_damping
from rbdhw.dynamics.rnea import RoundTrip
from rbdhw.dynamics.shared_axes import Configuration
from rbdhw.dynamics.spatial import ZERO, dot
from rbdhw.frontend.forward_dynamics import ForwardDynamics
from rbdhw.protocol import FUNCTIONS
from rbdhw.scalar import Scalar, in_regions, region

Halves = tuple[Matrix, Matrix]
"""Derivatives with respect to position and to velocity: two matrices, each as a list of rows."""


class Gradients:
    """The derivatives of inverse and forward dynamics. Each is recorded when a function first needs it."""

    def __init__(self, forward_dynamics: ForwardDynamics) -> None:
        self.forward_dynamics, self.inverse_dynamics = forward_dynamics, forward_dynamics.inverse_dynamics
        self.setting = forward_dynamics.setting

    @cached_property
    def at_task(self) -> Halves:
        derived = any("gradient" in FUNCTIONS[function].algorithms for function in self.setting.functions)
        if derived and self.setting.algorithms.gradient == "repeated":
            return self._repeated
        inverse = self.inverse_dynamics
        return self.of(self.setting.configuration, self.setting.v, inverse.first_accelerations, inverse.first)

    @cached_property
    def at_solution(self) -> Halves:
        """The derivatives of inverse dynamics at the accelerations of forward dynamics."""
        if self.setting.algorithms.gradient == "repeated":
            return self._repeated
        at_rest, zeros = self.setting.unloaded, self.setting.zeros
        a = self.setting.coupling.spread(self.forward_dynamics.added_accelerations)
        trip = at_rest.round_trip(zeros, a)
        by_position, by_velocity = self.at_task
        correction, _ = self.of(at_rest, zeros, a, trip)
        return sum_of(by_position, correction), by_velocity

    @cached_property
    def _repeated(self) -> Halves:
        """The derivatives after a second round trip, at the task's or forward dynamics' accelerations."""
        solution = self.setting.coupling.spread(self.forward_dynamics.accelerations)
        a = self.inverse_dynamics.select_accelerations(solution)
        trip = self.inverse_dynamics.round_trip(a)
        return self.of(self.setting.configuration, self.setting.v, a, trip)

    def of(
        self, configuration: Configuration, v: Sequence[Scalar], a: Sequence[Scalar], trip: RoundTrip
    ) -> Halves:
        """Return the derivatives by position and by velocity at the state of a round trip."""
        robot, q = configuration.robot, configuration.coordinates
        if self.setting.algorithms.derivatives == "columns":
            by_position, by_velocity = column_derivatives(robot, q, v, a, configuration.fext)
            return by_position, with_damping(robot, by_velocity)
        result = inverse_dynamics_derivatives(robot, q, v, trip)
        gather = self.setting.coupling.gather_both
        return gather(result.by_position), gather(with_damping(robot, result.by_velocity))

    def completed(self, halves: Halves) -> Halves:
        """Return derivatives of inverse dynamics, completed by the terms of the proper acceleration."""
        return self.add_proper(halves, self.forward_dynamics.mass_matrix)

    def of_accelerations(self, halves: Halves) -> Halves:
        """Return derivatives of accelerations from derivatives of inverse dynamics.

        They are ``-M^-1`` times the latter, completed by the terms of the proper acceleration. The proper
        acceleration of a floating body acts on forces by the first columns of the mass matrix, and ``-M^-1``
        times these columns are negative unit vectors.
        """
        inverse = self.forward_dynamics.inverse_to_use
        by_position, by_velocity = (self.minus_times(inverse, half) for half in halves)
        return self.in_coordinates((by_position, by_velocity))

    def in_coordinates(self, halves: Halves) -> Halves:
        """Return derivatives of a floating body's accelerations in place of those of proper ones."""
        n = len(halves[0])
        units: Matrix = [[-1.0 if i == k else 0.0 for k in range(3)] for i in range(n)]
        by_position, by_velocity = self.add_proper(halves, units)
        held = self.setting.task.held_base
        if held is None:
            return by_position, by_velocity
        return held.clear_columns(by_position), held.clear_columns(by_velocity)

    def minus_times(self, inverse: Matrix, matrix: Matrix) -> Matrix:
        columns = [[-1.0 * entry for entry in column] for column in zip(*matrix, strict=True)]
        products = [self.forward_dynamics.inverse_times(inverse, column) for column in columns]
        return [list(row) for row in zip(*products, strict=True)]

    def add_proper(self, halves: Halves, columns: Matrix) -> Halves:
        """Return derivatives plus the first three ``columns`` times the proper acceleration's derivatives."""
        floating = self.setting.task.floating
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


def sum_of(one: Matrix, other: Matrix) -> Matrix:
    """Return the sum of two matrices."""
    return in_regions("correction", lambda *rows: [x + y for x, y in zip(*rows, strict=True)], one, other)
