"""A link with faults to an accelerator that takes means of samples."""

from __future__ import annotations

import numpy as np

from rbdhw.model.packets import MALFORMED
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.data import Rollouts
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.model.rollouts.packets import rollout_responses
from rbdhw.protocol import MEAN, MPPI, ROLLOUT
from tests.support.packet_link import PacketLink


class MeanLink(PacketLink):
    """Rollouts and means of samples behind a link."""

    disturbed = MPPI

    def reset(self):
        super().reset()
        self.session = MeanSession(self.design, self._step)

    def _step(self, words):
        return respond(self.design, self.design.interface.step.name, words)

    def answer(self, function, tag, words):
        if function == ROLLOUT:
            self.ready.append(self._roll_out(tag, words))
            return
        response = self.session.respond(function, words)
        if function == MPPI and not response[0][0] & MALFORMED:
            self.taken.append(words)
        self.ready.append(self.respond(function, tag, response))

    def _roll_out(self, tag, words):
        """Return the answer to a rollout whose last state is wanted."""
        steps = int(words["steps"][0])
        if self.session.respond(MEAN, {"row": np.array([steps - 1])})[0][0]:
            return self.respond(ROLLOUT, tag, None)
        first = {name: values for name, values in words.items() if name not in ("steps", "every")}
        rows = {name: row[:steps] for name, row in self.session.rollout_rows().items()}
        rollouts = Rollouts(first, rows, 0, states=False)
        answered = compute(self.design, rollouts, self._step)
        return rollout_responses(self.design, rollouts, answered, tag).tobytes()
