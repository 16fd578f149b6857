"""Completion: from admitted tasks to response packets in order, with reserved room for every result."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.header import EXTENDED, Status
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.delay import delayed
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.layouts import beat_layout
from rbdhw.rtl.stream import Serialiser, serialiser_cells

OVERHEAD = 3
"""Cycles from a result at the core's port to the release of its place, for a response of one beat."""

SPARE = 2
"""Places in addition to those of a steady flow, for stalls of the output."""

MANY_BEATS = 8
"""The fewest beats of a response for which a queue of beats pays off."""

QUEUE = 2
"""Latency of an empty queue in cycles."""

RECORDED = CHECKED + QUEUE
"""Cycles from a task's start until its record can be read from the queue of records."""


def streams(interface: Interface, function: FunctionWords, latency: int, initiation_interval: int) -> bool:
    """Return whether responses are queued as beats (deep and narrow) instead of as whole results.

    This requires that a result stays at the core's port until its last beat is taken.
    """
    beats = interface.response_beats(function, extended=True)
    return MANY_BEATS <= beats <= initiation_interval and latency >= RECORDED


def places(interface: Interface, function: FunctionWords, latency: int, initiation_interval: int) -> int:
    """Return the :func:`buffer_depth` for a function's results, which bounds its unanswered tasks.

    The output needs as many cycles as a response has beats. With more places than this pace requires, more
    tasks would wait in the accelerator and block others, at the same throughput.
    """
    cycles = max(latency, RECORDED)
    if streams(interface, function, latency, initiation_interval):
        cycles += interface.response_beats(function, extended=True)
    return buffer_depth(cycles, max(initiation_interval, interface.response_beats(function, extended=False)))


def first_beat(latency: int) -> int:
    """Return the cycles from a task's start to the first beat of its response, without contention.

    ``latency`` is the number of cycles to the result. The response passes through one queue, of results or of
    beats.
    """
    return max(latency, CHECKED) + QUEUE + Serialiser.latency


