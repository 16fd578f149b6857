"""Copies of a core take turns: tasks of a function go to them in turn, and responses return in that order."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.layouts import beat_layout


class Turns(wiring.Component):
    """Makes the completions of one function in several cores look like one.

    Task k goes to completion k modulo ``copies``, and so does the record of the task. Its response is taken
    from there in the same order, so that the responses of the function keep the order of its tasks. The
    registers ``admitted``, ``recorded_turn`` and ``answered`` state, one-hot, whose turn is next in each.

    Raises ValueError for fewer than two copies.
    """

    def __init__(self, *, copies: int, bits: int) -> None:
        if copies < 2:
            raise ValueError(f"copies: is {copies}; expected at least 2")
        self.copies = copies
        self.admitted, self.recorded_turn, self.answered = (
            Signal(copies, name=name, init=1) for name in ("admitted", "recorded", "answered")
        )
        super().__init__(
            {
                # A task is admitted; the record of an earlier one is ready.
                "admit": In(1),
                "recorded": In(1),
                # Of the completion whose turn it is: whether there is room for a result, whether its core
                # accepts a task, and whether another response follows without a gap.
                "available": Out(1),
                "accepts": Out(1),
                "more": Out(1),
                "o": Out(stream.Signature(beat_layout(bits))),
                # One-hot: `admit` and `recorded` for the completion whose turn it is.
                "each_admit": Out(copies),
                "each_recorded": Out(copies),
                # The state of every completion and of its core.
                "each_available": In(copies),
                "each_accepts": In(copies),
                # The responses of every completion.
                "i": In(stream.Signature(beat_layout(bits))).array(copies),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        admitted, recorded, answered = self.admitted, self.recorded_turn, self.answered
        steps = (self.admit, self.recorded, self.o.valid & self.o.ready & self.o.p.last)
        for turn, step in zip((admitted, recorded, answered), steps, strict=True):
            with m.If(step):
                m.d.sync += turn.eq(turn.rotate_left(1))
        m.d.comb += [
            self.available.eq((admitted & self.each_available).any()),
            self.accepts.eq((admitted & self.each_accepts).any()),
            self.each_admit.eq(Mux(self.admit, admitted, 0)),
            self.each_recorded.eq(Mux(self.recorded, recorded, 0)),
        ]
        for k in range(self.copies):
            completion = self.i[k]
            m.d.comb += completion.ready.eq(self.o.ready & answered[k])
            with m.If(answered[k]):
                following = self.i[(k + 1) % self.copies]
                m.d.comb += [
                    self.o.p.eq(completion.p),
                    self.o.valid.eq(completion.valid),
                    self.more.eq(following.valid),
                ]
        return m
