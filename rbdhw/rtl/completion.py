"""From admitted tasks to response packets, in order, with a place kept for every result."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.admission import ADMITTED
from rbdhw.rtl.packet import Status, beat_stream, check_data_width
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
        Whether there is a free place.

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
        m.d.comb += self.available.eq(count != 0)
        with m.If(self.take & ~self.give):
            m.d.sync += count.eq(count - 1)
        with m.Elif(self.give & ~self.take):
            m.d.sync += count.eq(count + 1)
        return m


class Completion(wiring.Component):
    """Answers the admitted tasks of one function.

    Nothing is held up on the way in: whoever admits a task looks at ``available`` first. The first beat
    is offered three cycles after a result stands at the port, if the output is free.

    Parameters
    ----------
    latency : int
        Cycles from ``start`` to the cycle in which the result stands at ``result``.
    bits : int
        Bits of the result; 0 for responses without words, which wait for no result.
    depth : int
        Tasks that can be admitted and not yet answered, a power of two (:func:`buffer_depth`).
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1)
        A task is admitted.
    recorded, record : In(1), In(ADMITTED)
        Later, once for each task and in order: what is known of it.
    result, overflow : In
        The result, and whether a value overflowed.
    available : Out(1)
        Whether a task may be admitted in this cycle.
    o : Out(beat_stream(data_width))

    Raises
    ------
    ValueError
        For a negative latency or number of bits, a depth that is no power of two, and as
        :func:`check_data_width`.
    """

    def __init__(self, *, latency: int, bits: int, depth: int, data_width: int) -> None:
        check_data_width(data_width)
        if latency < 0:
            raise ValueError(f"latency {latency}: at least 0 was expected")
        if bits < 0:
            raise ValueError(f"bits {bits}: at least 0 was expected")
        if depth < 1 or depth & (depth - 1):
            raise ValueError(f"depth {depth}: a power of two was expected")
        self.latency = latency
        self.bits = bits
        self.depth = depth
        self.data_width = data_width
        super().__init__(
            {
                "start": In(1),
                "recorded": In(1),
                "record": In(ADMITTED),
                "result": In(bits),
                "overflow": In(1),
                "available": Out(1),
                "o": Out(beat_stream(data_width)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.places = places = Credits(depth=self.depth)
        m.submodules.serialiser = serialiser = Serialiser(bits=self.bits, data_width=self.data_width)
        m.submodules.records = records = self._fifo(m, ADMITTED.size, self.recorded, self.record)
        record = data.View(ADMITTED, records.r_data)
        response, ready = serialiser.i, records.r_rdy
        overflow: Any = 0
        if self.bits:
            word = Cat(self.result, self.overflow)
            m.submodules.results = results = self._fifo(m, len(word), self._done(m), word)
            overflow, ready = results.r_data[-1], records.r_rdy & results.r_rdy
            m.d.comb += [response.p.words.eq(results.r_data), results.r_en.eq(response.ready)]
        m.d.comb += [
            records.r_en.eq(response.ready),
            response.valid.eq(ready),
            response.p.tag.eq(record.tag),
            response.p.function.eq(record.function),
            response.p.status[Status.OUTSIDE].eq(record.outside & ~record.malformed),
            response.p.status[Status.OVERFLOW].eq(overflow & ~record.malformed),
            response.p.status[Status.MALFORMED].eq(record.malformed),
            places.take.eq(self.start),
            places.give.eq(response.ready),
            self.available.eq(places.available),
        ]
        wiring.connect(m, serialiser.o, wiring.flipped(self.o))
        return m

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
