"""The golden model in double precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.engines.engine import Answer, Array, RolloutEngine, SolvingEngine
from rbdhw.golden.solver import solve
from rbdhw.model.rollouts.codec import golden_answers, golden_forces
from rbdhw.model.rollouts.data import RolloutArrays
from rbdhw.software.folder import Software


class GoldenEngine(RolloutEngine, SolvingEngine):
    """The golden model, whose status is always zero."""

    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        """Accept all arrays; the golden model computes what they could give."""

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        return np.zeros(len(tasks["q"]), np.int64), golden.evaluate(self.robot, function, tasks, extended)

    def solve(
        self, problems: Mapping[str, Array], iterations: int, tolerance: float
    ) -> dict[str, NDArray[Any]]:
        content = self.source.content
        assert isinstance(content, Software)
        assert content.solver is not None
        rows = [{name: array[k] for name, array in problems.items()} for k in range(len(problems["q"]))]
        solutions = [solve(self.robot, row, iterations, content.solver.alphas, tolerance) for row in rows]
        return {name: np.stack([solution[name] for solution in solutions]) for name in solutions[0]}

    def roll_out(self, arrays: RolloutArrays, every: int, states: bool) -> dict[str, NDArray[np.generic]]:
        return golden_answers(self.source.design, arrays, every, states)

    def rollout_forces(self, arrays: RolloutArrays) -> Array:
        design = self.source.design
        lowest, highest = np.asarray(design.domain.bounds["tau"]).T
        forces = [golden_forces(design, arrays, step) for step in range(len(arrays.tau))]
        return np.clip(np.stack(forces, axis=1), lowest, highest)
