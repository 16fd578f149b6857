"""The frames of the serial line, as written and read by the host."""

import binascii
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.boards.serial_link import END, ESCAPE, FrameDecoder, crc16, encode_frame, exchange

PACKETS = st.binary(min_size=1, max_size=40).map(lambda data: data + bytes(-len(data) % 4))
NOISE = st.binary(max_size=12)


def test_crc_has_the_catalogued_check_value() -> None:
    assert crc16(b"123456789") == 0x29B1


def test_frame_is_the_documented_bytes() -> None:
    crc = binascii.crc_hqx(b"\x01\xc0\xdb\x02", 0xFFFF).to_bytes(2, "big")
    assert not {END, ESCAPE} & set(crc)
    assert encode_frame(b"\x01\xc0\xdb\x02") == b"\xc0\x01\xdb\xdc\xdb\xdd\x02" + crc + b"\xc0"


@pytest.mark.parametrize("size", [0, 3, 5])
def test_packet_of_broken_beats_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"^packet: of {size} bytes; expected whole beats of 4 bytes$"):
        encode_frame(bytes(size))


@given(st.lists(PACKETS, max_size=5), st.integers(1, 7))
def test_packets_come_back_from_pieces_of_any_size(packets: list[bytes], size: int) -> None:
    line = b"".join(map(encode_frame, packets))
    decoder = FrameDecoder()
    pieces = [line[start : start + size] for start in range(0, len(line), size)]
    assert [packet for piece in pieces for packet in decoder.feed(piece)] == packets
    assert decoder.discarded == 0


@given(NOISE, PACKETS)
def test_noise_before_a_packet_is_dropped(noise: bytes, packet: bytes) -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed(noise + encode_frame(packet))) == [packet]
    assert decoder.discarded == sum(1 for frame in noise.split(bytes([END])) if frame)


@given(PACKETS, st.data())
def test_frame_with_a_flipped_bit_is_dropped(packet: bytes, draw: st.DataObject) -> None:
    frame = bytearray(encode_frame(packet))
    frame[draw.draw(st.integers(1, len(frame) - 2))] ^= 1 << draw.draw(st.integers(0, 7))
    decoder = FrameDecoder()
    assert packet not in list(decoder.feed(bytes(frame)))
    assert list(decoder.feed(encode_frame(b"next"))) == [b"next"]


@pytest.mark.parametrize(
    "body",
    [
        b"abcd" + bytes([ESCAPE, 0x41]),
        b"abcd" + bytes([ESCAPE]),
        bytes([ESCAPE]),
        b"abc" + crc16(b"abc").to_bytes(2, "big"),
        crc16(b"").to_bytes(2, "big"),
    ],
    ids=["unknown escape", "escape at the end", "escape alone", "three bytes", "no beat"],
)
def test_malformed_frame_is_dropped(body: bytes) -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed(body + bytes([END]))) == []
    assert decoder.discarded == 1


class Loop:
    """A port whose far end answers every packet with its bytes reversed, after some noise."""

    def __init__(self) -> None:
        self.decoder = FrameDecoder()
        self.line = io.BytesIO()

    def read(self, size: int) -> bytes:
        return self.line.read(size)

    def write(self, data: bytes) -> int:
        answers = [encode_frame(packet[::-1]) for packet in self.decoder.feed(data)]
        self.line = io.BytesIO(b"\x55\xdb" + b"".join(answers))
        return len(data)


class Silence:
    """A port without a far end."""

    def read(self, size: int) -> bytes:  # noqa: ARG002
        return b""

    def write(self, data: bytes) -> int:
        return len(data)


def test_exchange_returns_the_response() -> None:
    assert exchange(Loop(), b"request!") == b"!tseuqer"


def test_exchange_says_when_there_is_no_response() -> None:
    with pytest.raises(TimeoutError, match=r"^no response to a packet of 8 bytes$"):
        exchange(Silence(), b"request!")
