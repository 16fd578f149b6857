"""The quantities of second derivatives, beside those of the first ones."""

from __future__ import annotations

from functools import cached_property, partial

from rbdhw.dynamics.derivatives import Matrix
from rbdhw.dynamics.rnea import joint_forces
from rbdhw.dynamics.second_columns import SecondDerivatives
from rbdhw.dynamics.second_derivatives import second_derivatives
from rbdhw.frontend.gradients import Gradients
from rbdhw.frontend.second_order import Forward, acceleration_symbols, contract, rates_by_symbols
from rbdhw.frontend.setting import State, Vector
from rbdhw.protocol import FUNCTIONS, any_takes
from rbdhw.scalar import in_regions, region


class SecondQuantities:
    """The state at which second derivatives are taken, and what they are made of."""

    def __init__(self, gradients: Gradients) -> None:
        self._gradients, self._setting = gradients, gradients.setting
        self._inverse_dynamics = gradients.inverse_dynamics
        self._forward_dynamics = gradients.forward_dynamics

    @cached_property
    def state(self) -> State:
        """The state of the task at its own accelerations or, if it brings forces, at those they cause."""
        setting, task = self._setting, self._setting.task
        others = setting.coupling.spread(self._caused) if self._differentiates_forward else setting.zeros
        a = self._inverse_dynamics.select_accelerations(others)
        return State(
            setting.configuration.robot,
            setting.configuration.coordinates,
            task.coordinates,
            setting.v,
            a,
            self._inverse_dynamics.round_trip(a),
            setting.coupling,
            task.floating,
            differentiated=setting.algorithms.second == "differentiated",
        )

    @cached_property
    def forward(self) -> Forward:
        """The first derivatives of forward dynamics at that state, proper for a floating body."""
        setting, state, inverse = self._setting, self.state, self._forward_dynamics.inverse
        halves = self._gradients.of(setting.configuration, setting.v, state.a, state.trip)
        by_position, by_velocity = (self._gradients.minus_times(inverse, half) for half in halves)
        if setting.algorithms.rates == "symbols":
            _, by_velocity = self._by_symbols
        return Forward(by_position, by_velocity, inverse, self._solve)

    @cached_property
    def contraction(self) -> SecondDerivatives:
        """The contraction with the task's multipliers of forces, or with those that the others amount to."""
        setting, task = self._setting, self._setting.task
        if not any_takes(setting.functions, "lambda_a"):
            return contract(self.state, task.lambda_tau)
        multipliers = self.forward.inverse_times(task.lambda_a)
        if any_takes(setting.functions, "lambda_tau"):
            select = partial(setting.recorder.select, setting.given)
            multipliers = in_regions("second_product", select, task.lambda_tau, multipliers)
        return contract(self.state, multipliers)

    @property
    def _differentiates_forward(self) -> bool:
        asked = [FUNCTIONS[function] for function in self._setting.functions]
        return any(entry.takes_force and "second" in entry.algorithms for entry in asked)

    def _solve(self, vector: Vector) -> Vector:
        return self._forward_dynamics.inverse_times(self._forward_dynamics.inverse, vector)

    @cached_property
    def _caused(self) -> Vector:
        """The accelerations of forward dynamics at which second derivatives are taken."""
        setting, task = self._setting, self._setting.task
        if setting.algorithms.rates == "bias":
            return self._forward_dynamics.accelerations
        still = setting.configuration.round_trip(setting.zeros, setting.zeros, task.base)
        weights = joint_forces(setting.configuration.robot, still)
        with region("forward_dynamics"):
            free = self._solve([tau - weight for tau, weight in zip(task.tau, weights, strict=True)])
            return [x + y for x, y in zip(free, self._by_symbols[0], strict=True)]

    @cached_property
    def _by_symbols(self) -> tuple[Vector, Matrix]:
        """The accelerations that velocities cause, and their derivatives by velocity."""
        at_rest, zeros = self._setting.unloaded, self._setting.zeros
        trip = at_rest.round_trip(zeros, zeros)
        forces = second_derivatives(at_rest.robot, at_rest.coordinates, zeros, trip)
        symbols = acceleration_symbols(self._solve, [force.momentum for force in forces])
        return rates_by_symbols(symbols, self._setting.v)
