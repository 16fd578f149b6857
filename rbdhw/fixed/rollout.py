"""The words of rollouts: what goes back into the next step, what is loaded, and what errors are taken of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.fixed.cost import CostTerm, Residual, cost_format, cost_residuals, cost_terms
from rbdhw.fixed.feedback import Feedback
from rbdhw.fixed.format import Format, Integers, round_half_up, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import error_terms
from rbdhw.protocol import NEXT_STATE, ROLLOUT, ROW_INPUTS, TRACKED

POSITION_BITS = 25
"""The bits of a frame's position, whose error is not rounded."""


@dataclass(frozen=True)
class RolloutShape:
    """The size of rollouts: the most steps, and the coordinates of a configuration.

    Steps are those of ``function``. ``parts`` are some of :data:`rbdhw.protocol.ROLLOUT_PARTS`. A sample is
    held for ``hold`` steps, a power of two: step k takes that of number k // hold. ``means`` states whether
    the accelerator takes means of samples. Costs have ``cost_rows`` residuals beside the errors, and if
    they are ``tracking`` also the positions of frames that steps give.
    """

    horizon: int
    nq: int
    function: str
    parts: tuple[str, ...] = ()
    hold: int = 1
    means: bool = False
    cost_rows: int = 0
    tracking: bool = False


class StepWords(Protocol):
    """The words of the function whose steps rollouts take."""

    @property
    def inputs(self) -> Sequence[Word]:
        """The words of a task."""

    @property
    def outputs(self) -> Sequence[Word]:
        """The words of an answer."""


@dataclass(frozen=True)
class StateWord:
    """A word behind a step: as it goes on, and its place among the results; None for always zero."""

    word: Word
    place: int | None


def state_words(step: StepWords, nq: int) -> tuple[StateWord, ...]:
    """Return the words of a state in the order of slots, with the results from which they go back."""
    results = {WordName.parse(word.name).index[0]: k for k, word in enumerate(next_words(step))}
    words = []
    for word in step.inputs:
        name = WordName.parse(word.name)
        if name.array in ("q", "v"):
            words.append(StateWord(word, results.get(name.index[0] + (nq if name.array == "v" else 0))))
    return tuple(words)


def next_words(step: StepWords) -> tuple[Word, ...]:
    """Return the words of the state behind a step, which are the first of its results."""
    return tuple(word for word in step.outputs if word.array == NEXT_STATE)


def tracked_words(step: StepWords, shape: RolloutShape) -> tuple[StateWord, ...]:
    """Return the words of frames' positions behind a step that cost something, in a common format."""
    places = [k for k, word in enumerate(step.outputs) if shape.tracking and word.array == TRACKED]
    formats = [step.outputs[place].format for place in places]
    exponent = max((format_.width - 1 - format_.binary_point for format_ in formats), default=0)
    common, words = Format(POSITION_BITS, POSITION_BITS - 1 - exponent), []
    for place in places:
        word = step.outputs[place]
        name = str(replace(WordName.parse(word.name), function=None))
        limited = Word(name, word.unit, -1, common, common.lowest, common.highest)
        words.append(StateWord(limited, place))
    return tuple(words)


def next_state(
    step: StepWords, state: Sequence[StateWord], results: Mapping[str, Integers]
) -> dict[str, Integers]:
    """Return the words (N,) of the state behind a step from its results (N,), not limited."""
    words = {}
    for each in state:
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


def wrapped(
    state: Sequence[StateWord], words: Mapping[str, Integers]
) -> tuple[dict[str, Integers], NDArray[np.bool_]]:
    """Return the words (N,) of a state in their formats, and whether one exceeded its format (N,)."""
    inside = {each.word.name: wrap(words[each.word.name], each.word.format.width) for each in state}
    return inside, np.any([words[name] != inside[name] for name in inside], axis=0)


def constant_words(step: StepWords) -> tuple[Word, ...]:
    """Return the words of a step that stay the same in a rollout."""
    return tuple(word for word in step.inputs if word.array not in ("q", "v", *ROW_INPUTS))


def row_inputs(step: StepWords) -> tuple[Word, ...]:
    """Return the words of a step that come from the loaded rows: those of forces and of contacts."""
    return tuple(word for word in step.inputs if word.array in ROW_INPUTS)


def force_words(step: StepWords) -> tuple[Word, ...]:
    """Return the words of the forces of a step."""
    return tuple(word for word in step.inputs if word.array == "tau")


def answered_as(word: Word) -> str:
    """Return the name in answers to rollouts of a result of a step."""
    return str(replace(WordName.parse(word.name), function=ROLLOUT))


def rollout_terms(step: StepWords, shape: RolloutShape) -> tuple[CostTerm, ...]:
    """Return the terms of a cost: the words of the state, of frames' positions, then those of the forces."""
    positions = [each.word for each in tracked_words(step, shape)]
    return cost_terms(_words(step, shape), force_words(step), shape.nq, positions)


def rollout_residuals(step: StepWords, shape: RolloutShape) -> tuple[Residual, ...]:
    """Return the residuals of a cost."""
    return cost_residuals(rollout_terms(step, shape), shape.cost_rows)


def rollout_cost(step: StepWords, shape: RolloutShape) -> Format:
    """Return the format of the cost of a rollout."""
    return cost_format(len(rollout_terms(step, shape)) + shape.cost_rows, shape.horizon)


def rollout_feedback(step: StepWords, shape: RolloutShape) -> tuple[Feedback, ...]:
    """Return the feedback to each force."""
    terms = error_terms(_words(step, shape), "x_nominal", shape.nq)
    return tuple(Feedback(force, terms) for force in force_words(step))


def _words(step: StepWords, shape: RolloutShape) -> list[Word]:
    return [state.word for state in state_words(step, shape.nq)]
