"""The accelerator's core: every region of the bound design, from a task's words to its results."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.fixed.program import Program, Word
from rbdhw.rtl.region import RegionModule, Wires
from rbdhw.schedule.model import Bound, Tap


class ForwardBackward(Elaboratable):
    """The Round-Trip Pipelines: the submodules of all steps that belong to a joint."""

    def __init__(self, regions: list[RegionModule]) -> None:
        self._regions = regions

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for module in self._regions:
            m.submodules[str(module.region)] = module
        return m


class Core(wiring.Component):
    """Takes a task's words, answers with its results a fixed number of cycles later; never stalls.

    Parameters
    ----------
    program, bound
        What to compute, and when and where.

    Members
    -------
    phase_zero : Out
        Whether a task may start in this cycle.
    payload : In
        The words of the task that starts in this cycle, packed as in its packet.
    result_F, overflow_F : Out
        For each function F the packed output words, and whether a value overflowed, of the task that
        started ``latency(F)`` cycles ago; registered.
    """

    def __init__(self, *, program: Program, bound: Bound) -> None:
        self.program = program
        self.bound = bound
        self.payload_bits = sum(word.format.width for word in program.inputs)
        members: dict[str, Any] = {"phase_zero": Out(1), "payload": In(self.payload_bits)}
        for function in program.outputs:
            members[f"result_{function}"] = Out(self.result_bits(function))
            members[f"overflow_{function}"] = Out(1)
        super().__init__(members)

    @property
    def ii(self) -> int:
        """Cycles between tasks."""
        return self.bound.ii

    def latency(self, function: str) -> int:
        """Cycles from a task's start to its results."""
        return self.bound.latency[function] + 1

    def result_bits(self, function: str) -> int:
        """The width of a function's packed output words."""
        return sum(word.format.width for word in self.program.outputs[function])

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        wires = Wires(self.program, self.bound)
        if self.ii > 1:
            m.d.sync += wires.slots.eq(wires.slots.rotate_left(1))
            m.d.sync += wires.phase.eq(Mux(wires.slots[-1], 0, wires.phase + 1))
        m.d.comb += self.phase_zero.eq(wires.slots[0])
        self._decode(m, wires)
        regions = sorted({self.bound.hosts[value] for value in self.bound.ready}, key=str)
        modules = [RegionModule(region, wires) for region in regions]
        for module in modules:
            if module.region.joint is None:
                m.submodules[str(module.region)] = module
        m.submodules.forward_backward = ForwardBackward([x for x in modules if x.region.joint is not None])
        flags = self._flags(m, modules)
        for function, words in self.program.outputs.items():
            self._encode(m, wires, function, words)
            m.d.sync += getattr(self, f"overflow_{function}").eq(flags[self.bound.latency[function]])
        return m

    def _decode(self, m: Module, wires: Wires) -> None:
        position = 0
        for word in self.program.inputs:
            bits = self.payload[position : position + word.format.width]
            if word.value in self.bound.stages:
                m.d.comb += wires.tap(Tap(word.value, 0)).eq(bits.as_signed())
            position += word.format.width

    def _encode(self, m: Module, wires: Wires, function: str, words: tuple[Word, ...]) -> None:
        cycle = self.bound.latency[function]
        results = [wires.tap(self.bound.tap(word.value, cycle)) for word in words]
        result = Signal(self.result_bits(function), name=f"encoded_{function}", reset_less=True)
        m.d.sync += result.eq(Cat(results))
        m.d.comb += getattr(self, f"result_{function}").eq(result)

    def _flags(self, m: Module, modules: list[RegionModule]) -> list[Any]:
        """By cycle of the task, whether anything overflowed up to and in that cycle."""
        last = max(self.bound.latency.values())
        flags: list[Any] = []
        earlier: Any = Const(0)
        for cycle in range(last + 1):
            own = [module.flags[cycle] for module in modules if cycle in module.flags]
            flags.append(Cat(earlier, *own).any())
            earlier = Signal(name=f"overflow_until_{cycle}", reset_less=True)
            m.d.sync += earlier.eq(flags[-1])
        return flags
