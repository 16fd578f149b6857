"""The interface of an accelerator: the words of its programs' functions, and of its commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.program import Program, Word
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.fixed.single_precision import bound_as_singles
from rbdhw.model.interface import FIXED, FLOAT32, FunctionWords, Interface, stored_as
from rbdhw.model.rollouts.parts import rollout_commands
from rbdhw.protocol import CODES, FUNCTIONS, LOAD_PARAMETERS, PARAMETERS


def program_interface(
    programs: Sequence[Program],
    data_width: int,
    number: str = FIXED,
    priority: Sequence[str] = (),
    rollout: RolloutShape | None = None,
    parameters: Mapping[str, float] | None = None,
    streams: int = 1,
    parameter_sets: int = 1,
) -> Interface:
    """Return the interface of an accelerator that computes programs with different functions.

    If parameters are loaded, ``parameters`` are their values before the first load, by word. The errors are
    those of :class:`Interface`.
    """
    functions = tuple(
        _function_words(program, name, number)
        for name in CODES
        for program in programs
        if name in program.outputs
    )
    if rollout is not None:
        functions += rollout_commands(functions, rollout)
    if parameters is None:
        return Interface(functions, data_width, number, tuple(priority), rollout, streams=streams)
    functions, words = _hold_parameters(functions)
    real = np.float32 if number == FLOAT32 else np.float64
    values = {word: np.array(parameters[_plain(word)], real).astype(np.float64) for word in words}
    initial = {word.name: int(word.format.quantise(value)) for word, value in values.items()}
    return Interface(
        functions, data_width, number, tuple(priority), rollout, initial, streams, parameter_sets
    )


def _function_words(program: Program, function: str, number: str) -> FunctionWords:
    """Return a function's words; with ``float32``, bounds of inputs are limited to the range of singles."""
    arrays = FUNCTIONS[function]
    by_slot = sorted(program.inputs, key=lambda word: word.slot)
    if number == FLOAT32:
        by_slot = list(map(bound_as_singles, by_slot))
    outputs = program.outputs[function]
    return FunctionWords(
        function,
        tuple(word for word in by_slot if word.array in arrays.inputs),
        tuple(word for word in outputs if word.array not in arrays.optional_outputs),
        tuple(word for word in by_slot if word.array in arrays.optional_inputs),
        tuple(word for word in outputs if word.array in arrays.optional_outputs),
    )


def _hold_parameters(
    functions: Sequence[FunctionWords],
) -> tuple[tuple[FunctionWords, ...], tuple[Word, ...]]:
    """Return functions whose parameters are loaded, with the command that does so, and all its words.

    The words of loads have the slots of the functions' own words. Where cores hold a parameter in several
    formats, or have other words in these slots, those of loads have slots of their own, one for each format.
    """
    held = [
        replace(function, held=tuple(word for word in function.inputs if word.array == PARAMETERS))
        for function in functions
    ]
    stored: dict[Hashable, Word] = {}
    for function in held:
        for word in function.held:
            stored.setdefault(stored_as(word), replace(word, name=f"{function.name}.{word.name}"))
    names = Counter(WordName.parse(word.name).index for word in stored.values())
    slots = {word.slot for function in held for word in function.held}
    others = {word.slot for function in held for word in function.brought(True) if word not in function.held}
    words = [
        word if names[WordName.parse(word.name).index] > 1 else replace(word, name=_plain(word))
        for word in stored.values()
    ]
    if len(slots) != len(names) or len(stored) != len(names) or slots & others:
        first = 1 + max(slots | others)
        words = [replace(word, slot=slot) for slot, word in enumerate(words, first)]
    words.sort(key=lambda word: word.slot)
    return (*held, FunctionWords(LOAD_PARAMETERS, tuple(words), ())), tuple(words)


def _plain(word: Word) -> str:
    return str(replace(WordName.parse(word.name), function=None))
