"""Boards at the far end of a link of the system's: a terminal, a socket, or the devices of a DMA."""

from __future__ import annotations

import mmap
import os
import random
import select
import socket
import struct
import threading
import time
import tty
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path

from rbdhw.boards.serial_link import CODE_BITS, CODE_MASK, FrameDecoder, encode_frame
from tests.support.answering import Block

SLICES = 10
"""After how many looks at the block without an answer a board rests."""

REST = 0.01
"""Seconds that a board rests unless a request comes."""

REGISTER_BYTES = 4096
CONTROL, STATUS, SOFT_RESET, RESETTING = 0x40, 0x44, 2, 2


class Board(ABC):
    """A thread between a link and a block."""

    transport: str
    """What a user says to reach it."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.is_silent, self._ends = False, False
        self.answers_left = -1
        """How many answers it gives before it dies; a negative number never becomes zero."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @abstractmethod
    def take(self, wait: float) -> list[bytes]:
        """Return requests that came, for which it waits that many seconds at most."""

    @abstractmethod
    def give(self, packet: bytes) -> None:
        """Send an answer."""

    @abstractmethod
    def die(self) -> None:
        """Fail as a device that goes away."""

    def _run(self) -> None:
        quiet = SLICES
        while not self._ends:
            for packet in self.take(REST if quiet == SLICES else 0.0):
                quiet = 0
                if not self.is_silent:
                    self.block.send(packet)
            if quiet < SLICES:
                answer = self.block.receive()
                quiet += answer is None
                if answer is not None:
                    self._give_or_die(answer)

    def _give_or_die(self, packet: bytes) -> None:
        if self.answers_left:
            self.give(packet)
        else:
            self.die()
        self.answers_left -= 1

    def stop(self) -> None:
        """End the thread."""
        self._ends = True
        self._thread.join()

    def close(self) -> None:
        """End the thread and the block."""
        self.stop()
        self.block.close()


class LineBoard(Board):
    """A board whose packets are frames, in which registers are accessed, too."""

    def __init__(self, file: int, block: Block) -> None:
        self._file, self._decoder = file, FrameDecoder()
        super().__init__(block)

    @abstractmethod
    def read(self) -> bytes:
        """Return bytes that came, at least one."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send a frame."""

    def take(self, wait: float) -> list[bytes]:
        """Return requests that came, and answer accesses to registers."""
        packets = []
        while not self._ends and select.select([self._file], [], [], wait)[0]:
            wait = 0.0
            for packet in self._decoder.feed(self.read()):
                if int.from_bytes(packet[:4], "little") & CODE_MASK != CODE_BITS:
                    packets.append(packet)
                elif not self.is_silent:
                    self.write(encode_frame(self._access(packet)))
        return packets

    def give(self, packet: bytes) -> None:
        """Send an answer as a frame."""
        self.write(encode_frame(packet))

    def die(self) -> None:
        """Close the file, whose number is kept, and rest: the file in its place can be read for ever."""
        self._ends = True
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self._file)
        os.close(null)

    def _access(self, packet: bytes) -> bytes:
        """Do an access to a register, and return its answer."""
        address, word = int.from_bytes(packet[4:8], "little"), 0
        if len(packet) == 12:
            self.block.write(address, int.from_bytes(packet[8:], "little"))
        else:
            word = self.block.read(address)
        return packet[:4] + word.to_bytes(4, "little")


class SerialBoard(LineBoard):
    """A board at a pseudo-terminal."""

    def __init__(self, block: Block) -> None:
        host, self._far = os.openpty()
        tty.setraw(self._far)
        self.path = os.ttyname(self._far)
        self.transport = f"serial:{self.path},115200"
        super().__init__(host, block)

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


class UdpBoard(LineBoard):
    """A board behind UDP. Datagrams are lost, doubled, or held back behind later ones: one in ``one_in``."""

    def __init__(self, block: Block, seed: int = 0, longest: int = 1472) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.transport = f"udp:127.0.0.1:{self.port}"
        self.one_in, self.happened = 0, [0, 0, 0]
        self.longest, self.seen = longest, 0
        """The bytes of datagrams at most: of those that are sent, and of those that came."""
        self._random, self._held = random.Random(seed), list[bytes]()
        super().__init__(self._socket.fileno(), block)

    def read(self) -> bytes:
        """Return a datagram that came, with what a fault makes of it."""
        data, self._host = self._socket.recvfrom(1 << 16)
        self.seen = max(self.seen, len(data))
        return b"".join(self._spoil(data))

    def write(self, data: bytes) -> None:
        """Send a frame in as many datagrams as it takes."""
        for start in range(0, len(data), self.longest):
            for each in self._spoil(data[start : start + self.longest]):
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


class MappedFile:
    """A file in memory, as a device that a program maps."""

    def __init__(self, path: Path, size: int = REGISTER_BYTES) -> None:
        path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def __getitem__(self, address: int) -> int:
        return int(struct.unpack_from("<I", self.memory, address)[0])

    def __setitem__(self, address: int, word: int) -> None:
        struct.pack_into("<I", self.memory, address, word)


