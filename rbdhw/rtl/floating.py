"""IEEE singles at the accelerator's edge, turned into integers on the way in and back on the way out.

Inside, each number is an integer at the binary point of the word for which it stands. Both converters do
what :mod:`rbdhw.fixed.floating` says, bit for bit, a beat a cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

from amaranth.hdl import C, Cat, EnableInserter, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.floating import EXPONENT_ALL_ONES, EXPONENT_BIAS, FRACTION_BITS
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.protocol import EXTENDED, HEADER_BITS
from rbdhw.rtl.packet import REQUEST_HEADER, SINGLE_BITS, Edge, beat_layout, request_layout

SINGLE = data.StructLayout({"fraction": FRACTION_BITS, "exponent": 8, "sign": 1})
MANTISSA_BITS = FRACTION_BITS + 1


class SingleToFixed(wiring.Component):
    """The integer nearest to a single, ties upward: a new one every cycle.

    What does not fit saturates, or wraps if asked to. Infinities, not-a-numbers and subnormals are refused
    and give zero.

    Parameters
    ----------
    formats : tuple of Format
        What may be asked for, all of that width.
    width : int
        Bits of the integers, 32 or more.
    wraps : bool
        Whether any may wrap.

    Members
    -------
    single : In(SINGLE)
    used : In(1)
        Whether there is a number; else it gives zero.
    scale : In
        :meth:`scale_of` the format asked for.
    wrap : In(1)
        Whether it wraps.
    number : Out(signed(width))
        The integer, :attr:`latency` cycles later; registered.
    refused : Out(1)
        Whether the single was none; with ``number``.

    Raises
    ------
    ValueError
        For fewer bits.
    """

    def __init__(self, *, formats: tuple[Format, ...], width: int, wraps: bool) -> None:
        if width < SINGLE_BITS:
            raise ValueError(f"width {width}: at least {SINGLE_BITS} was expected")
        self.width = width
        self._up = width - 1 if wraps else width - MANTISSA_BITS
        scales = [self.scale_of(chosen) for chosen in formats]
        self._scale = range(min(-1, *scales, -1), max(0, *scales, 0) + 1)
        super().__init__(
            {
                "single": In(SINGLE),
                "used": In(1),
                "scale": In(self._scale),
                "wrap": In(1),
                "number": Out(signed(self.width)),
                "refused": Out(1),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a single to its integer."""
        return 4

    def scale_of(self, chosen: Format) -> int:
        """By how much a mantissa, moved up as far as it may go, moves down for an exponent of zero."""
        return self._up + EXPONENT_BIAS + FRACTION_BITS - chosen.binary_point

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        mantissa = Signal(MANTISSA_BITS, reset_less=True)
        exponent = Signal(8, reset_less=True)
        scale = Signal(self._scale, reset_less=True)
        sign, wrap, refused = (Signal(name=name, reset_less=True) for name in ("sign", "wrapping", "none"))
        normal = (self.single.exponent != 0) & (self.single.exponent != EXPONENT_ALL_ONES)
        zero = (self.single.exponent == 0) & (self.single.fraction == 0)
        taken = self.used & normal
        m.d.sync += [
            mantissa.eq(Cat(self.single.fraction, C(1, 1)) & taken.replicate(MANTISSA_BITS)),
            exponent.eq(self.single.exponent),
            sign.eq(self.single.sign),
            scale.eq(self.scale),
            wrap.eq(self.wrap),
            refused.eq(self.used & ~normal & ~zero),
        ]
        down = scale - exponent
        value = Signal(signed(MANTISSA_BITS + 1), reset_less=True)
        most = self._up + MANTISSA_BITS + 1
        shift = Signal(range(most + 1), reset_less=True)
        beyond, empty = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [
            value.eq(Mux(sign, -mantissa, mantissa)),
            shift.eq(Mux(down < 0, 0, Mux(down > most, most, down))),
            beyond.eq(mantissa.any() & ~wrap & (down <= self._up + MANTISSA_BITS - self.width)),
            empty.eq(wrap & (down < 0)),
        ]
        self._round(m, value, shift, beyond, empty)
        none = [refused] + [Signal(name=f"none_{k}", reset_less=True) for k in range(self.latency - 1)]
        m.d.sync += [later.eq(now) for now, later in pairwise(none)]
        m.d.comb += self.refused.eq(none[-1])
        return m

    def _round(self, m: Module, value: Any, shift: Any, beyond: Any, empty: Any) -> None:
        """Move down with one bit more, then round, and saturate what lies beyond."""
        moved = Signal(signed(self._up + MANTISSA_BITS + 2), reset_less=True)
        saturates, negative = Signal(reset_less=True), Signal(reset_less=True)
        number = Signal(signed(self.width), reset_less=True)
        limits = Format(self.width, 0)
        m.d.sync += [
            moved.eq(Mux(empty, 0, Cat(C(0, self._up + 1), value).as_signed() >> shift)),
            saturates.eq(beyond),
            negative.eq(value < 0),
            number.eq(Mux(saturates, Mux(negative, limits.lowest, limits.highest), (moved + 1) >> 1)),
        ]
        m.d.comb += self.number.eq(number)


