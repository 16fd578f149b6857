"""Requests for a core that takes the numbers of one link after the other: a memory of beats, and readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.header import HEADER, HEADER_BITS, header_fields
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.column_reader import NUMBER_LATENCY, WAITING, ColumnReader, numbers_layout
from rbdhw.rtl.layouts import REQUEST_HEADER, code_in, request_layout
from rbdhw.rtl.serial_layout import Column, Reader, distinct

RECORD = data.StructLayout(
    {name: HEADER[name][1] for name in ("tag", "function", "options")}
    | {"known": 1, "malformed": 1, "not_finite": 1}
)
"""What the edge keeps of a request until it is answered."""


class SerialRequest(wiring.Component):
    """Keeps requests until the core takes them, and reads the numbers of a request link by link.

    Each array of a request has a memory for its beats. A request that is refused leaves a record and nothing
    else. A beat is accepted if there is room for the request, and the last one if there is room for its
    record.
    """

    latency = 1
    """Cycles from the last beat to ``waits``."""

    def __init__(
        self,
        *,
        interface: Interface,
        function: FunctionWords,
        columns: Sequence[Column],  # the arrays of a request
        readers: Sequence[Reader],  # the inputs of a link's step, in the order of `numbers`
    ) -> None:
        self.interface = interface
        self.function = function
        self.columns = columns
        self.readers = readers
        super().__init__(
            {
                "i": In(stream.Signature(request_layout(interface.request_beat))),  # beats of requests
                # What remains of each request, in the cycle of its last beat. It is offered only if it is
                # taken.
                "record": Out(stream.Signature(RECORD)),
                "waits": Out(1),  # whether a request waits for the core
                "first": In(1),  # whether this is the first cycle of a window
                # The request that waits is read from this window on. This is the first cycle of the window,
                # and no other request is read in it.
                "start": In(1),
                # The numbers of a link, from `NUMBER_LATENCY` cycles after the first one of its window until
                # those of the next window follow; zeros if no request was read.
                "numbers": Out(numbers_layout(readers)),
                # A request was read to its end; whether one of its numbers was outside its bounds.
                "checked": Out(1),
                "outside": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        arrival, reading = _Arrival(m, self), _Reading(m, self)
        outside: list[Any] = []
        beats = self.interface.request_beats(self.function, extended=False)
        for column in self.columns:
            m.submodules[f"reader_{column.array}"] = reader = ColumnReader(column=column, beats=beats)
            m.d.comb += [
                reader.write.eq(arrival.taken),
                reader.index.eq(arrival.index),
                reader.beat.eq(self.i.p.data),
                reader.written.eq(arrival.slot),
                reader.read.eq(reading.begins),
                reader.slot.eq(reading.slot),
                reader.following.eq(reading.following),
                reader.link.eq(reading.links[1]),
                reader.active.eq(reading.active[2]),
                *(self.numbers[number.name].eq(reader.numbers[number.name]) for number in column.readers),
            ]
            outside.append(reader.outside)
        held = _count(m, "held", arrival.kept, reading.ends)
        waiting = _count(m, "waiting", arrival.kept, self.start)
        m.d.comb += [arrival.room.eq(held != WAITING), self.waits.eq(waiting != 0)]
        self._report(m, Cat(outside).any(), reading)
        return m

    def _report(self, m: Module, outside: Any, reading: _Reading) -> None:
        """Report the end of a request, and whether a number of any link was outside its bounds."""
        before = Signal()
        m.d.comb += [self.checked.eq(reading.ended[-1]), self.outside.eq(before | outside)]
        with m.If(reading.begun[-1]):
            m.d.sync += before.eq(self.outside & ~self.checked)


class _Arrival:
    """The beats of requests as they come.

    A beat is ``taken``; ``index`` is its number in the packet, and stays one beyond that of the last beat. It
    is ``kept`` if it is the last one of a request that is to be computed. ``slot`` is the place of the
    request in the memories, and ``room``, to be assigned, whether this place is free.
    """

    def __init__(self, m: Module, request: SerialRequest) -> None:
        i, record, function = request.i, request.record, request.function
        last = request.interface.request_beats(function, extended=False) - 1
        self.index = Signal(range(last + 2))
        self.taken, self.kept, self.room = Signal(), Signal(), Signal()
        self.slot = Signal(range(WAITING), name="arriving")
        before, not_finite = Signal(HEADER_BITS, reset_less=True), Signal()
        header = data.View(REQUEST_HEADER, Mux(self.index == 0, i.p.data[:HEADER_BITS], before))
        known = code_in(header) == function.code
        options = header_fields(function.code)["options"]
        m.d.comb += [
            i.ready.eq(self.room & (~i.p.last | record.ready)),
            self.taken.eq(i.valid & i.ready),
            record.valid.eq(self.taken & i.p.last),
            record.p.tag.eq(header.tag),
            record.p.function.eq(header.function),
            record.p.options.eq(header.options),
            record.p.known.eq(known),
            record.p.malformed.eq(
                ~known | (header.options != options) | (header.status != 0) | (self.index != last)
            ),
            record.p.not_finite.eq(not_finite | i.p.not_finite),
            self.kept.eq(record.valid & ~record.p.malformed & ~record.p.not_finite),
        ]
        with m.If(self.taken):
            m.d.sync += [
                before.eq(header.as_value()),
                not_finite.eq(record.p.not_finite & ~i.p.last),
                self.index.eq(Mux(i.p.last, 0, self.index + (self.index != last + 1))),
            ]
        with m.If(self.kept):
            m.d.sync += self.slot.eq(self.slot + 1)


class _Reading:
    """The request that is read, and the link that is read in this window.

    In a cycle a link ``begins`` to be read; it ``ends`` the request if it is the last one. ``following`` is
    the link that begins next, and ``slot`` the place of the request in the memories. ``begun`` and ``ended``
    are the same one cycle later, two cycles later, and so on. ``active`` and ``links`` are whether a link is
    read in this window, and which, from one cycle after the first one of the window on, from two cycles after
    it on, and so on.
    """

    def __init__(self, m: Module, request: SerialRequest) -> None:
        links = len(request.columns[0].words)
        busy, last = Signal(), Signal()
        self.begins, self.ends = Signal(), Signal()
        link, self.following = Signal(range(links)), Signal(range(links))
        self.slot = Signal(range(WAITING), name="reading")
        m.d.comb += [
            self.begins.eq(request.first & (busy | request.start)),
            last.eq(link == links - 1),
            self.ends.eq(self.begins & last),
            self.following.eq(Mux(self.begins, Mux(last, 0, link + 1), link)),
        ]
        m.d.sync += link.eq(self.following)
        with m.If(self.begins):
            m.d.sync += busy.eq(~last)
        with m.If(self.ends):
            m.d.sync += self.slot.eq(self.slot + 1)
        self.begun = _line(m, "begun", self.begins, NUMBER_LATENCY)
        self.ended = _line(m, "ended", self.ends, NUMBER_LATENCY)
        active, current = Signal(name="active_0"), Signal.like(link, name="link_0")
        with m.If(request.first):
            m.d.sync += [active.eq(self.begins), current.eq(link)]
        self.active = [active, *_line(m, "active", active, 2)]
        self.links = [current, *_line(m, "link", current, 1)]


def _count(m: Module, name: str, more: Any, less: Any) -> Signal:
    """Return the number of requests that came without those that left."""
    count = Signal(range(WAITING + 1), name=name)
    m.d.sync += count.eq(count + more - less)
    return count


def _line(m: Module, name: str, value: Any, cycles: int) -> list[Signal]:
    """Return a value one cycle later, two cycles later, and so on."""
    line = [Signal.like(value, name=f"{name}_{k + 1}") for k in range(cycles)]
    m.d.sync += [later.eq(before) for later, before in zip(line, [value, *line], strict=False)]
    return line


def memory_cells(column: Column, fabric: Fabric) -> Cells:
    """Return the memories of beats, and the table of what differs between links."""
    cells = fabric.memory(column.beat, WAITING * column.rows) * column.banks
    for kept in ([column.steps], column.of_links.values()):
        different = [values for values in kept if distinct(values)]
        bits = sum(max(value.bit_length() for value in values) + (min(values) < 0) for values in different)
        if bits:
            cells += fabric.table(bits, len(column.words))
    return cells
