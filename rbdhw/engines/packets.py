"""Engines that exchange packets with an accelerator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rbdhw.engines.engine import Source
from rbdhw.engines.words import Packets, WordEngine
from rbdhw.model.loads import load_packets, loads_of
from rbdhw.model.packets import TAGS, Beats, answers, contents, field, merge, requests, unpack
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.data import Answered, Rollouts
from rbdhw.model.rollouts.packets import asks_for_states, packets_of, read_responses, sort_responses
from rbdhw.protocol import LOAD, LOAD_PARAMETERS, MPPI, ROLLOUT, SOLVE, SOLVER_COMMANDS
from rbdhw.verilator.simulator import Disturbance, Exchange
from rbdhw.verilator.tools import SimulationError

Connection = Callable[[Sequence[Beats], Disturbance], list[Exchange]]
"""Sends packets to each of the first pairs of streams, and returns what came from it."""

REPEATED = 10
"""The most cycles of an iteration whose sweep is repeated, in iterations without repetition."""

AT_ONCE = 4096
"""The rollouts of one exchange."""


class PacketEngine(WordEngine):
    """An accelerator that runs: it is known by the packets that it sends for those that it receives."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        self._before: dict[str, list[Packets]] = {}

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

    def converse(self, packets: Sequence[Packets]) -> list[Response]:
        """Return the answers to packets of commands; SimulationError if one is missing.

        Each exchange begins with a reset. So all packets since the last that follow none come before those
        that follow them.
        """
        commands = [command for command, _ in packets]
        follows = any(command == SOLVE and words["warm"].any() for command, words in packets)
        follows |= MPPI in commands and LOAD not in commands
        kind = SOLVE if packets[-1][0] in SOLVER_COMMANDS else MPPI
        sent = self._before[kind] = [*(self._before.get(kind, []) if follows else []), *packets]
        tags = [np.arange(len(next(iter(words.values())))) for _, words in sent]
        ends = np.cumsum([len(numbers) for numbers in tags])
        places = {k: ends[k] - len(numbers) + numbers for k, numbers in enumerate(tags)}
        asked = {k: requests(self.design, command, tags[k], words) for k, (command, words) in enumerate(sent)}
        (outcome,) = self.connect()([merge(places, asked)], Disturbance(patience=self._patience(sent)))
        answered = answers(self.design, outcome.responses)
        unread = {command: answered[command].packets for command, _ in sent}
        whole = all(answered[command].whole.all() for command in unread)
        responses: list[Response] = []
        for (command, _), numbers in zip(sent, tags, strict=True):
            part, unread[command] = np.split(unread[command], [len(numbers)])
            whole = whole and len(part) == len(numbers)
            responses.append(contents(self.design, command, part))
        if outcome.violations or not whole or any(map(len, unread.values())):
            raise self._unanswered("packet of a command")
        return responses[-len(packets) :]

    def _patience(self, packets: Sequence[Packets]) -> int:
        """Return the most cycles without a transfer while a command is in progress."""
        described, shape, patience = self.design.description, self.design.interface, Disturbance.patience
        if described.solver is not None and shape.solver is not None:
            repeated = REPEATED * shape.solver.iterations * described.solver.iteration_cycles
            patience += described.solver.first_cycles + repeated
        if described.means is not None:
            samples = [words["samples"].max() for command, words in packets if command == MPPI]
            patience += described.means.cycles(int(max(samples, default=0)))
        return patience

    def _unanswered(self, what: str) -> SimulationError:
        return SimulationError(f"{self.source.folder}: the RTL did not answer every {what}")
