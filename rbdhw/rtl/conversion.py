"""Conversion of beats at the accelerator's edge, between singles and integers.

Each lane of the stream has a converter (:mod:`rbdhw.rtl.single_precision`). The function in the packet's
header and the index of the beat in the packet select the word, and so the format, of each lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from amaranth.hdl import C, Cat, EnableInserter, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.header import EXTENDED, HEADER_BITS
from rbdhw.model.interface import SINGLE_BITS, Interface
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import REQUEST_HEADER, beat_layout, code_in, request_layout
from rbdhw.rtl.single_precision import FixedToSingle, SingleToFixed

TO_FIXED = Cells(luts=10.0, flip_flops=6.0)
TO_SINGLE = Cells(luts=9.0, flip_flops=6.0)
"""The cells of a lane's converter for each bit of the fixed-point numbers."""


class Follower(wiring.Component):
    """Adds to each beat its index in its packet and the packet's header; one cycle of latency.

    The largest index is ``beats``, which further beats keep.
    """

    def __init__(self, *, data_width: int, beats: int) -> None:
        self.beats = beats
        super().__init__(
            {
                # A beat, and whether it is valid.
                "i": In(beat_layout(data_width)),
                "valid": In(1),
                "o": Out(beat_layout(data_width)),  # the beat of the previous cycle
                # The index of that beat in its packet, and the header of that packet.
                "index": Out(range(beats + 1)),
                "header": Out(REQUEST_HEADER),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        following = Signal.like(self.index)
        m.d.sync += [self.o.eq(self.i), self.index.eq(following)]
        with m.If(self.valid):
            m.d.sync += following.eq(Mux(self.i.last, 0, following + (following != self.beats)))
            with m.If(following == 0):
                m.d.sync += self.header.eq(self.i.data[:HEADER_BITS])
        return m


class RequestConverter(wiring.Component):
    """Converts the singles of requests to integers and flags infinities, not-a-numbers and subnormals.

    Only the slots that the task's function and options require are checked. The pipeline never stalls;
    :class:`Elastic` adds flow control.
    """

    latency = 1 + SingleToFixed.latency
    """Cycles from a beat to the converted beat."""

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        self.words = {
            (word.slot, function.code): word
            for function in interface.functions
            for word in function.brought(extended=True)
        }
        self.lanes = [self._lane(lane) for lane in range(interface.lanes)]
        super().__init__(
            {
                # A beat, and whether it is valid.
                "i": In(beat_layout(interface.data_width)),
                "valid": In(1),
                # The converted beat, `latency` cycles later.
                "o": Out(request_layout(interface.request_beat)),
            }
        )

    def _lane(self, lane: int) -> SingleToFixed:
        words = [word for (slot, _), word in self.words.items() if (slot + 1) % self.interface.lanes == lane]
        wraps = any(word.lowest is None for word in words)
        formats = {self._field(word): None for word in words}
        return SingleToFixed(formats=tuple(formats), width=self.interface.request_field, wraps=wraps)

    def _field(self, word: Word) -> Format:
        return Format(self.interface.request_field, word.format.binary_point)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beats = max(
            self.interface.request_beats(function, extended) for function, extended in self.interface.modes()
        )
        follower, last, first, header = _follow(m, self, self.interface.data_width, beats)
        brought = self._slot_count(follower.header)
        for k, lane in enumerate(self.lanes):
            m.submodules[f"lane_{k}"] = lane
            position = Cat(C(k, (self.interface.lanes - 1).bit_length()), follower.index)
            words = self._of_lane(k)
            scales = {key: lane.scale_of(self._field(word)) for key, word in words.items()}
            wraps = {key: int(word.lowest is None) for key, word in words.items()}
            index, function = follower.index, code_in(follower.header)
            m.d.comb += [
                lane.single.eq(follower.o.data.word_select(k, SINGLE_BITS)),
                lane.used.eq((position != 0) & (position <= brought)),
                lane.scale.eq(_look_up(m, f"scale_{k}", index, function, scales)),
                lane.wrap.eq(_look_up(m, f"wrap_{k}", index, function, wraps)),
            ]
        numbers = Cat(lane.number for lane in self.lanes)
        m.d.comb += [
            self.o.data.eq(numbers | Mux(first, header, 0)),
            self.o.last.eq(last),
            self.o.not_finite.eq(Cat(lane.refused for lane in self.lanes).any()),
        ]
        return m

    def _of_lane(self, lane: int) -> dict[tuple[int, int], Word]:
        """Return the words of a lane by beat index and function code."""
        return {
            ((slot + 1) // self.interface.lanes, code): word
            for (slot, code), word in self.words.items()
            if (slot + 1) % self.interface.lanes == lane
        }

    def _slot_count(self, header: Any) -> Any:
        """Return the number of slots that a task with this header fills; 0 if the function is unknown."""
        brought: Any = 0
        for function in self.interface.functions:
            plain, extended = (self.interface.slots_of(function, x) for x in (False, True))
            count = Mux(header.options[EXTENDED], extended, plain) if extended != plain else plain
            brought = Mux(code_in(header) == function.code, count, brought)
        return brought


class ResponseConverter(wiring.Component):
    """Converts the integers of responses to singles.

    The pipeline never stalls; :class:`Elastic` adds flow control.
    """

    latency = 1 + FixedToSingle.latency
    """Cycles from a beat to the converted beat."""

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        self.lanes = [FixedToSingle(width=interface.response_field) for _ in range(interface.lanes)]
        self.exponents: list[dict[tuple[int, int], int]] = [{} for _ in self.lanes]
        for function in interface.functions:
            for position, word in enumerate(function.returned(extended=True), 1):
                beat, lane = divmod(position, interface.lanes)
                self.exponents[lane][beat, function.code] = self.lanes[lane].exponent_of(word.format)
        super().__init__(
            {
                # A beat, and whether it is valid.
                "i": In(beat_layout(interface.response_beat)),
                "valid": In(1),
                "o": Out(beat_layout(interface.data_width)),  # the converted beat, `latency` cycles later
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        interface = self.interface
        beats = max(interface.response_beats(function, extended) for function, extended in interface.modes())
        follower, last, first, header = _follow(m, self, interface.response_beat, beats)
        for k, lane in enumerate(self.lanes):
            m.submodules[f"lane_{k}"] = lane
            index, function = follower.index, code_in(follower.header)
            number = follower.o.data.word_select(k, interface.response_field)
            m.d.comb += [
                lane.number.eq(number if k else Mux(index == 0, 0, number)),
                lane.exponent.eq(_look_up(m, f"exponent_{k}", index, function, self.exponents[k])),
            ]
        singles = Cat(lane.single for lane in self.lanes)
        m.d.comb += [self.o.data.eq(singles | Mux(first, header, 0)), self.o.last.eq(last)]
        return m


class Elastic(wiring.Component):
    """Connects a pipeline without stalls to two streams: the whole pipeline stops while its output waits.

    The pipeline accepts ``i`` and ``valid`` in every cycle and gives ``o`` after its ``latency``.
    """

    def __init__(self, *, pipeline: RequestConverter | ResponseConverter) -> None:
        self.pipeline = pipeline
        super().__init__(
            {
                # Streams of the pipeline's inputs and outputs.
                "i": In(stream.Signature(pipeline.i.shape())),
                "o": Out(stream.Signature(pipeline.o.shape())),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a beat to the converted beat, if the output never waits."""
        return self.pipeline.latency

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        pipeline = self.pipeline
        flow = Signal(self.latency)
        moving = ~self.o.valid | self.o.ready
        m.submodules.pipeline = EnableInserter(moving)(pipeline)
        with m.If(moving):
            m.d.sync += flow.eq(Cat(self.i.valid, flow))
        m.d.comb += [
            self.i.ready.eq(moving),
            pipeline.i.eq(self.i.p),
            pipeline.valid.eq(self.i.valid),
            self.o.valid.eq(flow[-1]),
            self.o.p.eq(pipeline.o),
        ]
        return m


def _follow(m: Module, converter: Any, bits: int, beats: int) -> tuple[Follower, Any, Any, Any]:
    """Add the follower of a converter's input.

    Beside it, return what belongs to the beat at the output: whether it is the last one of its packet, and
    the first one, and its header.
    """
    m.submodules.follower = follower = Follower(data_width=bits, beats=beats)
    m.d.comb += [follower.i.eq(converter.i), follower.valid.eq(converter.valid)]
    known = Cat(follower.o.last, follower.index == 0, follower.header)
    for k in range(converter.latency - 1):
        known = register(m, f"known_{k}", known, len(known))
    return follower, known[0], known[1], known[2:]


def _look_up(m: Module, name: str, index: Any, function: Any, entries: Mapping[tuple[int, int], int]) -> Any:
    """Return the entry for a beat index and a function code; arbitrary where there is none.

    Beats that follow each other and have the same entries share a case, so that a look-up grows with the
    changes and not with the beats.
    """
    values = list(entries.values())
    entry = Signal(range(min(0, *values, 0), max(0, *values, 0) + 1), name=name)
    by_index: dict[int, dict[int, int]] = {}
    for (beat, code), value in sorted(entries.items()):
        by_index.setdefault(beat, {})[code] = value
    with m.Switch(index):
        for by_code, beats in groupby(by_index, by_index.__getitem__):
            run = list(beats)
            with m.Case(*range_patterns(run[0], run[-1] + 1, len(index))):
                usual = Counter(by_code.values()).most_common(1)[0][0]
                m.d.comb += entry.eq(usual)
                with m.Switch(function):
                    for code, value in by_code.items():
                        if value != usual:
                            with m.Case(code):
                                m.d.comb += entry.eq(value)
    return entry


def range_patterns(start: int, stop: int, bits: int) -> list[str]:
    """Return patterns of bits that match the numbers from ``start`` to ``stop - 1``."""
    patterns = []
    while start < stop:
        free = (stop - start).bit_length() - 1
        if start:
            free = min(free, (start & -start).bit_length() - 1)
        patterns.append(f"{start:0{bits}b}"[: bits - free] + "-" * free)
        start += 1 << free
    return patterns


def converter_cells(interface: Interface) -> Cells:
    """Return the converters of every lane in both directions."""
    ways = ((TO_FIXED, interface.request_field), (TO_SINGLE, interface.response_field))
    cells = Cells()
    for bit, width in ways:
        cells += Cells(interface.lanes * width * bit.luts, interface.lanes * width * bit.flip_flops)
    return cells
