"""Rollouts: the bit-exact model, the packets, and the arrays of the user's interface.

A rollout is ``step`` evaluated again and again. The integers of a state go back as the words of the next
step: rounded to the nearest step of the word, ties upward, and not limited. The model is therefore the model
of ``step`` in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.model import AcceleratorModel
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers, round_half_up, wrap
from rbdhw.fixed.normal import SAMPLE, normal_integers, normal_samples
from rbdhw.fixed.program import Word
from rbdhw.golden.rollout import rollout as golden_rollout
from rbdhw.interface import array_of, state_words
from rbdhw.protocol import LOAD, NEXT_STATE, ROLLOUT, WordName
from rbdhw.sim.arrays import check_arrays
from rbdhw.sim.model import respond
from rbdhw.sim.packets import (
    Beats,
    Bytes,
    answers,
    contents,
    decode,
    encode,
    field,
    merge,
    requests,
    responses,
    unpack,
)
from rbdhw.sim.rollout_arrays import SEED, check_samples
from rbdhw.sim.tools import SimulationError
from rbdhw.sim.verilator import Disturbance, build, exchange
from rbdhw.software.exact_library import ExactLibrary

Array = NDArray[np.float64]
Words = Mapping[str, Integers]

Respond = Callable[[Words], tuple[Integers, dict[str, Integers]]]
"""The status (N,) and the output words of ``step`` for the input words (N,) of N tasks."""


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
    """

    words: Words
    rows: Words
    every: int

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
    """The answers to rollouts: status, first flagged step and words of the state, (N, M) each."""

    status: Integers
    first_flagged: Integers
    states: Words


def sent_after(steps: int, every: int) -> Integers:
    """Return the steps after which the state of a rollout is sent."""
    between = np.arange(every, steps, every) if every else np.zeros(0, np.int64)
    return np.append(between, steps).astype(np.int64)


def compute(model: AcceleratorModel, own: Rollouts, step_of: Respond) -> Answered:
    """Return the answers of the bit-exact model; ``step_of`` computes ``step``."""
    assert model.interface.rollout is not None
    step = model.interface.words("step")
    words = {word.name: own.words[word.name] for word in step.inputs if word.name in own.words}
    flags, first = np.zeros((2, own.tasks), np.int64)
    found: list[tuple[Integers, Integers, dict[str, Integers]]] = []
    for k in range(own.steps):
        status, results = step_of(words | step_forces(model, own, k))
        flags, first = flags | status, np.where((first == 0) & (status != 0), k + 1, first)
        if k + 1 in own.sent:
            found.append((flags, first, results))
        for each in state_words(step, model.interface.rollout.nq):
            if each.place is None:
                words[each.word.name] = np.zeros(own.tasks, np.int64)
            else:
                result = step.outputs[each.place]
                more = each.word.format.binary_point - result.format.binary_point
                value = results[result.name]
                back = value << more if more >= 0 else round_half_up(value, -more)
                limited = each.word.lowest is not None
                words[each.word.name] = back if limited else wrap(back, each.word.format.width)
    columns = zip(*found, strict=True)
    status, flagged = (np.stack(next(columns), axis=1) for _ in range(2))
    states = next(columns)
    return Answered(
        status, flagged, {name: np.stack([own[name] for own in states], axis=1) for name in states[0]}
    )


def step_forces(model: AcceleratorModel, own: Rollouts, step: int) -> dict[str, Integers]:
    """Return the words (N,) of the forces of a step, counted from 0: its row, plus samples, limited."""
    forces = force_words(model)
    found = {word.name: np.full(own.tasks, own.rows[word.name][step]) for word in forces}
    if SEED not in own.words:
        return found
    drawn = normal_integers(own.words[SEED], np.array([step]), model.robot.nv)[:, 0]
    for word in forces:
        name = WordName.parse(word.name)
        product = drawn[:, name.index[0]] * own.rows[str(replace(name, array="std"))][step]
        total = found[word.name] + round_half_up(product, SAMPLE.binary_point)
        found[word.name] = np.clip(total, word.lowest, word.highest)
    return found


