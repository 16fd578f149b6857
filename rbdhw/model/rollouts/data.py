"""Rollouts as the model has them: checked arrays, words, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Integers

Array = NDArray[np.float64]

Words = Mapping[str, Integers]


@dataclass(frozen=True)
class RolloutArrays:
    """The checked arrays of the user.

    Parameters
    ----------
    states
        The arrays of ``step`` in the N first states, without the forces.
    tau
        The forces (K, nv).
    parts
        What each part of the build has beside them (:mod:`rbdhw.model.rollouts.part`), by its name.
    signs
        One or -1 (N, nq): the coordinates of ``states`` are these times the user's. None if they are all one.
    """

    states: dict[str, Array]
    tau: Array
    parts: Mapping[str, Any]
    signs: Array | None = None

    @property
    def tasks(self) -> int:
        """The number of rollouts."""
        return len(self.states["q"])


@dataclass(frozen=True)
class Rollouts:
    """N rollouts of K steps with the same forces.

    Parameters
    ----------
    words
        The input words of ``step`` in the first state, (N,) each, without forces; and those that parts have
        for each rollout.
    rows
        The words of the rows, (K,) each, within their bounds: the forces, and what else is loaded.
    every
        The steps from one answer to the next; zero for the last state only. The last state is always sent.
    states
        Whether answers have the state beside the cost; without costs they always do.
    """

    words: Words
    rows: Words
    every: int
    states: bool = True

    @property
    def steps(self) -> int:
        """The steps of each rollout."""
        return len(next(iter(self.rows.values())))

    @property
    def tasks(self) -> int:
        """The number of rollouts."""
        return len(next(iter(self.words.values())))

    @property
    def sent(self) -> Integers:
        """The steps (M,) after which the state is sent."""
        return sent_after(self.steps, self.every)

    def row(self, step: int) -> dict[str, int]:
        """Return the words of the row of a step, counted from 0."""
        return {name: int(row[step]) for name, row in self.rows.items()}


@dataclass(frozen=True)
class Answered:
    """The answers to rollouts, (N, M) each: status, first flagged step, words of the state, and cost so far.

    The words of the state are empty if they were not asked for. Without costs they are all zero.
    """

    status: Integers
    first_flagged: Integers
    states: Words
    cost: Integers


def sent_after(steps: int, every: int) -> Integers:
    """Return the steps after which the state of a rollout is sent."""
    between = np.arange(every, steps, every) if every else np.zeros(0, np.int64)
    return np.append(between, steps).astype(np.int64)
