"""Drivers for the streams of the board's shell in Amaranth's simulator."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.sim import Simulator, SimulatorContext

from rbdhw.boards.serial_link import END, ESCAPE

Testbench = Callable[[SimulatorContext], Awaitable[None]]


def simulate(component: Any, testbench: Testbench, *background: Testbench) -> None:
    """Run ``testbench`` on ``component`` to its end, with the endless ``background`` testbenches."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    for process in background:
        simulator.add_testbench(process, background=True)
    simulator.run()


def random_packet(rng: random.Random, beats: int) -> bytes:
    """Return a packet of at most ``beats`` beats with many END and ESCAPE bytes."""
    size = 4 * rng.randint(1, beats)
    return bytes(rng.choice([END, ESCAPE, 0xDC, 0xDD, rng.randrange(256)]) for _ in range(size))


def pauses(seed: int | None) -> Callable[[], bool]:
    """Return a random decision whether to wait in a cycle; without a seed it is always False."""
    rng = random.Random(seed)
    return lambda: seed is not None and rng.random() < 0.4


async def put_bytes(context: SimulatorContext, i: Any, line: bytes, seed: int | None = None) -> None:
    """Write ``line`` into a stream of bytes that is always ready."""
    wait = pauses(seed)
    for byte in line:
        while wait():
            await context.tick()
        context.set(i.payload, byte)
        context.set(i.valid, 1)
        await context.tick()
        context.set(i.valid, 0)


async def put_beats(context: SimulatorContext, i: Any, packet: bytes, seed: int | None = None) -> None:
    """Write ``packet`` into a stream of beats."""
    wait = pauses(seed)
    for start in range(0, len(packet), 4):
        while wait():
            await context.tick()
        context.set(i.payload.data, int.from_bytes(packet[start : start + 4], "little"))
        context.set(i.payload.last, start + 4 == len(packet))
        context.set(i.valid, 1)
        await context.tick().until(i.ready)
        context.set(i.valid, 0)


def collect_packets(o: Any, packets: list[bytes], seed: int | None = None) -> Testbench:
    """Return a process that reads a stream of beats into ``packets``."""

    async def read(context: SimulatorContext) -> None:
        wait = pauses(seed)
        packet = b""
        while True:
            context.set(o.ready, not wait())
            _, _, valid, ready, beat, last = await context.tick().sample(
                o.valid, o.ready, o.payload.data, o.payload.last
            )
            if valid and ready:
                packet += beat.to_bytes(4, "little")
                if last:
                    packets.append(packet)
                    packet = b""

    return read


def collect_bytes(o: Any, line: bytearray, seed: int | None = None) -> Testbench:
    """Return a process that reads a stream of bytes into ``line``."""

    async def read(context: SimulatorContext) -> None:
        wait = pauses(seed)
        while True:
            context.set(o.ready, not wait())
            _, _, valid, ready, byte = await context.tick().sample(o.valid, o.ready, o.payload)
            if valid and ready:
                line.append(byte)

    return read
