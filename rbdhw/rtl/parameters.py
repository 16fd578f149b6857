"""The registers of loaded parameters, which complete the words of a task."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.model.interface import Interface
from rbdhw.rtl.arithmetic import split_sum


class Parameters(wiring.Component):
    """Holds the parameters of tasks that are admitted from now on.

    A load replaces all of its set in the cycle in which it is admitted. A task takes its set along when it is
    admitted, so it is computed wholly with the old or with the new parameters.

    Raises ValueError if no words are held.
    """

    def __init__(self, *, interface: Interface) -> None:
        if interface.parameters is None:
            raise ValueError("interface: holds no words; expected parameters")
        self.interface = interface
        self.initial = interface.parameters
        self.sets = interface.parameter_sets
        bits = interface.places[-1]
        super().__init__(
            {
                "words": In(bits),  # the fields of the slots of the task at the input
                "load": In(1),  # that task is a load, and is admitted
                "number": In((self.sets - 1).bit_length()),  # the number of that task's set
                "completed": Out(bits),  # these fields, with the parameters of the set in their slots
                "odd": Out(1),  # whether the number of loads of the set so far is odd
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        loads = [self.load & (self.number == k) if self.sets > 1 else self.load for k in range(self.sets)]
        parts = []
        for slot, field in enumerate(split_sum(m, self.words, self.interface.fields)):
            word = self.interface.held.get(slot)
            if word is None:
                parts.append(field)
                continue
            value = self.initial[word.name] % (1 << len(field))
            held = [
                Signal(len(field), name=self._name(f"parameter_{slot}", k), init=value)
                for k in range(self.sets)
            ]
            for load, register in zip(loads, held, strict=True):
                with m.If(load):
                    m.d.sync += register.eq(field)
            parts.append(self._of_set(held))
        odd = [Signal(name=self._name("odd", k)) for k in range(self.sets)]
        for load, register in zip(loads, odd, strict=True):
            with m.If(load):
                m.d.sync += register.eq(~register)
        m.d.comb += [self.completed.eq(Cat(*parts)), self.odd.eq(self._of_set(odd))]
        return m

    def _name(self, name: str, number: int) -> str:
        return f"{name}_of_{number}" if self.sets > 1 else name

    def _of_set(self, each: list[Signal]) -> Any:
        return Array(each)[self.number] if self.sets > 1 else each[0]


def parameter_cells(interface: Interface, fabric: Fabric) -> Cells:
    """Return the registers of all sets of loaded parameters, and the selection of a task's set."""
    bits, sets = sum(interface.fields[slot] for slot in interface.held), interface.parameter_sets
    return Cells(luts=fabric.multiplexer(sets, bits), flip_flops=sets * bits)
