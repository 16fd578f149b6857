"""The golden model in double precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.engines.engine import Answer, Array, RolloutEngine, SolvingEngine
from rbdhw.fixed.normal import normal_samples
from rbdhw.golden.solver import mean_of_samples, roll_out, solve
from rbdhw.model.rollouts.codec import golden_answers, golden_forces
from rbdhw.model.rollouts.data import RolloutArrays, sent_after
from rbdhw.model.rollouts.samples import MOST_SEED
from rbdhw.robot.model import Robot
from rbdhw.software.folder import Software
from rbdhw.software.solver_library import Sampling, means_of, solutions_of


class GoldenEngine(RolloutEngine, SolvingEngine):
    """The golden model, whose status is always zero."""

    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        """Accept all arrays; the golden model computes what they could give."""

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        return np.zeros(len(tasks["q"]), np.int64), golden.evaluate(self.robot, function, tasks, extended)

    def solve_all(
        self, problems: Mapping[str, Array], iterations: int, tolerance: float
    ) -> dict[str, NDArray[Any]]:
        content = self.source.content
        solver = content.solver if isinstance(content, Software) else content.interface.solver
        assert solver is not None
        rows = [{name: array[k] for name, array in problems.items()} for k in range(len(problems["q"]))]
        solutions = [solve(self.robot, row, iterations, solver.alphas, tolerance) for row in rows]
        return solutions_of(self.robot, solver.knots, solutions)

    def follow(
        self, problem: Mapping[str, Array], sampling: Sampling, steps: int, every: int
    ) -> dict[str, NDArray[Any]]:
        rest = {name: array[0] for name, array in problem.items()}
        changes = _changes(self.robot, sampling, sampling.seeds, steps)
        first = zip(problem["q"], problem["v"], changes, strict=True)
        trajectories = [roll_out(self.robot, rest | {"q": q, "v": v}, each) for q, v, each in first]
        states = np.stack([trajectory.states for trajectory in trajectories])
        return {
            "states": states[:, sent_after(steps, every)],
            "cost": np.array([trajectory.cost for trajectory in trajectories]),
        }

    def mean_of_samples(
        self, problems: Mapping[str, Array], sampling: Sampling, count: int, temperature: float
    ) -> dict[str, NDArray[Any]]:
        means = []
        for k, seed in enumerate(sampling.seeds):
            problem = {name: array[k] for name, array in problems.items()}
            seeds = seed + np.arange(count) & MOST_SEED
            changes = _changes(self.robot, sampling, seeds, len(problem["tau"]))
            means.append(mean_of_samples(self.robot, problem, changes, temperature))
        return means_of(self.robot, problems["tau"].shape[1], means)

    def roll_out(self, arrays: RolloutArrays, every: int, states: bool) -> dict[str, NDArray[np.generic]]:
        return golden_answers(self.source.design, arrays, every, states)

    def rollout_forces(self, arrays: RolloutArrays) -> Array:
        design = self.source.design
        lowest, highest = np.asarray(design.domain.bounds["tau"]).T
        forces = [golden_forces(design, arrays, step) for step in range(len(arrays.tau))]
        return np.clip(np.stack(forces, axis=1), lowest, highest)


def _changes(robot: Robot, sampling: Sampling, seeds: NDArray[np.int64], steps: int) -> Array:
    """Return what samples add to forces (N, K, nv)."""
    if sampling.std is None:
        return np.zeros((len(seeds), steps, robot.nv))
    drawn = normal_samples(seeds, np.arange(0, steps, sampling.hold) // sampling.hold, robot.nv)
    kept = sampling.correlation
    for k in range(1, drawn.shape[1]):
        drawn[:, k] = kept * drawn[:, k - 1] + np.sqrt(1.0 - kept**2) * drawn[:, k]
    return np.asarray(sampling.std[:steps] * np.repeat(drawn, sampling.hold, axis=1)[:, :steps])
