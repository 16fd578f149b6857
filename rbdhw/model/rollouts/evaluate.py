"""Rollouts: the bit-exact model, which is the model of ``step`` in a loop.

The integers of a state go back as the words of the next step: rounded to the nearest step of the word, ties
upward, and not limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.cost import stage_cost
from rbdhw.fixed.format import Integers, round_half_up, wrap
from rbdhw.fixed.normal import SAMPLE, normal_integers
from rbdhw.fixed.rollout import force_words, rollout_feedback, rollout_terms, state_words
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.protocol import COST, GAINS

Words = Mapping[str, Integers]

Respond = Callable[[Words], tuple[Integers, dict[str, Integers]]]
"""The status (N,) and the output words of ``step`` for the input words (N,) of N tasks."""


SEED = "seed"
"""The word of a rollout's seed."""


@dataclass(frozen=True)
class Rollouts:
    """N rollouts of K steps with the same forces.

    Parameters
    ----------
    words
        The input words of ``step`` in the first state, (N,) each, without forces; and ``seed``, if the build
        draws samples.
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


def compute(model: AcceleratorModel, own: Rollouts, step_of: Respond) -> Answered:
    """Return the answers of the bit-exact model; ``step_of`` computes ``step``."""
    step = model.interface.words("step")
    words = {word.name: own.words[word.name] for word in step.inputs if word.name in own.words}
    flags, first, cost = np.zeros((3, own.tasks), np.int64)
    found: list[tuple[Integers, Integers, Integers, Words]] = []
    for k in range(own.steps):
        forces = step_forces(model, own, k, words)
        status, results = step_of(words | forces)
        flags, first = flags | status, np.where((first == 0) & (status != 0), k + 1, first)
        words |= _next_state(model, results)
        cost = cost + _step_cost(model, own, k, words | forces)
        if k + 1 in own.sent:
            found.append((flags, first, cost, results if own.states else {}))
    *numbers, states = zip(*found, strict=True)
    status, flagged, costs = (np.stack(column, axis=1) for column in numbers)
    stacked = {name: np.stack([each[name] for each in states], axis=1) for name in states[0]}
    return Answered(status, flagged, stacked, costs)


def _next_state(model: AcceleratorModel, results: Words) -> dict[str, Integers]:
    """Return the words of the state for the next step, from the results of a step."""
    assert model.interface.rollout is not None
    step, words = model.interface.words("step"), {}
    for each in state_words(step, model.interface.rollout.nq):
        if each.place is None:
            words[each.word.name] = np.zeros_like(next(iter(results.values())))
            continue
        result = step.outputs[each.place]
        more = each.word.format.binary_point - result.format.binary_point
        value = results[result.name]
        back = value << more if more >= 0 else round_half_up(value, -more)
        limited = each.word.lowest is not None
        words[each.word.name] = back if limited else wrap(back, each.word.format.width)
    return words


def _fitting(words: Words, terms: Iterable[ErrorTerm]) -> dict[str, Integers]:
    """Return the words of terms without the bits that do not fit."""
    return {term.word.name: wrap(words[term.word.name], term.word.format.width) for term in terms}


def _step_cost(model: AcceleratorModel, own: Rollouts, step: int, words: Words) -> Integers | int:
    """Return the cost of a step from the words of the state behind it and of its forces."""
    shape = model.interface.rollout
    if shape is None or COST not in shape.parts:
        return 0
    terms = rollout_terms(model.interface.words("step"), shape)
    return stage_cost(terms, _fitting(words, terms), _row(own, step))


def _row(own: Rollouts, step: int) -> dict[str, int]:
    """Return the words of a row."""
    return {name: int(row[step]) for name, row in own.rows.items()}


def step_forces(
    model: AcceleratorModel, own: Rollouts, step: int, state: Words | None = None
) -> dict[str, Integers]:
    """Return the words (N,) of the forces of a step, counted from 0: its row, plus samples, limited.

    With the words (N,) of the ``state`` before the step, there is feedback from it, if the build has gains.
    """
    forces, row, shape = force_words(model.interface.words("step")), _row(own, step), model.interface.rollout
    assert shape is not None
    found = {word.name: np.full(own.tasks, row[word.name]) for word in forces}
    if SEED in own.words:
        drawn = normal_integers(own.words[SEED], np.array([step]), model.robot.nv)[:, 0]
        for word in forces:
            name = WordName.parse(word.name)
            product = drawn[:, name.index[0]] * row[str(replace(name, array="std"))]
            found[word.name] = found[word.name] + round_half_up(product, SAMPLE.binary_point)
    if state is not None and GAINS in shape.parts:
        for feedback in rollout_feedback(model.interface.words("step"), shape):
            found[feedback.force.name] = found[feedback.force.name] + feedback.added(
                _fitting(state, feedback.terms), row, row
            )
    return {word.name: np.clip(found[word.name], word.lowest, word.highest) for word in forces}
