"""Engines that compute on the integers of packets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbdhw.engines.engine import Answer, Array, RolloutEngine, Source
from rbdhw.fixed.format import Integers
from rbdhw.model.arrays import check_optional
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.codec import applied_forces, decode_answers, prepare_checked
from rbdhw.model.rollouts.data import Answered, RolloutArrays, Rollouts
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.rollouts.mean_codec import MeanTask, decode_mean
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.model.solver_codec import Asked, decode_solution, goal_words, group_words, joined, plan_words
from rbdhw.model.solver_goal import Goal
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
        self._goals: dict[int, Goal] = {}
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

    def solve(self, group: Sequence[Asked]) -> list[dict[str, NDArray[Any]]]:
        """Return the solutions of problems that are solved together (:data:`rbdhw.arrays.SOLVE_OUTPUTS`).

        There are as many as the accelerator has slots, or fewer; the first one is that of slot 0. One that
        follows begins with the last solution of its slot, if that had one since the last group of which none
        followed. The goal of a slot is loaded if it is another one.

        Raises
        ------
        InputError
            The accelerator does not take such a problem.
        """
        solver, before = FixedSolver(self.design), self._goals
        group = [each if slot in before else replace(each, follow=None) for slot, each in enumerate(group)]
        goals = {slot: solver.goal(each.problem) for slot, each in enumerate(group)}
        packets = [
            (GOAL, goal_words(solver, goals[slot], slot))
            for slot, each in enumerate(group)
            if each.follow is None or not _same(goals[slot].rows, before[slot].rows)
        ]
        packets.append((SOLVE, group_words(solver, group)))
        packets.append((PLAN, joined([plan_words(solver, slot) for slot in goals])))
        self._goals = {}
        *_, (_, solved), (_, plans) = self.converse(packets)
        follows = any(each.follow is not None for each in group)
        self._goals = (before if follows else {}) | goals
        return [
            decode_solution(
                solver, each.problem, goals[slot], _part(solved, slot, group), _part(plans, slot, group)
            )
            for slot, each in enumerate(group)
        ]

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


def _part(words: Words, slot: int, group: Sequence[Asked]) -> dict[str, Integers]:
    """Return the words of one of the problems of a group, which all have as many."""
    return {name: np.split(numbers, len(group))[slot] for name, numbers in words.items()}


def _same(one: Words, other: Words) -> bool:
    return all(np.array_equal(words, other[name]) for name, words in one.items())
