"""A merger of response streams in which short responses do not wait for many long ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.model.interface import Interface
from rbdhw.rtl.layouts import beat_layout
from rbdhw.rtl.stream import fill_bits

PREFERENCE = 4
"""The factor on the share of beats that a function with priority may send in a round."""


def precedence(interface: Interface) -> tuple[int, ...]:
    """Return the function indices in the order of service.

    Functions with priority come first, in their given order; then the others, the shortest responses first.
    The last index, the number of functions, is that of responses to unknown functions.
    """
    names = [function.name for function in interface.functions]
    preferred = [names.index(name) for name in interface.priority]
    others = [k for k in range(len(names)) if k not in preferred]
    others.sort(key=lambda k: interface.response_beats(interface.functions[k], extended=True))
    return (*preferred, *others, len(names))


def quotas(interface: Interface) -> tuple[int, ...]:
    """Return the most responses of each function in a round, in the order of :func:`precedence`.

    In a round each function may send about as many beats as the longest response has, or :data:`PREFERENCE`
    times as many if it has priority. Unknown functions get one response a round.
    """
    lengths = [interface.response_beats(function, extended=True) for function in interface.functions]
    shares = [PREFERENCE if function.name in interface.priority else 1 for function in interface.functions]
    packets = [share * (max(lengths) // length) for share, length in zip(shares, lengths, strict=True)]
    return tuple([*packets, 1][k] for k in precedence(interface))


class Merger(wiring.Component):
    """Merges several streams of packets into one without interrupting a packet.

    Packets are served in rounds. At the end of a packet the turn goes to the first waiting input that has
    sent fewer packets in this round than its quota. If every waiting input has used its quota, a new round
    begins. A waiting input is therefore served at the latest after the rest of the current round and, if its
    own quota is used, the shares of the inputs before it in the next round.

    A beat leaves one cycle after it is accepted; the outputs are registers. The turn is a register as well:
    while no input waits, it stays where it is, and an input without the turn waits one cycle.

    The ``quotas`` are the most packets of each input in a round. Raises ValueError if there are none,
    or one is below 1.
    """

    latency = 1
    """Cycles from a beat to the same beat at the output, for the input with the turn."""

    def __init__(self, *, quotas: tuple[int, ...], bits: int) -> None:
        if not quotas:
            raise ValueError("quotas: none; expected one for each of one or more inputs")
        if min(quotas) < 1:
            raise ValueError(f"quotas: one is {min(quotas)}; expected at least 1")
        self.quotas = quotas
        self.bits = bits
        super().__init__(
            {
                # The inputs in the order of precedence.
                "i": In(stream.Signature(beat_layout(bits))).array(len(quotas)),
                # Whether an input offers another packet in the cycle after the last beat of the current one.
                "more": In(len(quotas)),
                "o": Out(stream.Signature(beat_layout(bits))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        inside = Signal()
        valid = Signal()
        turn = Signal(range(len(self.quotas)))
        granted = Signal(len(self.quotas), init=1)
        offered = Signal(beat_layout(self.bits))
        beat = Signal(beat_layout(self.bits), reset_less=True)
        free = ~self.o.valid | self.o.ready
        m.d.comb += [self.i[k].ready.eq(free & granted[k]) for k in range(len(self.quotas))]
        m.d.comb += self.o.p.eq(beat)
        with m.Switch(turn):
            for k in range(len(self.quotas)):
                with m.Case(k):
                    m.d.comb += [offered.eq(self.i[k].p), valid.eq(self.i[k].valid)]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(free & valid):
            m.d.sync += [beat.eq(offered), inside.eq(~offered.last), self.o.valid.eq(1)]
        with m.If(Mux(valid, free & offered.last, ~inside)):
            self._pass_on(m, turn, granted, ends=valid)
        return m

    def _pass_on(self, m: Module, turn: Any, granted: Any, *, ends: Any) -> None:
        """Choose the input of the next packet, and count the current packet if ``ends`` is 1."""
        left = [Signal(range(quota + 1), name=f"left_{k}", init=quota) for k, quota in enumerate(self.quotas)]
        inputs = range(len(self.quotas))
        waiting = Cat(Mux(granted[k], self.more[k], self.i[k].valid) for k in inputs)
        others = [left[k] > 1 if self.quotas[k] > 1 else Const(0, 1) for k in inputs]
        entitled = waiting & Cat(Mux(granted[k], others[k], left[k] > 0) for k in inputs)
        goes_on = entitled.any()
        chosen = Mux(goes_on, entitled, waiting)
        for k in reversed(inputs):
            with m.If(chosen[k]):
                m.d.sync += [turn.eq(k), granted.eq(1 << k)]
            with m.If(~goes_on):
                m.d.sync += left[k].eq(self.quotas[k])
            with m.Elif(ends & granted[k]):
                m.d.sync += left[k].eq(left[k] - 1)


def merger_cells(interface: Interface, fabric: Fabric) -> Cells:
    """Return the selection of each bit among the streams that use it: responses, and headers of refusals.

    The registers hold the beat and count the packets that each stream may still send in a round.
    """
    lengths = sorted(
        fill_bits(interface, bits) for bits in (0, *(f.result_bits for f in interface.functions))
    )
    pieces = enumerate(pairwise([0, *lengths]))
    luts = sum(fabric.multiplexer(len(lengths) - k, end - start) for k, (start, end) in pieces)
    counters = sum(quota.bit_length() for quota in quotas(interface))
    return Cells(luts=luts, flip_flops=lengths[-1] + 1 + counters)
