"""What tasks ask of the link: the beats and bytes of their packets, and the pace that these allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rbdhw.interface import Interface
from rbdhw.protocol import HEADER_BITS


@dataclass(frozen=True)
class Traffic:
    """The packets of a function's task without options: bytes, and beats of the streams, in and out."""

    bytes_in: int
    bytes_out: int
    beats_in: int
    beats_out: int

    @property
    def beats(self) -> int:
        """The fewest cycles between tasks that the streams allow."""
        return max(self.beats_in, self.beats_out)

    def cycles(self, ii: int) -> int:
        """The fewest cycles between tasks of an accelerator that starts one every ``ii`` cycles."""
        return max(ii, self.beats)

    def interval(self, clock_mhz: float, bandwidth: float | None) -> int:
        """The fewest cycles between tasks: a link's of ``bandwidth`` GB/s each way, or the streams'."""
        if bandwidth is None:
            return self.beats
        return max(1, math.ceil(max(self.bytes_in, self.bytes_out) / bytes_a_cycle(clock_mhz, bandwidth)))

    def tasks_per_second(self, clock_mhz: float, bandwidth: float | None) -> float:
        """The most tasks that the link carries."""
        if bandwidth is None:
            return clock_mhz * 1e6 / self.beats
        return bandwidth * 1e9 / max(self.bytes_in, self.bytes_out)


def rate_text(rate: float) -> str:
    """Tasks a second in millions."""
    return f"{rate / 1e6:.4g} M"


def bytes_a_cycle(clock_mhz: float, bandwidth: float) -> float:
    """Bytes that a link of ``bandwidth`` GB/s carries in a cycle."""
    return bandwidth * 1e3 / clock_mhz


def traffic(interface: Interface) -> dict[str, Traffic]:
    """Return the packets of each function, without options."""
    found = {}
    for function in interface.codes:
        widths = interface.request_widths(function), interface.response_widths(function)
        octets = [math.ceil((HEADER_BITS + sum(bits)) / 8) for bits in widths]
        found[function] = Traffic(*octets, *(interface.beats(bits) for bits in widths))
    return found


def slowest(packets: dict[str, Traffic], clock_mhz: float, bandwidth: float | None) -> str:
    """The function that asks most of the link."""
    return max(packets, key=lambda function: 1.0 / packets[function].tasks_per_second(clock_mhz, bandwidth))


def link_entry(packets: dict[str, Traffic], clock_mhz: float, bandwidth: float | None) -> dict[str, Any]:
    """What the manifest tells of the link: each function's packets, and the pace of the slowest."""
    function = slowest(packets, clock_mhz, bandwidth)
    return {
        "bandwidth": bandwidth,
        "ii": packets[function].interval(clock_mhz, bandwidth),
        "function": function,
        "functions": {name: vars(own) for name, own in packets.items()},
    }
