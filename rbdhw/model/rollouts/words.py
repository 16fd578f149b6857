"""The words of the commands of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rbdhw.fixed.cost import cost_format
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, rollout_terms
from rbdhw.model.interface import FunctionWords
from rbdhw.model.rollouts.parts import parts_of
from rbdhw.model.rollouts.slots import counts, in_slots
from rbdhw.protocol import COMMANDS, COST, LOAD, ROLLOUT


def rollout_commands(functions: Sequence[FunctionWords], shape: RolloutShape) -> tuple[FunctionWords, ...]:
    """Return the words of the commands. Those that are not words of ``step`` have slots of their own."""
    step = next(function for function in functions if function.name == "step")
    used = (word.slot for function in functions for word in function.brought(extended=True))
    first, parts = 1 + max(used, default=-1), parts_of(shape)
    asked = [word for part in parts for word in part.request_words(shape)]
    leading = [word for part in parts for word in part.first_row_words(step, shape)]
    last = [word for part in parts for word in part.last_row_words(step, shape)]
    request = _inputs(ROLLOUT, step, [*counts(shape, ("steps", "every")), *asked], first)
    row = (*leading, *_inputs(LOAD, step, [*counts(shape, ("row",)), *last], first))
    commands = [part.command(step, shape, first) for part in parts]
    return (
        FunctionWords(ROLLOUT, request, *_results(step, shape)),
        FunctionWords(LOAD, row, ()),
        *(command for command in commands if command is not None),
    )


def _results(
    step: FunctionWords, shape: RolloutShape
) -> tuple[tuple[Word, ...], tuple[Word, ...], tuple[Word, ...]]:
    """Return the words of each answer, no optional inputs, and the optional words of an answer.

    Beside a cost the state is optional.
    """
    states = tuple(replace(word, name=word.name.replace("step.", f"{ROLLOUT}.", 1)) for word in step.outputs)
    number = Format(shape.horizon.bit_length() + 1, 0)
    counts = tuple(Word(f"{ROLLOUT}.{name}", "1", -1, number) for name in ("step", "first_flagged"))
    if COST not in shape.parts:
        return (*states, *counts), (), ()
    cost = Word(f"{ROLLOUT}.cost", "1", -1, cost_format(len(rollout_terms(step, shape)), shape.horizon))
    return (*counts, cost), (), states


def _inputs(name: str, step: FunctionWords, words: Sequence[Word], first: int) -> tuple[Word, ...]:
    """Return the words of ``step`` that a command brings, and others in the slots from ``first`` on."""
    shared = (word for word in step.inputs if word.array in COMMANDS[name].inputs)
    return (*shared, *in_slots(words, first))
