"""A link with faults to a model of an accelerator, which answers packets as the hardware does."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections import deque

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import draft_design, write
from rbdhw.driver.library import Options, Transport
from rbdhw.engines.driver import DriverEngine
from rbdhw.header import HEADER, HIGH_CODE
from rbdhw.model.packets import MALFORMED, field, responses, unpack

OK, TIMEOUT = 0, 2
TIMEOUT_NS, ATTEMPTS = 1_000_000, 3

NO_ANSWER, DAMAGED = "no answer in time", "answers are damaged again and again"
UNKNOWN = "no such function, set, row, step or array"
FORGOTTEN = "the last solution or mean is not known; solve without warm, or load all rows"
"""What errors of the driver say."""

_OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_CLOSE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
SEND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
RECEIVE = ctypes.CFUNCTYPE(
    *(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
    *(ctypes.POINTER(ctypes.c_size_t), ctypes.c_uint64),
)
_CLOCK = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)


class PacketLink:
    """A model behind a link.

    The next request number k of the command ``disturbed`` in ``faults`` is ``lost``, ``doubled``, or
    ``late``, behind the next request of any kind. The answer to one that is ``unheard`` is lost. ``taken``
    has the words of requests of this command that were computed.
    """

    disturbed: str

    def __init__(self, design):
        self.design = design
        self._codes = {code: name for name, code in design.interface.codes.items()}
        self._calls = (
            *(_OPEN(lambda _: OK), _CLOSE(lambda _: None)),
            *(SEND(self._send), RECEIVE(self._receive), _CLOCK(lambda _: self.now)),
        )
        self.now, self.faults, self.requests, self.late = 1, {}, 0, None
        self.reset()

    def reset(self):
        """Forget all that was loaded and computed."""
        self.ready, self.taken = deque(), []

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

    @abstractmethod
    def answer(self, function, tag, words):
        """Take the words (1,) of a request, and make answers ``ready``."""

    def respond(self, function, tag, response):
        """Return the packet of an answer; without a response it is that to a request that is refused."""
        names = [word.name for word in self.design.interface.outputs(function)]
        refused = np.array([MALFORMED]), {name: np.zeros(1, np.int64) for name in names}
        return responses(self.design, function, tag, *(response or refused)).tobytes()

    def _send(self, _, address, size):
        packet = ctypes.string_at(address, size)
        kind = None
        if self._function_of(packet) == self.disturbed:
            kind = self.faults.get(self.requests)
            self.requests += 1
        if kind == "late":
            self.late = packet
            return OK
        for _ in range({"lost": 0, "doubled": 2}.get(kind, 1)):
            self._take(packet)
        if kind == "unheard":
            self.ready.pop()
        if self.late is not None and kind != "lost":
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
        self.answer(function, field(header, "tag"), words)

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


class LinkEngine(DriverEngine):
    """The driver at a link, which ``make_link`` makes for a design."""

    def __init__(self, source, make_link):
        super().__init__("driver", source)
        self.link = make_link(self.design)

    def open(self):
        return self.library.open(self.link.transport(), self.link.options(), "link")


def link_fixtures(make_model, make_link):
    """Return fixtures for a module: the folder of a model, its engine, and the driver at a link to it."""

    @pytest.fixture(scope="module")
    def folder(tmp_path_factory):
        made = tmp_path_factory.mktemp("link") / "toy"
        write(draft_design(make_model()), made)
        return made

    @pytest.fixture
    def model(folder):
        return rbdhw.load(folder)._engine

    @pytest.fixture
    def engine(model):
        made = LinkEngine(model.source, make_link)
        yield made
        made.driver.close()

    return folder, model, engine
