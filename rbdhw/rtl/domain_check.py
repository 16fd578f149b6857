"""The check that a task's input words lie in their declared domain."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.model.interface import Interface
from rbdhw.rtl.arithmetic import split_sum

CHECKED = 2
"""Cycles from a task's words to the result of the check."""

Check = tuple[int, int, int, int]
"""First bit and width of a field, and the lowest and highest integer of its word's domain."""


class DomainCheck(wiring.Component):
    """Compares every input word with its bounds, one task per cycle.

    The comparison covers the whole field, which may be wider than the word. Functions with the same word in
    the same place share a comparison. A bound that the field cannot exceed needs no logic.
    """

    def __init__(self, *, interface: Interface) -> None:
        self.interface = interface
        super().__init__(
            {
                "select": In(len(interface.functions)),  # one-hot: the task's function
                "extended": In(1),  # whether the task carries its optional words
                "words": In(interface.places[-1]),  # the fields of the task's slots
                # Whether a word of that task lies outside its domain, `CHECKED` cycles later.
                "outside": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        select = Signal.like(self.select, reset_less=True)
        extended = Signal(reset_less=True)
        outside = Signal(reset_less=True)
        flags: dict[Check, Any] = {}
        for function in self.interface.functions:
            for check in checks(self.interface, function.brought(extended=True)):
                flags.setdefault(check, Signal(name=f"outside_{check[0]}", reset_less=True))
        parts = split_sum(m, self.words, self.interface.fields)
        fields = dict(zip(self.interface.places, parts, strict=False))
        for (first, _, lowest, highest), flag in flags.items():
            field = fields[first].as_signed()
            m.d.sync += flag.eq((field < lowest) | (field > highest))
        by_function = []
        for function in self.interface.functions:
            always, optional = (
                Cat(flags[check] for check in checks(self.interface, words)).any()
                for words in (function.inputs, function.optional_inputs)
            )
            by_function.append(always | extended & optional)
        m.d.sync += [
            select.eq(self.select),
            extended.eq(self.extended),
            outside.eq((Cat(by_function) & select).any()),
        ]
        m.d.comb += self.outside.eq(outside)
        return m


def checks(interface: Interface, words: tuple[Word, ...]) -> list[Check]:
    """Return the comparisons that these words need, those that are loaded where loads have them."""
    needed: list[Check] = []
    for word in map(interface.stored, words):
        if word.lowest is None or word.highest is None:
            continue
        field = Format(interface.fields[word.slot], 0)
        if word.lowest > field.lowest or word.highest < field.highest:
            needed.append((interface.places[word.slot], field.width, word.lowest, word.highest))
    return needed


def domain_check_cells(interface: Interface, fabric: Fabric) -> Cells:
    """Return the cells that compare the words of all functions with their bounds."""
    compared = {
        check
        for function in interface.functions
        for check in checks(interface, function.brought(extended=True))
    }
    bits = sum(width for _, width, _, _ in compared)
    return Cells(luts=2.0 * bits * fabric.compare, flip_flops=len(compared))
