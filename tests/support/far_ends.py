"""Boards at the far end of a link of the system's: the Verilog behind a terminal or a socket."""

from __future__ import annotations

import ctypes
import os
import random
import select
import socket
import threading
import tty
from abc import ABC, abstractmethod
from pathlib import Path

from rbdhw.boards.serial_link import CODE_BITS, CODE_MASK, FrameDecoder, encode_frame
from rbdhw.driver import simulated

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

SLICE_NS, SLICES = 5_000, 10
"""The simulated time between two looks at the link, and after how many without an answer the board rests."""


class Board(ABC):
    """A thread with an accelerator, and a file from which requests come."""

    transport: str
    """What a user says to reach it."""

    def __init__(self, file: int, folder: Path) -> None:
        self._file = file
        self._simulation = simulated.Simulation(simulated.build(folder))
        self._made = self._simulation.transport()
        self.is_silent, self._ends = False, False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @abstractmethod
    def read(self) -> bytes:
        """Return bytes that came, at least one."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send a frame."""

    def _run(self) -> None:
        decoder, receive = FrameDecoder(), _RECEIVE(self._made.receive)
        room, size = ctypes.create_string_buffer(ANSWER_BYTES), ctypes.c_size_t()
        quiet = SLICES
        while not self._ends:
            if select.select([self._file], [], [], 0.01 if quiet == SLICES else 0.0)[0]:
                quiet = 0
                for packet in decoder.feed(self.read()):
                    self._take(packet)
            if quiet == SLICES:
                continue
            if receive(self._made.self, room, ANSWER_BYTES, ctypes.byref(size), SLICE_NS):
                quiet += 1
            else:
                self.write(encode_frame(room.raw[: size.value]))

    def _take(self, packet: bytes) -> None:
        """Take a request, or answer an access to a register."""
        if self.is_silent:
            return
        if int.from_bytes(packet[:4], "little") & CODE_MASK == CODE_BITS:
            self.write(encode_frame(self._access(packet)))
        else:
            assert _SEND(self._made.send)(self._made.self, packet, len(packet)) == 0

    def _access(self, packet: bytes) -> bytes:
        """Do an access to a register, and return its answer."""
        address, word = int.from_bytes(packet[4:8], "little"), ctypes.c_uint32()
        if len(packet) == 12:
            _WRITE(self._made.write)(self._made.self, address, int.from_bytes(packet[8:], "little"))
        else:
            _READ(self._made.read)(self._made.self, address, ctypes.byref(word))
        return packet[:4] + word.value.to_bytes(4, "little")

    def close(self) -> None:
        """End the thread."""
        self._ends = True
        self._thread.join()
        self._simulation.close()


class SerialBoard(Board):
    """A board at a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        host, self._far = os.openpty()
        tty.setraw(self._far)
        self.path = os.ttyname(self._far)
        self.transport = f"serial:{self.path},115200"
        super().__init__(host, folder)

    def read(self) -> bytes:
        """Return bytes that came."""
        return os.read(self._file, 4096)

    def write(self, data: bytes) -> None:
        """Send a frame."""
        os.write(self._file, data)

    def close(self) -> None:
        """End the thread, and the terminal."""
        super().close()
        os.close(self._file)
        os.close(self._far)


class UdpBoard(Board):
    """A board behind UDP. Datagrams are lost, doubled, or held back behind later ones: one in ``one_in``."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.transport = f"udp:127.0.0.1:{self._socket.getsockname()[1]}"
        self.one_in, self.happened = 0, [0, 0, 0]
        self._random, self._held = random.Random(seed), list[bytes]()
        super().__init__(self._socket.fileno(), folder)

    def read(self) -> bytes:
        """Return a datagram that came, with what a fault makes of it."""
        data, self._host = self._socket.recvfrom(4096)
        return b"".join(self._spoil(data))

    def write(self, data: bytes) -> None:
        """Send a frame as a datagram."""
        for each in self._spoil(data):
            self._socket.sendto(each, self._host)

    def _spoil(self, data: bytes) -> list[bytes]:
        """Return the datagrams that come instead of one."""
        if not self.one_in or self._random.randrange(self.one_in):
            late, self._held = self._held, []
            return [data, *late]
        fault = self._random.randrange(3)
        self.happened[fault] += 1
        if fault == 2:
            self._held.append(data)
        return [[], [data, data], []][fault]

    def close(self) -> None:
        """End the thread, and the socket."""
        super().close()
        self._socket.close()
