"""Packets taken apart, put together, and several streams of them made one."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.packet import (
    HEADER_BITS,
    REQUEST_HEADER,
    RESPONSE_HEADER,
    Function,
    Status,
    beat_stream,
    beats,
    check_data_width,
    check_functions,
    response_layout,
    task_layout,
)


class Assembler(wiring.Component):
    """Gathers the beats of a packet into a task.

    A task is offered the cycle after its last beat. While it waits, the beats of the next packet are
    taken up to the last, and that one in the very cycle in which the task leaves: packets of one beat
    pass at one a cycle. A packet that is too long is taken to its end.

    Parameters
    ----------
    functions : tuple of Function
        What the accelerator can do.
    data_width : int
        Bits of a beat.

    Members
    -------
    i : In(beat_stream(data_width))
    o : Out(stream.Signature(task_layout(...)))

    Raises
    ------
    ValueError
        As :func:`check_data_width` and :func:`check_functions`.
    """

    def __init__(self, *, functions: tuple[Function, ...], data_width: int) -> None:
        check_data_width(data_width)
        check_functions(functions)
        self.functions = functions
        self.data_width = data_width
        self.bits = max(function.input_bits for function in functions)
        self.last_beats = [beats(function.input_bits, data_width) - 1 for function in functions]
        self.layout = task_layout(len(functions), self.bits)
        super().__init__({"i": In(beat_stream(data_width)), "o": Out(stream.Signature(self.layout))})

    @property
    def latency(self) -> int:
        """Cycles from the last beat to the task."""
        return 1

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        most = max(self.last_beats) + 1
        index = Signal(range(most + 1))
        held = [Signal(self.data_width, name=f"held_{k}", reset_less=True) for k in range(max(1, most - 1))]
        task = Signal(self.layout, reset_less=True)
        accepted = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(~self.i.p.last | ~self.o.valid | self.o.ready),
            self.o.p.eq(task),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(accepted):
            for k, beat in enumerate(held):
                with m.If(index == k):
                    m.d.sync += beat.eq(self.i.p.data)
            with m.If(self.i.p.last):
                m.d.sync += [index.eq(0), self.o.valid.eq(1)]
                m.d.sync += self._completed(task, index, held)
            with m.Elif(index != most):
                m.d.sync += index.eq(index + 1)
        return m

    def _completed(self, task: Any, index: Any, held: list[Any]) -> list[Any]:
        """The assignments of a task from the beats held and the last one, which has ``index``."""
        now = self.i.p.data
        first = Mux(index == 0, now[:HEADER_BITS], held[0][:HEADER_BITS])
        header = data.View(REQUEST_HEADER, first)
        known = Cat(header.function == function.code for function in self.functions)
        whole = Cat(index == last for last in self.last_beats)
        packet = Cat(self._beat(k, index, held) for k in range(max(self.last_beats) + 1))
        return [
            task.tag.eq(header.tag),
            task.function.eq(header.function),
            task.select.eq(Cat(known, ~known.any())),
            task.malformed.eq(~(known & whole).any() | header.reserved.any()),
            task.words.eq(packet[HEADER_BITS:]),
        ]

    def _beat(self, k: int, index: Any, held: list[Any]) -> Any:
        """Beat ``k`` of a complete packet: the one at the input where a packet may end with it."""
        if k == max(self.last_beats):
            return self.i.p.data
        return Mux(index == k, self.i.p.data, held[k]) if k in self.last_beats else held[k]


class Serialiser(wiring.Component):
    """Puts a response into beats, of which it offers the first the cycle after.

    The response is held at the input until its last beat is in the output register.

    Parameters
    ----------
    bits : int
        Bits of the response's words.
    data_width : int
        Bits of a beat.

    Members
    -------
    i : In(stream.Signature(response_layout(bits)))
    o : Out(beat_stream(data_width))

    Raises
    ------
    ValueError
        For a negative number of bits, and as :func:`check_data_width`.
    """

    def __init__(self, *, bits: int, data_width: int) -> None:
        check_data_width(data_width)
        if bits < 0:
            raise ValueError(f"bits {bits}: at least 0 was expected")
        self.bits = bits
        self.data_width = data_width
        self.beats = beats(bits, data_width)
        super().__init__(
            {"i": In(stream.Signature(response_layout(bits))), "o": Out(beat_stream(data_width))}
        )

    @property
    def latency(self) -> int:
        """Cycles from the response to its first beat."""
        return 1

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        index = Signal(range(self.beats))
        beat = Signal(beat_stream(self.data_width).members["payload"].shape, reset_less=True)
        last = index == self.beats - 1
        moving = self.i.valid & (~self.o.valid | self.o.ready)
        m.d.comb += [self.i.ready.eq(moving & last), self.o.p.eq(beat)]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(moving):
            m.d.sync += [
                self.o.valid.eq(1),
                beat.data.eq(self._words(index) | self._header(index)),
                beat.last.eq(last),
                index.eq(Mux(last, 0, index + 1)),
            ]
        return m

    def _header(self, index: Any) -> Any:
        header = Cat(self.i.p.tag, self.i.p.function, self.i.p.status)
        assert len(header) == RESPONSE_HEADER.size
        return Mux(index == 0, header, 0)

    def _words(self, index: Any) -> Any:
        """The words' share of a beat; nothing of a malformed task."""
        packet = Cat(C(0, HEADER_BITS), self.i.p.words)
        parts = Array(packet[k * self.data_width : (k + 1) * self.data_width] for k in range(self.beats))
        return Mux(self.i.p.status[Status.MALFORMED], 0, parts[index])


