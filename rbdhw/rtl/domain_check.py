"""Whether a task's input words lie in their declared domain."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.rtl.packet import Function, check_functions

Check = tuple[int, int, int, int]
"""First bit and width of a word, and the lowest and the highest integer of its domain."""


class DomainCheck(wiring.Component):
    """Compares every input word with its bounds, for one task a cycle.

    Functions that take the same word in the same place share its comparison. A bound that the word's
    format cannot exceed costs nothing.

    Parameters
    ----------
    functions : tuple of Function
        What the accelerator can do.

    Members
    -------
    select : In(functions)
        One-hot: the task's function.
    words : In(bits)
        The packed words of the task, as wide as those of the widest function.
    outside : Out(1)
        Two cycles later: whether a word of that function is outside.

    Raises
    ------
    ValueError
        As :func:`check_functions`.
    """

    def __init__(self, *, functions: tuple[Function, ...]) -> None:
        check_functions(functions)
        self.functions = functions
        self.bits = max(function.input_bits for function in functions)
        super().__init__({"select": In(len(functions)), "words": In(self.bits), "outside": Out(1)})

    @property
    def latency(self) -> int:
        """Cycles from the words to ``outside``."""
        return 2

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        select = Signal.like(self.select, reset_less=True)
        outside = Signal(reset_less=True)
        flags: dict[Check, Any] = {}
        for function in self.functions:
            for check in checks(function):
                flags.setdefault(check, Signal(name=f"outside_{check[0]}", reset_less=True))
        for (first, width, lowest, highest), flag in flags.items():
            word = self.words[first : first + width].as_signed()
            m.d.sync += flag.eq((word < lowest) | (word > highest))
        found = Cat(Cat(flags[check] for check in checks(function)).any() for function in self.functions)
        m.d.sync += [select.eq(self.select), outside.eq((found & select).any())]
        m.d.comb += self.outside.eq(outside)
        return m


def checks(function: Function) -> list[Check]:
    """The comparisons that a function's words need."""
    needed: list[Check] = []
    first = 0
    for word in function.inputs:
        width, lowest, highest = word.format.width, word.format.lowest, word.format.highest
        check = (
            first,
            width,
            lowest if word.lowest is None else word.lowest,
            highest if word.highest is None else word.highest,
        )
        if check[2] > lowest or check[3] < highest:
            needed.append(check)
        first += width
    return needed
