"""Boards: the device, the clock and the streams of each, and the link to its host.

``generate --board`` takes the options of a build from here, ``synthesize --board`` the module that builds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rbdhw.errors import unknown


@dataclass(frozen=True)
class Link:
    """A link between host and board, alike in both directions.

    Its rate is that of its wires. The time that a host takes for a packet comes on top.
    """

    title: str
    bytes_per_second: float
    overhead: int = 0
    """The bytes that a packet takes beside its own."""
    least: int = 0
    """The fewest bytes of a packet; shorter ones are filled up."""

    def packets_per_second(self, packet_bytes: int) -> float:
        """Return the rate of packets of this length."""
        return self.bytes_per_second / (max(packet_bytes, self.least) + self.overhead)


# Ten bits a byte; two ENDs and two bytes of CRC a frame. Bytes that are escaped take twice as long.
UART = Link("UART, 921,600 bit/s", 92_160.0, overhead=4)
# Preamble 8, Ethernet 14, IP 20, UDP 8, check sum 4, gap 12; two ENDs and two bytes of CRC.
UDP = Link("UDP over Ethernet, 100 Mbit/s", 12.5e6, overhead=70, least=18)
AXI_DMA = Link("AXI DMA to the memory of the processors, 128 bits at 100 MHz", 1.6e9)
# 16 lanes of 8 GT/s with 128b/130b, and packets of 256 bytes with 24 of headers.
PCIE = Link("PCI Express 3.0 x16, XDMA", 16e9 * 128 / 130 * 256 / 280)


# DS987; LiteX has the same name for the KV260 (litex_boards/platforms/xilinx_kv260.py).
_K26 = "xck26-sfvc784-2LV-c"


@dataclass(frozen=True)
class Board:
    """A board, what suits it, and the module of :mod:`rbdhw.boards` that builds for it."""

    description: str
    module: str
    target: str
    data_width: int
    link: Link
    clock_mhz: float | None = None
    """The clock of the cores; None is the default of the target."""
    stream_clock_mhz: float | None = None
    """The clock of the link's streams; None is that of the cores."""
    part: str = ""
    """The device as Vivado names it, of a board with a project around the block with registers."""
    board_part: str = ""
    """A pattern of the names of Vivado's board files."""
    seeded: bool = False
    """Whether placement takes a seed."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of a build that the board sets, by their names in Python."""
        return {
            "target": self.target,
            "clock": self.clock_mhz,
            "stream_clock": self.stream_clock_mhz,
            "tdata": self.data_width,
        }


BOARDS = {
    "ulx3s-85f": Board("ULX3S with ECP5-85F", "ulx3s", "ecp5-85", 32, UART, seeded=True),
    "arty-a7-100t": Board("Arty A7-100T", "arty", "xc7a100t", 32, UDP, 80.0),
    "kv260": Board("Kria KV260", "kria", "xck26", 128, AXI_DMA, 100.0, None, _K26, "xilinx.com:kv260_som:*"),
    "kr260": Board("Kria KR260", "kria", "xck26", 128, AXI_DMA, 100.0, None, _K26, "xilinx.com:kr260_som:*"),
    "vcu118": Board("VCU118", "vcu118_pcie", "xcvu9p", 512, PCIE, 125.0, 250.0, "xcvu9p-flga2104-2L-e"),
    "vcu118-uart": Board("VCU118, to bring it up", "vcu118", "xcvu9p", 32, UART),
}


def board(name: str) -> Board:
    """Return the board with this name; InputError with the list if it is unknown."""
    if name not in BOARDS:
        raise unknown("board", name, sorted(BOARDS))
    return BOARDS[name]
