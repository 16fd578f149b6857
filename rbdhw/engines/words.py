"""Engines that compute on the integers of packets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbdhw.engines.engine import Answer, Array, RolloutEngine, Source
from rbdhw.model.arrays import check_optional
from rbdhw.model.fixed_solver import FixedSolver, Goal
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.codec import applied_forces, decode_answers, prepare_checked
from rbdhw.model.rollouts.data import Answered, RolloutArrays, Rollouts
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.solver_codec import decode_solution, goal_words, task_words
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import GOAL, PLAN, SOLVE

Packets = tuple[str, Words]
"""A command of a solver, and the words (N,) of its packets."""


class Session(Protocol):
    """A solver since its last reset."""

    def respond(self, function: str, words: Words) -> Response:
        """Return the statuses and the output words (N,) of packets of one of its commands."""


class WordEngine(RolloutEngine):
    """An engine that is defined by what it responds to words."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        self.design = source.design
        self._goal: Goal | None = None

    @abstractmethod
    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the answer to tasks, as :func:`rbdhw.model.responses.respond`."""

    def respond_rollouts(self, rollouts: Rollouts) -> Answered:
        """Return the answers to rollouts; here those of a loop of steps."""
        return compute(
            self.design, rollouts, lambda words: self.respond(self.design.interface.step.name, words)
        )

    @cached_property
    def session(self) -> Session:
        """The model of the solver since its last reset."""
        return SolverSession(self.design)

    def converse(self, packets: Sequence[Packets]) -> list[Response]:
        """Return the answers to packets of a solver, one after the other; here those of the model."""
        return [self.session.respond(*each) for each in packets]

    def solve(
        self, problem: Mapping[str, Array], iterations: int, follow: int | None
    ) -> dict[str, NDArray[Any]]:
        """Return the solution of a problem (:data:`rbdhw.arrays.SOLVE_OUTPUTS`).

        With ``follow`` it begins with the last solution, so many steps later. The goal is loaded if it is
        another one.

        Raises
        ------
        InputError
            The accelerator does not take such a problem.
        """
        solver = FixedSolver(self.design)
        goal, task = solver.goal(problem), task_words(solver, problem, iterations, follow)
        packets: list[Packets] = [(SOLVE, task), (PLAN, {"row": np.arange(solver.shape.knots + 1)})]
        if follow is None or self._goal is None or not _same(goal.rows, self._goal.rows):
            packets.insert(0, (GOAL, goal_words(solver, goal)))
        self._goal = None
        *_, (_, solved), (_, plan) = self.converse(packets)
        self._goal = goal
        return decode_solution(solver, problem, goal, solved, plan)

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


def _same(one: Words, other: Words) -> bool:
    return all(np.array_equal(words, other[name]) for name, words in one.items())
