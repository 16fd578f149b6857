"""Control of shared hardware: what changes from slot to slot, in registers that are set a cycle ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, unsigned


class Sequencer:
    """The slots and tasks of some hardware, counted close to it.

    Parameters
    ----------
    m, name
        Where the counters stand, and what their names begin with.
    ii
        Slots.
    turns
        Tasks that are told apart: a power of two.

    Members
    -------
    slot, turn
        Those of the current cycle; ``turn`` counts tasks.
    next_turn
        That of the next cycle.
    """

    def __init__(self, m: Module, name: str, ii: int, turns: int = 1) -> None:
        self._ii = ii
        self._next = Signal(range(ii), name=f"{name}_next", init=1 % ii)
        self.slot = Signal(range(ii), name=f"{name}_slot")
        self.next_turn = Signal(range(turns), name=f"{name}_next_turn")
        self.turn = Signal(range(turns), name=f"{name}_turn")
        last = self._next == ii - 1
        m.d.sync += [
            self._next.eq(Mux(last, 0, self._next + 1)),
            self.slot.eq(self._next),
            self.next_turn.eq(self.next_turn + last),
            self.turn.eq(self.next_turn),
        ]

    def steps(
        self, m: Module, name: str, values: Mapping[int, int], shape: Any, *, other: int | None = None
    ) -> Signal:
        """A number that has these values in these slots, in a register; in all others ``other``, or any."""
        register = Signal(shape, name=name, reset_less=True)
        m.d.sync += register.eq(self.ahead(m, name, values, shape, other=other))
        return register

    def ahead(
        self, m: Module, name: str, values: Mapping[int, int], shape: Any, *, other: int | None = None
    ) -> Signal:
        """The same, a cycle before, and not registered."""
        chosen = Signal(shape, name=f"{name}_ahead")
        table = [values.get(slot, other) for slot in range(self._ii)]
        table += [None] * ((1 << len(self._next)) - self._ii)
        # Bit by bit, as multiplexers: of a case statement synthesis makes a memory, and of a constant that is
        # shifted a module of its own; both take long.
        for bit in range(len(chosen)):
            column = [None if value is None else value >> bit & 1 for value in table]
            m.d.comb += chosen[bit].eq(_look_up(column, self._next))
        return chosen


def _look_up(column: Sequence[int | None], number: Any) -> Any:
    """The bit of a table that has a number; None may be either."""
    known = {value for value in column if value is not None}
    if len(known) < 2:
        return Const(max(known, default=0), 1)
    half = len(column) // 2
    below, above = column[:half], column[half:]
    pairs = list(zip(below, above, strict=True))
    if all(None in pair or pair[0] == pair[1] for pair in pairs):
        return _look_up([low if high is None else high for low, high in pairs], number[:-1])
    return Mux(number[-1], _look_up(above, number[:-1]), _look_up(below, number[:-1]))


def places(count: int) -> Any:
    """The shape of a number that chooses among so many."""
    return unsigned(max(0, count - 1).bit_length())
