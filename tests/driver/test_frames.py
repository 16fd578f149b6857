"""The frames of the driver in C, against those of Python, on a line in memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import rbdhw
from rbdhw.boards.serial_link import END, ESCAPE, MALFORMED, WRITE, FrameDecoder, crc16, encode_frame

HERE = Path(__file__).parent
DRIVER = Path(rbdhw.__file__).parent / "driver"

OK, TIMEOUT, DAMAGED, STRANGER = 0, 2, 7, 8
"""Codes of ``rbdhw_transport.h``."""

LONGEST = 16
"""The bytes of the longest packet of the design in ``frames.c``."""

ATTEMPTS = 4

PLAIN, SPECIAL = bytes(range(8)), bytes([END, ESCAPE] * (LONGEST // 2))
ADDRESS, WORD = 0x24, 0xC0DB1234


def framed(body):
    return bytes([END]) + body + bytes([END])


DROPPED = {
    "an escape of what is not escaped": encode_frame(SPECIAL).replace(b"\xdb\xdd", b"\xdb\x00", 1),
    "an escape of an escape": encode_frame(SPECIAL).replace(b"\xdb\xdd", b"\xdb\xdb\xdd", 1),
    "an escape of nothing": encode_frame(PLAIN)[:-1] + bytes([ESCAPE, END]),
    "an escape alone": framed(bytes([ESCAPE])),
    "no check": framed(PLAIN),
    "another byte": encode_frame(PLAIN).replace(b"\3", b"\2"),
    "a beat and a half": framed(PLAIN[:6] + crc16(PLAIN[:6]).to_bytes(2, "big")),
    "no beat": framed(crc16(b"").to_bytes(2, "big")),
    "longer than any packet": encode_frame(bytes(4 * LONGEST)),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return a program with the frames of the driver, under the sanitizers."""
    made = tmp_path_factory.mktemp("frames") / "frames"
    flags = ["-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    sources = [str(HERE / "frames.c"), str(DRIVER / "frames.c"), f"-I{DRIVER}"]
    subprocess.run(["cc", *flags, *sources, "-o", made], check=True)
    return made


def run(program, *words):
    """Return the lines that the program prints; bytes in its command line are in digits."""
    texts = [word.hex() if isinstance(word, bytes) else str(word) for word in words]
    done = subprocess.run([program, *texts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def received(program, *reads, room=LONGEST):
    """Return the packets that come, and the frames that are dropped."""
    *calls, dropped = run(program, "receive", room, *reads)
    packets = []
    for call in calls:
        code, size, digits = call.split()
        came = bytes.fromhex(digits)
        assert int(code) == OK
        assert set(came[int(size) :]) <= {0xEE}
        packets += [came[: int(size)]] if int(size) else []
    return packets, int(dropped)


@pytest.mark.parametrize(
    "packet", [PLAIN, SPECIAL, bytes([END] * LONGEST), bytes(4)], ids=["plain", "both", "ends", "zeros"]
)
def test_packets(program, packet):
    frame = encode_frame(packet)
    assert received(program, frame) == ([packet], 0)
    assert received(program, *(frame[k : k + 1] for k in range(len(frame)))) == ([packet], 0)
    assert run(program, "send", 1000, packet) == ["1", frame.hex()]


@pytest.mark.parametrize("frame", DROPPED.values(), ids=DROPPED)
def test_frames_that_are_dropped(program, frame):
    """They are counted, and the frame behind them comes."""
    decoder, good = FrameDecoder(), encode_frame(PLAIN)
    assert received(program, frame + good) == ([PLAIN], 1)
    assert received(program, good + frame + good) == ([PLAIN] * 2, 1)
    if len(frame) < 4 * LONGEST:
        assert [*decoder.feed(frame + good)] == [PLAIN]
        assert decoder.discarded == 1


def test_a_packet_that_is_longer_than_its_room(program):
    """The rest of it is dropped, and nothing is written behind the room."""
    assert received(program, encode_frame(SPECIAL), room=5) == ([SPECIAL[:5]], 0)


def test_a_line_that_takes_a_few_bytes_at_a_time(program):
    """A packet that is taken is sent once, and the rest of it before the next."""
    first, second, third, line = run(program, "send", 6, SPECIAL, PLAIN, PLAIN)
    assert (int(first), int(second) > 1, int(third) > 1) == (1, True, True)
    assert bytes.fromhex(line) == encode_frame(SPECIAL) + encode_frame(PLAIN)


def header(tag, options=0):
    return tag | 31 << 16 | 1 << 22 | options


def words(*each):
    return encode_frame(b"".join(word.to_bytes(4, "little") for word in each))


@pytest.mark.parametrize(
    ("reads", "code", "attempts"),
    [
        ([words(header(1), WORD)], OK, 1),
        ([b"", words(header(2), WORD)], OK, 2),
        ([b"", words(header(1), 7) + words(header(2), WORD)], OK, 2),  # the first answer was late
        ([words(header(1), 7)[:-1] + b"\0" + words(header(1), WORD)], OK, 1),
        ([words(header(1), 7, 7), words(header(1)), words(header(1), WORD)], OK, 1),
        ([words(header(1, 1 << MALFORMED))], STRANGER, 1),
        ([words(header(2, 1 << MALFORMED)), words(header(1), WORD)], OK, 1),
        ([words(header(1, 1 << MALFORMED), 0), words(header(1), WORD)], OK, 1),  # to a damaged access
        ([words(7, 7)] * 1000, DAMAGED, 1),
        ([], TIMEOUT, ATTEMPTS),
    ],
)
def test_a_register_is_read(program, reads, code, attempts):
    answer, line = run(program, "access", 1000, ADDRESS, "", *reads)
    assert answer == f"{code} {WORD if code == OK else 0}"
    assert bytes.fromhex(line) == b"".join(words(header(1 + k), ADDRESS) for k in range(attempts))


def test_a_register_is_written(program):
    access = header(1, 1 << WRITE)
    answer, line = run(program, "access", 1000, ADDRESS, WORD, words(header(1), 7), words(access, WORD))
    assert answer == f"{OK} {WORD}"
    assert bytes.fromhex(line) == words(access, ADDRESS, WORD)


def test_a_line_that_takes_too_little_for_a_register(program):
    """All attempts are made, and the time is up."""
    answer, line = run(program, "access", 2, ADDRESS, "")
    assert answer == f"{TIMEOUT} 0"
    assert bytes.fromhex(line) == words(header(1), ADDRESS)[: 2 * (ATTEMPTS + 1)]  # and once while it waits