class FixedToSingle(wiring.Component):
    """The single nearest to an integer at its binary point, ties to even: a new one every cycle.

    Zero is plus zero. The formats are such that no result leaves the normal range
    (:func:`rbdhw.fixed.floating.check_singles`).

    Parameters
    ----------
    width : int
        Bits of the integer, 32 or more.

    Members
    -------
    number : In(signed(width))
    exponent : In(8)
        :meth:`exponent_of` its format.
    single : Out(SINGLE)
        The single, :attr:`latency` cycles later; registered.

    Raises
    ------
    ValueError
        For fewer bits.
    """

    def __init__(self, *, width: int) -> None:
        if width < SINGLE_BITS:
            raise ValueError(f"width {width}: at least {SINGLE_BITS} was expected")
        self.width = width
        super().__init__({"number": In(signed(width)), "exponent": In(signed(11)), "single": Out(SINGLE)})

    @property
    def latency(self) -> int:
        """Cycles from an integer to its single."""
        return 4

    def exponent_of(self, chosen: Format) -> int:
        """The exponent field of an integer whose magnitude takes all bits."""
        return EXPONENT_BIAS + self.width - 1 - chosen.binary_point

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        magnitude = Signal(self.width, reset_less=True)
        sign, exponent = Signal(reset_less=True), Signal.like(self.exponent, reset_less=True)
        m.d.sync += [
            sign.eq(self.number < 0),
            magnitude.eq(Mux(self.number < 0, -self.number, self.number)),
            exponent.eq(self.exponent),
        ]
        steps = [1 << k for k in reversed(range((self.width - 1).bit_length()))]
        half = len(steps) // 2
        for part in (steps[:half], steps[half:]):
            sign, exponent, magnitude = self._normalise(m, part, sign, exponent, magnitude)
        fraction = magnitude[-MANTISSA_BITS:-1]
        below = magnitude[: self.width - MANTISSA_BITS]
        up = below[-1] & (below[:-1].any() | fraction[0])
        rounded = Cat(fraction, exponent[:8]) + up
        single = Signal(SINGLE_BITS, reset_less=True)
        m.d.sync += single.eq(Mux(magnitude[-1], Cat(rounded[: SINGLE_BITS - 1], sign), 0))
        m.d.comb += self.single.eq(single)
        return m

    def _normalise(self, m: Module, steps: list[int], sign: Any, exponent: Any, magnitude: Any) -> Any:
        """Move up past the zeros on top, by any of the steps; a cycle later."""
        for step in steps:
            clear = ~magnitude[-step:].any()
            magnitude = Mux(clear, Cat(C(0, step), magnitude)[: self.width], magnitude)
            exponent = Mux(clear, exponent - step, exponent)
        held = [Signal(name=f"sign_{steps[0]}", reset_less=True)]
        held.append(Signal(signed(11), name=f"exponent_{steps[0]}", reset_less=True))
        held.append(Signal(self.width, name=f"magnitude_{steps[0]}", reset_less=True))
        m.d.sync += [now.eq(value) for now, value in zip(held, (sign, exponent, magnitude), strict=True)]
        return held


