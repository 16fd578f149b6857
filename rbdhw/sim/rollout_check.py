"""Random rollouts in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.domain.sampling import sample
from rbdhw.protocol import COST, GAINS, LOAD_PARAMETERS, ROLLOUT, SAMPLES
from rbdhw.sim.loads import draw_loads, load_packets
from rbdhw.sim.model import respond
from rbdhw.sim.packets import Array, Bytes, answers, merge, responses
from rbdhw.sim.rollout import prepare
from rbdhw.sim.rollout_arrays import MOST_SEED_OF_SINGLES
from rbdhw.sim.rollout_model import SEED, Rollouts, compute
from rbdhw.sim.rollout_packets import (
    asks_for_states,
    rollout_requests,
    rollout_responses,
    row_requests,
    sort_responses,
)
from rbdhw.sim.verilator import Disturbance, Exchange

MOST = 256
"""The most rollouts of a simulation."""

GROUP = 8
"""Rollouts with the same number of steps."""


@dataclass(frozen=True)
class RolloutReport:
    """The rollouts of a simulation, their steps, and answers that differ from the model's.

    ``mismatches`` also counts answers that are missing or surplus, and violations of the stream protocol.
    ``flagged`` are the rollouts with a status that is not zero.
    """

    tasks: int
    steps: int
    mismatches: int
    flagged: int


def check_rollouts(
    design: Design,
    tasks: int,
    rng: np.random.Generator,
    traffic: Disturbance,
    exchange: Callable[..., list[Exchange]],
) -> RolloutReport:
    """Load rows, send rollouts of random lengths, and compare every answer with the model's.

    They start slowly, with a fifth of the largest forces, so that most stay in the domain.
    """
    assert design.interface.rollout is not None
    horizon, count = design.interface.rollout.horizon, min(tasks, MOST)
    arrays = sample(design.robot, design.domain, count, rng, design.fext)
    loads = draw_loads(design, arrays, rng)
    lower, upper = np.asarray(design.domain.bounds["tau"]).T
    forces = 0.2 * rng.uniform(lower, upper, (horizon, design.robot.nv))
    parts = _parts(design, horizon, count, rng)
    own = prepare(design, {**arrays, **parts, "v": 0.2 * arrays["v"], "tau": forces}, 0)
    asked = [row_requests(design, own.rows, name) for name in design.interface.row_commands]
    places, first = [], 0
    for rows_of_kind in asked:
        places.append(first + np.arange(len(rows_of_kind)))
        first += len(rows_of_kind)
    expected: dict[bool, list[Bytes]] = {True: [], False: []}
    flagged, total = 0, 0
    for start in range(0, count, GROUP):
        tags = np.arange(start, min(start + GROUP, count))
        steps, every = int(rng.integers(1, horizon + 1)), int(rng.integers(0, horizon + 1))
        rows = {name: row[:steps] for name, row in own.rows.items()}
        words = {name: values[tags] for name, values in own.words.items()}
        states = start // GROUP % 2 == 0 or not design.interface.words(ROLLOUT).extensible
        part = Rollouts(words, rows, every, states)
        answered = compute(design, part, lambda words: respond(design, "step", words))
        each = np.ones(len(tags), np.int64)
        asked.append(
            rollout_requests(design, words, steps * each, every * each, tags, states, loads.sets[tags])
        )
        places.append(first + tags + loads.before[tags])
        before = loads.own[tags] if design.interface.held else None
        expected[states].append(rollout_responses(design, part, answered, tags, before))
        flagged += int(np.count_nonzero(answered.status[:, -1]))
        total += steps * len(tags)
    if len(loads.places):
        asked.append(load_packets(design, loads)[0])
        places.append(first + loads.places)
    answered_packets = sum(len(packets) for own_packets in expected.values() for packets in own_packets)
    (outcome,) = exchange(
        requests=[merge(dict(enumerate(places)), dict(enumerate(asked)))],
        traffic=Disturbance(
            traffic.bubbles, traffic.back_pressure, traffic.seed, surplus=answered_packets - count
        ),
    )
    wrong = outcome.violations
    for states, packets in expected.items():
        came = answers(design, outcome.responses, asks_for_states(design, states))[ROLLOUT].packets
        if packets:
            wrong += _differing(sort_responses(np.concatenate(packets)), sort_responses(came))
    for name, own_places in zip(design.interface.row_commands, places, strict=False):
        tags = np.arange(len(own_places))
        loaded = responses(design, name, tags, np.zeros_like(tags), {})
        wrong += _differing(loaded, answers(design, outcome.responses)[name].packets)
    if len(loads.places):
        wrong += _differing(
            load_packets(design, loads)[1], answers(design, outcome.responses)[LOAD_PARAMETERS].packets
        )
    return RolloutReport(count, total, wrong, flagged)


def _parts(design: Design, horizon: int, tasks: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return random arrays of what rollouts of the build have beside their forces."""
    assert design.interface.rollout is not None
    found: dict[str, Array] = {}
    if SAMPLES in design.interface.rollout.parts:
        found["std"] = 0.05 * np.asarray(design.domain.bounds["tau"])[:, 1]
        found[SEED] = rng.integers(0, MOST_SEED_OF_SINGLES, tasks).astype(np.float64)
    if COST in design.interface.rollout.parts:
        found["x_ref"] = _states(design, horizon, rng)
        found["Q"] = rng.uniform(0.0, 1.0, found["x_ref"].shape)
        found["R"] = rng.uniform(0.0, 1e-3, (horizon, design.robot.nv))
    if GAINS in design.interface.rollout.parts:
        found["x_nominal"] = _states(design, horizon, rng)
        largest = np.asarray(design.domain.bounds["tau"])[:, 1:]
        found["K"] = 0.02 * largest * rng.normal(size=(horizon, design.robot.nv, 2 * design.robot.nv))
    return found


def _states(design: Design, tasks: int, rng: np.random.Generator) -> Array:
    """Return random states (N, nq + nv) in the domain."""
    drawn = sample(design.robot, design.domain, tasks, rng, design.fext)
    return np.hstack([drawn["q"], drawn["v"]])


def _differing(expected: np.ndarray, came: np.ndarray) -> int:
    """Return the number of packets that differ, plus those that are missing or surplus."""
    count = min(len(expected), len(came))
    same = (expected[:count] == came[:count]).all(axis=(1, 2))
    return int(np.count_nonzero(~same)) + abs(len(expected) - len(came))
