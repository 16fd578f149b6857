"""The registers of loaded parameters, which complete the words of a task."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.interface import Interface
from rbdhw.rtl.arithmetic import split_sum


class Parameters(wiring.Component):
    """Holds the parameters of tasks that are admitted from now on.

    A load replaces all of them in the cycle in which it is admitted. A task takes them along when it is
    admitted, so it is computed wholly with one set.

    Parameters
    ----------
    interface : Interface
        The packet layout, with words that are held.

    Members
    -------
    words : In(bits)
        The fields of the slots of the task at the input.
    load : In(1)
        That task is a load, and is admitted.
    completed : Out(bits)
        These fields, with the parameters in their slots.
    odd : Out(1)
        Whether the number of loads so far is odd.

    Raises
    ------
    ValueError
        If no words are held.
    """

    def __init__(self, *, interface: Interface) -> None:
        if interface.parameters is None:
            raise ValueError("interface: holds no words; expected parameters")
        self.interface = interface
        self.initial = interface.parameters
        bits = interface.places[-1]
        super().__init__({"words": In(bits), "load": In(1), "completed": Out(bits), "odd": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        fields = split_sum(m, self.words, self.interface.fields)
        odd = Signal()
        parts = []
        for slot, field in enumerate(fields):
            word = self.interface.held.get(slot)
            if word is None:
                parts.append(field)
                continue
            value = self.initial[word.name] % (1 << len(field))
            held = Signal(len(field), name=f"parameter_{slot}", init=value)
            with m.If(self.load):
                m.d.sync += held.eq(field)
            parts.append(held)
        with m.If(self.load):
            m.d.sync += odd.eq(~odd)
        m.d.comb += [self.completed.eq(Cat(*parts)), self.odd.eq(odd)]
        return m
