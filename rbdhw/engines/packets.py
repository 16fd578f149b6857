"""Engines that exchange packets with an accelerator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rbdhw.engines.words import WordEngine
from rbdhw.model.loads import load_packets, loads_of
from rbdhw.model.packets import TAGS, Beats, answers, contents, field, merge, requests, unpack
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.data import Answered, Rollouts
from rbdhw.model.rollouts.packets import asks_for_states, packets_of, read_responses, sort_responses
from rbdhw.protocol import LOAD_PARAMETERS, ROLLOUT
from rbdhw.verilator.simulator import Disturbance, Exchange
from rbdhw.verilator.tools import SimulationError

Connection = Callable[[Sequence[Beats], Disturbance], list[Exchange]]
"""Sends packets to each of the first pairs of streams, and returns what came from it."""

AT_ONCE = 4096
"""The rollouts of one exchange."""


class PacketEngine(WordEngine):
    """An accelerator that runs: it is known by the packets that it sends for those that it receives."""

    @abstractmethod
    def connect(self) -> Connection:
        """Return what exchanges packets with the accelerator."""

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the status and the output words of tasks.

        Raises
        ------
        SimulationError
            Not every task is answered once and in order.
        """
        tags = np.arange(len(next(iter(words.values()))))
        loads = loads_of(self.design, function, words)
        places = {function: tags + loads.before}
        packets = {function: requests(self.design, function, tags, words, extended)}
        if len(loads.places):
            places[LOAD_PARAMETERS] = loads.places
            packets[LOAD_PARAMETERS] = load_packets(self.design, loads)[0]
        (outcome,) = self.connect()([merge(places, packets)], Disturbance())
        answered = answers(self.design, outcome.responses, extended)[function]
        headers, _ = unpack(answered.packets, [])
        in_step = answered.whole.all() and np.array_equal(field(headers, "tag"), tags % TAGS)
        if outcome.violations or not in_step:
            raise self._unanswered(f"task of {len(tags)} once, in order")
        return contents(self.design, function, answered.packets, extended)

    def respond_rollouts(self, rollouts: Rollouts) -> Answered:
        """Return the answers to rollouts; SimulationError if one is missing."""
        connection, parts = self.connect(), []
        for start in range(0, rollouts.tasks, AT_ONCE):
            words = {name: values[start : start + AT_ONCE] for name, values in rollouts.words.items()}
            parts.append(self._respond_at_once(connection, replace(rollouts, words=words)))
        return Answered(
            np.concatenate([part.status for part in parts]),
            np.concatenate([part.first_flagged for part in parts]),
            {name: np.concatenate([part.states[name] for part in parts]) for name in parts[0].states},
            np.concatenate([part.cost for part in parts]),
        )

    def _respond_at_once(self, connection: Connection, rollouts: Rollouts) -> Answered:
        surplus = rollouts.tasks * (len(rollouts.sent) - 1)
        (outcome,) = connection([packets_of(self.design, rollouts)], Disturbance(surplus=surplus))
        extended = asks_for_states(self.design, rollouts.states)
        answered = answers(self.design, outcome.responses, extended)[ROLLOUT]
        whole = len(answered.packets) == rollouts.tasks * len(rollouts.sent) and answered.whole.all()
        if outcome.violations or not whole:
            raise self._unanswered(f"rollout of {rollouts.tasks}")
        return read_responses(self.design, rollouts, sort_responses(answered.packets))

    def _unanswered(self, what: str) -> SimulationError:
        return SimulationError(f"{self.source.folder}: the RTL did not answer every {what}")
