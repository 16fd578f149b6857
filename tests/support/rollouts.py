"""Streams of rollouts mixed with other tasks, and the expected answers."""

from pathlib import Path

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.domain.sampling import sample
from rbdhw.fixed.format import Integers
from rbdhw.golden.tasks import with_unit_quaternions
from rbdhw.model.packets import MALFORMED, answers, merge, requests, responses
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.data import Answered, Rollouts
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.rollouts.packets import (
    asks_for_states,
    rollout_requests,
    rollout_responses,
    row_words,
    sort_responses,
)
from rbdhw.model.rollouts.samples import SEED
from rbdhw.protocol import LOAD, ROLLOUT
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words

HORIZON = 6
"""The most steps of a rollout in the tests."""


def first_states(design: Design, tasks: int, seed: int) -> dict[str, np.ndarray]:
    """Return states well inside the domain, and forces of :data:`HORIZON` steps, some beyond their bounds."""
    rng = np.random.default_rng(seed)
    drawn = sample(design.robot, design.domain, tasks, rng, design.fext)
    tau = 1.2 * rng.uniform(*np.asarray(design.domain.bounds["tau"]).T, (HORIZON, design.robot.nv))
    return {name: drawn[name] for name in ("q", "v", "h")} | {"tau": tau}


def model_answers(
    design: Design,
    words: dict[str, Integers],
    rows: dict[str, Integers],
    steps: int,
    every: int,
    states: bool = True,
) -> tuple[Rollouts, Answered]:
    """Return the rollouts of one number of steps and the model's answers."""
    rollouts = Rollouts(words, {name: row[:steps] for name, row in rows.items()}, every, states)
    return rollouts, compute(
        design, rollouts, lambda given: respond(design, design.interface.step.name, given)
    )


class Stream:
    """A mixed stream of requests in the order in which they are added, and the expected answers."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.sent, self.expected = [], {}
        self.surplus = 0

    def add(self, function: str, packets: np.ndarray, expected: np.ndarray, extended: bool = False) -> None:
        self.sent += list(packets)
        self.expected.setdefault((function, extended), []).extend(list(expected))
        self.surplus += len(expected) - len(packets)

    def row(self, number: int, row: dict[str, int], tag: int, status: int, command: str = LOAD) -> None:
        """Add a packet that loads a row."""
        words = {name: np.array([value]) for name, value in row.items()} | {"row": np.array([number])}
        tags = np.array([tag])
        answer = responses(self.design, command, tags, np.array([status]), {})
        self.add(command, requests(self.design, command, tags, words), answer)

    def rows(self, rows: dict[str, Integers], but: str | None = None) -> None:
        """Add the packets that load all rows of all kinds, but those of one command."""
        for command in (name for name in self.design.interface.row_commands if name != but):
            words = row_words(self.design, rows, command)
            for k, number in enumerate(words["row"]):
                self.row(number, {name: int(row[k]) for name, row in words.items()}, k, 0, command)

    def rollouts(self, words, rows, steps: int, every: int, tags: Integers, states: bool = True) -> None:
        """Add rollouts; those that are refused have one answer without words."""
        numbers = (np.full(len(tags), x) for x in (steps, every))
        asked = rollout_requests(self.design, words, *numbers, tags, states)
        extended = asks_for_states(self.design, states)
        good = 1 <= steps <= len(next(iter(rows.values()))) and 0 <= every <= HORIZON
        if good and np.all(words.get(SEED, tags) >= 0):
            rollouts, answered = model_answers(self.design, words, rows, steps, every, states)
            answer = rollout_responses(self.design, rollouts, answered, tags)
        else:
            outputs = self.design.interface.outputs(ROLLOUT, extended)
            empty = {word.name: np.zeros(len(tags), np.int64) for word in outputs}
            status = np.full(len(tags), MALFORMED)
            answer = responses(self.design, ROLLOUT, tags, status, empty, extended)
        self.add(ROLLOUT, asked, answer, extended)

    def tasks(self, function: str, tags: Integers, seed: int) -> None:
        """Add tasks of a function of the core."""
        words = draw_words(self.design, function, False, len(tags), seed)
        status, results = respond(self.design, function, words)
        answer = responses(self.design, function, tags, status, results)
        self.add(function, requests(self.design, function, tags, words), answer)

    def check(self, folder: Path, traffic: Disturbance) -> np.ndarray:
        """Send everything, compare every bit of the answers, and return the cycles of the last beats."""
        places = {k: np.array([k]) for k in range(len(self.sent))}
        beats = merge(places, {k: packet[np.newaxis] for k, packet in enumerate(self.sent)})
        (outcome,) = bulk.exchange(bulk.build(folder), [beats], traffic)
        assert outcome.violations == 0
        received = {mode: answers(self.design, outcome.responses, mode) for mode in (False, True)}
        for (function, extended), packets in self.expected.items():
            came, expected = received[extended][function].packets, np.array(packets)
            if function == ROLLOUT:
                came, expected = (sort_responses(side) for side in (came, expected))
            assert np.array_equal(came, expected), function
        count = sum(len(group.packets) for mode in received.values() for group in mode.values())
        assert count == np.count_nonzero(outcome.responses.last)
        return outcome.taken


def calm(design: Design, tasks: int, seed: int) -> dict[str, np.ndarray]:
    """Return first states and forces that keep a robot in its domain."""
    arrays = first_states(design, tasks, seed)
    return arrays | {"q": 0.5 * arrays["q"], "v": 0.2 * arrays["v"], "tau": 0.2 * arrays["tau"]}


def weights(seed: int) -> dict[str, np.ndarray]:
    """Return random references and weights of each step."""
    rng = np.random.default_rng(seed)
    return {
        "x_ref": rng.uniform(-0.2, 0.2, (HORIZON, 4)),
        "Q": rng.uniform(0.0, 2.0, (HORIZON, 4)),
        "R": rng.uniform(0.0, 1e-3, (HORIZON, 2)),
    }


def feedback(design: Design, seed: int, size: float = 0.05) -> dict[str, np.ndarray]:
    """Return nominal states and gains of each step, random."""
    rng, robot = np.random.default_rng(seed), design.robot
    drawn = sample(robot, design.domain, HORIZON, rng, design.fext)
    largest = np.asarray(design.domain.bounds["tau"])[:, 1:]
    gains = size * largest * rng.normal(size=(HORIZON, robot.nv, 2 * robot.nv))
    q = with_unit_quaternions(robot, drawn["q"])
    return {"x_nominal": np.hstack([q, drawn["v"]]), "K": gains}
