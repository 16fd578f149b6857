"""Control of shared hardware: values that change from slot to slot, in registers set one cycle ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, unsigned
from amaranth.lib.wiring import In

COUNTS = ("next_slot", "slot", "next_turn", "turn")
"""The counters of a sequencer, as signals and as ports of the hardware that they control."""


class Sequencer:
    """Counters of slots and tasks, near the hardware that they control.

    They are the slot of the next and of the current cycle, and the count of tasks in these cycles, modulo a
    power of two.
    """

    def __init__(self, ii: int, next_slot: Any, slot: Any, next_turn: Any, turn: Any) -> None:
        self._ii = ii
        self.next_slot, self.slot, self.next_turn, self.turn = next_slot, slot, next_turn, turn

    @classmethod
    def counting(cls, m: Module, name: str, ii: int, turns: int = 1, rests: Any = None) -> Sequencer:
        """Return a sequencer with counters in a module, which tell ``turns`` tasks apart.

        They stay as they are while the hardware ``rests``.
        """
        shapes = {"next_slot": range(ii), "slot": range(ii), "next_turn": range(turns), "turn": range(turns)}
        counters = {
            count: Signal(shape, name=f"{name}_{count}", init=(count == "next_slot") % ii)
            for count, shape in shapes.items()
        }
        sequencer = cls(ii, **counters)
        last = sequencer.next_slot == ii - 1
        with nullcontext() if rests is None else m.If(~rests):
            m.d.sync += [
                sequencer.next_slot.eq(Mux(last, 0, sequencer.next_slot + 1)),
                sequencer.slot.eq(sequencer.next_slot),
                sequencer.next_turn.eq(sequencer.next_turn + last),
                sequencer.turn.eq(sequencer.next_turn),
            ]
        return sequencer

    @property
    def members(self) -> dict[str, Any]:
        """The ports by which a component takes the counters."""
        return {count: In(getattr(self, count).shape()) for count in COUNTS}

    def connect(self, m: Module, component: Any) -> None:
        m.d.comb += [getattr(component, count).eq(getattr(self, count)) for count in COUNTS]

    def inside(self, component: Any) -> Sequencer:
        """Return the sequencer as a component with these ports sees it."""
        return Sequencer(self._ii, *(getattr(component, count) for count in COUNTS))

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
        table += [None] * ((1 << len(self.next_slot)) - self._ii)
        # A multiplexer for each bit: from a case statement synthesis would infer a memory, and from a shifted
        # constant a separate module. Both take long.
        for bit in range(len(chosen)):
            column = [None if value is None else value >> bit & 1 for value in table]
            m.d.comb += chosen[bit].eq(_look_up(column, self.next_slot))
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
