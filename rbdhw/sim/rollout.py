"""Rollouts in the arrays of the user's interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.design.model import AcceleratorModel
from rbdhw.errors import InputError
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.cost import COST_POINT, CostTerm
from rbdhw.fixed.format import Integers
from rbdhw.fixed.normal import normal_samples
from rbdhw.golden.rollout import cost as golden_cost
from rbdhw.golden.rollout import rollout as golden_rollout
from rbdhw.interface import array_of, rollout_terms
from rbdhw.protocol import LOAD, LOAD_COST, NEXT_STATE
from rbdhw.sim.arrays import check_arrays
from rbdhw.sim.model import respond
from rbdhw.sim.packets import convert, decode, encode, quantise
from rbdhw.sim.rollout_arrays import COSTS, check_costs, check_samples
from rbdhw.sim.rollout_model import (
    SEED,
    Answered,
    Rollouts,
    Words,
    compute,
    force_words,
    sent_after,
    step_forces,
)
from rbdhw.sim.rollout_packets import simulate_rollouts
from rbdhw.software.exact_library import ExactLibrary

Array = NDArray[np.float64]


def prepare(
    model: AcceleratorModel, arrays: Mapping[str, Array], every: int, states: bool = True
) -> Rollouts:
    """Return the rollouts that arrays of the user's interface describe.

    Raises
    ------
    InputError
        The build takes no rollouts, or not as many steps; or an array is not usable.
    """
    given = _check(model, arrays, every)
    words = encode(model, "step", given.states | {"tau": np.zeros_like(given.states["v"])})
    forces, constant = force_words(model), {}
    rows = dict(_row_words(model, given, "tau", given.tau))
    if given.seed is not None:
        constant[SEED] = given.seed
        rows |= _row_words(model, given, "std", given.std)
    if given.costs is not None:
        rows |= _cost_words(model, given)
    step = [word.name for word in model.interface.inputs("step") if word not in forces]
    return Rollouts({name: words[name] for name in step} | constant, rows, every, states)


def _row_words(model: AcceleratorModel, given: Given, array: str, values: Array) -> Words:
    """Return the words (K,) of an array (K, nv) of rows, limited to their bounds."""
    found = encode(model, "step", _repeated(given.states, len(values)) | {"tau": values})
    own = [word for word in model.interface.inputs(LOAD) if array_of(word) == array]
    names = {word.name: str(replace(WordName.parse(word.name), array="tau")) for word in own}
    return {word.name: np.clip(found[names[word.name]], word.lowest, word.highest) for word in own}


def _cost_words(model: AcceleratorModel, given: Given) -> Words:
    """Return the words (K,) of references and of weights.

    A weight is the root of the user's, in a unit in which none is larger than its word.
    """
    assert given.costs is not None
    nq, (reference, *_) = model.robot.nq, given.costs
    wanted = {"q": reference[:, :nq], "v": reference[:, nq:], "tau": given.tau}
    found = encode(model, "step", _repeated(given.states, len(given.tau)) | wanted)
    words = {word.name: word for word in model.interface.inputs(LOAD_COST)}
    convert_word = convert if model.interface.converts else quantise
    scale, rows = cost_scale(model, given), {}
    for term, weights, unit in _weights(model, given):
        own = words[term.weight]
        rows[own.name] = np.clip(convert_word(own, np.sqrt(weights / scale) * unit), 0, own.highest)
        if term.reference is not None:
            rows[term.reference] = found[term.word.name]
            if not term.wraps:
                rows[term.reference] = np.clip(found[term.word.name], term.word.lowest, term.word.highest)
    return rows


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
        unit = TURN if term.word.unit == "turn" else 1.0
        found.append((term, weights[:, WordName.parse(term.weight).index[0]], unit))
    return found


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
    """

    states: dict[str, Array]
    tau: Array
    std: Array
    seed: Integers | None
    costs: tuple[Array, Array, Array] | None


def _check(model: AcceleratorModel, arrays: Mapping[str, Array], every: int) -> Given:
    """Return the checked arrays."""
    shape = model.interface.rollout
    if shape is None:
        raise InputError("rollout", "this build takes none", remedy="generate with --functions rollout")
    tau = np.asarray(arrays["tau"])
    if tau.ndim != 2 or not 1 <= len(tau) <= shape.horizon:
        expected = f"(K, {model.robot.nv}) for K of 1 to {shape.horizon} steps"
        raise InputError("array 'tau'", f"shape {tau.shape}", expected, "generate with a larger --horizon")
    if not 0 <= every <= shape.horizon:
        raise InputError("every", str(every), f"0 to {shape.horizon} steps")
    own = {name: array for name, array in arrays.items() if name not in ("tau", "std", SEED, *COSTS)}
    checked = check_arrays(model.robot, model.fext, own)
    first = {name: array for name, array in _repeated(own, len(tau)).items() if name == "q"}
    forces = check_arrays(model.robot, model.fext, first | {"tau": tau})["tau"]
    samples = check_samples(model, arrays, len(checked["q"]), len(tau))
    return Given(checked, forces, *samples, check_costs(model, arrays, len(tau)))


