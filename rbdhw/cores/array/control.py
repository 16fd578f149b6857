"""Control of shared hardware: values that change from slot to slot, in registers set one cycle ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, unsigned


class Sequencer:
    """Counters of slots and tasks, local to the hardware that they control.

    Parameters
    ----------
    m, name
        The module that holds the counters, and the prefix of their names.
    ii
        The number of slots.
    turns
        The number of tasks that ``turn`` distinguishes, a power of two.

    Members
    -------
    slot, turn
        The slot of the current cycle, and the count of tasks modulo ``turns``.
    next_turn
        The value of ``turn`` in the next cycle.
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
        """Return a register that holds ``values[slot]`` in each slot, and ``other`` in the remaining slots.

        Where ``other`` is None, its value in those slots is arbitrary.
        """
        register = Signal(shape, name=name, reset_less=True)
        m.d.sync += register.eq(self.ahead(m, name, values, shape, other=other))
        return register

    def ahead(
        self, m: Module, name: str, values: Mapping[int, int], shape: Any, *, other: int | None = None
    ) -> Signal:
        """Return the value of :meth:`steps` one cycle earlier, as combinational logic."""
        chosen = Signal(shape, name=f"{name}_ahead")
        table = [values.get(slot, other) for slot in range(self._ii)]
        table += [None] * ((1 << len(self._next)) - self._ii)
        # A multiplexer for each bit: from a case statement synthesis would infer a memory, and from a shifted
        # constant a separate module. Both take long.
        for bit in range(len(chosen)):
            column = [None if value is None else value >> bit & 1 for value in table]
            m.d.comb += chosen[bit].eq(_look_up(column, self._next))
        return chosen


def _look_up(column: Sequence[int | None], number: Any) -> Any:
    """Return the bit of a table at an index; an entry of None may be either value."""
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
    """Return the shape of an index into ``count`` entries."""
    return unsigned(max(0, count - 1).bit_length())
