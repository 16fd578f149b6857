"""A link with faults to a solver, of one problem or of several."""

from __future__ import annotations

from rbdhw.model.packets import MALFORMED
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import PLAN, SOLVE
from tests.support.exact_solvers import fixed
from tests.support.packet_link import PacketLink


class SolverLink(PacketLink):
    """A solver of the toy whose tasks wait until their group is whole, behind a link.

    Each problem has the model of one, which has the formats of the design.
    """

    disturbed = SOLVE

    def reset(self):
        super().reset()
        self.sessions = [SolverSession(fixed().model) for _ in range(self.design.interface.solver.problems)]
        self.waiting = []

    def answer(self, function, tag, words):
        if function == SOLVE:
            self._collect(tag, words)
            return
        problem = _number(words, "problem")
        known = 0 <= problem < len(self.sessions) and not (function == PLAN and self.waiting)
        response = self.sessions[problem].respond(function, words) if known else None
        self.ready.append(self.respond(function, tag, response))

    def _collect(self, tag, words):
        turn, more = len(self.waiting), _number(words, "more")
        is_next = 0 <= more <= 1 and _number(words, "problem") == turn
        response = self.sessions[turn].respond(SOLVE, words) if is_next else None
        refused = response is None or response[0][0] & MALFORMED
        if not refused:
            self.taken.append(words)
        self.waiting.append(self.respond(SOLVE, tag, response))
        whole = len(self.waiting) == len(self.sessions)
        if refused or whole or not more:
            self.ready.extend(self.waiting)
            self.waiting = []


def _number(words, name):
    """Return the number of a word of several problems; zero in a build of one."""
    return int(words[name][0]) if name in words else 0
