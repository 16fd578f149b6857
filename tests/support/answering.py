"""What answers behind a link: the Verilog of a design in Verilator, or answers that are known before."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Protocol

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.driver import simulated
from rbdhw.fixed.format import Integers
from rbdhw.model.packets import MALFORMED, requests, responses
from rbdhw.model.responses import respond
from rbdhw.registers.map import MAGIC

_SEND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
_RECEIVE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.c_uint64,
)
_READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)

ANSWER_BYTES = 4096

SLICE_NS = 5_000
"""The simulated time within which an answer may come before the link is looked at again."""

TAG_BYTES, HEADER_BYTES = 2, 4


class Block(Protocol):
    """An accelerator with registers."""

    def send(self, packet: bytes) -> None:
        """Take a request."""

    def receive(self) -> bytes | None:
        """Return an answer; None if none is there."""

    def read(self, address: int) -> int:
        """Return a register."""

    def write(self, address: int, word: int) -> None:
        """Write a register."""

    def close(self) -> None:
        """End."""


class SimulatedBlock:
    """The Verilog of a design, or another ``library`` of it, with registers from an address ``base`` on."""

    def __init__(self, folder: Path, library: Path | None = None, base: int = 0) -> None:
        self._simulation, self._base = simulated.Simulation(library or simulated.build(folder)), base
        made = self._simulation.transport()
        self._self = made.self
        self._send, self._receive = _SEND(made.send), _RECEIVE(made.receive)
        self._read, self._write = _READ(made.read), _WRITE(made.write)
        self._room = ctypes.create_string_buffer(ANSWER_BYTES)

    def send(self, packet: bytes) -> None:
        """Take a request."""
        assert self._send(self._self, packet, len(packet)) == 0

    def receive(self) -> bytes | None:
        """Return an answer; None if none comes within a slice of time."""
        size = ctypes.c_size_t()
        code = self._receive(self._self, self._room, ANSWER_BYTES, ctypes.byref(size), SLICE_NS)
        return None if code else self._room.raw[: size.value]

    def read(self, address: int) -> int:
        """Return a register."""
        word = ctypes.c_uint32()
        self._read(self._self, self._base + address, ctypes.byref(word))
        return word.value

    def write(self, address: int, word: int) -> None:
        """Write a register."""
        self._write(self._self, self._base + address, word)

    def close(self) -> None:
        """End the simulation."""
        self._simulation.close()


class KnownAnswers:
    """The answers of the model to some tasks, for designs that are too large to be simulated."""

    def __init__(self, design: Design, function: str, words: dict[str, Integers], extended: bool) -> None:
        tags = np.zeros(len(next(iter(words.values()))), np.int64)
        status, results = respond(design, function, words, extended)
        asked = requests(design, function, tags, words, extended)
        answered = responses(design, function, tags, status, results, extended)
        self._answers = {
            request.tobytes()[TAG_BYTES:]: answer.tobytes()[TAG_BYTES:]
            for request, answer in zip(asked, answered, strict=True)
        }
        self.request_bytes, self.answer_bytes = asked[0].size, answered[0].size
        identity = design.manifest["identity"]
        self._beat = design.interface.data_width // 8
        self._registers = {0: MAGIC, 4: 1}
        self._registers |= {0x20 + 4 * k: int(identity[8 * k : 8 * k + 8], 16) for k in range(8)}
        self._waiting: list[bytes] = []

    def send(self, packet: bytes) -> None:
        """Take a request; one that is not known is malformed."""
        malformed = packet[TAG_BYTES : TAG_BYTES + 1] + bytes([MALFORMED]) + bytes(self._beat - HEADER_BYTES)
        self._waiting.append(packet[:TAG_BYTES] + self._answers.get(packet[TAG_BYTES:], malformed))

    def receive(self) -> bytes | None:
        """Return the answer to the oldest request."""
        return self._waiting.pop(0) if self._waiting else None

    def read(self, address: int) -> int:
        """Return a register: of those that are constant, and zero for others."""
        return self._registers.get(address, 0)

    def write(self, address: int, word: int) -> None:  # noqa: ARG002 - the one of every block
        """Drop what waits: nothing else is written than a reset."""
        self._waiting.clear()

    def close(self) -> None:
        """End."""
