"""The parts of rollouts, in the order of their words, and the words of the commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, answered_as, next_words
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import FunctionWords
from rbdhw.model.rollouts.cost import Cost
from rbdhw.model.rollouts.gains import Gains
from rbdhw.model.rollouts.mean_words import mean_commands
from rbdhw.model.rollouts.part import Part, counts, in_slots
from rbdhw.model.rollouts.samples import Samples
from rbdhw.protocol import COMMANDS, LOAD, ROLLOUT

PARTS: tuple[Part[Any], ...] = (Samples(), Cost(), Gains())

ARRAYS = tuple(name for part in PARTS for name in part.arrays)
"""The user's arrays that rollouts of some builds take beside those of a step."""


def parts_in(model: AcceleratorModel) -> list[Part[Any]]:
    """Return the parts of an accelerator; without rollouts there are none."""
    return parts_of(model.interface.rollout)


def parts_of(shape: RolloutShape | None) -> list[Part[Any]]:
    """Return the parts of a build."""
    return [part for part in PARTS if shape is not None and part.name in shape.parts]


def rollout_commands(functions: Sequence[FunctionWords], shape: RolloutShape) -> tuple[FunctionWords, ...]:
    """Return the words of the commands. Those that are not words of a step have slots of their own."""
    step = next(function for function in functions if function.name == shape.function)
    used = (word.slot for function in functions for word in function.brought(extended=True))
    first, parts = 1 + max(used, default=-1), parts_of(shape)
    asked = [word for part in parts for word in part.request_words(shape)]
    leading = [word for part in parts for word in part.first_row_words(step, shape)]
    last = [word for part in parts for word in part.last_row_words(step, shape)]
    request = _inputs(ROLLOUT, step, [*counts(shape, "steps", "every"), *asked], first)
    row = (*leading, *_inputs(LOAD, step, [*counts(shape, "row"), *last], first))
    states = tuple(replace(word, name=answered_as(word)) for word in next_words(step))
    numbers = tuple(counts(shape, f"{ROLLOUT}.step", f"{ROLLOUT}.first_flagged"))
    answer = tuple(word for part in parts for word in part.answer_words(step, shape))
    results = ((*numbers, *answer), (), states) if answer else ((*states, *numbers), (), ())
    return (
        FunctionWords(ROLLOUT, request, *results),
        FunctionWords(LOAD, row, ()),
        *(command for part in parts for command in part.commands(step, shape, first)),
        *(mean_commands(step, shape, first) if shape.means else ()),
    )


def _inputs(name: str, step: FunctionWords, words: Sequence[Word], first: int) -> tuple[Word, ...]:
    """Return the words of a step that a command brings, and others in the slots from ``first`` on."""
    shared = (word for word in step.inputs if word.array in COMMANDS[name].inputs)
    return (*shared, *in_slots(words, first))
