"""Engines that compute on the integers of packets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.engines.engine import Answer, Array, RolloutEngine, Source
from rbdhw.model.arrays import check_optional
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.codec import applied_forces, decode_answers, prepare_checked
from rbdhw.model.rollouts.data import Answered, RolloutArrays, Rollouts
from rbdhw.model.rollouts.evaluate import compute


class WordEngine(RolloutEngine):
    """An engine that is defined by what it responds to words."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        self.design = source.design

    @abstractmethod
    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the answer to tasks, as :func:`rbdhw.model.responses.respond`."""

    def respond_rollouts(self, rollouts: Rollouts) -> Answered:
        """Return the answers to rollouts; here those of a loop of steps."""
        return compute(
            self.design, rollouts, lambda words: self.respond(self.design.interface.step.name, words)
        )

    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        check_optional(self.design, function, arrays)

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        status, words = self.respond(function, encode(self.design, function, tasks, extended), extended)
        return status, decode(self.design, function, words, extended, tasks.get("h"))

    def roll_out(self, arrays: RolloutArrays, every: int, states: bool) -> dict[str, NDArray[np.generic]]:
        rollouts = prepare_checked(self.design, arrays, every, states)
        return decode_answers(self.design, arrays, self.respond_rollouts(rollouts))

    def rollout_forces(self, arrays: RolloutArrays) -> Array:
        return applied_forces(self.design, arrays)