class MappedBoard(Board):
    """A board whose registers are mapped. It can be opened once: a later reset would seem to end at once."""

    def __init__(self, registers: Path, block: Block) -> None:
        self.registers = MappedFile(registers)
        for address in range(0, CONTROL, 4):
            self.registers[address] = block.read(address)
        self.registers[STATUS] = RESETTING
        super().__init__(block)

    def watch_registers(self) -> None:
        """Reset the block if that is asked for."""
        if self.registers[CONTROL] & SOFT_RESET:
            self.block.write(CONTROL, self.registers[CONTROL])
            while self.block.read(STATUS) & RESETTING:
                pass
            self.registers[CONTROL] = self.block.read(CONTROL)
            self.registers[STATUS] = self.block.read(STATUS)


class XdmaBoard(MappedBoard):
    """The devices of XDMA, as ``fake_aio.c`` uses them: FIFOs of packets, each behind its length."""

    DIES = b"\xff\xff\xff\xff"

    def __init__(self, folder: Path, block: Block) -> None:
        self.path = folder / "xdma0"
        self.transport = f"xdma:{self.path},1"
        names = [f"{self.path}_{name}_1" for name in ("h2c", "c2h")]
        for name in names:
            os.mkfifo(name)
        self._requests, self._answers = (os.open(name, os.O_RDWR) for name in names)
        super().__init__(folder / "xdma0_user", block)

    def take(self, wait: float) -> list[bytes]:
        """Return the request that came."""
        self.watch_registers()
        if not select.select([self._requests], [], [], wait and REST / 10)[0]:
            return []
        size = int.from_bytes(os.read(self._requests, 4), "little")
        packet = b""
        while len(packet) < size:
            packet += os.read(self._requests, size - len(packet))
        return [packet]

    def give(self, packet: bytes) -> None:
        """Send an answer."""
        os.write(self._answers, len(packet).to_bytes(4, "little") + packet)

    def die(self) -> None:
        """End the next transfer with an error."""
        os.write(self._answers, self.DIES)

    def close(self) -> None:
        """End the thread, and the devices."""
        super().close()
        os.close(self._requests)
        os.close(self._answers)


class UioBoard(MappedBoard):
    """The registers of AXI DMA in simple mode (AMD PG021), and its buffer, in files."""

    TO_DEVICE, FROM_DEVICE = 0x00, 0x30
    CONTROL, STATUS, ADDRESS, ADDRESS_HIGH, LENGTH = 0x00, 0x04, 0x18, 0x1C, 0x28
    RESET, IDLE, ERROR = 4, 2, 0x10
    PHYSICAL, SIZE = 0x8_7000_0000, 1 << 16

    def __init__(self, folder: Path, block: Block) -> None:
        self.paths = [folder / name for name in ("uio0", "uio1", "udmabuf0")]
        self.transport = f"uio:{','.join(map(str, self.paths))},{folder}"
        self.dma, self.buffer = MappedFile(self.paths[0]), MappedFile(self.paths[2], self.SIZE)
        (folder / "size").write_text(f"{self.SIZE}\n")
        (folder / "phys_addr").write_text(f"0x{self.PHYSICAL:x}\n")
        self._waiting, self._last = deque[bytes](), 0
        super().__init__(self.paths[1], block)

    def take(self, wait: float) -> list[bytes]:
        """Return the request that came."""
        self.watch_registers()
        until = time.monotonic() + wait / 10
        while True:
            self._move_answer()
            if self.dma[self.CONTROL] & self.RESET:
                for address in reversed(range(0, 0x60, 4)):  # the bit whose end the driver awaits comes last
                    self.dma[address] = 0
            size = self.dma[self.LENGTH]
            if size:
                start = self._offset(self.TO_DEVICE)
                packet = self.buffer.memory[start : start + size]
                self.dma[self.LENGTH] = 0
                self.dma[self.STATUS] = self.IDLE
                return [packet]
            if time.monotonic() >= until:
                return []
            time.sleep(1e-4)

    def _offset(self, direction: int) -> int:
        """Return the offset in the buffer of the address of a transfer."""
        low, high = (self.dma[direction + each] for each in (self.ADDRESS, self.ADDRESS_HIGH))
        return (high << 32 | low) - self.PHYSICAL

    def give(self, packet: bytes) -> None:
        """Send an answer when a transfer waits for it."""
        self._waiting.append(packet)
        self._move_answer()

    def _move_answer(self) -> None:
        status, size = (self.dma[self.FROM_DEVICE + each] for each in (self.STATUS, self.LENGTH))
        # The length that was written last is shorter than any room that the driver gives.
        if not self._waiting or status & (self.IDLE | self.ERROR) or size in (0, self._last):
            return
        packet, start = self._waiting.popleft(), self._offset(self.FROM_DEVICE)
        assert len(packet) <= size
        self.buffer.memory[start : start + len(packet)] = packet
        self.dma[self.FROM_DEVICE + self.LENGTH] = self._last = len(packet)
        self.dma[self.FROM_DEVICE + self.STATUS] = self.IDLE

    def die(self) -> None:
        """Stop with an error."""
        self.dma[self.FROM_DEVICE + self.STATUS] = self.ERROR
