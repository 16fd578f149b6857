# amaranth: UnusedElaboratable=no
# ruff: noqa: ERA001 (the line above is for Amaranth)
"""Register accesses among packets: the bridge with the registers behind it, and the client in Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, connect, flipped
from amaranth.sim import SimulatorContext

from rbdhw.boards.framing import BEAT
from rbdhw.boards.register_bridge import RegisterBridge
from rbdhw.boards.serial_link import (
    CODE_BITS,
    MALFORMED,
    REGISTERS,
    WRITE,
    FrameDecoder,
    encode_frame,
    read_register,
    write_register,
)
from rbdhw.protocol import CODES
from rbdhw.registers.map import MAGIC, Constants, Register
from rbdhw.rtl.registers import AXI4_LITE, Registers
from tests.support.board_simulation import collect_packets, put_beats, simulate
from tests.support.marks import long

CONSTANTS = Constants(4, 1, False, (0,), 1, 50_000, 50_000, "0123456789abcdef" * 4)


class Bench(Component):
    """The bridge with registers, and packets that come back as they are."""

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(BEAT)), "o": Out(stream.Signature(BEAT))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bridge = bridge = RegisterBridge()
        m.submodules.registers = registers = Registers(constants=CONSTANTS)
        for port, member in AXI4_LITE.items():
            here, there = getattr(bridge, port), getattr(registers, port)
            m.d.comb += there.eq(here) if member.flow == In else here.eq(there)
        connect(m, flipped(self.i), bridge.i)
        connect(m, bridge.o, flipped(self.o))
        connect(m, bridge.requests, bridge.answers)
        return m


def packet(*beats: int) -> bytes:
    return b"".join(beat.to_bytes(4, "little") for beat in beats)


def access(tag: int, address: int, word: int | None = None) -> bytes:
    """Return the packet that reads or writes a register."""
    header = tag | CODE_BITS
    return packet(header, address) if word is None else packet(header | 1 << WRITE, address, word)


def test_no_function_has_the_code() -> None:
    assert REGISTERS not in CODES.values()


@pytest.mark.parametrize("seed", [None, long(1), long(2), long(3)])
def test_registers_are_read_and_written_among_other_packets(seed: int | None) -> None:
    bench, received = Bench(), list[bytes]()
    rng = random.Random(seed)
    sent, expected = [], []
    enabled = 0
    for tag in range(60):
        match rng.randrange(5):
            case 0:
                sent.append(access(tag, Register.MAGIC))
                expected.append(packet(tag | CODE_BITS, MAGIC))
            case 1:
                enabled = rng.getrandbits(4)
                sent.append(access(tag, Register.INTERRUPT_ENABLE, enabled))
                expected.append(packet(tag | CODE_BITS | 1 << WRITE, enabled))
            case 2:
                sent.append(access(tag, Register.INTERRUPT_ENABLE))
                expected.append(packet(tag | CODE_BITS, enabled))
            case 3:
                beats = [tag | CODE_BITS | rng.getrandbits(1) << WRITE]
                whole = 3 if beats[0] >> WRITE & 1 else 2
                beats += [Register.INTERRUPT_ENABLE] * (rng.choice([1, 2, 3, 4, 5]) - 1)
                if len(beats) == whole:
                    beats.append(0)
                sent.append(packet(*beats))
                expected.append(packet(beats[0] | 1 << MALFORMED, 0))
            case _:
                beats = [tag | 5 << 16, *(CODE_BITS for _ in range(rng.randrange(6)))]
                sent.append(packet(*beats))
                expected.append(sent[-1])

    async def send(ctx: SimulatorContext) -> None:
        for packet in sent:
            await put_beats(ctx, bench.i, packet, seed)
        for _ in range(400):
            await ctx.tick()

    simulate(bench, send, collect_packets(bench.o, received, seed))
    assert sorted(received) == sorted(expected)
    ours = [packet for packet in received if int.from_bytes(packet[:4], "little") & CODE_BITS == CODE_BITS]
    assert ours == [
        packet for packet in expected if int.from_bytes(packet[:4], "little") & CODE_BITS == CODE_BITS
    ]


class Line:
    """A line to a board whose answers are known."""

    def __init__(self, *answers: bytes) -> None:
        self.written = b""
        self._bytes = b"".join(map(encode_frame, answers))

    def read(self, size: int) -> bytes:
        taken, self._bytes = self._bytes[:size], self._bytes[size:]
        return taken

    def write(self, data: bytes) -> int:
        self.written += data
        return len(data)

    def packets(self) -> Iterator[bytes]:
        return FrameDecoder().feed(self.written)


def test_client_reads_and_writes() -> None:
    line: Any = Line(packet(7 | CODE_BITS, MAGIC), packet(8 | CODE_BITS | 1 << WRITE, 5))
    assert read_register(line, Register.MAGIC, tag=7) == MAGIC
    write_register(line, Register.CONTROL, 5, tag=8)
    assert list(line.packets()) == [access(7, Register.MAGIC), access(8, Register.CONTROL, 5)]


def test_board_without_registers_is_told() -> None:
    """It answers as to an unknown function."""
    with pytest.raises(ValueError, match=r"^answer 00005f04; expected one to the access of register 0x000$"):
        read_register(Line(packet(CODE_BITS | 1 << MALFORMED)), Register.MAGIC)


def test_silent_board_is_told() -> None:
    with pytest.raises(TimeoutError):
        read_register(Line(), Register.MAGIC)