def buffer_depth(latency: int, pace: int) -> int:
    """Return the number of places, a power of two, with which a task can start every ``pace`` cycles.

    ``latency`` is the number of cycles from a task's start until all parts of its response are ready.
    """
    in_flight = -(-(latency + OVERHEAD) // pace)
    return 1 << (in_flight + SPARE - 1).bit_length()


class Credits(wiring.Component):
    """Counts free places.

    A place that is taken or given counts from the next cycle on. ``available``, a register, states whether
    one is free; the register ``count`` has their number.

    Raises ValueError for a depth below 1.
    """

    def __init__(self, *, depth: int) -> None:
        if depth < 1:
            raise ValueError(f"depth: is {depth}; expected at least 1")
        self.depth = depth
        self.count = Signal(range(depth + 1), name="count", init=depth)
        super().__init__({"take": In(1), "give": In(1), "available": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = self.count
        available = Signal(init=1)
        m.d.comb += self.available.eq(available)
        with m.If(self.take & ~self.give):
            m.d.sync += [count.eq(count - 1), available.eq(count != 1)]
        with m.Elif(self.give & ~self.take):
            m.d.sync += [count.eq(count + 1), available.eq(1)]
        return m


class Completion(wiring.Component):
    """Answers the admitted tasks of one function.

    The input has no back-pressure: a task may be admitted only while ``available`` is 1. With a free output
    the first beat is offered after :func:`first_beat` cycles. Either whole results wait in a queue, or beats
    do.

    Raises ValueError for a negative latency or a depth that is not a power of two.
    """

    def __init__(
        self,
        *,
        interface: Interface,
        # The function; None for tasks of unknown functions, whose response is only a header.
        function: FunctionWords | None,
        latency: int,  # cycles from `start` until the result is valid at `result`
        depth: int,  # the most admitted tasks without an answer, a power of two (`buffer_depth`)
        # Whether beats are queued instead of results. A result must then stay at the port until its last beat
        # is taken.
        streams: bool = False,
    ) -> None:
        if latency < 0:
            raise ValueError(f"latency: is {latency}; expected at least 0")
        if depth < 1 or depth & (depth - 1):
            raise ValueError(f"depth: is {depth}; expected a power of two")
        self.interface = interface
        self.function = function
        self.latency = latency
        self.depth = depth
        self.streams = streams
        super().__init__(
            {
                "admit": In(1),  # a task is admitted
                "start": In(1),  # an admitted task starts in the core
                # The record of each task, once and in order, after its admission.
                "recorded": In(1),
                "record": In(ADMITTED),
                # The packed result, and whether a value overflowed.
                "result": In(function.result_bits if function else 0),
                "overflow": In(1),
                "available": Out(1),  # whether a task may be admitted in this cycle
                # The beats of the responses.
                "o": Out(stream.Signature(beat_layout(interface.response_beat))),
                # Whether another response follows without a gap, in the cycle after the last beat of the
                # current one.
                "more": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.places = places = Credits(depth=self.depth)
        m.submodules.serialiser = serialiser = Serialiser(interface=self.interface, function=self.function)
        m.submodules.records = records = self._fifo(m, ADMITTED.size, self.depth, self.recorded, self.record)
        record = data.View(ADMITTED, records.r_data)
        response = serialiser.i
        overflow, ready = (
            self._connect_port(m, response) if self.streams else self._connect_queue(m, response)
        )
        m.d.comb += [
            records.r_en.eq(response.ready),
            response.valid.eq(records.r_rdy & ready),
            places.take.eq(self.admit),
            self.available.eq(places.available),
        ]
        m.d.comb += self._response(response.p, record, overflow)
        if self.streams:
            m.d.comb += places.give.eq(self._queue_beats(m, serialiser.o))
        else:
            m.d.comb += [places.give.eq(response.ready), self.more.eq(response.valid)]
            wiring.connect(m, serialiser.o, wiring.flipped(self.o))
        return m

    def _connect_port(self, m: Module, response: Any) -> tuple[Any, Any]:
        """Connect the result that stays at the port; return its overflow bit and whether it is valid."""
        done = delayed(m, self.start, self.latency)
        busy = Signal()
        with m.If(response.ready):
            m.d.sync += busy.eq(0)
        with m.Elif(done):
            m.d.sync += busy.eq(1)
        m.d.comb += response.p.words.eq(self.result)
        return self.overflow, done | busy

    def _connect_queue(self, m: Module, response: Any) -> tuple[Any, Any]:
        """Connect the first result of a queue; return its overflow bit and whether it is valid."""
        if self.function is None:
            return 0, 1
        word = Cat(self.result, self.overflow)
        done = delayed(m, self.start, self.latency)
        m.submodules.results = results = self._fifo(m, len(word), self.depth, done, word)
        m.d.comb += [response.p.words.eq(results.r_data), results.r_en.eq(response.ready)]
        return results.r_data[-1], results.r_rdy

    def _queue_beats(self, m: Module, beats: Any) -> Any:
        """Queue the beats for the output; return whether the last beat of a response leaves in this cycle."""
        assert self.function is not None
        depth = self.depth * self.interface.response_beats(self.function, extended=True)
        beat = beats.p.as_value()
        m.submodules.beats = queue = self._fifo(m, len(beat), depth, beats.valid, beat)
        m.d.comb += [
            beats.ready.eq(1),
            self.o.p.eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
            self.more.eq(queue.level > 1),
        ]
        return queue.r_rdy & self.o.ready & self.o.p.last

    def _response(self, response: Any, record: Any, overflow: Any) -> list[Any]:
        header, status = response.header, response.header.status
        counts = ~record.malformed & ~record.not_finite
        extensible = self.function is not None and self.function.extensible
        return [
            header.tag.eq(record.tag),
            header.function.eq(record.function),
            header.options.eq(record.options),
            status[Status.OUTSIDE].eq(record.outside & counts),
            status[Status.OVERFLOW].eq(overflow & counts),
            status[Status.MALFORMED].eq(record.malformed),
            status[Status.NOT_FINITE].eq(record.not_finite & ~record.malformed),
            response.empty.eq(~counts),
            response.extended.eq(record.options[EXTENDED] if extensible else 0),
        ]

    def _fifo(self, m: Module, width: int, depth: int, write: Any, word: Any) -> SyncFIFOBuffered:
        """Return a queue in memory; its output register holds one entry more than ``depth``."""
        fifo = SyncFIFOBuffered(width=width, depth=depth + 1)
        m.d.comb += [fifo.w_en.eq(write), fifo.w_data.eq(word)]
        return fifo


def completion_cells(
    interface: Interface,
    function: FunctionWords,
    latency: int,  # cycles from a task's words at the core to its results
    ii: int,  # cycles between tasks of the core
    waiting: int,  # the tasks that may wait before the core
    fabric: Fabric,
) -> tuple[Cells, Cells]:
    """Return the cells that answer a function's tasks in one core, and those of their queues."""
    depth = places(interface, function, latency + waiting * ii, ii)
    cells = serialiser_cells(interface, function, fabric) + Cells(
        flip_flops=2 * latency + function.result_bits
    )
    if streams(interface, function, latency, ii):
        beats = interface.response_beats(function, extended=True)
        results = fabric.queue(interface.response_beat + 1, depth * beats)
    else:
        results = fabric.queue(function.result_bits + 1, depth)
    return cells, results + fabric.queue(ADMITTED.size, depth)
