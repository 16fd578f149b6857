"""Number formats of the step of a sweep back, from the iterations of a solver in double precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.knots import HEADROOM_BITS
from rbdhw.frontend.knot_step import REGULARISATION
from rbdhw.golden.riccati import Expansion, Policy, sweep_back
from rbdhw.golden.solver import difference, solve
from rbdhw.graph.interpret import edge_value, node_values
from rbdhw.graph.knots import POSITION_ROW, sweep_knots
from rbdhw.graph.sweeps import Sweeps
from rbdhw.model.knot_numbers import knot_numbers, moved_numbers, position_numbers, state_numbers
from rbdhw.robot.model import Robot

Array = NDArray[np.float64]

ITERATIONS, ALPHAS, TOLERANCE = 8, 6, 1e-9
"""The most iterations of a problem that are observed, the step lengths, and the share of the cost to gain."""


NOISE_BITS = 40
"""A derivative smaller than the largest of its array by so many bits in all knots is a rounding error."""


def solver_numbers(
    robot: Robot,
    problems: Iterable[Mapping[str, Array]],
    forces: Sequence[int],
    iterations: int = ITERATIONS,
    starts: Sequence[int] = (),
    *,
    of_states: bool = False,
) -> list[dict[str, Array]]:
    """Return the numbers of every sweep back of a solver in double precision.

    ``problems`` are those of :func:`rbdhw.golden.solver.solve`, and ``forces`` the coordinates whose forces
    change. The first trajectory of one in motion follows a solution from rest, of one iteration. ``starts``
    are the knots with which blocks begin, but for the last one. ``of_states`` states whether the numbers of
    joints of several degrees of freedom are those of states, and whether the costs of the positions of
    tracked frames are apart.
    """
    numbers = []
    for problem in problems:
        trajectories = _Trajectories(robot, float(problem["h"]), starts)

        def sweep(
            expansion: Expansion,
            regularisation: float,
            trajectories: _Trajectories = trajectories,
            problem: Mapping[str, Array] = problem,
        ) -> Policy | None:
            added = {REGULARISATION: np.array(regularisation)} | trajectories.moved(expansion)
            whole = knot_numbers(expansion, trajectories.h, forces)
            if of_states:
                assert expansion.states is not None
                if robot.tracks:
                    added |= position_numbers(robot, problem, expansion.states, whole)
                added |= state_numbers(robot, problem, expansion.states)
            numbers.append(whole | added)
            return sweep_back(expansion, regularisation)

        first = {}
        if np.any(problem["v"]):
            rest = solve(robot, {**problem, "v": 0.0 * problem["v"]}, 1, ALPHAS, TOLERANCE, sweep)
            first = {name: rest[name] for name in ("states", "tau", "K")}
        solve(robot, {**problem, **first}, iterations, ALPHAS, TOLERANCE, sweep)
    return numbers


class _Trajectories:
    """The trajectories of a solver, one after the other."""

    def __init__(self, robot: Robot, h: float, starts: Sequence[int]) -> None:
        self.robot, self.h, self.starts = robot, h, starts
        self.last: Array | None = None

    def moved(self, expansion: Expansion) -> dict[str, Array]:
        """Return the numbers of the change of the trajectory since the last expansion."""
        if not self.starts:
            return {}
        assert expansion.states is not None
        before = expansion.states if self.last is None else self.last
        self.last = expansion.states
        changes = [difference(self.robot, *pair) for pair in zip(before, expansion.states, strict=True)]
        return moved_numbers(np.array(changes), self.h, self.starts)


def without_noise(numbers: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
    """Return the numbers of sweeps with zeros for derivatives that are nothing but rounding errors.

    A format of their size would be far below those of all that they are added to.
    """
    zeros = []
    for array in ("D", POSITION_ROW):
        names = [name for name in numbers[0] if name.startswith(f"{array}[")]
        largest = {name: max(float(np.abs(each[name]).max()) for each in numbers) for name in names}
        least = max(largest.values(), default=0.0) * 2.0**-NOISE_BITS
        zeros += [name for name in names if largest[name] < least]
    return [{**each, **{name: np.zeros_like(each[name]) for name in zeros}} for each in numbers]


def knot_magnitudes(
    sweeps: Sweeps, sampled: Iterable[Mapping[str, Array]], headroom_bits: int = HEADROOM_BITS
) -> list[float]:
    """Return the largest magnitude of each node of a knot's step, with headroom.

    ``sampled`` are the numbers of sweeps, as :func:`rbdhw.graph.knots.sweep_knots` takes them.
    """
    (sweep,) = sweeps.sweeps
    largest = np.zeros(len(sweep.step.nodes))

    def step(_knot: int, inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        values = node_values(sweep.step, inputs)
        np.maximum(largest, [np.abs(value).max() for value in values], out=largest)
        return {name.partition(".")[2]: edge_value(values, edge) for name, edge in sweep.step.outputs}

    together = list(sampled)
    sweep_knots(sweeps, {name: np.stack([each[name] for each in together]) for name in together[0]}, step)
    return [float(size) for size in np.ldexp(largest, headroom_bits)]
