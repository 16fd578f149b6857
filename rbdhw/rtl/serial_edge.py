"""The edges of an accelerator whose cores take the numbers of their tasks one after the other.

What stands around such a core does not grow with the chain, except for memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.header import HEADER_BITS
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.column_reader import reader_cells
from rbdhw.rtl.layouts import request_layout
from rbdhw.rtl.packer import packer_cells
from rbdhw.rtl.packet_turns import Collector, Distributor
from rbdhw.rtl.ports import connect_ports, conversion_latency
from rbdhw.rtl.serial_core import SerialCore
from rbdhw.rtl.serial_layout import Reader, columns, packing
from rbdhw.rtl.serial_request import RECORD, SerialRequest, memory_cells
from rbdhw.rtl.serial_response import SerialResponse, answered, places, queue_cells

COUNTERS = 4
"""Counters of beats and of links around a memory of requests."""


def serial_packet_latency(interface: Interface, function: FunctionWords, latency: int) -> int:
    """Return the cycles from a request's first beat to its response's last beat, for a task alone.

    As :func:`rbdhw.rtl.shell.packet_latency`; ``latency`` is :meth:`SerialCore.latency`.
    """
    beats = interface.request_beats(function, False) + interface.response_beats(function, False)
    edge = SerialRequest.latency + answered(packing(interface, function)) + Collector.latency
    return beats - 2 + conversion_latency(interface) + edge + latency


class SerialEdge:
    """What stands between a pair of streams and the cores, in a module.

    Requests go to the cores in turn. Each core has a memory of its own for the requests of this pair of
    streams, and one for the responses.
    """

    def __init__(self, m: Module, interface: Interface, cores: Sequence[SerialCore]) -> None:
        self._m = m
        self._interface = interface
        self._cores = cores
        (self._function,) = interface.functions
        self._requests = [self._request(k) for k in range(len(cores))]
        self._responses = [self._response(k) for k in range(len(cores))]
        self.starts = [Signal(name=f"start_{k}") for k in range(len(cores))]
        for k in range(len(cores)):
            self._connect(k)

    def _name(self, name: str, k: int) -> str:
        return f"{name}_{k}" if len(self._cores) > 1 else name

    def _request(self, k: int) -> SerialRequest:
        core = self._cores[k]
        request = SerialRequest(
            interface=self._interface,
            function=self._function,
            columns=columns(core.readers, self._interface, self._function),
            readers=core.readers,
        )
        self._m.submodules[self._name("request", k)] = request
        return request

    def _response(self, k: int) -> SerialResponse:
        core, interface, function = self._cores[k], self._interface, self._function
        depth = places(interface, function, core.latency(function.name), core.ii, len(self._cores))
        response = SerialResponse(interface=interface, function=function, depth=depth, rounds=core.rounds)
        self._m.submodules[self._name("response", k)] = response
        return response

    def _connect(self, k: int) -> None:
        """Connect what is before and behind a core."""
        core, request, response = self._cores[k], self._requests[k], self._responses[k]
        wiring.connect(self._m, request.record, response.record)
        self._m.d.comb += [
            request.first.eq(core.first),
            request.start.eq(self.starts[k]),
            response.checked.eq(request.checked),
            response.outside.eq(request.outside),
            response.phase_zero.eq(core.phase_zero),
            response.start.eq(self.starts[k]),
            response.first.eq(core.first),
            response.begins.eq(core.begins),
            response.result.eq(core.result),
            response.overflow.eq(core.overflow),
        ]

    def offers(self, k: int) -> Any:
        """Return whether a task waits for a core, and there is room for its response."""
        return self._requests[k].waits & self._responses[k].room

    def numbers(self, k: int) -> Any:
        """Return the numbers of the link that enters a core, zeros if it is none of this edge's."""
        return self._requests[k].numbers.as_value()

    def connect_ports(self, accelerator: Any, requests: str, responses: str) -> None:
        """Let packets take turns, and connect the ports of these names."""
        m, interface, copies = self._m, self._interface, len(self._cores)
        layout = request_layout(interface.request_beat)
        m.submodules.distributor = distributor = Distributor(layout=layout, copies=copies)
        m.submodules.collector = collector = Collector(bits=interface.response_beat, copies=copies)
        for k in range(copies):
            wiring.connect(m, distributor.o[k], self._requests[k].i)
            wiring.connect(m, self._responses[k].o, collector.i[k])
        connect_ports(m, accelerator, interface, (requests, responses), distributor.i, collector.o)


def share_core(m: Module, core: SerialCore, index: int, edges: Sequence[SerialEdge]) -> None:
    """Let edges take turns at a core.

    At each time at which a task may start, the first edge that offers one, counted from the turn, has it
    started. The turn then passes to the edge after it.
    """
    offers = [edge.offers(index) for edge in edges]
    turn = Signal(range(len(edges)), name=f"turn_{index}")
    with m.If(core.phase_zero), m.Switch(turn):
        for first in range(len(edges)):
            with m.Case(first):
                _start_one(m, index, edges, offers, turn, [*range(first, len(edges)), *range(first)])
    numbers: Any = 0
    for edge in edges:
        numbers |= edge.numbers(index)
    m.d.comb += core.numbers.eq(numbers)


def _start_one(
    m: Module,
    index: int,
    edges: Sequence[SerialEdge],
    offers: Sequence[Any],
    turn: Signal,
    order: Sequence[int],
) -> None:
    """Start a task of the first edge in an order that offers one."""
    for at, k in enumerate(order):
        with m.If(offers[k]) if at == 0 else m.Elif(offers[k]):
            m.d.comb += edges[k].starts[index].eq(1)
            m.d.sync += turn.eq((k + 1) % len(edges))


def serial_cells(
    interface: Interface,
    readers: Sequence[Reader],  # the numbers of each link
    latency: int,  # cycles from a task's start to its last result
    ii: int,  # its initiation interval
    copies: int,  # the cores whose packets take turns
    fabric: Fabric,
) -> tuple[Cells, Cells]:
    """Return the cells between one pair of streams and one core, and those of the memories among them."""
    (function,) = interface.functions
    counter = interface.request_beats(function, extended=False).bit_length()
    cells = Cells(COUNTERS * counter + RECORD.size, COUNTERS * counter + HEADER_BITS + RECORD.size)
    buffers = Cells()
    for column in columns(readers, interface, function):
        cells += reader_cells(column, fabric)
        buffers += memory_cells(column, fabric)
    shape = packing(interface, function)
    cells += packer_cells(shape, fabric) + Cells(
        fabric.multiplexer(shape.beats_of_line, shape.beat) + shape.beat
    )
    cells += Cells(fabric.multiplexer(copies, shape.beat), (shape.beat + 2) / copies)
    depth = places(interface, function, latency, ii, copies)
    return cells, buffers + queue_cells(shape, depth, fabric)


def shared_number_cells(readers: Sequence[Reader], streams: int, fabric: Fabric) -> Cells:
    """Return what lets several pairs of streams bring the numbers of a core."""
    return Cells(fabric.multiplexer(streams, sum(reader.width for reader in readers)))
