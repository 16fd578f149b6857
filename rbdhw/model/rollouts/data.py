"""Rollouts as the model has them: checked arrays, words, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Integers
from rbdhw.model.limits import Limited
from rbdhw.model.responses import Words

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RolloutArrays:
    """The checked arrays of the user."""

    first: Limited
    """The arrays of a step in the N first states, without those of the rows."""
    rows: dict[str, Array]
    """The arrays (K, ...) of the rows: the forces ``tau``, and ``contact`` where steps have contacts."""
    parts: Mapping[str, Any]
    """What each part of the build has beside them (:mod:`rbdhw.model.rollouts.part`), by its name."""
    signs: Array | None = None
    """One or -1 (N, nq): the coordinates of ``states`` are these times the user's. None if all are one."""
    late: int = 0
    """The first step whose reference was outside its domain, from 1 on; 0 without one."""

    @property
    def states(self) -> dict[str, Array]:
        return self.first.arrays

    @property
    def tau(self) -> Array:
        """The forces (K, nv)."""
        return self.rows["tau"]

    @property
    def tasks(self) -> int:
        return len(self.states["q"])


@dataclass(frozen=True)
class Rollouts:
    """N rollouts of K steps with the same forces."""

    words: Words
    """The input words (N,) of a step in the first state, without those of the rows, and those of parts."""
    rows: Words
    """The words of the rows, (K,) each, within their bounds: forces, contacts, and what else is loaded."""
    every: int
    """The steps from one answer to the next; zero for the last state only. The last one is always sent."""
    states: bool = True
    """Whether answers have the state beside the cost; without costs they always do."""

    @property
    def steps(self) -> int:
        return len(next(iter(self.rows.values())))

    @property
    def tasks(self) -> int:
        return len(next(iter(self.words.values())))

    @property
    def sent(self) -> Integers:
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
