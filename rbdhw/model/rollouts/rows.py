"""The words of rows: conversions that several parts of rollouts have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.format import Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import convert, encode, quantise
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.data import Array, RolloutArrays
from rbdhw.protocol import LOAD


def row_words(
    model: AcceleratorModel, arrays: RolloutArrays, array: str, values: Array, like: str | None = None
) -> Words:
    """Return the words (K,) of an array (K, ...) of rows, limited to their bounds.

    It has the formats of the array ``like`` of a step, which by default has the same name.
    """
    step_array = like or array
    words = encode_rows(model, arrays, {step_array: values})
    loaded = [word for word in model.interface.inputs(LOAD) if word.array == array]
    names = {word.name: str(replace(WordName.parse(word.name), array=step_array)) for word in loaded}
    return {word.name: np.clip(words[names[word.name]], word.lowest, word.highest) for word in loaded}


def encode_rows(model: AcceleratorModel, arrays: RolloutArrays, others: Mapping[str, Array]) -> Words:
    """Return the words (K,) of steps in the first state with the rows, but with ``others`` (K, ...)."""
    tasks = repeated(arrays.states, len(arrays.tau)) | arrays.rows | dict(others)
    return encode(model, model.interface.step.name, tasks)


def reference_words(
    model: AcceleratorModel, arrays: RolloutArrays, terms: Iterable[ErrorTerm], states: Array
) -> dict[str, Integers]:
    """Return the words (K,) of the references of errors, from states (K, nq + nv)."""
    nq = model.robot.nq
    encoded, rows = encode_rows(model, arrays, {"q": states[:, :nq], "v": states[:, nq:]}), {}
    for term in terms:
        if term.reference is not None:
            words = encoded[term.word.name]
            limited = np.clip(words, term.word.lowest, term.word.highest)
            rows[term.reference] = words if term.wraps else limited
    return rows


def nearest(model: AcceleratorModel, word: Word, values: Array) -> Integers:
    """Return a word's integers for values, limited to its bounds."""
    to_integers = convert if model.interface.converts else quantise
    return np.clip(to_integers(word, values), word.lowest, word.highest)


def unit_of(term: ErrorTerm) -> float:
    """Return the unit of a word in that of the user's array."""
    return TURN if term.word.unit == "turn" else 1.0


def fitting(words: Words, terms: Iterable[ErrorTerm]) -> dict[str, Integers]:
    """Return the words of terms without the bits that do not fit."""
    return {term.word.name: wrap(words[term.word.name], term.word.format.width) for term in terms}


def repeated(arrays: Mapping[str, Array], times: int) -> dict[str, Array]:
    """Return the first task of each array, repeated."""
    return {name: np.repeat(array[:1], times, axis=0) for name, array in arrays.items()}
