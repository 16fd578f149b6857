"""Packets of a simulated accelerator, each with the model's answer."""

import numpy as np

from rbdhw.domain.sampling import sample
from rbdhw.model.packets import Beats, answers, encode, merge, requests, responses
from rbdhw.model.responses import respond
from rbdhw.protocol import FUNCTIONS
from rbdhw.rtl.shell import Accelerator
from tests.support.packet_bench import exchange


def accelerator_of(plan):
    """Return the accelerator of a plan, with its solver if it has one."""
    cores, solver = [core.component(None) for core in plan.cores], None
    if plan.solver is not None:
        solver = plan.solver.component(plan.cores, cores, None)
    return Accelerator(cores=cores, interface=plan.interface, solver=solver)


class PacketScript:
    """Packets in their order, each with the model's answer; ``session`` answers commands."""

    def __init__(self, model, session):
        self.model, self.session = model, session
        self.asked, self.answered = [], []

    def send(self, function, words, extended=False):
        """Send packets with words (N,), and return the statuses and the words of the model's answers."""
        tags = np.arange(len(next(iter(words.values()))))
        if function in FUNCTIONS:
            status, results = respond(self.model, function, words, extended)
        else:
            status, results = self.session.respond(function, words, extended)
        self.asked.append(requests(self.model, function, tags, words, extended))
        answer = responses(self.model, function, tags, status, results, extended)
        self.answered.append(((function, extended), answer))
        return status, results

    def others(self, count, seed):
        """Send tasks of the other functions, in turn."""
        arrays = sample(self.model.robot, self.model.domain, count, np.random.default_rng(seed), ())
        for name in self.model.functions:
            self.send(name, encode(self.model, name, arrays))

    @property
    def count(self) -> int:
        return sum(map(len, self.asked))

    @property
    def beats(self) -> Beats:
        first = np.cumsum([0, *map(len, self.asked)])
        order = {k: first[k] + np.arange(len(packets)) for k, packets in enumerate(self.asked)}
        return merge(order, dict(enumerate(self.asked)))

    def compare(self, beats):
        """Compare all answers, which come in order for each function."""
        total = 0
        for kind in {kind for kind, _ in self.answered}:
            function, extended = kind
            expected = np.concatenate([packets for each, packets in self.answered if each == kind])
            received = answers(self.model, beats, extended)[function]
            np.testing.assert_array_equal(received.packets, expected)
            total += len(expected)
        assert np.count_nonzero(beats.last) == total

    def check(self, simulation, **traffic):
        """Compare the answers of a simulated accelerator."""
        self.compare(exchange(simulation, self.beats, self.count, **traffic))
