"""Traffic on the link: the beats and bytes of packets, and the task rate that the link allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rbdhw.header import HEADER_BITS
from rbdhw.model.interface import Interface


@dataclass(frozen=True)
class Traffic:
    """The size of a function's request and response without options, in bytes and in beats of the streams."""

    bytes_in: int
    bytes_out: int
    beats_in: int
    beats_out: int
    streams: int = 1
    """The pairs of streams that carry such packets at once."""

    @property
    def beats(self) -> int:
        """The fewest cycles between tasks that one pair of streams allows."""
        return max(self.beats_in, self.beats_out)

    def cycles(self, ii: int) -> int:
        """Return the fewest cycles between tasks of this function, given the core's initiation interval."""
        return max(ii, self.interval(1.0, None))

    def interval(self, clock_mhz: float, bandwidth: float | None) -> int:
        """Return the fewest cycles between tasks that the link allows.

        The link carries ``bandwidth`` GB/s each way, or as much as the streams if that is None.
        """
        if bandwidth is None:
            return -(-self.beats // self.streams)
        bytes_a_cycle = bandwidth * 1e3 / clock_mhz
        return max(1, math.ceil(max(self.bytes_in, self.bytes_out) / bytes_a_cycle))

    def tasks_per_second(self, clock_mhz: float, bandwidth: float | None) -> float:
        """Return the most tasks per second that the link carries; ``bandwidth`` as in :meth:`interval`."""
        if bandwidth is None:
            return clock_mhz * 1e6 * self.streams / self.beats
        return bandwidth * 1e9 / max(self.bytes_in, self.bytes_out)


def rate_text(rate: float) -> str:
    """Return a rate in tasks per second as text, in millions."""
    return f"{rate / 1e6:.4g} M"


def packet_bytes(interface: Interface, function: str, extended: bool = False) -> tuple[int, int]:
    """Return the bytes of a function's request and of its response, with their headers."""
    widths = interface.request_widths(function, extended), interface.response_widths(function, extended)
    request, response = (math.ceil((HEADER_BITS + sum(bits)) / 8) for bits in widths)
    return request, response


def traffic(interface: Interface) -> dict[str, Traffic]:
    """Return the packets of each function, without options."""
    return {
        function.name: Traffic(
            *packet_bytes(interface, function.name),
            interface.beats(interface.request_widths(function.name)),
            interface.beats(interface.response_widths(function.name)),
            interface.streams,
        )
        for function in interface.computed
    }


def slowest(packets: Mapping[str, Traffic], clock_mhz: float, bandwidth: float | None) -> str:
    """Return the function for which the link allows the lowest task rate."""
    return max(packets, key=lambda function: 1.0 / packets[function].tasks_per_second(clock_mhz, bandwidth))
