"""The golden model in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.engines.engine import Answer, Array, RolloutEngine
from rbdhw.model.rollouts.codec import golden_answers, golden_forces
from rbdhw.model.rollouts.rows import Given


class GoldenEngine(RolloutEngine):
    """The golden model, whose status is always zero."""

    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        """Accept all arrays; the golden model computes what they could give."""

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        """Compute tasks."""
        return np.zeros(len(tasks["q"]), np.int64), golden.evaluate(self.robot, function, tasks, extended)

    def roll_out(self, tasks: Given, every: int, states: bool) -> dict[str, NDArray[np.generic]]:
        """Return the results of rollouts."""
        return golden_answers(self.source.design, tasks, every, states)

    def rollout_forces(self, tasks: Given) -> Array:
        """Return the forces that rollouts apply."""
        lowest, highest = np.asarray(self.source.design.domain.bounds["tau"]).T
        forces = np.clip(golden_forces(tasks), lowest, highest)
        return np.broadcast_to(forces, (len(tasks.states["q"]), *tasks.tau.shape)).copy()
