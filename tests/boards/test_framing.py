"""Deframer and framer in the simulator, compared with the host's model of the frames."""

import random
from collections.abc import Iterable

import pytest
from amaranth.sim import SimulatorContext

from rbdhw.boards.framing import Deframer, Framer
from rbdhw.boards.serial_link import END, ESCAPE, FrameDecoder, crc16, encode_frame
from tests.support.board_simulation import (
    collect_bytes,
    collect_packets,
    put_beats,
    put_bytes,
    random_packet,
    simulate,
)
from tests.support.marks import long


def deframe(line: bytes, *, depth: int = 64, seed: int | None = None) -> tuple[list[bytes], int]:
    """Return the packets from a Deframer for the bytes of ``line``, and the number of dropped frames.

    With a ``seed``, bytes arrive and beats are accepted in random cycles, otherwise in every cycle.
    """
    deframer = Deframer(depth=depth)
    packets: list[bytes] = []
    dropped = []

    async def count(context: SimulatorContext) -> None:
        while True:
            dropped.append((await context.tick().sample(deframer.discarded))[-1])

    async def write(context: SimulatorContext) -> None:
        await put_bytes(context, deframer.i, line, seed)
        await context.tick().repeat(8 * depth)

    simulate(deframer, write, collect_packets(deframer.o, packets, seed), count)
    return packets, sum(dropped)


def lines(seed: int) -> Iterable[bytes]:
    """Return valid and invalid frames in random order, with many bytes that need escaping."""
    rng = random.Random(seed)
    for _ in range(40):
        frame = bytearray(encode_frame(random_packet(rng, 6)))
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            frame[rng.randrange(len(frame))] = rng.choice([END, ESCAPE, rng.randrange(256)])
        if rng.random() < 0.1:
            del frame[rng.randrange(len(frame))]
        yield bytes(frame)


@pytest.mark.parametrize("seed", [1, *(long(seed) for seed in (2, 3))])
def test_deframer_equals_the_host(seed: int) -> None:
    line = b"".join(lines(seed))
    model = FrameDecoder()
    packets = list(model.feed(line))
    # Of the 40 frames about half are unchanged: 14 to 28 arrive and 16 to 36 are dropped, for seeds up to 39.
    assert min(len(packets), model.discarded) > 10
    assert deframe(line, depth=512, seed=seed) == (packets, model.discarded)


@pytest.mark.parametrize(
    "broken",
    [
        bytes([END, ESCAPE, END]),
        encode_frame(b"good")[:-1] + bytes([ESCAPE, END]),
        encode_frame(b"good")[:-1] + bytes([ESCAPE, ESCAPE, END]),
        encode_frame(b"good")[:-1] + bytes([ESCAPE, 0, END]),
        encode_frame(b"good")[:-1] + bytes([0, END]),
        encode_frame(b"good")[:-2] + bytes([END]),
    ],
    ids=["escape alone", "escape last", "escaped escape", "unknown escape", "byte more", "byte fewer"],
)
def test_a_frame_that_ends_wrong_is_dropped_alone(broken: bytes) -> None:
    """Only its end is wrong, and the neighbouring frames are valid."""
    line = encode_frame(b"first ok") + broken + encode_frame(b"then")
    model = FrameDecoder()
    assert list(model.feed(line)) == [b"first ok", b"then"]
    assert model.discarded == 1
    assert deframe(line) == ([b"first ok", b"then"], 1)


def test_deframer_takes_a_byte_every_cycle() -> None:
    packets = [random_packet(random.Random(4), 10) for _ in range(10)]
    assert deframe(b"".join(map(encode_frame, packets))) == (packets, 0)


def test_packet_longer_than_the_buffer_is_dropped_alone() -> None:
    packets = [bytes(4 * 8), bytes(4 * 9), bytes(range(4 * 8))]
    assert deframe(b"".join(map(encode_frame, packets)), depth=8) == ([packets[0], packets[2]], 1)


def test_packet_that_finds_no_room_is_dropped_whole() -> None:
    deframer = Deframer(depth=4)
    first, second, third = bytes(range(12)), bytes(range(16)), bytes(range(4))
    packets: list[bytes] = []

    async def write(context: SimulatorContext) -> None:
        await put_bytes(context, deframer.i, encode_frame(first) + encode_frame(second) + encode_frame(third))
        await collect_packets(deframer.o, packets)(context)

    async def stop(context: SimulatorContext) -> None:
        await context.tick().repeat(200)

    simulate(deframer, stop, write)
    assert packets == [first, third]


def test_packet_that_lost_a_beat_is_dropped_although_its_later_beats_find_room() -> None:
    deframer = Deframer(depth=4)
    first, second, third = bytes(range(12)), bytes(range(20)), bytes(range(4))
    packets: list[bytes] = []
    before = encode_frame(first) + encode_frame(second)[:20]  # the fourth beat finds no room
    after = encode_frame(second)[20:] + encode_frame(third)  # the fifth would

    async def write(context: SimulatorContext) -> None:
        await put_bytes(context, deframer.i, before)
        await context.tick().repeat(10)
        await put_bytes(context, deframer.i, after)

    async def read(context: SimulatorContext) -> None:
        await context.tick().repeat(len(before))
        await collect_packets(deframer.o, packets)(context)

    async def stop(context: SimulatorContext) -> None:
        await context.tick().repeat(200)

    simulate(deframer, stop, write, read)
    assert packets == [first, third]


@pytest.mark.parametrize("depth", [0, 1, 12])
def test_depth_is_a_power_of_two(depth: int) -> None:
    with pytest.raises(ValueError, match=f"^depth: is {depth}; expected a power of two, 2 or more$"):
        Deframer(depth=depth)


@pytest.mark.parametrize("seed", [None, 5])
def test_framer_equals_the_host(seed: int | None) -> None:
    rng = random.Random(6)
    packets = [random_packet(rng, 6) for _ in range(40)]
    assert any({END, ESCAPE} & set(crc16(packet).to_bytes(2, "big")) for packet in packets)
    expected = b"".join(map(encode_frame, packets))
    framer = Framer()
    line = bytearray()

    async def write(context: SimulatorContext) -> None:
        for packet in packets:
            await put_beats(context, framer.i, packet, seed)
        await context.tick().repeat(20)

    simulate(framer, write, collect_bytes(framer.o, line, seed))
    assert bytes(line) == expected
