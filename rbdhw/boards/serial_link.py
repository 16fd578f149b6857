"""Packets over a serial line, the host's side of the protocol, in plain Python.

A request or response of the accelerator is a packet: a whole number of 32-bit beats, written here as
little-endian bytes. On the line it is sent as a frame: the bytes of the packet, then their CRC-16, then an
END byte. An END or ESCAPE byte inside a frame is escaped by two bytes (SLIP, RFC 1055). A frame may also
begin with END, which terminates any preceding noise; two consecutive ENDs are therefore ignored. The CRC is
CRC-16/IBM-3740 (polynomial 0x1021, initial value 0xFFFF), high byte first. Both sides drop a frame with a
wrong CRC, without any beat, or with an incomplete beat.

A packet whose function is :data:`REGISTERS` reads or writes a register (``docs/registers.md``). After the
header comes the address and, if :data:`WRITE` is set in the header, the word to write. The answer repeats the
header and has the word that was read or written. An access of another length is answered as malformed, with a
word of zero. Accesses can be repeated where an answer is lost.

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

REGISTERS = 63
"""The code of packets that access registers. No function of an accelerator has it."""

CODE_MASK = 31 << 16 | 1 << 22
CODE_BITS = (REGISTERS & 31) << 16 | (REGISTERS >> 5) << 22
"""The bits of a header that hold the code, and their values in accesses."""

WRITE = 21
"""The bit of a header, the lowest of its options, that is set if the register is written."""

MALFORMED = 26
"""The bit of a header that is set in answers to packets of a wrong length, and of unknown functions."""

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


def read_register(port: SerialPort, address: int, tag: int = 0) -> int:
    """Return a register of the board; no request may be in flight.

    Raises
    ------
    TimeoutError
        As :func:`exchange`.
    ValueError
        If the answer does not belong to this access; a board without registers gives such an answer.
    """
    return _access(port, tag | CODE_BITS, address)


def write_register(port: SerialPort, address: int, word: int, tag: int = 0) -> None:
    """Write a register of the board; otherwise as :func:`read_register`."""
    _access(port, tag | CODE_BITS | 1 << WRITE, address, word)


def _access(port: SerialPort, *beats: int) -> int:
    """Send an access and return the word of its answer."""
    answer = exchange(port, b"".join(beat.to_bytes(BEAT_BYTES, "little") for beat in beats))
    header, word = answer[:BEAT_BYTES], answer[BEAT_BYTES:]
    if int.from_bytes(header, "little") != beats[0] or len(word) != BEAT_BYTES:
        raise ValueError(f"answer {answer.hex()}; expected one to the access of register 0x{beats[1]:03x}")
    return int.from_bytes(word, "little")