def force_words(model: AcceleratorModel) -> list[Word]:
    """Return the words of the forces of a step."""
    return [word for word in model.interface.inputs("step") if array_of(word) == "tau"]


# Packets


def row_requests(model: AcceleratorModel, rows: Words, tags: Integers) -> Bytes:
    """Return the packets that load rows, from the first one on."""
    return requests(model, LOAD, tags, dict(rows) | {"row": np.arange(len(tags))})


def rollout_requests(
    model: AcceleratorModel, words: Words, steps: Integers, every: Integers, tags: Integers
) -> Bytes:
    """Return the packets that ask for rollouts."""
    return requests(model, ROLLOUT, tags, dict(words) | {"steps": steps, "every": every})


def rollout_responses(model: AcceleratorModel, own: Rollouts, answered: Answered, tags: Integers) -> Bytes:
    """Return the packets of the answers (N M, beats, bytes per beat), those of a rollout together."""
    words = {
        name.replace("step.", f"{ROLLOUT}.", 1): values.ravel() for name, values in answered.states.items()
    }
    words[f"{ROLLOUT}.step"] = np.tile(own.sent, own.tasks)
    words[f"{ROLLOUT}.first_flagged"] = answered.first_flagged.ravel()
    return responses(model, ROLLOUT, np.repeat(tags, len(own.sent)), answered.status.ravel(), words)


def read_responses(model: AcceleratorModel, own: Rollouts, packets: Bytes) -> Answered:
    """Return the contents of packets in the order of :func:`rollout_responses`."""
    status, words = contents(model, ROLLOUT, packets)
    shape = own.tasks, len(own.sent)
    results = model.interface.words("step").outputs
    names = {word.name: word.name.replace("step.", f"{ROLLOUT}.", 1) for word in results}
    states = {name: words[other].reshape(shape) for name, other in names.items()}
    return Answered(status.reshape(shape), words[f"{ROLLOUT}.first_flagged"].reshape(shape), states)


AT_ONCE = 4096
"""The rollouts of one simulation."""


def simulate_rollouts(
    directory: Path, model: AcceleratorModel, own: Rollouts, cache: Path | None = None
) -> Answered:
    """Return the answers of the Verilog in a folder.

    Raises
    ------
    SimulationError
        If it cannot be built, or does not answer every rollout.
    """
    executable = build(directory, cache)
    parts = []
    for start in range(0, own.tasks, AT_ONCE):
        words = {name: values[start : start + AT_ONCE] for name, values in own.words.items()}
        part = Rollouts(words, own.rows, own.every)
        asked = _packets(model, part)
        surplus = part.tasks * (len(part.sent) - 1)
        (outcome,) = exchange(executable, [asked], Disturbance(surplus=surplus))
        found = answers(model, outcome.responses)[ROLLOUT]
        packets = sort_responses(found.packets)
        if outcome.violations or len(packets) != part.tasks * len(part.sent) or not found.whole.all():
            raise SimulationError(f"{directory}: the RTL did not answer every rollout of {part.tasks}")
        parts.append(read_responses(model, part, packets))
    return Answered(
        np.concatenate([part.status for part in parts]),
        np.concatenate([part.first_flagged for part in parts]),
        {name: np.concatenate([part.states[name] for part in parts]) for name in parts[0].states},
    )


def _packets(model: AcceleratorModel, own: Rollouts) -> Beats:
    """Return the packets that load the rows and then ask for rollouts, whose tags are their numbers."""
    each = np.ones(own.tasks, np.int64)
    tags = np.arange(own.tasks)
    asked = {
        LOAD: row_requests(model, own.rows, np.arange(own.steps)),
        ROLLOUT: rollout_requests(model, own.words, own.steps * each, own.every * each, tags),
    }
    return merge({LOAD: np.arange(own.steps), ROLLOUT: own.steps + tags}, asked)


def sort_responses(packets: Bytes) -> Bytes:
    """Return the packets of rollouts by tag; those of one rollout stay in their order."""
    headers, _ = unpack(packets, [])
    return packets[np.argsort(field(headers, "tag"), kind="stable")]


