"""The cells between the cores of an accelerator and its streams: the sum over all edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.model.interface import Interface
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.completion import completion_cells
from rbdhw.rtl.domain_check import domain_check_cells
from rbdhw.rtl.lane import lane_cells, waiting_places
from rbdhw.rtl.merger import merger_cells
from rbdhw.rtl.parameters import parameter_cells
from rbdhw.rtl.ports import port_cells
from rbdhw.rtl.rollout import rollout_cells
from rbdhw.rtl.serial_edge import serial_cells, shared_number_cells
from rbdhw.rtl.serial_layout import Reader
from rbdhw.rtl.stream import assembler_cells, fill_bits

RECORD_CYCLES = 2
"""The number of cycles from a task's start to its record."""


@dataclass(frozen=True)
class CorePort:
    """A core as the edge sees it."""

    # For each of its functions, the cycles from a task's words to its results at the core's port.
    latency: Mapping[str, int]
    ii: int  # its initiation interval
    bits: int  # the bits of a task's words
    # The numbers of each link, if the core takes those of one link after the other.
    readers: tuple[Reader, ...] = ()


def edge_cells(interface: Interface, ports: Sequence[CorePort], fabric: Fabric) -> dict[str, Cells]:
    """Return the cells between the cores and the streams, by the parts ``edge`` and ``buffers``."""
    if all(port.readers for port in ports):
        return _serial_edges(interface, ports, fabric)
    cells, buffers = _pair(interface, ports, fabric)
    cells, buffers = cells * interface.streams, buffers * interface.streams
    for port in ports:
        turns, queue = lane_cells(
            port.bits, len(port.latency), port.ii, len(ports), interface.streams, fabric
        )
        cells, buffers = cells + turns, buffers + queue
    return {"edge": cells, "buffers": buffers}


def _serial_edges(interface: Interface, ports: Sequence[CorePort], fabric: Fabric) -> dict[str, Cells]:
    """Return the cells between cores that take the numbers of one link after the other, and the streams."""
    cells, buffers = Cells(), Cells()
    for port in ports:
        (latency,) = port.latency.values()
        logic, queues = serial_cells(interface, port.readers, latency, port.ii, len(ports), fabric)
        cells += logic * interface.streams + shared_number_cells(port.readers, interface.streams, fabric)
        buffers += queues * interface.streams
    cells += port_cells(interface) * interface.streams
    return {"edge": cells, "buffers": buffers}


def _pair(interface: Interface, ports: Sequence[CorePort], fabric: Fabric) -> tuple[Cells, Cells]:
    """Return the cells of the edge of one pair of streams, and those of its queues."""
    record = Cells(flip_flops=RECORD_CYCLES * (ADMITTED.size + len(interface.functions) + 1))
    cells = assembler_cells(interface, fabric) + domain_check_cells(interface, fabric)
    cells += merger_cells(interface, fabric)
    cells += record + parameter_cells(interface, fabric)
    buffers = Cells()
    for port in ports:
        waiting = waiting_places(len(ports), port.ii, interface.streams)
        for name in port.latency:
            logic, queues = completion_cells(
                interface, interface.words(name), port.latency[name], port.ii, waiting, fabric
            )
            cells, buffers = cells + logic, buffers + queues
        if interface.rollout is not None and interface.step.name in port.latency:
            logic, queues = rollout_cells(
                interface, interface.rollout, port.latency[interface.step.name], port.ii, port.bits, fabric
            )
            cells, buffers = cells + logic, buffers + queues
    for name, copies in Counter(name for port in ports for name in port.latency).items():
        if copies > 1:
            bits = fill_bits(interface, interface.words(name).result_bits)
            cells += Cells(luts=fabric.multiplexer(copies, bits))
    return cells + port_cells(interface), buffers
