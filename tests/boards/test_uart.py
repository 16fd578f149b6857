"""Serial ports and the shell in the simulator: bits on the line, compared with the host's model."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import Component, In, Out
from amaranth.sim import SimulatorContext

from rbdhw.boards.framing import BEAT
from rbdhw.boards.serial_link import FrameDecoder, encode_frame
from rbdhw.boards.shell import UartShell
from rbdhw.boards.uart import UartReceiver, UartTransmitter, bit_cycles
from rbdhw.errors import InputError
from tests.support.board_simulation import Testbench, random_packet, simulate
from tests.support.marks import long


class Echo(Component):
    """An accelerator that answers each request with its own beats, inverted."""

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(BEAT)), "o": Out(stream.Signature(BEAT))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        m.submodules.fifo = fifo = SyncFIFOBuffered(width=33, depth=16)
        m.d.comb += [
            fifo.w_data.eq(~self.i.payload.as_value() ^ (1 << 32)),
            fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(fifo.w_rdy),
            self.o.payload.as_value().eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready),
        ]
        return m


def levels(line: Iterable[int], stop: int = 1) -> Iterator[int]:
    """Return the levels of the line for some bytes, bit by bit."""
    for byte in line:
        yield 0
        yield from (byte >> bit & 1 for bit in range(8))
        yield stop


async def put_levels(context: SimulatorContext, rx: Any, bits: Iterable[int], cycles: float) -> None:
    """Hold each bit on the line for ``cycles`` cycles, on average if the number is not whole."""
    passed = 0.0
    for bit in bits:
        context.set(rx, bit)
        whole = round(passed + cycles) - round(passed)
        passed += cycles
        await context.tick().repeat(whole)
    context.set(rx, 1)


def read_line(tx: Any, line: bytearray, divisor: int) -> Testbench:
    """Return a process that reads the bytes on a line and checks the timing of each."""

    async def read(context: SimulatorContext) -> None:
        while True:
            while (await context.tick().sample(tx))[-1]:
                pass
            samples = [(await context.tick().sample(tx))[-1] for _ in range(10 * divisor - divisor // 2)]
            bits = samples[divisor + divisor // 2 - 1 :: divisor]
            assert bits[8] == 1, "stop bit"
            line.append(sum(bit << position for position, bit in enumerate(bits[:8])))

    return read


def receive(bits: Iterable[int], *, divisor: int, cycles: float) -> bytes:
    """Return the bytes that a receiver reads from ``bits``."""
    receiver = UartReceiver(divisor=divisor)
    line = bytearray()

    async def write(context: SimulatorContext) -> None:
        await context.tick().repeat(3)
        await put_levels(context, receiver.rx, bits, cycles)
        await context.tick().repeat(2 * divisor)

    async def read(context: SimulatorContext) -> None:
        while True:
            _, _, valid, byte = await context.tick().sample(receiver.o.valid, receiver.o.payload)
            if valid:
                line.append(byte)

    simulate(receiver, write, read)
    return bytes(line)


@pytest.mark.parametrize("error", [-0.03, 0.03])
def test_receiver_bears_a_rate_three_percent_off(error: float) -> None:
    expected = bytes([0x00, 0xFF, 0x55, 0xAA, 0xC0]) + random.Random(1).randbytes(6)
    assert receive(levels(expected), divisor=27, cycles=27 * (1 + error)) == expected


def test_receiver_drops_a_byte_without_a_stop_bit() -> None:
    bits = [*levels(b"\x81", stop=0), 1, 1, *levels(b"\x42")]
    assert receive(bits, divisor=16, cycles=16) == b"\x42"


def test_receiver_ignores_a_spike() -> None:
    assert receive([0, 1] * 3, divisor=16, cycles=4) == b""


@pytest.mark.parametrize("divisor", [8, long(54)])
def test_transmitter_sends_the_bytes_without_gaps(divisor: int) -> None:
    transmitter = UartTransmitter(divisor=divisor)
    expected = bytes([0x00, 0xFF, 0x01, 0x80]) + random.Random(2).randbytes(6)
    line = bytearray()

    async def write(context: SimulatorContext) -> None:
        assert context.get(transmitter.tx) == 1
        context.set(transmitter.i.valid, 1)
        for byte in expected:
            context.set(transmitter.i.payload, byte)
            await context.tick().until(transmitter.i.ready)
        context.set(transmitter.i.valid, 0)
        await context.tick().repeat(10 * divisor)

    simulate(transmitter, write, read_line(transmitter.tx, line, divisor))
    assert bytes(line) == expected


def talk(line: bytes, *, divisor: int, bytes_after: int) -> tuple[bytes, int]:
    """Return the response of the shell around :class:`Echo` to ``line``, and the number of dropped frames."""
    shell = UartShell(Echo(), divisor=divisor, depth=64)
    answer = bytearray()
    dropped = []

    async def write(context: SimulatorContext) -> None:
        await put_levels(context, shell.rx, levels(line), divisor)
        await context.tick().repeat(10 * divisor * bytes_after)

    async def count(context: SimulatorContext) -> None:
        while True:
            dropped.append((await context.tick().sample(shell.discarded))[-1])

    simulate(shell, write, read_line(shell.tx, answer, divisor), count)
    return bytes(answer), sum(dropped)


def test_shell_answers_as_the_host_expects_through_noise() -> None:
    rng = random.Random(3)
    packets = [random_packet(rng, 4) for _ in range(4)]
    broken = bytearray(encode_frame(b"four"))
    broken[2] ^= 0x10
    line = b"\x13\xc0\xdb\x37 noise" + b"".join(map(encode_frame, packets)) + bytes(broken)
    model = FrameDecoder()
    assert list(model.feed(line)) == packets
    answer, dropped = talk(line, divisor=8, bytes_after=44)
    assert answer == b"".join(encode_frame(bytes(~byte & 0xFF for byte in packet)) for packet in packets)
    assert dropped == model.discarded == 3


@pytest.mark.parametrize(("clock_hz", "cycles"), [(25e6, 27), (50e6, 54), (125e6, 136)])
def test_bit_cycles_is_the_nearest_number(clock_hz: float, cycles: int) -> None:
    assert bit_cycles(clock_hz) == cycles


@pytest.mark.parametrize(("clock_hz", "megahertz"), [(5e6, "5"), (23e6, "23")])
def test_clock_too_slow_for_the_line_is_refused(clock_hz: float, megahertz: str) -> None:
    with pytest.raises(
        InputError,
        match=rf"^clock: {megahertz} MHz is too slow for a serial line of 921600 bits a second; "
        r"expected at least 23\.04 MHz$",
    ):
        bit_cycles(clock_hz)


@pytest.mark.parametrize("component", [UartReceiver, UartTransmitter])
def test_divisor_is_large_enough(component: type) -> None:
    with pytest.raises(ValueError, match=r"^divisor: is 7; expected 8 or more$"):
        component(divisor=7)
