"""Rollouts in the arrays of the user's interface, by each engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.fixed.rollout import force_words
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.loads import load_packets, loads_of
from rbdhw.model.packets import OVERFLOW, Beats, answers, merge
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.codec import (
    check,
    decode_answers,
    golden_answers,
    golden_forces,
    prepare,
    prepare_checked,
)
from rbdhw.model.rollouts.evaluate import Answered, Rollouts, compute, step_forces
from rbdhw.model.rollouts.packets import (
    asks_for_states,
    read_responses,
    rollout_requests,
    row_requests,
    sort_responses,
)
from rbdhw.protocol import LOAD_PARAMETERS, ROLLOUT
from rbdhw.robot.unit_length import off_unit
from rbdhw.sim.tools import SimulationError
from rbdhw.sim.verilator import Disturbance, build, exchange
from rbdhw.software.exact_library import ExactLibrary

Array = NDArray[np.float64]

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
        part = replace(own, words=words)
        asked = _packets(model, part)
        surplus = part.tasks * (len(part.sent) - 1)
        (outcome,) = exchange(executable, [asked], Disturbance(surplus=surplus))
        found = answers(model, outcome.responses, asks_for_states(model, own.states))[ROLLOUT]
        packets = sort_responses(found.packets)
        if outcome.violations or len(packets) != part.tasks * len(part.sent) or not found.whole.all():
            raise SimulationError(f"{directory}: the RTL did not answer every rollout of {part.tasks}")
        parts.append(read_responses(model, part, packets))
    return Answered(
        np.concatenate([part.status for part in parts]),
        np.concatenate([part.first_flagged for part in parts]),
        {name: np.concatenate([part.states[name] for part in parts]) for name in parts[0].states},
        np.concatenate([part.cost for part in parts]),
    )


def _packets(model: AcceleratorModel, own: Rollouts) -> Beats:
    """Return the packets that load the rows and then ask for rollouts, whose tags are their numbers.

    Loads of parameters come in between.
    """
    each = np.ones(own.tasks, np.int64)
    tags = np.arange(own.tasks)
    asked = {name: row_requests(model, own.rows, name) for name in model.interface.row_commands}
    places, first = {}, 0
    for name, packets in asked.items():
        places[name] = first + np.arange(len(packets))
        first += len(packets)
    asked[ROLLOUT] = rollout_requests(model, own.words, own.steps * each, own.every * each, tags, own.states)
    loads = loads_of(model, "step", own.words)
    places[ROLLOUT] = first + tags + loads.before
    if len(loads.places):
        asked[LOAD_PARAMETERS], places[LOAD_PARAMETERS] = load_packets(model, loads)[0], first + loads.places
    return merge(places, asked)


def applied_forces(model: AcceleratorModel, arrays: Mapping[str, Array], engine: str) -> Array:
    """Return the forces (N, K, nv) that rollouts apply: the rows plus the samples of the seeds, limited.

    The arrays are those of :func:`roll_out`. What feedback adds is left out.
    """
    if engine == "golden":
        given, limits = check(model, arrays, 0), np.asarray(model.domain.bounds["tau"])
        found = np.clip(golden_forces(given), limits[:, 0], limits[:, 1])
        return np.broadcast_to(found, (len(given.states["q"]), *given.tau.shape)).copy()
    own = prepare(model, arrays, 0)
    found = np.zeros((own.tasks, own.steps, model.robot.nv))
    for k in range(own.steps):
        words = step_forces(model, own, k)
        for word in force_words(model.interface.words("step")):
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
        or of all. In a build with gains, ``x_nominal`` and the gains ``K``, likewise.
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
    found = _answers(directory, model, arrays, every, engine, cache, states)
    off = off_unit(model.robot, as_numbers("array 'q'", arrays["q"]))
    first = np.where(off, 1, found["first_flagged"])
    return found | {"first_flagged": first, "status": np.asarray(found["status"], np.int64) | OVERFLOW * off}


def _answers(
    directory: Path,
    model: AcceleratorModel,
    arrays: Mapping[str, Array],
    every: int,
    engine: str,
    cache: Path | None,
    states: bool,
) -> dict[str, NDArray[np.generic]]:
    """Return what an engine answers."""
    if engine == "golden":
        return golden_answers(model, arrays, every, states)
    given = check(model, arrays, every)
    own = prepare_checked(model, given, every, states or given.costs is None)
    if engine == "rtl":
        answered = simulate_rollouts(directory, model, own, cache)
    elif engine == "model":
        library = ExactLibrary(model)
        answered = compute(model, own, lambda words: library.respond("step", words))
    else:
        answered = compute(model, own, lambda words: respond(model, "step", words))
    return decode_answers(model, given, answered)
