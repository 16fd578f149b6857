"""Responses of a core that gives one result in each window: results fill lines, which wait to leave."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.header import Status
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.column_reader import WAITING
from rbdhw.rtl.completion import QUEUE, SPARE, Credits
from rbdhw.rtl.layouts import RESPONSE_HEADER, beat_layout
from rbdhw.rtl.packer import Packer
from rbdhw.rtl.serial_layout import Packing, packing
from rbdhw.rtl.serial_request import RECORD
from rbdhw.rtl.shifter import shift_down


def answered(shape: Packing) -> int:
    """Return the cycles from a task's last result at the core's port to the first beat of its response."""
    return Packer.latency + shape.splits_last + QUEUE


def places(
    interface: Interface,
    function: FunctionWords,
    latency: int,  # cycles from a task's start to its last result
    ii: int,  # cycles between tasks of the core
    copies: int,  # the cores whose responses take turns
) -> int:
    """Return the responses for which there is room: as many as tasks are unanswered at the full rate."""
    beats = interface.response_beats(function, extended=False)
    unanswered = latency + answered(packing(interface, function)) + copies * beats
    return -(-unanswered // max(ii, copies * beats)) + SPARE


class SerialResponse(wiring.Component):
    """Answers requests in their order, those that are refused without a result.

    A response is offered when all its results are there, since its header says whether one of them
    overflowed. There is room for the response of every task that starts.
    """

    def __init__(
        self,
        *,
        interface: Interface,
        function: FunctionWords,
        depth: int,  # the responses for which there is room (`places`)
        # The times at which a task could start, from that of a task's start until its first result arrives.
        rounds: int,
    ) -> None:
        self.interface = interface
        self.function = function
        self.depth = depth
        self.rounds = rounds
        self.packing = packing(interface, function)
        super().__init__(
            {
                "record": In(stream.Signature(RECORD)),  # what remains of each request, in order
                # A task was read to its end; whether one of its numbers was outside its bounds.
                "checked": In(1),
                "outside": In(1),
                "room": Out(1),  # whether there is room for the response of a task
                # A task could start in this cycle; one does.
                "phase_zero": In(1),
                "start": In(1),
                # This is the first cycle of a window; that in which a task's first result arrives.
                "first": In(1),
                "begins": In(1),
                # The result of a link, and in the window of the last link whether a value of the task
                # overflowed.
                "result": In(self.packing.width),
                "overflow": In(1),
                # The beats of the responses, not from registers.
                "o": Out(stream.Signature(beat_layout(interface.response_beat))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        shape = self.packing
        m.submodules.packer = packer = Packer(shape=shape)
        m.submodules.places = places = Credits(depth=self.depth)
        lines = self._queue(m, "lines", shape.line, self.depth * shape.lines)
        records = self._queue(m, "records", RECORD.size, self.depth + WAITING)
        outside, overflow = (self._queue(m, name, 1, self.depth) for name in ("outside", "overflow"))
        m.d.comb += [
            packer.valid.eq(self.first & self._arrives(m)),
            packer.result.eq(self.result),
            packer.overflow.eq(self.overflow),
            lines.w_en.eq(packer.full),
            lines.w_data.eq(packer.line),
            overflow.w_en.eq(packer.done),
            overflow.w_data.eq(packer.overflowed),
            outside.w_en.eq(self.checked),
            outside.w_data.eq(self.outside),
            records.w_en.eq(self.record.valid),
            records.w_data.eq(self.record.p),
            self.record.ready.eq(records.w_rdy),
            places.take.eq(self.start),
            self.room.eq(places.available),
        ]
        self._answer(m, lines, records, (outside, overflow), places)
        return m

    def _queue(self, m: Module, name: str, width: int, depth: int) -> SyncFIFOBuffered:
        """Return a queue in memory; its output register holds one entry more than ``depth``."""
        m.submodules[name] = queue = SyncFIFOBuffered(width=width, depth=depth + 1)
        return queue

    def _arrives(self, m: Module) -> Any:
        """Return whether the result at the port is that of a task which started here."""
        started, taking = Signal(self.rounds), Signal()
        with m.If(self.phase_zero):
            m.d.sync += started.eq(Cat(self.start, started))
        arrives = Mux(self.begins, started[-1], taking)
        with m.If(self.first):
            m.d.sync += taking.eq(arrives)
        return arrives

    def _answer(self, m: Module, lines: Any, records: Any, flags: tuple[Any, Any], places: Any) -> None:
        """Offer the beats of the first response, once it is complete."""
        record = data.View(RECORD, records.r_data)
        beats = self.interface.response_beats(self.function, extended=False)
        outside, overflow = flags
        index = Signal(range(beats))
        computed = ~record.malformed & ~record.not_finite
        last = (index == beats - 1) | ~record.known
        moves = self.o.valid & self.o.ready
        ends = moves & last
        of_line = index[: (self.packing.beats_of_line - 1).bit_length()]
        beat = shift_down(m, "beat", lines.r_data, of_line, self.packing.beat, self.packing.beat)
        header = self._header(m, record, outside.r_data & computed, overflow.r_data & computed)
        m.d.comb += [
            self.o.valid.eq(records.r_rdy & (~computed | (overflow.r_rdy & lines.r_rdy))),
            self.o.p.data.eq(Mux(computed, beat, 0) | Mux(index == 0, header, 0)),
            self.o.p.last.eq(last),
            records.r_en.eq(ends),
            outside.r_en.eq(ends & computed),
            overflow.r_en.eq(ends & computed),
            lines.r_en.eq(moves & computed & (last | (of_line == self.packing.beats_of_line - 1))),
            places.give.eq(ends & computed),
        ]
        with m.If(moves):
            m.d.sync += index.eq(Mux(last, 0, index + 1))

    def _header(self, m: Module, record: Any, outside: Any, overflow: Any) -> Any:
        header = Signal(RESPONSE_HEADER)
        m.d.comb += [
            header.tag.eq(record.tag),
            header.function.eq(record.function),
            header.options.eq(record.options),
            header.status[Status.OUTSIDE].eq(outside),
            header.status[Status.OVERFLOW].eq(overflow),
            header.status[Status.MALFORMED].eq(record.malformed),
            header.status[Status.NOT_FINITE].eq(record.not_finite & ~record.malformed),
        ]
        return header.as_value()


def queue_cells(shape: Packing, depth: int, fabric: Fabric) -> Cells:
    """Return the queues of lines, of records and of two flags."""
    lines = fabric.queue(shape.line, depth * shape.lines + 1)
    return lines + fabric.queue(RECORD.size, depth + WAITING) + fabric.queue(1, depth + 1) * 2
