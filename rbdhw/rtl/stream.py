"""Assembly of tasks from beats, and of beats from responses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.header import HEADER_BITS, header_fields
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.layouts import (
    REQUEST_HEADER,
    beat_layout,
    code_in,
    request_layout,
    response_layout,
    task_layout,
)

WIDEST = 1 << 15
"""The bits of the widest single register; Amaranth supports some more."""


def registers(name: str, bits: int) -> Any:
    """Return registers of this many bits, which are never reset, as one value."""
    parts = [min(WIDEST, bits - first) for first in range(0, bits, WIDEST)]
    signals = [
        Signal(part, name=f"{name}_{k}" if k else name, reset_less=True) for k, part in enumerate(parts)
    ]
    return Cat(signals) if signals[1:] else signals[0]


class Assembler(wiring.Component):
    """Assembles the beats of a packet into a task.

    A task is offered one cycle after its last beat. While it waits, the beats of the next packet are accepted
    except for the last, which is accepted once the task has left, or in the cycle in which it leaves provided
    that a task of any function would (``leaves``). Packets of one beat therefore pass at one per cycle. A
    packet that is too long is accepted to its end.
    """

    latency = 1
    """Cycles from the last beat to the task."""

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        self.last_beats = {
            (function.name, extended): interface.request_beats(function, extended) - 1
            for function, extended in interface.modes()
        }
        self.layout = task_layout(interface)
        super().__init__(
            {
                "i": In(stream.Signature(request_layout(interface.request_beat))),  # beats of requests
                "o": Out(stream.Signature(self.layout)),
                # Whether a task of any function at the output would be accepted in this cycle. It is valid
                # earlier than `o.ready`, which may be 1 while `leaves` is 0.
                "leaves": In(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        width = self.interface.request_beat
        most = max(self.last_beats.values()) + 1
        index = Signal(range(most + 1))
        not_finite = Signal()
        held = [Signal(width, name=f"held_{k}", reset_less=True) for k in range(max(1, most - 1))]
        task = data.View(self.layout, registers("task", self.layout.size))
        free = ~self.o.valid | self.leaves
        m.d.comb += [self.i.ready.eq(~self.i.p.last | free), self.o.p.eq(task)]
        # These many registers load even where no beat is valid, to keep the logic of their enables short.
        for k, beat in enumerate(held):
            with m.If(index == k):
                m.d.sync += beat.eq(self.i.p.data)
        with m.If(free):
            m.d.sync += self._assign_task(task, index, held)
            m.d.sync += task.not_finite.eq(not_finite | self.i.p.not_finite)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += not_finite.eq((not_finite | self.i.p.not_finite) & ~self.i.p.last)
            with m.If(self.i.p.last):
                m.d.sync += [index.eq(0), self.o.valid.eq(1)]
            with m.Elif(index != most):
                m.d.sync += index.eq(index + 1)
        return m

    def _assign_task(self, task: Any, index: Any, held: list[Any]) -> list[Any]:
        """Return the assignments of a task from the stored beats and the last one, number ``index``."""
        now = self.i.p.data
        first = Mux(index == 0, now[:HEADER_BITS], held[0][:HEADER_BITS])
        header = data.View(REQUEST_HEADER, first)
        functions = self.interface.functions
        known = Cat(code_in(header) == function.code for function in functions)
        fits = Cat(self._fits(function, header.options, index) for function in functions)
        packet = Cat(self._beat(k, index, held) for k in range(max(self.last_beats.values()) + 1))
        unknown = header.status >= self.interface.parameter_sets
        sets = [task.set.eq(Mux(unknown, 0, header.status))] if self.interface.parameter_sets > 1 else []
        return [
            *sets,
            task.tag.eq(header.tag),
            task.function.eq(header.function),
            task.options.eq(header.options),
            task.select.eq(Cat(known, ~known.any())),
            task.malformed.eq(~(known & fits).any() | unknown),
            task.words.eq(packet[self.interface.request_field :]),
        ]

    def _fits(self, function: FunctionWords, options: Any, index: Any) -> Any:
        """Return whether the function permits these options and the packet has the length that they imply."""
        allowed = (False, True)[: 1 + function.extensible]
        return Cat(
            (options == header_fields(function.code, extended)["options"])
            & (index == self.last_beats[function.name, extended])
            for extended in allowed
        ).any()

    def _beat(self, k: int, index: Any, held: list[Any]) -> Any:
        """Return beat ``k`` of a complete packet: the input where a packet may end there, else as stored."""
        if k == max(self.last_beats.values()):
            return self.i.p.data
        return Mux(index == k, self.i.p.data, held[k]) if k in self.last_beats.values() else held[k]


class Serialiser(wiring.Component):
    """Splits a response into beats; the first is offered one cycle later.

    The response must stay at the input until its last beat is in the output register.

    Responses of no ``function`` have no words.
    """

    latency = 1
    """Cycles from the response to its first beat."""

    def __init__(self, *, interface: Interface, function: FunctionWords | None) -> None:
        self.interface = interface
        self.function = function
        self.bits = function.result_bits if function else 0
        super().__init__(
            {
                "i": In(stream.Signature(response_layout(self.bits))),
                "o": Out(stream.Signature(beat_layout(interface.response_beat))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beats = [
            self.interface.response_beats(self.function, x) if self.function else 1 for x in (False, True)
        ]
        index = Signal(range(beats[True]))
        beat = Signal(beat_layout(self.interface.response_beat), reset_less=True)
        last = index == Mux(self.i.p.extended, beats[True] - 1, beats[False] - 1)
        moving = self.i.valid & (~self.o.valid | self.o.ready)
        m.d.comb += [self.i.ready.eq(moving & last), self.o.p.eq(beat)]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(moving):
            m.d.sync += [
                self.o.valid.eq(1),
                beat.data.eq(
                    self._words(m, index, beats[True]) | Mux(index == 0, self.i.p.header.as_value(), 0)
                ),
                beat.last.eq(last),
                index.eq(Mux(last, 0, index + 1)),
            ]
        return m

    def _words(self, m: Module, index: Any, beats: int) -> Any:
        """Return the bits of a beat that hold words; zero for an empty response."""
        width = self.interface.response_beat
        packet = Signal(beats * width)
        m.d.comb += packet.eq(Cat(C(0, self.interface.response_field), *self._fields(m)))
        parts = Array(packet[k * width : (k + 1) * width] for k in range(beats))
        return Mux(self.i.p.empty, 0, parts[index])

    def _fields(self, m: Module) -> list[Any]:
        """Return all words, each extended to its field; optional words of a plain response are zero."""
        if self.function is None:
            return []
        fields: list[Any] = []
        words = self.function.returned(extended=True)
        values = split_sum(m, self.i.p.words, [word.format.width for word in words])
        widths = self.interface.response_fields(self.function, extended=True)
        for k, (value, width) in enumerate(zip(values, widths, strict=True)):
            missing = width - len(value)
            whole = Cat(value, value[-1].replicate(missing)) if missing else value
            fields.append(whole if k < len(self.function.outputs) else Mux(self.i.p.extended, whole, 0))
        return fields


def assembler_cells(interface: Interface, fabric: Fabric) -> Cells:
    """Return the registers for the beats of a packet and for the task, and the placement of the last beat."""
    ends = {interface.request_beats(function, extended) for function, extended in interface.modes()}
    most, task = max(ends), interface.places[-1]
    moved = max(len(ends) - 1, 0) * interface.request_beat
    held = (most - 1) * interface.request_beat
    return Cells(luts=moved * fabric.select[2] + task / fabric.inputs, flip_flops=held + task + 32)


def serialiser_cells(interface: Interface, function: FunctionWords, fabric: Fabric) -> Cells:
    """Return the selection of a beat of a response, and its register."""
    beats = interface.response_beats(function, extended=True)
    filled = fill_bits(interface, function.result_bits)
    chosen = fabric.multiplexer(beats, filled) if beats > 1 else filled * 0.5
    return Cells(luts=chosen, flip_flops=filled + 2)


def fill_bits(interface: Interface, bits: int) -> int:
    """Return the number of bits in the longest beat of a response, including its header."""
    return min(HEADER_BITS + bits, interface.response_beat)