class Follower(wiring.Component):
    """Tells which beat of its packet each beat is, and what the packet's header says; a cycle later.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    beats : int
        Beats to be told apart; all further ones are alike.

    Members
    -------
    i, valid : In(beat_layout(data_width)), In(1)
        A beat, and whether it is one.
    o : Out(beat_layout(data_width))
        The beat of the cycle before.
    index, header : Out
        Its number in its packet, and the header of that.
    """

    def __init__(self, *, data_width: int, beats: int) -> None:
        self.beats = beats
        super().__init__(
            {
                "i": In(beat_layout(data_width)),
                "valid": In(1),
                "o": Out(beat_layout(data_width)),
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
    """Turns the singles of requests into integers, and tells where one was none.

    Only numbers in slots that the task's function and options bring are looked at. The pipeline never
    stalls; :class:`Elastic` makes it one that may.

    Parameters
    ----------
    edge : Edge
        How packets are laid out.

    Members
    -------
    i, valid : In(beat_layout(edge.data_width)), In(1)
        A beat, and whether it is one.
    o : Out(request_layout(edge.request_beat))
        It, :attr:`latency` cycles later.
    """

    def __init__(self, *, edge: Edge) -> None:
        self.edge = edge
        self.words = {
            (word.slot, function.code): word
            for function in edge.functions
            for word in function.brought(extended=True)
        }
        self.lanes = [self._lane(lane) for lane in range(edge.lanes)]
        super().__init__(
            {
                "i": In(beat_layout(edge.data_width)),
                "valid": In(1),
                "o": Out(request_layout(edge.request_beat)),
            }
        )

    def _lane(self, lane: int) -> SingleToFixed:
        words = [word for (slot, _), word in self.words.items() if (slot + 1) % self.edge.lanes == lane]
        wraps = any(word.lowest is None for word in words)
        formats = {self._field(word): None for word in words}
        return SingleToFixed(formats=tuple(formats), width=self.edge.request_field, wraps=wraps)

    def _field(self, word: Word) -> Format:
        return Format(self.edge.request_field, word.format.binary_point)

    @property
    def latency(self) -> int:
        """Cycles from a beat to the same beat with integers."""
        return 1 + self.lanes[0].latency

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beats = max(self.edge.request_beats(function, extended) for function, extended in self.edge.modes())
        m.submodules.follower = follower = Follower(data_width=self.edge.data_width, beats=beats)
        m.d.comb += [follower.i.eq(self.i), follower.valid.eq(self.valid)]
        known = Cat(follower.o.last, follower.index == 0, follower.header)
        last, first, header = _after(m, known, self.lanes[0].latency, (1, 1, HEADER_BITS))
        brought = self._brought(follower.header)
        for k, lane in enumerate(self.lanes):
            m.submodules[f"lane_{k}"] = lane
            place = Cat(C(k, (self.edge.lanes - 1).bit_length()), follower.index)
            words = self._of_lane(k)
            scales = {key: lane.scale_of(self._field(word)) for key, word in words.items()}
            wraps = {key: int(word.lowest is None) for key, word in words.items()}
            index, function = follower.index, follower.header.function
            m.d.comb += [
                lane.single.eq(follower.o.data.word_select(k, SINGLE_BITS)),
                lane.used.eq((place != 0) & (place <= brought)),
                lane.scale.eq(_looked_up(m, f"scale_{k}", index, function, scales)),
                lane.wrap.eq(_looked_up(m, f"wrap_{k}", index, function, wraps)),
            ]
        numbers = Cat(lane.number for lane in self.lanes)
        m.d.comb += [
            self.o.data.eq(numbers | Mux(first, header, 0)),
            self.o.last.eq(last),
            self.o.not_finite.eq(Cat(lane.refused for lane in self.lanes).any()),
        ]
        return m

    def _of_lane(self, lane: int) -> dict[tuple[int, int], Word]:
        """The words of a lane by beat and function."""
        return {
            ((slot + 1) // self.edge.lanes, code): word
            for (slot, code), word in self.words.items()
            if (slot + 1) % self.edge.lanes == lane
        }

    def _brought(self, header: Any) -> Any:
        """How many slots the task of a header brings; none if its function is unknown."""
        brought: Any = 0
        for function in self.edge.functions:
            plain, extended = (self.edge.slots_of(function, x) for x in (False, True))
            own = Mux(header.options[EXTENDED], extended, plain) if extended != plain else plain
            brought = Mux(header.function == function.code, own, brought)
        return brought


class ResponseConverter(wiring.Component):
    """Turns the integers of responses into singles.

    The pipeline never stalls; :class:`Elastic` makes it one that may.

    Parameters
    ----------
    edge : Edge
        How packets are laid out.

    Members
    -------
    i, valid : In(beat_layout(edge.response_beat)), In(1)
        A beat, and whether it is one.
    o : Out(beat_layout(edge.data_width))
        It, :attr:`latency` cycles later.
    """

    def __init__(self, *, edge: Edge) -> None:
        self.edge = edge
        self.lanes = [FixedToSingle(width=edge.response_field) for _ in range(edge.lanes)]
        self.exponents: list[dict[tuple[int, int], int]] = [{} for _ in self.lanes]
        for function in edge.functions:
            for place, word in enumerate(function.returned(extended=True), 1):
                beat, lane = divmod(place, edge.lanes)
                self.exponents[lane][beat, function.code] = self.lanes[lane].exponent_of(word.format)
        super().__init__(
            {
                "i": In(beat_layout(edge.response_beat)),
                "valid": In(1),
                "o": Out(beat_layout(edge.data_width)),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a beat to the same beat with singles."""
        return 1 + self.lanes[0].latency

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        edge = self.edge
        beats = max(edge.response_beats(function, extended) for function, extended in edge.modes())
        m.submodules.follower = follower = Follower(data_width=edge.response_beat, beats=beats)
        m.d.comb += [follower.i.eq(self.i), follower.valid.eq(self.valid)]
        known = Cat(follower.o.last, follower.index == 0, follower.header)
        last, first, header = _after(m, known, self.lanes[0].latency, (1, 1, HEADER_BITS))
        for k, lane in enumerate(self.lanes):
            m.submodules[f"lane_{k}"] = lane
            index, function = follower.index, follower.header.function
            number = follower.o.data.word_select(k, edge.response_field)
            m.d.comb += [
                lane.number.eq(number if k else Mux(index == 0, 0, number)),
                lane.exponent.eq(_looked_up(m, f"exponent_{k}", index, function, self.exponents[k])),
            ]
        singles = Cat(lane.single for lane in self.lanes)
        m.d.comb += [self.o.data.eq(singles | Mux(first, header, 0)), self.o.last.eq(last)]
        return m


class Elastic(wiring.Component):
    """A pipeline that never stalls between two streams: it stands still while its output waits.

    Parameters
    ----------
    pipeline
        Takes ``i`` (and ``valid``) in every cycle, gives ``o`` its ``latency`` later.

    Members
    -------
    i, o
        Streams of the pipeline's inputs and outputs.
    """

    def __init__(self, *, pipeline: RequestConverter | ResponseConverter) -> None:
        self.pipeline = pipeline
        super().__init__(
            {
                "i": In(stream.Signature(pipeline.i.shape())),
                "o": Out(stream.Signature(pipeline.o.shape())),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a beat to the same beat at the output."""
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


def _after(m: Module, value: Any, cycles: int, widths: tuple[int, ...]) -> list[Any]:
    """The parts of a value some cycles later."""
    for k in range(cycles):
        held = Signal(len(value), name=f"known_{k}", reset_less=True)
        m.d.sync += held.eq(value)
        value = held
    places = list(accumulate(widths, initial=0))
    return [value[first:end] for first, end in pairwise(places)]


def _looked_up(
    m: Module, name: str, index: Any, function: Any, entries: Mapping[tuple[int, int], int]
) -> Any:
    """The entry for a beat's index and a function's code; where there is none, any."""
    values = list(entries.values())
    entry = Signal(range(min(0, *values, 0), max(0, *values, 0) + 1), name=name)
    by_index: dict[int, dict[int, int]] = {}
    for (beat, code), value in entries.items():
        by_index.setdefault(beat, {})[code] = value
    with m.Switch(index):
        for beat, by_code in sorted(by_index.items()):
            with m.Case(beat):
                usual = Counter(by_code.values()).most_common(1)[0][0]
                m.d.comb += entry.eq(usual)
                with m.Switch(function):
                    for code, value in by_code.items():
                        if value != usual:
                            with m.Case(code):
                                m.d.comb += entry.eq(value)
    return entry
