"""Counters of 64 bits that share one memory and one adder."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

BITS = 64


class Counters(wiring.Component):
    """Counters of 64 bits in one memory. Amounts wait in small sums, which are added to it in turn.

    A counter has its turn every ``count`` cycles. Its value then has all amounts of the cycles before.

    The most that is added to one in a cycle is ``most``.
    """

    def __init__(self, *, count: int, most: int) -> None:
        self.count = count
        self.most = most
        self.memory = Memory(shape=BITS, depth=count, init=[])
        super().__init__(
            {
                # What is added to each counter in this cycle.
                "amounts": In(range(most + 1)).array(count),
                # Whether all counters begin again, with the amounts of this cycle.
                "clear": In(1),
                # The counter whose turn it is, and its value.
                "turn": Out(range(count)),
                "value": Out(BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.memory = self.memory
        read, write = self.memory.read_port(domain="comb"), self.memory.write_port()
        sums = [Signal(range(self.count * self.most + 1), name=f"sum_{k}") for k in range(self.count)]
        # Words of the memory that still have to be cleared, as after a reset.
        to_clear = Signal(range(self.count + 1), init=self.count)
        m.d.sync += self.turn.eq(Mux(self.turn == self.count - 1, 0, self.turn + 1))
        with m.If(self.clear):
            m.d.sync += to_clear.eq(self.count)
        with m.Elif(to_clear != 0):
            m.d.sync += to_clear.eq(to_clear - 1)
        for k, waiting in enumerate(sums):
            m.d.sync += waiting.eq(Mux(self.clear | (self.turn == k), 0, waiting) + self.amounts[k])
        m.d.comb += [
            read.addr.eq(self.turn),
            self.value.eq(Mux(to_clear != 0, 0, read.data) + Array(sums)[self.turn]),
            write.addr.eq(self.turn),
            write.data.eq(self.value),
            write.en.eq(1),
        ]
        return m
