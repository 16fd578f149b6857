"""The addresses and bits of the registers, as the hardware and clients in Python know them.

``registers.rdl`` beside this file describes every register and field; a test holds both to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

MAGIC = int.from_bytes(b"RBDH", "little")
MAP_VERSION = 1

ADDRESS_BITS = 12
"""The bits of an address, in bytes."""

IDENTITY_WORDS = 8
"""The registers that hold a design's identity, a SHA-256."""


class Register(IntEnum):
    """The addresses of the registers of 32 bits."""

    MAGIC = 0x000
    MAP_VERSION = 0x004
    STREAMS = 0x008
    FUNCTIONS = 0x00C
    FUNCTIONS_HIGH = 0x010
    INTERVAL = 0x014
    CORE_CLOCK = 0x018
    STREAM_CLOCK = 0x01C
    IDENTITY = 0x020
    CONTROL = 0x040
    STATUS = 0x044
    INTERRUPT_ENABLE = 0x048
    INTERRUPT_STATUS = 0x04C


COUNTERS = (
    "cycles",
    "busy_cycles",
    "requests",
    "answers",
    "outside",
    "overflow",
    "malformed",
    "not_finite",
    "request_beats",
    "answer_beats",
    "request_waits",
    "answer_waits",
)
"""The counters of 64 bits, in the order of their addresses."""

FIRST_COUNTER = 0x080

CONTROL = {"enable": 0, "soft_reset": 1, "clear_counters": 2}
"""The bits of the control register."""

STATUS = {"idle": (0, 1), "resetting": (1, 1), "dropping": (2, 1), "in_flight": (16, 16)}
"""The fields of the status register: lowest bit and width."""

INTERRUPTS = ("answer", "flagged", "idle", "reset_done")
"""The bits of both registers of interrupts."""


def counter_address(name: str) -> int:
    """Return the address of the low word of a counter."""
    return FIRST_COUNTER + 8 * COUNTERS.index(name)


@dataclass(frozen=True)
class Constants:
    """What the registers say of a design."""

    beat_bytes: int
    pairs: int
    """Pairs of streams."""
    singles: bool
    """Whether numbers travel in single precision."""
    codes: tuple[int, ...]
    """The codes of functions and commands."""
    interval: int
    """The initiation interval, in cycles."""
    core_khz: int
    stream_khz: int
    """The clock of streams and registers."""
    identity: str
    """64 hexadecimal digits."""

    @property
    def words(self) -> dict[int, int]:
        """The values of the registers that never change, by their addresses."""
        functions = sum(1 << code for code in self.codes)
        words: dict[int, int] = {
            Register.MAGIC: MAGIC,
            Register.MAP_VERSION: MAP_VERSION,
            Register.STREAMS: self.beat_bytes | self.pairs << 8 | self.singles << 16,
            Register.FUNCTIONS: functions & 0xFFFFFFFF,
            Register.FUNCTIONS_HIGH: functions >> 32,
            Register.INTERVAL: self.interval,
            Register.CORE_CLOCK: self.core_khz,
            Register.STREAM_CLOCK: self.stream_khz,
        }
        digits = (self.identity[8 * k : 8 * k + 8] for k in range(IDENTITY_WORDS))
        return words | {Register.IDENTITY + 4 * k: int(text, 16) for k, text in enumerate(digits)}
