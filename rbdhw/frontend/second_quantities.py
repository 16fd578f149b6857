"""The quantities of second derivatives, beside those of the first ones."""

from __future__ import annotations

from functools import cached_property

from rbdhw.dynamics.derivatives import Matrix
from rbdhw.dynamics.rnea import STILL, joint_forces, newton_euler
from rbdhw.dynamics.second_columns import SecondDerivatives
from rbdhw.dynamics.second_derivatives import second_derivatives
from rbdhw.frontend.quantities import Quantities, Vector
from rbdhw.frontend.second_order import (
    Forward,
    acceleration_symbols,
    contract,
    rates_by_symbols,
)
from rbdhw.frontend.state import State
from rbdhw.protocol import FUNCTIONS, any_takes
from rbdhw.scalar import region


class SecondQuantities(Quantities):
    """The state at which second derivatives are taken, and what they are made of."""

    @cached_property
    def _state(self) -> State:
        """The state of the task at its own accelerations or, if it brings forces, at those they cause."""
        a = self._select_accelerations(
            self._coupling.spread(self._caused) if self._differentiates_forward else self._zeros
        )
        description, task = self._described, self._task
        return State(
            description.robot,
            description.coordinates,
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
        return any(entry.takes_force and "second" in entry.algorithms for entry in asked)

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
        description, task = self._described, self._task
        still = newton_euler(
            description.robot, description.coordinates, self._zeros, self._zeros, task.base, description.fext
        )
        weights = joint_forces(description.robot, still)
        with region("forward_dynamics"):
            free = self._solve([tau - weight for tau, weight in zip(task.tau, weights, strict=True)])
            return [x + y for x, y in zip(free, self._by_symbols[0], strict=True)]

    @cached_property
    def _by_symbols(self) -> tuple[Vector, Matrix]:
        """The accelerations that velocities cause, and their derivatives by velocity."""
        description = self._unloaded
        trip = newton_euler(description.robot, description.coordinates, self._zeros, self._zeros, STILL)
        forces = second_derivatives(description.robot, description.coordinates, self._zeros, trip)
        symbols = acceleration_symbols(self._solve, [force.momentum for force in forces])
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