# Arrays


def prepare(model: AcceleratorModel, arrays: Mapping[str, Array], every: int) -> Rollouts:
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
    step = [word.name for word in model.interface.inputs("step") if word not in forces]
    return Rollouts({name: words[name] for name in step} | constant, rows, every)


def _row_words(model: AcceleratorModel, given: Given, array: str, values: Array) -> Words:
    """Return the words (K,) of an array (K, nv) of rows, limited to their bounds."""
    found = encode(model, "step", _repeated(given.states, len(values)) | {"tau": values})
    own = [word for word in model.interface.inputs(LOAD) if array_of(word) == array]
    names = {word.name: str(replace(WordName.parse(word.name), array="tau")) for word in own}
    return {word.name: np.clip(found[names[word.name]], word.lowest, word.highest) for word in own}


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
    """

    states: dict[str, Array]
    tau: Array
    std: Array
    seed: Integers | None


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
    own = {name: array for name, array in arrays.items() if name not in ("tau", "std", SEED)}
    checked = check_arrays(model.robot, model.fext, own)
    first = {name: array for name, array in _repeated(own, len(tau)).items() if name == "q"}
    forces = check_arrays(model.robot, model.fext, first | {"tau": tau})["tau"]
    return Given(checked, forces, *check_samples(model, arrays, len(checked["q"]), len(tau)))


def _repeated(arrays: Mapping[str, Array], times: int) -> dict[str, Array]:
    """Return the first task of each array, repeated."""
    return {name: np.repeat(array[:1], times, axis=0) for name, array in arrays.items()}


def decode_answers(model: AcceleratorModel, answered: Answered) -> dict[str, NDArray[np.generic]]:
    """Return ``states`` (N, M, nq + nv), ``first_flagged`` (N,) and ``status`` (N,) of N rollouts.

    The status counts all steps. States from step ``first_flagged`` on are not to be trusted.
    """
    shape = answered.status.shape
    flat = {name: words.ravel() for name, words in answered.states.items()}
    states = decode(model, "step", flat)[NEXT_STATE].reshape(*shape, model.robot.nq + model.robot.nv)
    return {
        "states": states,
        "first_flagged": answered.first_flagged[:, -1],
        "status": answered.status[:, -1],
    }


def golden_answers(
    model: AcceleratorModel, arrays: Mapping[str, Array], every: int
) -> dict[str, NDArray[np.generic]]:
    """Return the same in double precision; nothing is flagged."""
    given = _check(model, arrays, every)
    limits = np.asarray(model.domain.bounds["tau"])
    states = golden_rollout(model.robot, given.states | {"tau": _golden_forces(given)}, limits)
    chosen = states[:, sent_after(len(given.tau), every) - 1]
    none = np.zeros(len(chosen), np.int64)
    return {"states": chosen, "first_flagged": none, "status": none}


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
) -> dict[str, NDArray[np.generic]]:
    """Return the results of :func:`decode_answers` for arrays of the user's interface.

    Parameters
    ----------
    directory, cache
        The design's folder, and that of the simulator (``rtl`` only).
    arrays
        The forces ``tau`` (K, nv) of all rollouts, and the arrays of ``step`` in the N first states. In a
        build that draws samples, their standard deviations ``std`` (K, nv) or (nv,), and a ``seed`` (N,).
    every
        The steps from one state to the next; zero for the last state only.
    engine
        ``model``, ``numpy``, ``rtl`` or ``golden``.

    Raises
    ------
    InputError
        For unusable arrays.
    """
    if engine == "golden":
        return golden_answers(model, arrays, every)
    own = prepare(model, arrays, every)
    if engine == "rtl":
        return decode_answers(model, simulate_rollouts(directory, model, own, cache))
    if engine == "model":
        library = ExactLibrary(model)
        return decode_answers(model, compute(model, own, lambda words: library.respond("step", words)))
    return decode_answers(model, compute(model, own, lambda words: respond(model, "step", words)))
