"""The packets of rollouts."""

from __future__ import annotations

import numpy as np

from rbdhw.fixed.format import Integers
from rbdhw.fixed.rollout import answered_as, next_words
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.loads import load_packets, loads_of
from rbdhw.model.packets import Beats, Bytes, contents, field, merge, requests, responses, unpack
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.data import Answered, Rollouts
from rbdhw.model.rollouts.parts import parts_in
from rbdhw.protocol import LOAD, LOAD_PARAMETERS, ROLLOUT


def row_words(model: AcceleratorModel, rows: Words, command: str) -> dict[str, Integers]:
    """Return the words (P,) of the packets that load rows (K,) of a kind, from the first step on."""
    numbers = {"row": np.arange(len(next(iter(rows.values()))))}
    part = next((part for part in parts_in(model) if command in part.loads), None)
    return numbers | dict(rows if part is None else part.packet_words(model, command, rows))


def row_requests(model: AcceleratorModel, rows: Words, command: str = LOAD) -> Bytes:
    """Return the packets that load rows, from the first step on; their tags are their numbers."""
    words = row_words(model, rows, command)
    return requests(model, command, np.arange(len(words["row"])), words)


def asks_for_states(model: AcceleratorModel, states: bool) -> bool:
    """Return whether requests have the option for the state, which builds with costs have."""
    return states and model.interface.words(ROLLOUT).extensible


def rollout_requests(
    model: AcceleratorModel,
    words: Words,
    steps: Integers,
    every: Integers,
    tags: Integers,
    states: bool = True,
    sets: Integers | None = None,
) -> Bytes:
    """Return the packets that ask for rollouts, with the numbers (N,) of their sets of parameters."""
    numbers = dict(words) | {"steps": steps, "every": every}
    return requests(model, ROLLOUT, tags, numbers, asks_for_states(model, states), sets)


def rollout_responses(
    model: AcceleratorModel,
    rollouts: Rollouts,
    answered: Answered,
    tags: Integers,
    loads: Integers | None = None,
) -> Bytes:
    """Return the packets of the answers (N M, beats, bytes per beat), those of a rollout together.

    ``loads`` (N,) are the numbers of loads before each rollout of its set of parameters.
    """
    results = next_words(model.interface.step) if rollouts.states else ()
    words = {answered_as(word): answered.states[word.name].ravel() for word in results}
    words[f"{ROLLOUT}.step"] = np.tile(rollouts.sent, rollouts.tasks)
    words[f"{ROLLOUT}.first_flagged"] = answered.first_flagged.ravel()
    words[f"{ROLLOUT}.cost"] = answered.cost.ravel()
    each = np.repeat(tags, len(rollouts.sent))
    extended = asks_for_states(model, rollouts.states)
    before = None if loads is None else np.repeat(loads, len(rollouts.sent))
    return responses(model, ROLLOUT, each, answered.status.ravel(), words, extended, before)


def read_responses(model: AcceleratorModel, rollouts: Rollouts, packets: Bytes) -> Answered:
    """Return the contents of packets in the order of :func:`rollout_responses`."""
    status, words = contents(model, ROLLOUT, packets, asks_for_states(model, rollouts.states))
    shape = rollouts.tasks, len(rollouts.sent)
    states = {name: values.reshape(shape) for name, values in states_in(model, rollouts, words).items()}
    cost = words.get(f"{ROLLOUT}.cost", np.zeros_like(status)).reshape(shape)
    return Answered(status.reshape(shape), words[f"{ROLLOUT}.first_flagged"].reshape(shape), states, cost)


def states_in(model: AcceleratorModel, rollouts: Rollouts, words: Words) -> dict[str, Integers]:
    """Return the words of states, as those of a step, from the words of answers."""
    results = next_words(model.interface.step) if rollouts.states else ()
    return {word.name: words[answered_as(word)] for word in results}


def packets_of(model: AcceleratorModel, rollouts: Rollouts) -> Beats:
    """Return the packets that load the rows and then ask for rollouts, whose tags are their numbers.

    Loads of parameters come in between.
    """
    steps, every = np.full((rollouts.tasks, 2), (rollouts.steps, rollouts.every), np.int64).T
    tags = np.arange(rollouts.tasks)
    asked = {name: row_requests(model, rollouts.rows, name) for name in model.interface.row_commands}
    places, first = {}, 0
    for name, packets in asked.items():
        places[name] = first + np.arange(len(packets))
        first += len(packets)
    asked[ROLLOUT] = rollout_requests(model, rollouts.words, steps, every, tags, rollouts.states)
    loads = loads_of(model, model.interface.step.name, rollouts.words)
    places[ROLLOUT] = first + tags + loads.before
    if len(loads.places):
        asked[LOAD_PARAMETERS], places[LOAD_PARAMETERS] = load_packets(model, loads)[0], first + loads.places
    return merge(places, asked)


def sort_responses(packets: Bytes) -> Bytes:
    """Return the packets of rollouts by tag; those of one rollout stay in their order."""
    headers, _ = unpack(packets, [])
    return packets[np.argsort(field(headers, "tag"), kind="stable")]
