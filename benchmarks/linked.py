"""Accelerators of one function in simulation, and their batches over PCI Express."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.folder import Design, read, write
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode, merge, requests
from rbdhw.model.traffic import packet_bytes
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.pipeline import generate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import bundled
from rbdhw.runtime.cache import user_cache
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance

MOST = 65_536
"""The tasks of the largest batch."""

DESIGNS = 8
"""Designs that are kept at a time."""


@dataclass(frozen=True)
class Link:
    """A link between the host and an accelerator: GB/s each way, and the microseconds of a round trip."""

    bandwidth: float
    round_trip: float

    def microseconds(self, octets: int) -> float:
        """Return the time that bytes take one way, without the round trip."""
        return octets / (1e3 * self.bandwidth)


PCI_EXPRESS = Link(15.75, 1.0)
"""PCI Express 3.0 with 16 lanes of 8 GT/s, of whose 130 bits 128 are data. The round trip is what R.
Neugebauer et al. measured ("Understanding PCIe performance for end host networking", SIGCOMM, 2018)."""


@dataclass(frozen=True)
class Paced:
    """How an accelerator answers tasks of a function that are sent without a pause.

    Parameters
    ----------
    clock_mhz
        The clock for which it is scheduled.
    bytes_in, bytes_out
        The bytes of a request and of a response, with their headers.
    cycles
        For each task, the cycles from the first beat of the first request to the last beat of its response.
    """

    clock_mhz: float
    bytes_in: int
    bytes_out: int
    cycles: NDArray[np.int64]

    def microseconds(self, count: int) -> float:
        """Return the time of a batch, from its first beat in to its last beat out."""
        return float(self.cycles[count - 1]) / self.clock_mhz

    @property
    def cycles_per_task(self) -> float:
        """The cycles between responses once all queues are full."""
        last = len(self.cycles) - 1
        return float(self.cycles[last] - self.cycles[last // 2]) / (last - last // 2)

    def linked_microseconds(self, count: int, link: Link) -> float:
        """Return the time of a batch over a link, from the host's first byte out to its last byte in.

        Requests, tasks and responses follow each other at the pace of the slowest of the three.
        """
        ways = [link.microseconds(octets) for octets in (self.bytes_in, self.bytes_out)]
        paced_by_link = self.microseconds(1) + (count - 1) * max(ways)
        return link.round_trip + sum(ways) + max(self.microseconds(count), paced_by_link)


@lru_cache(maxsize=DESIGNS)
def design_of(name: str, function: str, number: str) -> Design:
    """Return the accelerator of one function of a bundled robot, at the pace of its packets.

    ``number`` is the number format of packets. The target and the error budget are the default ones.
    """
    return generate(bundled()[name], BuildOptions((function,), pacing=Pacing(), number=number))


@lru_cache(maxsize=DESIGNS)
def paced(name: str, function: str, number: str, extended: bool = False) -> Paced:
    """Return how the accelerator of :func:`design_of` answers :data:`MOST` tasks in Verilator."""
    design = design_of(name, function, number)
    bytes_in, bytes_out = packet_bytes(design.interface, function, extended)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        write(design, Path(folder) / "design")
        cycles = answer_cycles(Path(folder) / "design", function, MOST, extended)
    return Paced(float(design.manifest["clock_mhz"]), bytes_in, bytes_out, cycles)


def answer_cycles(folder: Path, function: str, count: int, extended: bool = False) -> NDArray[np.int64]:
    """Return the cycles in which a design in Verilator answers tasks that are sent without a pause.

    They are those of the last beat of each response, counted from the first beat of the first request. Of
    several pairs of streams each is sent all these tasks. The simulator is kept in the user's cache.
    """
    return _exchange(folder, {function: np.arange(count)}, extended)


def answer_cycles_of_mix(folder: Path, mix: Mapping[str, int], count: int) -> NDArray[np.int64]:
    """Return the cycles in which a design answers tasks of a mix, in the order of the responses.

    The tasks of each mix follow each other by function. They are sent without a pause, as those of
    :func:`answer_cycles`.
    """
    order = [name for name, tasks in mix.items() for _ in range(tasks)]
    names = np.array([order[k % len(order)] for k in range(count)])
    return _exchange(folder, {name: np.flatnonzero(names == name) for name in mix})


def _exchange(
    folder: Path, places: Mapping[str, NDArray[np.int64]], extended: bool = False
) -> NDArray[np.int64]:
    """Send the tasks of functions at their places without a pause, and return the cycles of all responses."""
    design = read(folder)
    packets = {}
    for function, tags in places.items():
        arrays = sample(design.robot, design.domain, len(tags), np.random.default_rng(0))
        for name in FUNCTIONS[function].optional_inputs if extended else ():
            arrays[name] = np.zeros((len(tags), design.robot.nv, design.robot.nv))
        words = encode(design, function, arrays, extended)
        packets[function, extended] = requests(design, function, tags, words, extended)
    beats = merge({(name, extended): tags for name, tags in places.items()}, packets)
    sent = [beats] * design.interface.streams
    records = bulk.exchange(bulk.build(folder, user_cache()), sent, Disturbance())
    cycles: NDArray[np.int64] = np.concatenate([record.taken[record.responses.last] for record in records])
    return np.sort(cycles) - int(min(record.sent[0] for record in records))
