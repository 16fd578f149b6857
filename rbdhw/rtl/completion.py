"""From admitted tasks to response packets, in order, with a place kept for every result."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.protocol import EXTENDED, Status
from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.packet import Edge, Function, beat_layout
from rbdhw.rtl.stream import Serialiser

OVERHEAD = 3
"""Cycles from a result at the core's port to the return of its place, in a packet of one beat."""

SPARE = 2
"""Places beyond those that a steady flow needs, for waits of the output."""


def buffer_depth(latency: int, initiation_interval: int) -> int:
    """Places, a power of two, that let a task start every ``initiation_interval`` cycles.

    ``latency`` counts from the start of a task to the last that the response waits for.
    """
    in_flight = -(-(latency + OVERHEAD) // initiation_interval)
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
    is offered three cycles after a result stands at the port, if the output is free.

    Parameters
    ----------
    edge : Edge
        How packets are laid out.
    function : Function or None
        Whose tasks they are; None for tasks of unknown functions, whose responses are a header.
    latency : int
        Cycles from ``start`` to the cycle in which the result stands at ``result``.
    depth : int
        Tasks that can be admitted and not yet answered, a power of two (:func:`buffer_depth`).

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

    Raises
    ------
    ValueError
        For a negative latency, and a depth that is no power of two.
    """

    def __init__(self, *, edge: Edge, function: Function | None, latency: int, depth: int) -> None:
        if latency < 0:
            raise ValueError(f"latency {latency}: at least 0 was expected")
        if depth < 1 or depth & (depth - 1):
            raise ValueError(f"depth {depth}: a power of two was expected")
        self.edge = edge
        self.function = function
        self.latency = latency
        self.depth = depth
        super().__init__(
            {
                "start": In(1),
                "recorded": In(1),
                "record": In(ADMITTED),
                "result": In(function.result_bits if function else 0),
                "overflow": In(1),
                "available": Out(1),
                "o": Out(stream.Signature(beat_layout(edge.response_beat))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.places = places = Credits(depth=self.depth)
        m.submodules.serialiser = serialiser = Serialiser(edge=self.edge, function=self.function)
        m.submodules.records = records = self._fifo(m, ADMITTED.size, self.recorded, self.record)
        record = data.View(ADMITTED, records.r_data)
        response, ready = serialiser.i, records.r_rdy
        overflow: Any = 0
        if self.function is not None:
            word = Cat(self.result, self.overflow)
            m.submodules.results = results = self._fifo(m, len(word), self._done(m), word)
            overflow, ready = results.r_data[-1], records.r_rdy & results.r_rdy
            m.d.comb += [response.p.words.eq(results.r_data), results.r_en.eq(response.ready)]
        m.d.comb += [
            records.r_en.eq(response.ready),
            response.valid.eq(ready),
            places.take.eq(self.start),
            places.give.eq(response.ready),
            self.available.eq(places.available),
        ]
        m.d.comb += self._response(response.p, record, overflow)
        wiring.connect(m, serialiser.o, wiring.flipped(self.o))
        return m

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

    def _fifo(self, m: Module, width: int, write: Any, word: Any) -> SyncFIFOBuffered:
        """A queue in memory; one more than ``depth`` is its output register."""
        fifo = SyncFIFOBuffered(width=width, depth=self.depth + 1)
        m.d.comb += [fifo.w_en.eq(write), fifo.w_data.eq(word)]
        return fifo

    def _done(self, m: Module) -> Any:
        """``start``, ``latency`` cycles later."""
        if not self.latency:
            return self.start
        flow = Signal(self.latency)
        m.d.sync += flow.eq(Cat(self.start, flow))
        return flow[-1]
