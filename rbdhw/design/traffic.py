"""Traffic on the link: the beats and bytes of packets, and the task rate that the link allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdhw.design.packet_entries import LinkEntry, TrafficEntry
from rbdhw.model.interface import Interface
from rbdhw.protocol import HEADER_BITS


@dataclass(frozen=True)
class Traffic:
    """The size of a function's request and response without options, in bytes and in beats of the streams.

    ``streams`` are the pairs of streams that carry such packets at once.
    """

    bytes_in: int
    bytes_out: int
    beats_in: int
    beats_out: int
    streams: int = 1

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
        return max(1, math.ceil(max(self.bytes_in, self.bytes_out) / bytes_a_cycle(clock_mhz, bandwidth)))

    def tasks_per_second(self, clock_mhz: float, bandwidth: float | None) -> float:
        """Return the most tasks per second that the link carries; ``bandwidth`` as in :meth:`interval`."""
        if bandwidth is None:
            return clock_mhz * 1e6 * self.streams / self.beats
        return bandwidth * 1e9 / max(self.bytes_in, self.bytes_out)

    @property
    def entry(self) -> TrafficEntry:
        """The manifest's entry on these packets."""
        return TrafficEntry(
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            beats_in=self.beats_in,
            beats_out=self.beats_out,
        )


def rate_text(rate: float) -> str:
    """Return a rate in tasks per second as text, in millions."""
    return f"{rate / 1e6:.4g} M"


def bytes_a_cycle(clock_mhz: float, bandwidth: float) -> float:
    """Return the bytes that a link of ``bandwidth`` GB/s carries in a cycle."""
    return bandwidth * 1e3 / clock_mhz


def packet_bytes(interface: Interface, function: str, extended: bool = False) -> tuple[int, int]:
    """Return the bytes of a function's request and of its response, with their headers."""
    widths = interface.request_widths(function, extended), interface.response_widths(function, extended)
    request, response = (math.ceil((HEADER_BITS + sum(bits)) / 8) for bits in widths)
    return request, response


def traffic(interface: Interface) -> dict[str, Traffic]:
    """Return the packets of each function, without options."""
    found = {}
    for function in (own.name for own in interface.computed):
        widths = interface.request_widths(function), interface.response_widths(function)
        octets = packet_bytes(interface, function)
        beats = [interface.beats(bits) for bits in widths]
        found[function] = Traffic(octets[0], octets[1], beats[0], beats[1], interface.streams)
    return found


def slowest(packets: dict[str, Traffic], clock_mhz: float, bandwidth: float | None) -> str:
    """Return the function for which the link allows the lowest task rate."""
    return max(packets, key=lambda function: 1.0 / packets[function].tasks_per_second(clock_mhz, bandwidth))


def link_entry(packets: dict[str, Traffic], clock_mhz: float, bandwidth: float | None) -> LinkEntry:
    """Return the manifest's entry on the link: each function's packets, and the interval of the slowest."""
    function = slowest(packets, clock_mhz, bandwidth)
    return LinkEntry(
        bandwidth=bandwidth,
        ii=packets[function].interval(clock_mhz, bandwidth),
        function=function,
        functions={name: own.entry for name, own in packets.items()},
    )
