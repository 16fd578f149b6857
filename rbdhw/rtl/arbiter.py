"""Several pairs of streams take turns at one core."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.header import HEADER


def entrance(bits: int, functions: int) -> wiring.Signature:
    """Return the way of one pair's tasks into a lane, as the edge sees it.

    ``offered`` states whether a task could be admitted if the lane accepted it, and ``accepts`` whether it
    does. ``accepts`` does not depend on this ``offered``. ``select``, ``words``, ``options``, ``admit`` and
    ``start`` are those of :class:`~rbdhw.rtl.lane.Lane`.
    """
    return wiring.Signature(
        {
            "offered": Out(1),
            "accepts": In(1),
            "select": Out(functions),
            "words": Out(bits),
            "options": Out(HEADER["options"][1]),
            "admit": Out(functions),
            "start": In(functions),
        }
    )


class Arbiter(wiring.Component):
    """Lets the edges of several pairs of streams take turns at one lane.

    In each cycle the first edge that offers a task, counted from the turn, may have it admitted. The turn
    then passes to the edge after it. An edge that offers a task is thus served at the latest after one task
    of each other edge, and an edge without a task, or without room for a result, costs nobody a cycle.

    The register ``turn`` has the number of the edge that is first. The number of a task's edge travels
    through the lane behind its words, and says where it starts.

    Raises ValueError for fewer than two edges.
    """

    def __init__(self, *, edges: int, bits: int, functions: int) -> None:
        if edges < 2:
            raise ValueError(f"edges: is {edges}; expected at least 2")
        self.edges = edges
        self.turn = Signal(range(edges), name="turn")
        number = (edges - 1).bit_length()
        super().__init__(
            {
                "each": In(entrance(bits, functions)).array(edges),  # the way of each edge's tasks
                # The lane's members of these names.
                "accepts": In(1),
                "start": In(functions),
                "edge": In(number),  # the number of the edge whose task starts
                # The task of the chosen edge; `words` are followed by the edge's number.
                "select": Out(functions),
                "words": Out(bits + number),
                "options": Out(HEADER["options"][1]),
                "admit": Out(functions),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        turn = self.turn
        chosen = Signal(range(self.edges))
        with m.Switch(turn):
            for first in range(self.edges):
                with m.Case(first):
                    self._choose(m, chosen, [(first + k) % self.edges for k in range(self.edges)])
        with m.Switch(chosen):
            for k in range(self.edges):
                with m.Case(k):
                    entrance = self.each[k]
                    m.d.comb += [
                        self.select.eq(entrance.select),
                        self.words.eq(Cat(entrance.words, chosen)),
                        self.options.eq(entrance.options),
                        self.admit.eq(entrance.admit),
                    ]
                    with m.If(entrance.admit.any()):
                        m.d.sync += turn.eq((k + 1) % self.edges)
        for k in range(self.edges):
            starts = (self.edge == k).replicate(len(self.start))
            m.d.comb += self.each[k].start.eq(self.start & starts)
        return m

    def _choose(self, m: Module, chosen: Signal, order: list[int]) -> None:
        """Choose the first edge in the order that offers a task; each accepts only if none before it does."""
        for rank, k in enumerate(order):
            before: Any = Cat(self.each[j].offered for j in order[:rank]).any()
            m.d.comb += self.each[k].accepts.eq(self.accepts & ~before)
        for k in reversed(order):
            with m.If(self.each[k].offered):
                m.d.comb += chosen.eq(k)
