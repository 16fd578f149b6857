"""The cocotb bench of the shell behind Ethernet: a host at its MII.

``job.json`` has the payloads of datagrams, those that are damaged on the way, and how many answers to expect.
``results.json`` gets the payloads that came back, and what the wire took from the first to the last.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout
from cocotb.utils import get_sim_time

from rbdhw.boards.udp_core import IP_ADDRESS, MAC_ADDRESS, PORT

BOARD, HOST = MAC_ADDRESS.to_bytes(6, "big"), bytes.fromhex("aabbccddeeff")
BOARD_IP, HOST_IP = bytes(map(int, IP_ADDRESS.split("."))), bytes([192, 168, 1, 7])
HOST_PORT = 40_000
GAP = 24
"""The clocks between two frames."""

PREAMBLE = bytes([0x55] * 7 + [0xD5])


def frame(kind: int, payload: bytes) -> bytes:
    """Return a frame from the host, with its check sum."""
    text = BOARD + HOST + struct.pack(">H", kind) + payload.ljust(46, b"\0")
    return text + zlib.crc32(text).to_bytes(4, "little")


def datagram(payload: bytes) -> bytes:
    """Return the frame of a datagram from the host."""
    udp = struct.pack(">HHHH", HOST_PORT, PORT, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + HOST_IP + BOARD_IP
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    checked = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    return frame(0x0800, checked + udp)


class Host:
    """A host, which answers questions for its address and collects payloads."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.sent: Queue[bytes] = Queue()
        self.payloads: list[str] = []
        self.times: list[float] = []
        self.wire = 0

    async def send(self) -> None:
        """Send frames, with the gap between them."""
        clock = self.dut.mii_rx_clk
        while True:
            text = PREAMBLE + await self.sent.get()
            for nibble in (half for byte in text for half in (byte & 15, byte >> 4)):
                await FallingEdge(clock)
                self.dut.mii_rx_dv.value, self.dut.mii_rx_data.value = 1, nibble
            await FallingEdge(clock)
            self.dut.mii_rx_dv.value = 0
            await ClockCycles(clock, GAP)

    async def receive(self) -> None:
        """Receive frames."""
        nibbles: list[int] = []
        idle = GAP
        while True:
            await RisingEdge(self.dut.mii_tx_clk)
            idle += 1
            if self.dut.mii_tx_en.value == 1:
                assert nibbles or idle > GAP
                idle = 0
                nibbles.append(int(self.dut.mii_tx_data.value))
            elif nibbles:
                text = bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))
                nibbles = []
                self.take(text)

    def take(self, text: bytes) -> None:
        assert text.startswith(PREAMBLE)
        body, check = text[8:-4], text[-4:]
        assert zlib.crc32(body).to_bytes(4, "little") == check
        kind = struct.unpack(">H", body[12:14])[0]
        if kind == 0x0806:
            assert body[20:22] == b"\0\1"
            answer = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 2) + HOST + HOST_IP + BOARD + BOARD_IP
            self.sent.put_nowait(frame(0x0806, answer))
            return
        assert (body[:6], body[30:34]) == (HOST, HOST_IP)
        source, target, length, _ = struct.unpack(">HHHH", body[34:42])
        assert (source, target) == (PORT, HOST_PORT)
        self.payloads.append(body[42 : 34 + length].hex())
        self.wire += (len(text) + GAP // 2) * bool(self.times)
        self.times.append(get_sim_time("ns"))


@cocotb.test()
async def run(dut: Any) -> None:
    """Send all datagrams and collect the answers."""
    job = json.loads(Path("job.json").read_text())
    cocotb.start_soon(Clock(dut.clk, 12, unit="ns").start())
    cocotb.start_soon(Clock(dut.mii_rx_clk, 40, unit="ns").start())
    cocotb.start_soon(Clock(dut.mii_tx_clk, 40, unit="ns").start())
    host = Host(dut)
    dut.mii_rx_dv.value = 0
    dut.rst.value = 1
    await ClockCycles(dut.clk, 20)
    dut.rst.value = 0
    cocotb.start_soon(host.send())
    cocotb.start_soon(host.receive())
    for payload, damage in zip(job["payloads"], job["damages"], strict=True):
        text = bytearray(datagram(bytes.fromhex(payload)))
        if damage is not None:
            text[damage % len(text)] ^= 0x10
        host.sent.put_nowait(bytes(text))

    async def wait() -> None:
        while len(host.payloads) < job["answers"]:
            await ClockCycles(dut.clk, 100)

    await with_timeout(cocotb.start_soon(wait()), 20_000, "us")
    await ClockCycles(dut.clk, 3000)
    results = {"payloads": host.payloads, "wire": host.wire, "nanoseconds": host.times[-1] - host.times[0]}
    Path("results.json").write_text(json.dumps(results))
