"""From admitted tasks to response packets, in order, with a place kept for every result."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.interface import FunctionWords, Interface
from rbdhw.protocol import EXTENDED, Status
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.domain_check import CHECKED
from rbdhw.rtl.layouts import beat_layout
from rbdhw.rtl.stream import Serialiser

OVERHEAD = 3
"""Cycles from a result at the core's port to the return of its place, in a packet of one beat."""

SPARE = 2
"""Places beyond those that a steady flow needs, for waits of the output."""

MANY_BEATS = 8
"""Beats from which on a response is worth a queue of beats."""

QUEUE = 2
"""Cycles through an empty queue."""

RECORDED = CHECKED + QUEUE
"""Cycles from a task's start to that in which its record can be read, from a queue."""


def streams(interface: Interface, function: FunctionWords, latency: int, initiation_interval: int) -> bool:
    """Whether responses are put into beats as results come, and wait as such: deep and narrow.

    That takes a result that stands until its last beat is taken. Other results wait whole.
    """
    beats = interface.response_beats(function, extended=True)
    return MANY_BEATS <= beats <= initiation_interval and latency >= RECORDED


def places(interface: Interface, function: FunctionWords, latency: int, initiation_interval: int) -> int:
    """The :func:`buffer_depth` of a function's results, which bounds its tasks that are not yet answered.

    The output takes as many cycles as a response has beats. More places than that pace needs would let tasks
    wait in the accelerator, and others behind their responses, without one more answer a second.
    """
    taken = max(latency, RECORDED)
    if streams(interface, function, latency, initiation_interval):
        taken += interface.response_beats(function, extended=True)
    return buffer_depth(taken, max(initiation_interval, interface.response_beats(function, extended=False)))


def first_beat(latency: int) -> int:
    """Cycles from a task's start to its response's first beat, if nothing waits.

    ``latency`` counts the cycles to the result. The response passes one queue: the result's, or else that of
    its beats.
    """
    return max(latency, CHECKED) + QUEUE + Serialiser.latency


