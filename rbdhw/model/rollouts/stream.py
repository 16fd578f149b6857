"""A stream of random rollouts, and the answers that the model gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rbdhw.domain.sampling import sample
from rbdhw.fixed.format import Integers
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.diagnosis import Cause
from rbdhw.model.loads import Loads, draw_loads, load_packets, no_loads
from rbdhw.model.packets import Array, Beats, Bytes, answers, merge, responses
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.data import Rollouts
from rbdhw.model.rollouts.diagnosis import FirstFlags, diagnose_rollouts
from rbdhw.model.rollouts.draw import draw_plans
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.rollouts.packets import (
    asks_for_states,
    rollout_requests,
    rollout_responses,
    row_requests,
    sort_responses,
)
from rbdhw.model.rollouts.random_states import NEAR
from rbdhw.protocol import LOAD_PARAMETERS, PARAMETERS, ROLLOUT
from rbdhw.robot.parameters import nominal_parameters

GROUP = 8
"""Rollouts with the same number of steps."""


@dataclass
class RolloutStream:
    """The packets of rollouts in the order in which they are sent, and the answers of the model."""

    model: AcceleratorModel
    loads: Loads
    places: list[Integers] = field(default_factory=list)
    packets: list[Bytes] = field(default_factory=list)
    """The packets by kind, whose ``places`` in the order are beside them."""
    rollouts: dict[bool, list[Bytes]] = field(default_factory=lambda: {True: [], False: []})
    """The answers to rollouts with states and to those without."""
    rows: dict[str, list[Bytes]] = field(default_factory=dict)
    """The answers to each command that loads rows."""
    steps: int = 0
    flagged: int = 0
    """The rollouts with a flag."""
    causes: list[Cause] = field(default_factory=list)

    @property
    def beats(self) -> Beats:
        return merge(dict(enumerate(self.places)), dict(enumerate(self.packets)))

    @property
    def surplus(self) -> int:
        """The answers beyond one for each request."""
        expected = sum(len(packets) for each in self.rollouts.values() for packets in each)
        return expected - len(self.loads.before)

    def add_rows(self, rollouts: Rollouts, number: int) -> None:
        """Add the loads of all rows of some rollouts, of which the first has this number."""
        first_set = np.count_nonzero(self.loads.written[: self._loaded(number)] == 0)
        for command in self.model.interface.row_commands:
            asked = row_requests(self.model, rollouts.rows, command)
            tags = np.arange(len(asked))
            self._add(asked, self._next + tags)
            before = np.full(len(tags), first_set) if self.model.interface.held else None
            answer = responses(self.model, command, tags, np.zeros_like(tags), {}, loads=before)
            self.rows.setdefault(command, []).append(answer)

    def add_rollouts(self, rollouts: Rollouts, numbers: Integers) -> None:
        """Add rollouts with these consecutive numbers, and the loads of parameters in front of them."""
        flags = FirstFlags(
            lambda words: respond(self.model, self.model.interface.step.name, words), rollouts.tasks
        )
        answered = compute(self.model, rollouts, flags)
        self.steps += rollouts.steps * rollouts.tasks
        self.flagged += int(np.count_nonzero(answered.status[:, -1]))
        self.causes += diagnose_rollouts(self.model, flags, numbers)
        steps, every = np.full(rollouts.tasks, rollouts.steps), np.full(rollouts.tasks, rollouts.every)
        sets = self.loads.sets[numbers]
        asked = rollout_requests(self.model, rollouts.words, steps, every, numbers, rollouts.states, sets)
        before = self.loads.before_of_set[numbers] if self.model.interface.held else None
        answer = rollout_responses(self.model, rollouts, answered, numbers, before)
        self.rollouts[rollouts.states].append(answer)
        loaded = self.loads.before[numbers] - self._loaded(numbers[0])
        places = self._next + np.arange(rollouts.tasks) + loaded
        tasks = self.loads.places - np.arange(len(self.loads.places))
        first = np.flatnonzero(np.isin(tasks, numbers))
        self._add(asked, places)
        if len(first):
            self._add(load_packets(self.model, self.loads)[0][first], places[tasks[first] - numbers[0]] - 1)

    def _loaded(self, number: int) -> int:
        """Return the loads of parameters that are not later than the rollout before this one."""
        return int(self.loads.before[number - 1]) if number else 0

    @property
    def _next(self) -> int:
        return sum(map(len, self.places))

    def _add(self, packets: Bytes, places: Integers) -> None:
        self.packets.append(packets)
        self.places.append(places)

    def count_mismatches(self, received: Beats) -> int:
        """Return the number of received answers that differ from the model's."""
        wrong = 0
        for states, packets in self.rollouts.items():
            if packets:
                asked = asks_for_states(self.model, states)
                came = answers(self.model, received, asked)[ROLLOUT].packets
                wrong += _differing(sort_responses(np.concatenate(packets)), sort_responses(came))
        loaded = answers(self.model, received)
        for command, packets in self.rows.items():
            wrong += _differing(np.concatenate(packets), loaded[command].packets)
        if len(self.loads.places):
            wrong += _differing(load_packets(self.model, self.loads)[1], loaded[LOAD_PARAMETERS].packets)
        return wrong


def draw_stream(
    model: AcceleratorModel, tasks: int, rows: int, rng: np.random.Generator, loaded: bool = True
) -> RolloutStream:
    """Return a stream of rollouts of up to ``rows`` steps, whose numbers are their tags.

    Parameters are among them if ``loaded`` and if the build loads parameters.
    """
    arrays = draw_tasks(model, tasks, rng)
    if model.interface.held and not loaded:
        del arrays[PARAMETERS]
    stream = RolloutStream(model, draw_loads(model, arrays, rng) if loaded else no_loads(tasks))
    steps = rng.integers(1, rows + 1, -(-tasks // GROUP))
    for plan in draw_plans(model, arrays, np.repeat(steps, GROUP)[:tasks], rows, rng):
        rollouts = prepare(model, plan.arrays, 0)
        stream.add_rows(rollouts, int(plan.numbers[0]))
        for group in np.split(plan.numbers, np.flatnonzero(plan.numbers % GROUP == 0)):
            if len(group):
                k, every = int(group[0]) // GROUP, int(rng.integers(0, rows + 1))
                chosen = group - plan.numbers[0]
                stream.add_rollouts(_group(model, rollouts, chosen, int(steps[k]), k % 2 == 0, every), group)
    return stream


def draw_tasks(model: AcceleratorModel, tasks: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return random tasks. Their inertial parameters are near to those with which plans hold a robot."""
    arrays = sample(model.robot, model.domain, tasks, rng, model.fext)
    if PARAMETERS in arrays:
        nominal = nominal_parameters(model.robot)
        arrays[PARAMETERS] = nominal + NEAR * (arrays[PARAMETERS] - nominal)
    return arrays


def _group(
    model: AcceleratorModel, rollouts: Rollouts, chosen: Integers, steps: int, states: bool, every: int
) -> Rollouts:
    """Return the ``chosen`` rollouts of a plan, with fewer steps."""
    rows = {name: row[:steps] for name, row in rollouts.rows.items()}
    words = {name: values[chosen] for name, values in rollouts.words.items()}
    return Rollouts(words, rows, every, states or not model.interface.words(ROLLOUT).extensible)


def _differing(expected: Bytes, came: Bytes) -> int:
    """Return the number of packets that differ, plus those that are missing or surplus."""
    count = min(len(expected), len(came))
    same = (expected[:count] == came[:count]).all(axis=(1, 2))
    return int(np.count_nonzero(~same)) + abs(len(expected) - len(came))
