"""Random rollouts in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.domain.sampling import sample
from rbdhw.protocol import LOAD, ROLLOUT, SAMPLES
from rbdhw.sim.model import respond
from rbdhw.sim.packets import answers, merge, responses
from rbdhw.sim.rollout import (
    Rollouts,
    compute,
    prepare,
    rollout_requests,
    rollout_responses,
    row_requests,
    sort_responses,
)
from rbdhw.sim.rollout_arrays import MOST_SEED_OF_SINGLES
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
    lower, upper = np.asarray(design.domain.bounds["tau"]).T
    forces = 0.2 * rng.uniform(lower, upper, (horizon, design.robot.nv))
    samples = {}
    if SAMPLES in design.interface.rollout.parts:
        samples = {"std": 0.05 * upper, "seed": rng.integers(0, MOST_SEED_OF_SINGLES, count)}
    own = prepare(design, {**arrays, **samples, "v": 0.2 * arrays["v"], "tau": forces}, 0)
    asked = [row_requests(design, own.rows, np.arange(horizon))]
    expected, flagged, total = [], 0, 0
    for start in range(0, count, GROUP):
        tags = np.arange(start, min(start + GROUP, count))
        steps, every = int(rng.integers(1, horizon + 1)), int(rng.integers(0, horizon + 1))
        rows = {name: row[:steps] for name, row in own.rows.items()}
        part = Rollouts({name: values[tags] for name, values in own.words.items()}, rows, every)
        answered = compute(design, part, lambda words: respond(design, "step", words))
        each = np.ones(len(tags), np.int64)
        asked.append(rollout_requests(design, part.words, steps * each, every * each, tags))
        expected.append(rollout_responses(design, part, answered, tags))
        flagged += int(np.count_nonzero(answered.status[:, -1]))
        total += steps * len(tags)
    ends = np.cumsum([len(packets) for packets in asked])
    places = {k: np.arange(end - len(asked[k]), end) for k, end in enumerate(ends)}
    surplus = sum(map(len, expected)) - count
    (outcome,) = exchange(
        requests=[merge(places, dict(enumerate(asked)))],
        traffic=Disturbance(traffic.bubbles, traffic.back_pressure, traffic.seed, surplus=surplus),
    )
    found, rest = answers(design, outcome.responses), np.arange(horizon)
    loads = responses(design, LOAD, rest, np.zeros_like(rest), {})
    pairs = ((sort_responses(np.concatenate(expected)), ROLLOUT), (loads, LOAD))
    came = {ROLLOUT: sort_responses(found[ROLLOUT].packets), LOAD: found[LOAD].packets}
    wrong = sum(_differing(packets, came[name]) for packets, name in pairs)
    return RolloutReport(count, total, wrong + outcome.violations, flagged)


def _differing(expected: np.ndarray, came: np.ndarray) -> int:
    """Return the number of packets that differ, plus those that are missing or surplus."""
    count = min(len(expected), len(came))
    same = (expected[:count] == came[:count]).all(axis=(1, 2))
    return int(np.count_nonzero(~same)) + abs(len(expected) - len(came))
