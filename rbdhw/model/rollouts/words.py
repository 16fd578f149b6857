"""The words of the commands of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from rbdhw.arrays import WordName
from rbdhw.fixed.cost import cost_format
from rbdhw.fixed.feedback import GAIN
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, force_words, rollout_feedback, rollout_terms
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import COMMANDS, COST, GAINS, LOAD, LOAD_COST, LOAD_GAINS, ROLLOUT, SAMPLES

SEED = Format(32, 0)
"""The format of seeds, which are not negative."""


def rollout_commands(functions: Sequence[FunctionWords], shape: RolloutShape) -> tuple[FunctionWords, ...]:
    """Return the words of the commands. Those that are not words of ``step`` have slots of their own.

    A number of steps and a seed are integers; their formats have a binary point of zero.
    """
    step = next(function for function in functions if function.name == "step")
    used = (word.slot for function in functions for word in function.brought(extended=True))
    first = 1 + max(used, default=-1)
    rollout = _inputs(ROLLOUT, step, [*_counts(shape, ("steps", "every")), *_seed(shape)], first)
    load = _inputs(LOAD, step, [*_counts(shape, ("row",)), *_deviations(step, shape)], first)
    load = (*_nominal(step, shape), *load)
    commands = [FunctionWords(ROLLOUT, rollout, *_results(step, shape)), FunctionWords(LOAD, load, ())]
    if COST in shape.parts:
        commands.append(FunctionWords(LOAD_COST, _references(step, shape, first), ()))
    if GAINS in shape.parts:
        commands.append(FunctionWords(LOAD_GAINS, _gains(step, shape, first), ()))
    return tuple(commands)


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


def _references(step: FunctionWords, shape: RolloutShape, first: int) -> tuple[Word, ...]:
    """Return the words of the state that is wanted, the number of its step, and the weights.

    A reference has the slot and the format of the word of the state.
    """
    terms = rollout_terms(step, shape)
    references = [replace(term.word, name=term.reference) for term in terms if term.reference is not None]
    weights = [
        Word(term.weight, f"1/{term.word.unit}", -1, term.weight_format, 0, term.weight_format.highest)
        for term in terms
    ]
    own = [*_counts(shape, ("row",)), *weights]
    return (*references, *(replace(word, slot=slot) for word, slot in zip(own, count(first), strict=False)))


def _nominal(step: FunctionWords, shape: RolloutShape) -> tuple[Word, ...]:
    """Return the words of the state to which feedback leads, in the slots of those of ``step``."""
    if GAINS not in shape.parts:
        return ()
    terms = rollout_feedback(step, shape)[0].terms
    return tuple(replace(term.word, name=str(term.reference)) for term in terms)


def _gains(step: FunctionWords, shape: RolloutShape, first: int) -> tuple[Word, ...]:
    """Return the gains of one force, in the slots of the words of the state, and the force and the step."""
    feedback = rollout_feedback(step, shape)
    own = feedback[0]
    gains = [
        Word(own.gain(term), "1", -1, GAIN, -GAIN.highest, GAIN.highest, term.word.slot) for term in own.terms
    ]
    most = max(each.coordinate for each in feedback)
    coordinate = Word("coordinate", "1", -1, Format(most.bit_length() + 1, 0), 0, most)
    numbers = [*_counts(shape, ("row",)), coordinate]
    return (*gains, *(replace(word, slot=slot) for word, slot in zip(numbers, count(first), strict=False)))


def _inputs(name: str, step: FunctionWords, own: Sequence[Word], first: int) -> tuple[Word, ...]:
    """Return the words of ``step`` that a command brings, and its own in the slots from ``first`` on."""
    shared = (word for word in step.inputs if word.array in COMMANDS[name].inputs)
    return (*shared, *(replace(word, slot=slot) for word, slot in zip(own, count(first), strict=False)))


def _counts(shape: RolloutShape, names: Sequence[str]) -> list[Word]:
    number = Format(shape.horizon.bit_length() + 1, 0)
    bounds = {"steps": (1, shape.horizon), "every": (0, shape.horizon), "row": (0, shape.horizon - 1)}
    return [Word(name, "1", -1, number, *bounds[name]) for name in names]


def _seed(shape: RolloutShape) -> list[Word]:
    return [Word("seed", "1", -1, SEED, 0, SEED.highest)] if SAMPLES in shape.parts else []


def _deviations(step: FunctionWords, shape: RolloutShape) -> list[Word]:
    """Return a standard deviation for each force, in its format, from zero to its largest bound."""
    if SAMPLES not in shape.parts:
        return []
    found = []
    for force in force_words(step):
        assert force.lowest is not None
        assert force.highest is not None
        most = min(max(-force.lowest, force.highest), force.format.highest)
        name = str(replace(WordName.parse(force.name), array="std"))
        found.append(replace(force, name=name, lowest=0, highest=most))
    return found
