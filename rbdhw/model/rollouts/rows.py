"""The rows of rollouts: the words of forces, deviations, references, weights and gains of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.errors import InputError, told_apart
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.cost import CostTerm
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import rollout_feedback, rollout_terms
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import convert, encode, quantise
from rbdhw.model.rollouts.evaluate import Words
from rbdhw.protocol import LOAD, LOAD_COST, LOAD_GAINS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Given:
    """The checked arrays of the user.

    Parameters
    ----------
    states
        The arrays of ``step`` in the N first states, without the forces.
    tau, std
        The forces (K, nv) and the standard deviations of the samples.
    seed
        The seeds (N,); None in a build that draws no samples.
    costs
        The references (K, nq + nv), and the weights of the state and of the forces; None without costs.
    feedback
        The nominal states (K, nq + nv), and the gains of their elements (K, nv, nq + nv); None without gains.
    signs
        One or -1 (N, nq): the coordinates of ``states`` are these times the user's. None if they are all one.
    """

    states: dict[str, Array]
    tau: Array
    std: Array
    seed: Integers | None
    costs: tuple[Array, Array, Array] | None
    feedback: tuple[Array, Array] | None
    signs: Array | None = None


def rows_of(model: AcceleratorModel, given: Given) -> dict[str, Integers]:
    """Return the words (K,) of all rows, limited to their bounds.

    Raises
    ------
    InputError
        A gain is too large.
    """
    rows = dict(_row_words(model, given, "tau", given.tau))
    if given.seed is not None:
        rows |= _row_words(model, given, "std", given.std)
    if given.feedback is not None:
        rows |= _feedback_words(model, given)
    if given.costs is not None:
        rows |= _cost_words(model, given)
    return rows


def _row_words(model: AcceleratorModel, given: Given, array: str, values: Array) -> Words:
    """Return the words (K,) of an array (K, nv) of rows, limited to their bounds."""
    found = encode(model, "step", repeated(given.states, len(values)) | {"tau": values})
    own = [word for word in model.interface.inputs(LOAD) if word.array == array]
    names = {word.name: str(replace(WordName.parse(word.name), array="tau")) for word in own}
    return {word.name: np.clip(found[names[word.name]], word.lowest, word.highest) for word in own}


def _reference_words(model: AcceleratorModel, given: Given, terms: list[ErrorTerm], states: Array) -> Words:
    """Return the words (K,) of references, from states (K, nq + nv)."""
    nq = model.robot.nq
    wanted = {"q": states[:, :nq], "v": states[:, nq:], "tau": given.tau}
    found, rows = encode(model, "step", repeated(given.states, len(states)) | wanted), {}
    for term in terms:
        if term.reference is not None:
            words = found[term.word.name]
            rows[term.reference] = (
                words if term.wraps else np.clip(words, term.word.lowest, term.word.highest)
            )
    return rows


def _cost_words(model: AcceleratorModel, given: Given) -> Words:
    """Return the words (K,) of references and of weights.

    A weight is the root of the user's, in a unit in which none is larger than its word.
    """
    assert given.costs is not None
    words = {word.name: word for word in model.interface.inputs(LOAD_COST)}
    scale, weights = cost_scale(model, given), _weights(model, given)
    rows = dict(_reference_words(model, given, [term for term, _, _ in weights], given.costs[0]))
    for term, own, unit in weights:
        rows[term.weight] = _nearest(model, words[term.weight], np.sqrt(own / scale) * unit)
    return rows


def _nearest(model: AcceleratorModel, word: Word, values: Array) -> Integers:
    """Return a word's integers for values, limited to its bounds."""
    to_integers = convert if model.interface.converts else quantise
    return np.clip(to_integers(word, values), word.lowest, word.highest)


def cost_scale(model: AcceleratorModel, given: Given) -> float:
    """Return the cost that the accelerator counts as one: that of the largest error of the largest weight."""
    largest = [
        float(np.max(weights)) * unit**2 * 4.0**term.exponent
        for term, weights, unit in _weights(model, given)
    ]
    return max(largest) or 1.0


def _weights(model: AcceleratorModel, given: Given) -> list[tuple[CostTerm, Array, float]]:
    """Return each term, its weights (K,), and the unit of its word in that of the user's array."""
    assert given.costs is not None
    assert model.interface.rollout is not None
    found = []
    for term in rollout_terms(model.interface.words("step"), model.interface.rollout):
        weights = given.costs[2 if term.reference is None else 1]
        found.append((term, weights[:, WordName.parse(term.weight).index[0]], _unit(term)))
    return found


def _unit(term: ErrorTerm) -> float:
    """Return the unit of a word in that of the user's array."""
    return TURN if term.word.unit == "turn" else 1.0


def largest_gains(model: AcceleratorModel) -> Array:
    """Return the largest gains (nv, nq + nv) of the elements of the state, infinite where none travel."""
    assert model.interface.rollout is not None
    found = np.full((model.robot.nv, model.robot.nq + model.robot.nv), np.inf)
    for own in rollout_feedback(model.interface.words("step"), model.interface.rollout):
        for term in own.terms:
            (element,) = WordName.parse(own.gain(term)).index
            found[own.coordinate, element] = own.largest(term) / _unit(term)
    return found


def _feedback_words(model: AcceleratorModel, given: Given) -> Words:
    """Return the words (K,) of the nominal states and of the gains of all forces."""
    assert given.feedback is not None
    assert model.interface.rollout is not None
    nominal, gains = given.feedback
    feedback = rollout_feedback(model.interface.words("step"), model.interface.rollout)
    largest = largest_gains(model)
    rows = dict(_reference_words(model, given, list(feedback[0].terms), nominal))
    words = {word.name: word for word in model.interface.inputs(LOAD_GAINS)}
    for own in feedback:
        for term in own.terms:
            (element,) = WordName.parse(own.gain(term)).index
            values, most = gains[:, own.coordinate, element], float(largest[own.coordinate, element])
            steps = np.flatnonzero(np.abs(values) > most)
            if len(steps):
                where = f"array 'K', step {steps[0]}, force {own.coordinate}, element {element} of the state"
                size, limit = told_apart(abs(float(values[steps[0]])), most)
                raise InputError(where, f"a magnitude of {size}", f"at most {limit}")
            rows[own.stored(term)] = _nearest(model, words[own.gain(term)], values / most)
    return rows


def repeated(arrays: Mapping[str, Array], times: int) -> dict[str, Array]:
    """Return the first task of each array, repeated."""
    return {name: np.repeat(array[:1], times, axis=0) for name, array in arrays.items()}
