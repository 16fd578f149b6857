"""A link with faults to a solver, of one problem or of several: its packets, as the hardware takes them."""

from __future__ import annotations

import ctypes
from collections import deque

import numpy as np

from rbdhw.driver.library import Options, Transport
from rbdhw.engines.driver import DriverEngine
from rbdhw.header import HEADER, HIGH_CODE
from rbdhw.model.packets import MALFORMED, field, responses, unpack
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import PLAN, SOLVE

OK, TIMEOUT = 0, 2
TIMEOUT_NS, ATTEMPTS = 1_000_000, 3

_OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_CLOSE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_SEND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_RECEIVE = ctypes.CFUNCTYPE(
    *(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    *(ctypes.POINTER(ctypes.c_size_t), ctypes.c_uint64),
)
_CLOCK = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)


class GroupLink:
    """A solver whose tasks wait until their group is whole, behind a link.

    ``single`` is the model of one problem, with the formats of ``design``. The next request number k of a
    solution in ``faults`` is ``lost``, ``doubled``, or ``late``, behind the next one. The answer to one that
    is ``unheard`` is lost. ``taken`` has the words of tasks that were solved.
    """

    def __init__(self, design, single):
        self.design, self._single = design, single
        self._codes = {code: name for name, code in design.interface.codes.items()}
        self._calls = (
            *(_OPEN(lambda _: OK), _CLOSE(lambda _: None)),
            *(_SEND(self._send), _RECEIVE(self._receive), _CLOCK(lambda _: self.now)),
        )
        self.now, self.faults, self.requests, self.late = 1, {}, 0, None
        self.reset()

    def reset(self):
        """Forget all that was loaded and solved."""
        self.sessions = [SolverSession(self._single) for _ in range(self.design.interface.solver.problems)]
        self.waiting, self.ready, self.taken = [], deque(), []

    def begin(self, **faults):
        """Expect faults of the next requests: by their kind the number of one."""
        self.faults, self.requests = {number: kind for kind, number in faults.items()}, 0

    def transport(self):
        opens, closes, send, receive, _ = (ctypes.cast(call, ctypes.c_void_p) for call in self._calls)
        return Transport(opens, closes, None, None, send, receive, None, 0, 0)

    def options(self, **others):
        clock = ctypes.cast(self._calls[-1], ctypes.c_void_p)
        fixed = {"window": 16, "attempts": ATTEMPTS, "timeout": TIMEOUT_NS, "quiet": 1, "first_tag": 1}
        return Options(clock=clock, **fixed | others)

    def _send(self, _, address, size):
        packet = ctypes.string_at(address, size)
        if self._function_of(packet) != SOLVE:
            self._take(packet)
            return OK
        kind = self.faults.get(self.requests)
        self.requests += 1
        if kind == "late":
            self.late = packet
        elif kind != "lost":
            for _ in range(1 + (kind == "doubled")):
                self._take(packet)
            if kind == "unheard":
                self.ready.pop()
            if self.late is not None:
                packet, self.late = self.late, None
                self._take(packet)
        return OK

    def _function_of(self, packet):
        header = np.frombuffer(packet[:4], "<u4").astype(np.int64)
        high = int(field(header, "options")[0]) >> HIGH_CODE & 1
        return self._codes[int(field(header, "function")[0]) + (high << HEADER["function"][1])]

    def _take(self, packet):
        """Take a request."""
        interface = self.design.interface
        beats = np.frombuffer(packet, np.uint8).reshape(1, -1, interface.data_width // 8)
        function = self._function_of(packet)
        header, numbers = unpack(beats, interface.request_widths(function, False))
        words = {word.name: numbers[word.slot] for word in interface.inputs(function)}
        tag = field(header, "tag")
        if function == SOLVE:
            self._collect(tag, words)
        else:
            problem = _number(words, "problem")
            known = 0 <= problem < len(self.sessions) and not (function == PLAN and self.waiting)
            answer = self.sessions[problem].respond(function, words) if known else self._refused(function)
            self.ready.append(responses(self.design, function, tag, *answer).tobytes())

    def _collect(self, tag, words):
        turn, more = len(self.waiting), _number(words, "more")
        is_next = 0 <= more <= 1 and _number(words, "problem") == turn
        status, results = self.sessions[turn].respond(SOLVE, words) if is_next else self._refused(SOLVE)
        if not status[0] & MALFORMED:
            self.taken.append(words)
        self.waiting.append(responses(self.design, SOLVE, tag, status, results))
        whole = len(self.waiting) == len(self.sessions)
        if status[0] & MALFORMED or whole or not more:
            self.ready.extend(packets.tobytes() for packets in self.waiting)
            self.waiting = []

    def _refused(self, function):
        names = [word.name for word in self.design.interface.outputs(function)]
        return np.array([MALFORMED]), {name: np.zeros(1, np.int64) for name in names}

    def _receive(self, _, address, room, size, wait):
        self.now += 1000
        if not self.ready:
            self.now += wait
            return TIMEOUT
        packet = self.ready.popleft()
        assert len(packet) <= room
        ctypes.memmove(address, packet, len(packet))
        size[0] = len(packet)
        return OK


def _number(words, name):
    """Return the number of a word of several problems; zero in a build of one."""
    return int(words[name][0]) if name in words else 0


class LinkEngine(DriverEngine):
    """The driver at such a link."""

    def __init__(self, source, single):
        super().__init__("driver", source)
        self.link = GroupLink(self.design, single)

    def open(self):
        return self.library.open(self.link.transport(), self.link.options(), "link")
