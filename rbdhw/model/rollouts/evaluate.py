"""Rollouts: the bit-exact model, which is the model of a step in a loop.

The integers of a state go back as the words of the next step: rounded to the nearest step of the word, ties
upward, and not limited. One that does not fit its word flags the next step; with costs, which count the word,
also its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rbdhw.fixed.format import Integers
from rbdhw.fixed.rollout import (
    next_state,
    next_words,
    row_inputs,
    state_words,
    tracked_words,
    wrapped,
)
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import OUTSIDE
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.data import Answered, Rollouts
from rbdhw.model.rollouts.parts import parts_in
from rbdhw.protocol import COST

Respond = Callable[[Words], Response]
"""Answers tasks of the function whose steps rollouts take, with these input words."""


def compute(model: AcceleratorModel, rollouts: Rollouts, step_of: Respond) -> Answered:
    """Return the answers of the bit-exact model; ``step_of`` computes a step."""
    step, shape = model.interface.step, model.interface.rollout
    assert shape is not None
    state, tracked = state_words(step, shape.nq), tracked_words(step, shape)
    words = {word.name: rollouts.words[word.name] for word in step.inputs if word.name in rollouts.words}
    with_costs = COST in shape.parts
    flags, first, cost = np.zeros((3, rollouts.tasks), np.int64)
    answered: list[tuple[Integers, Integers, Integers, Words]] = []
    for k in range(rollouts.steps):
        driven = step_words(model, rollouts, k, words)
        status, results = step_of(words | driven)
        after = next_state(step, state, results)
        followed = next_state(step, tracked, results)
        if with_costs:
            exceeding = wrapped((*state, *tracked), after | followed)[1]
            status = status | OUTSIDE * exceeding.astype(np.int64)
        words |= after
        row, behind = rollouts.row(k), words | driven | followed
        for part in parts_in(model):
            added, beyond = part.cost(model, row, behind)
            cost, status = cost + added, status | beyond
        flags, first = flags | status, np.where((first == 0) & (status != 0), k + 1, first)
        if k + 1 in rollouts.sent:
            sent = {word.name: results[word.name] for word in next_words(step)} if rollouts.states else {}
            answered.append((flags, first, cost, sent))
    *numbers, states = zip(*answered, strict=True)
    status, flagged, costs = (np.stack(column, axis=1) for column in numbers)
    stacked = {name: np.stack([each[name] for each in states], axis=1) for name in states[0]}
    return Answered(status, flagged, stacked, costs)


def step_words(
    model: AcceleratorModel, rollouts: Rollouts, step: int, state: Words | None = None
) -> dict[str, Integers]:
    """Return the words (N,) of the forces and contacts of a step, counted from 0.

    They are those of its row and what parts add, limited. Without the words (N,) of the ``state`` before the
    step, what depends on it is left out.
    """
    words, row = row_inputs(model.interface.step), rollouts.row(step)
    driven = {word.name: np.full(rollouts.tasks, row[word.name]) for word in words}
    for part in parts_in(model):
        for name, added in part.forces(model, rollouts, step, state).items():
            driven[name] = driven[name] + added
    return {word.name: np.clip(driven[word.name], word.lowest, word.highest) for word in words}