def _repeated(arrays: Mapping[str, Array], times: int) -> dict[str, Array]:
    """Return the first task of each array, repeated."""
    return {name: np.repeat(array[:1], times, axis=0) for name, array in arrays.items()}


def decode_answers(
    model: AcceleratorModel, answered: Answered, scale: float | None
) -> dict[str, NDArray[np.generic]]:
    """Return ``states`` (N, M, nq + nv), ``first_flagged`` (N,) and ``status`` (N,) of N rollouts.

    With a ``scale``, of :func:`cost_scale`, there is also the ``cost`` (N,) of all steps, and without the
    words of states they are left out. The status counts all steps. States from step ``first_flagged`` on are
    not to be trusted, and neither are costs of flagged rollouts.
    """
    found: dict[str, NDArray[np.generic]] = {}
    if answered.states:
        flat = {name: words.ravel() for name, words in answered.states.items()}
        size = model.robot.nq + model.robot.nv
        found["states"] = decode(model, "step", flat)[NEXT_STATE].reshape(*answered.status.shape, size)
    if scale is not None:
        found["cost"] = np.ldexp(answered.cost[:, -1] * scale, -COST_POINT)
    return found | {"first_flagged": answered.first_flagged[:, -1], "status": answered.status[:, -1]}


def golden_answers(
    model: AcceleratorModel, arrays: Mapping[str, Array], every: int, states: bool = True
) -> dict[str, NDArray[np.generic]]:
    """Return the same in double precision; nothing is flagged."""
    given = _check(model, arrays, every)
    limits = np.asarray(model.domain.bounds["tau"])
    after = golden_rollout(model.robot, given.states | {"tau": _golden_forces(given)}, limits)
    found: dict[str, NDArray[np.generic]] = {}
    if states or given.costs is None:
        found["states"] = after[:, sent_after(len(given.tau), every) - 1]
    if given.costs is not None:
        forces = np.clip(_golden_forces(given), limits[:, 0], limits[:, 1])
        found["cost"] = golden_cost(after, forces, given.costs, np.asarray(model.domain.wraps))
    none = np.zeros(len(after), np.int64)
    return found | {"first_flagged": none, "status": none}


def _golden_forces(given: Given) -> Array:
    """Return the forces (K, nv) of all rollouts, or with samples (N, K, nv), before they are limited."""
    if given.seed is None:
        return given.tau
    steps, coordinates = given.tau.shape
    return given.tau + given.std * normal_samples(given.seed, np.arange(steps), coordinates)


def applied_forces(model: AcceleratorModel, arrays: Mapping[str, Array], engine: str) -> Array:
    """Return the forces (N, K, nv) that rollouts apply: the rows plus the samples of the seeds, limited.

    The arrays are those of :func:`roll_out`.
    """
    if engine == "golden":
        given, limits = _check(model, arrays, 0), np.asarray(model.domain.bounds["tau"])
        found = np.clip(_golden_forces(given), limits[:, 0], limits[:, 1])
        return np.broadcast_to(found, (len(given.states["q"]), *given.tau.shape)).copy()
    own = prepare(model, arrays, 0)
    found = np.zeros((own.tasks, own.steps, model.robot.nv))
    for k in range(own.steps):
        words = step_forces(model, own, k)
        for word in force_words(model):
            found[:, k, WordName.parse(word.name).index[0]] = word.format.real(words[word.name])
    return found


def roll_out(
    directory: Path,
    model: AcceleratorModel,
    arrays: Mapping[str, Array],
    every: int,
    engine: str,
    cache: Path | None = None,
    states: bool = True,
) -> dict[str, NDArray[np.generic]]:
    """Return the results of :func:`decode_answers` for arrays of the user's interface.

    Parameters
    ----------
    directory, cache
        The design's folder, and that of the simulator (``rtl`` only).
    arrays
        The forces ``tau`` (K, nv) of all rollouts, and the arrays of ``step`` in the N first states. In a
        build that draws samples, their standard deviations ``std`` (K, nv) or (nv,), and a ``seed`` (N,).
        In a build that computes costs, the references ``x_ref`` and the weights ``Q`` and ``R``, of each step
        or of all.
    every
        The steps from one state to the next; zero for the last state only.
    engine
        ``model``, ``numpy``, ``rtl`` or ``golden``.
    states
        Whether there are states beside costs.

    Raises
    ------
    InputError
        For unusable arrays.
    """
    if engine == "golden":
        return golden_answers(model, arrays, every, states)
    given = _check(model, arrays, every)
    own = prepare(model, arrays, every, states or given.costs is None)
    if engine == "rtl":
        answered = simulate_rollouts(directory, model, own, cache)
    elif engine == "model":
        library = ExactLibrary(model)
        answered = compute(model, own, lambda words: library.respond("step", words))
    else:
        answered = compute(model, own, lambda words: respond(model, "step", words))
    return decode_answers(model, answered, None if given.costs is None else cost_scale(model, given))