def buffer_depth(latency: int, pace: int) -> int:
    """Places, a power of two, that let a task start every ``pace`` cycles.

    ``latency`` counts from the start of a task to the last that the response waits for.
    """
    in_flight = -(-(latency + OVERHEAD) // pace)
    return 1 << (in_flight + SPARE - 1).bit_length()


class Credits(wiring.Component):
    """Counts free places.

    Parameters
    ----------
    depth : int
        Places in all.

    Members
    -------
    take, give : In(1)
        A place is taken, or free again, from the next cycle on.
    available : Out(1)
        Whether there is a free place; a register.

    Raises
    ------
    ValueError
        For a depth below 1.
    """

    def __init__(self, *, depth: int) -> None:
        if depth < 1:
            raise ValueError(f"depth {depth}: at least 1 was expected")
        self.depth = depth
        super().__init__({"take": In(1), "give": In(1), "available": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = Signal(range(self.depth + 1), init=self.depth)
        available = Signal(init=1)
        m.d.comb += self.available.eq(available)
        with m.If(self.take & ~self.give):
            m.d.sync += [count.eq(count - 1), available.eq(count != 1)]
        with m.Elif(self.give & ~self.take):
            m.d.sync += [count.eq(count + 1), available.eq(1)]
        return m


class Completion(wiring.Component):
    """Answers the admitted tasks of one function.

    Nothing is held up on the way in: whoever admits a task looks at ``available`` first. The first beat
    is offered as :func:`first_beat` says, if the output is free. Results wait whole, or
    else in beats.

    Parameters
    ----------
    interface : Interface
        How packets are laid out.
    function : Function or None
        Whose tasks they are; None for tasks of unknown functions, whose responses are a header.
    latency : int
        Cycles from ``start`` to the cycle in which the result stands at ``result``.
    depth : int
        Tasks that can be admitted and not yet answered, a power of two (:func:`buffer_depth`).
    streams : bool
        Whether beats wait instead of results, which then stand until their last beat is taken.

    Members
    -------
    start : In(1)
        A task is admitted.
    recorded, record : In(1), In(ADMITTED)
        Later, once for each task and in order: what is known of it.
    result, overflow : In
        The packed result, and whether a value overflowed.
    available : Out(1)
        Whether a task may be admitted in this cycle.
    o : Out(stream.Signature(beat_layout(edge.response_beat)))
    more : Out(1)
        Whether another response is offered in the cycle after the last beat of the one at ``o`` leaves.

    Raises
    ------
    ValueError
        For a negative latency, and a depth that is no power of two.
    """

    def __init__(
        self,
        *,
        interface: Interface,
        function: FunctionWords | None,
        latency: int,
        depth: int,
        streams: bool = False,
    ) -> None:
        if latency < 0:
            raise ValueError(f"latency {latency}: at least 0 was expected")
        if depth < 1 or depth & (depth - 1):
            raise ValueError(f"depth {depth}: a power of two was expected")
        self.interface = interface
        self.function = function
        self.latency = latency
        self.depth = depth
        self.streams = streams
        super().__init__(
            {
                "start": In(1),
                "recorded": In(1),
                "record": In(ADMITTED),
                "result": In(function.result_bits if function else 0),
                "overflow": In(1),
                "available": Out(1),
                "o": Out(stream.Signature(beat_layout(interface.response_beat))),
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
        overflow, ready = self._standing(m, response) if self.streams else self._waiting(m, response)
        m.d.comb += [
            records.r_en.eq(response.ready),
            response.valid.eq(records.r_rdy & ready),
            places.take.eq(self.start),
            self.available.eq(places.available),
        ]
        m.d.comb += self._response(response.p, record, overflow)
        if self.streams:
            m.d.comb += places.give.eq(self._queue(m, serialiser.o))
        else:
            m.d.comb += [places.give.eq(response.ready), self.more.eq(response.valid)]
            wiring.connect(m, serialiser.o, wiring.flipped(self.o))
        return m

    def _standing(self, m: Module, response: Any) -> tuple[Any, Any]:
        """A result that stands at the port: whether it overflowed, and whether it is there."""
        done, busy = self._done(m), Signal()
        with m.If(response.ready):
            m.d.sync += busy.eq(0)
        with m.Elif(done):
            m.d.sync += busy.eq(1)
        m.d.comb += response.p.words.eq(self.result)
        return self.overflow, done | busy

    def _waiting(self, m: Module, response: Any) -> tuple[Any, Any]:
        """The first of the results in a queue: whether it overflowed, and whether it is there."""
        if self.function is None:
            return 0, 1
        word = Cat(self.result, self.overflow)
        m.submodules.results = results = self._fifo(m, len(word), self.depth, self._done(m), word)
        m.d.comb += [response.p.words.eq(results.r_data), results.r_en.eq(response.ready)]
        return results.r_data[-1], results.r_rdy

    def _queue(self, m: Module, beats: Any) -> Any:
        """Let beats wait for the output; whether the last of a response leaves."""
        assert self.function is not None
        depth = self.depth * self.interface.response_beats(self.function, extended=True)
        beat = beats.p.as_value()
        m.submodules.beats = queue = self._fifo(m, len(beat), depth, beats.valid, beat)
        m.d.comb += [
            beats.ready.eq(1),
            self.o.p.eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
            self.more.eq(queue.r_level > 1),
        ]
        return queue.r_rdy & self.o.ready & self.o.p.last

    def _response(self, response: Any, record: Any, overflow: Any) -> list[Any]:
        """The assignments of a response's header, and of what it carries beside it."""
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
        """A queue in memory; one more than ``depth`` is its output register."""
        fifo = SyncFIFOBuffered(width=width, depth=depth + 1)
        m.d.comb += [fifo.w_en.eq(write), fifo.w_data.eq(word)]
        return fifo

    def _done(self, m: Module) -> Any:
        """``start``, ``latency`` cycles later."""
        if not self.latency:
            return self.start
        flow = Signal(self.latency)
        m.d.sync += flow.eq(Cat(self.start, flow))
        return flow[-1]
