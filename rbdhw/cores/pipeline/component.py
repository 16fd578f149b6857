"""The pipelined core: the submodules of all regions, from a task's words to its results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Elaboratable, Module, Signal

from rbdhw.fixed.program import Program, Word
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.overflow import gather_overflows
from rbdhw.rtl.region import SETTLED, RegionModule, Wires
from rbdhw.schedule.model import Bound, Tap
from rbdhw.target import Primitive


class ForwardBackward(Elaboratable):
    """The round-trip pipelines: the submodules of all steps that belong to a joint."""

    def __init__(self, regions: list[RegionModule]) -> None:
        self._regions = regions

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for module in self._regions:
            m.submodules[str(module.region)] = module
        return m


class PipelineComponent(CorePorts):
    """A core of dedicated and shared operators, grouped by step and joint.

    Parameters
    ----------
    program, bound
        The computation, and its schedule with the binding to units and regions.
    primitive
        The device's multiplier block; without it the RTL is portable, with the same results.
    """

    def __init__(self, *, program: Program, bound: Bound, primitive: Primitive | None = None) -> None:
        self.bound = bound
        self.primitive = primitive
        super().__init__(program, bound.ii, bound.latency)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        wires = Wires(self.program, self.bound, self.primitive)
        if self.ii > 1:
            m.d.sync += wires.slots.eq(wires.slots.rotate_left(1))
        m.d.comb += self.phase_zero.eq(wires.slots[0])
        self._decode(m, wires)
        regions = sorted({self.bound.hosts[value] for value in self.bound.ready}, key=str)
        modules = [RegionModule(region, wires) for region in regions]
        for module in modules:
            if module.region.joint is None:
                m.submodules[str(module.region)] = module
        m.submodules.forward_backward = ForwardBackward([x for x in modules if x.region.joint is not None])
        for function, words in self.program.outputs.items():
            self._encode(m, wires, function, words)
            m.d.sync += getattr(self, f"overflow_{function}").eq(self._overflow(m, modules, function))
        return m

    def _decode(self, m: Module, wires: Wires) -> None:
        slots = split_sum(m, self.payload, self.program.slots)
        words = {
            word.value: slots[word.slot][: word.format.width].as_signed()
            for word in self.program.inputs
            if self.bound.group(word.value)[0] in self.bound.stages
        }
        for value, bits in words.items():
            group = self.bound.group(value)
            if len(group) == 1:
                m.d.comb += wires.tap(Tap(value, 0)).eq(bits)
            elif value == group[0]:
                self._take_turns(m, wires, group, [words[twin] for twin in group])
        for flag in self.program.flags:
            m.d.comb += wires.tap(Tap(flag.value, 0)).eq(self.flag_raised(flag))

    def _take_turns(self, m: Module, wires: Wires, group: Sequence[int], words: list[Any]) -> None:
        """Let twins, the same word of several limbs, share one signal; the later words wait in registers."""
        turn = wires.tap(Tap(group[0], 0))
        m.d.comb += turn.eq(words[0])
        for value, bits in zip(group[1:], words[1:], strict=True):
            waiting = Signal(bits.shape(), name=f"{wires.names[value]}_waiting", reset_less=True)
            with m.If(self.phase_zero):
                m.d.sync += waiting.eq(bits)
            with m.If(wires.slots[self.bound.ready[value]]):
                m.d.comb += turn.eq(waiting)

    def _encode(self, m: Module, wires: Wires, function: str, words: tuple[Word, ...]) -> None:
        cycle = self.bound.latency[function]
        results = [wires.tap(self.bound.tap(word.value, cycle)) for word in words]
        result = Signal(self.result_bits(function), name=f"encoded_{function}", reset_less=True)
        with m.If(wires.slots[cycle % self.ii]):
            m.d.sync += result.eq(Cat(results))
        m.d.comb += getattr(self, f"result_{function}").eq(result)

    def _overflow(self, m: Module, modules: list[RegionModule], function: str) -> Any:
        """Return whether a value that the function's results depend on overflowed, valid with the results.

        Each flag stays in registers of its region for up to :data:`~rbdhw.rtl.region.SETTLED` cycles before
        the flags are combined.
        """
        last = self.bound.latency[function]
        flags: dict[int, list[Any]] = defaultdict(list)
        for module in modules:
            for place in module.overflow_places:
                if function in place.functions:
                    later = min(last - place.cycle, SETTLED)
                    flags[place.cycle + later].append(module.flag(place, later))
        return gather_overflows(m, function, flags, last)
