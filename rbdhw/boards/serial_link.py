"""Packets over a serial line, the host's side of the protocol, in plain Python.

A request or response of the accelerator is a packet: a whole number of 32-bit beats, written here as
little-endian bytes. On the line it is sent as a frame: the bytes of the packet, then their CRC-16, then an
END byte. An END or ESCAPE byte inside a frame is escaped by two bytes (SLIP, RFC 1055). A frame may also
begin with END, which terminates any preceding noise; two consecutive ENDs are therefore ignored. The CRC is
CRC-16/IBM-3740 (polynomial 0x1021, initial value 0xFFFF), high byte first. Both sides drop a frame with a
wrong CRC, without any beat, or with an incomplete beat.

The line has no flow control: a board buffers the requests that wait for the accelerator, and drops a request
that does not fit. Keep few requests in flight, or one, as :func:`exchange` does.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Protocol

END = 0xC0
ESCAPE = 0xDB
ESCAPED_END = 0xDC
ESCAPED_ESCAPE = 0xDD

BEAT_BYTES = 4
CRC_BYTES = 2

_ESCAPED = {END: bytes([ESCAPE, ESCAPED_END]), ESCAPE: bytes([ESCAPE, ESCAPED_ESCAPE])}
_UNESCAPED = {ESCAPED_END: END, ESCAPED_ESCAPE: ESCAPE}


class SerialPort(Protocol):
    """An open serial line, such as ``serial.Serial`` of pyserial or a raw terminal file.

    ``read`` returns at most ``size`` bytes, and none after its own time-out.
    """

    def read(self, size: int, /) -> bytes: ...

    def write(self, data: bytes, /) -> int | None: ...


def crc16(data: bytes) -> int:
    """Return the CRC-16/IBM-3740 of ``data``."""
    return binascii.crc_hqx(data, 0xFFFF)


def encode_frame(packet: bytes) -> bytes:
    """Return the frame of ``packet``, with an END before and after it.

    Raises ValueError unless ``packet`` consists of one or more whole beats of four bytes.
    """
    if not packet or len(packet) % BEAT_BYTES:
        raise ValueError(f"packet: of {len(packet)} bytes; expected whole beats of {BEAT_BYTES} bytes")
    body = packet + crc16(packet).to_bytes(CRC_BYTES, "big")
    stuffed = b"".join(_ESCAPED.get(byte, bytes([byte])) for byte in body)
    return bytes([END]) + stuffed + bytes([END])


class FrameDecoder:
    """A decoder of packets from the bytes of a line, which arrive in pieces of any size.

    discarded: the number of dropped frames.
    """

    def __init__(self) -> None:
        self.discarded = 0
        self._body = bytearray()
        self._escaped = False
        self._broken = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode the next bytes of the line; yield each packet that they complete."""
        for byte in data:
            if byte == END:
                packet = self._finish()
                if packet is not None:
                    yield packet
            elif byte == ESCAPE and not self._escaped:
                self._escaped = True
            elif self._escaped:
                self._escaped = False
                self._broken |= byte not in _UNESCAPED
                self._body.append(_UNESCAPED.get(byte, byte))
            else:
                self._body.append(byte)

    def _finish(self) -> bytes | None:
        body, broken = bytes(self._body), self._broken or self._escaped
        self._body.clear()
        self._escaped = self._broken = False
        if not body and not broken:
            return None
        packet, check = body[:-CRC_BYTES], body[-CRC_BYTES:]
        if broken or not packet or len(packet) % BEAT_BYTES or crc16(packet) != int.from_bytes(check, "big"):
            self.discarded += 1
            return None
        return packet


def exchange(port: SerialPort, packet: bytes) -> bytes:
    """Send one request and return its response; both are packets of whole beats.

    Earlier bytes on the line are ignored only if they form no valid frame: with earlier requests in flight,
    their responses come first. Raises TimeoutError if ``port.read`` returns nothing before the response is
    complete.
    """
    decoder = FrameDecoder()
    port.write(encode_frame(packet))
    while True:
        data = port.read(1)
        if not data:
            raise TimeoutError(f"no response to a packet of {len(packet)} bytes")
        for response in decoder.feed(data):
            return response