class Merger(wiring.Component):
    """Makes one stream of packets of several, round robin, a packet at a time.

    A beat leaves the cycle after it is taken; the output comes from registers.

    Parameters
    ----------
    inputs : int
        How many streams.
    data_width : int
        Bits of a beat.

    Members
    -------
    i : In(beat_stream(data_width)).array(inputs)
    o : Out(beat_stream(data_width))

    Raises
    ------
    ValueError
        For no input, and as :func:`check_data_width`.
    """

    def __init__(self, *, inputs: int, data_width: int) -> None:
        check_data_width(data_width)
        if inputs < 1:
            raise ValueError(f"inputs {inputs}: at least 1 was expected")
        self.inputs = inputs
        self.data_width = data_width
        super().__init__({"i": In(beat_stream(data_width)).array(inputs), "o": Out(beat_stream(data_width))})

    @property
    def latency(self) -> int:
        """Cycles from a beat to the same beat at the output."""
        return 1

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        inside = Signal()
        current, chosen = Signal(range(self.inputs)), Signal(range(self.inputs))
        beat = Signal(beat_stream(self.data_width).members["payload"].shape, reset_less=True)
        self._choose(m, inside, current, chosen)
        free = ~self.o.valid | self.o.ready
        m.d.comb += self.o.p.eq(beat)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.Switch(chosen):
            for k in range(self.inputs):
                with m.Case(k):
                    m.d.comb += self.i[k].ready.eq(free)
                    with m.If(free & self.i[k].valid):
                        m.d.sync += [beat.eq(self.i[k].p), inside.eq(~self.i[k].p.last)]
                        m.d.sync += [current.eq(k), self.o.valid.eq(1)]
        return m

    def _choose(self, m: Module, inside: Any, current: Any, chosen: Any) -> None:
        """Keep to the current input inside a packet; otherwise take the next one that has a beat."""
        m.d.comb += chosen.eq(current)
        with m.If(~inside), m.Switch(current):
            for k in range(self.inputs):
                with m.Case(k):
                    for distance in reversed(range(1, self.inputs)):
                        other = (k + distance) % self.inputs
                        with m.If(self.i[other].valid):
                            m.d.comb += chosen.eq(other)
