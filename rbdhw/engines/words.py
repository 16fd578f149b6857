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
from rbdhw.model.rollouts.mean_codec import MeanTask, decode_mean
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.model.solver_codec import decode_solution, goal_words, task_words
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import GOAL, MEAN, MEAN_COMMANDS, MPPI, PLAN, ROW_COMMANDS, SOLVE, SOLVER_COMMANDS

Packets = tuple[str, Words]
"""A command of a solver or of means of samples, and the words (N,) of its packets."""


class Session(Protocol):
    """A solver, or means of samples, since the last reset."""

    def respond(self, function: str, words: Words) -> Response:
        """Return the statuses and the output words (N,) of packets of one of its commands."""


class WordEngine(RolloutEngine):
    """An engine that is defined by what it responds to words."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        self.design = source.design
        self._goal: Goal | None = None
        self._last_mean: MeanTask | None = None

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

    @cached_property
    def means(self) -> Session:
        """The model of means of samples since the last reset."""
        step = self.design.interface.step.name
        return MeanSession(self.design, lambda words: self.respond(step, words))

    def converse(self, packets: Sequence[Packets]) -> list[Response]:
        """Return the answers to packets of commands, one after the other; here those of the model."""
        sessions = ((SOLVER_COMMANDS, "session"), ((*ROW_COMMANDS, *MEAN_COMMANDS), "means"))
        names = {command: name for commands, name in sessions for command in commands}
        return [getattr(self, names[command]).respond(command, words) for command, words in packets]

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

    def take_mean(self, task: MeanTask, follow: int | None) -> dict[str, NDArray[np.generic]]:
        """Return the mean of samples (:func:`rbdhw.model.rollouts.mean_codec.decode_mean`).

        With ``follow`` the task's forces are those of the last mean, so many steps later, and rows are only
        loaded where others differ.
        """
        shape = self.design.interface.rollout
        assert shape is not None
        last, self._last_mean = self._last_mean, None
        kept = follow is not None and last is not None and task.has_rows_of(last)
        packets: list[Packets] = [] if kept else list(task.rows.items())
        request = task.request | {"shift": np.array([follow if kept else 0])}
        packets += [(MPPI, request), (MEAN, {"row": np.arange(shape.horizon)})]
        *_, (_, answer), (_, rows) = self.converse(packets)
        self._last_mean = task
        return decode_mean(self.design, task, answer, rows)

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
