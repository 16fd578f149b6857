"""The pipelined core: the submodules of all regions, from a task's words to its results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed

from rbdhw.fixed.program import Kind, Program, Word
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.core_ports import CorePorts, gather_overflows
from rbdhw.rtl.delay import after, delay_line
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.region import RegionModule
from rbdhw.rtl.signature import BoundProgram
from rbdhw.schedule.model import Bound, Tap
from rbdhw.target import Primitive


class PipelineComponent(CorePorts):
    """A core of dedicated and shared operators, grouped by step and joint.

    Without the device's multiplier block ``primitive`` the RTL is portable, with the same results.
    """

    def __init__(self, *, program: Program, bound: Bound, primitive: Primitive | None = None) -> None:
        self.bound = bound
        self.primitive = primitive
        latency = {function: bound.entry + cycles for function, cycles in bound.latency.items()}
        super().__init__(program, bound.ii, latency, late=bound.late)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        source = BoundProgram(self.program, self.bound)
        slots = Signal(self.ii, name="slots", init=1)
        if self.ii > 1:
            m.d.sync += slots.eq(slots.rotate_left(1))
        m.d.comb += self.phase_zero.eq(slots[-self.bound.entry % self.ii])
        regions = [RegionModule(signature, source, self.primitive) for signature in source.signatures]
        taps = self._decode(m, source, slots)
        for region, signature in zip(regions, source.signatures, strict=True):
            m.submodules[str(region.region)] = region
            taps |= {tap: region.port(tap) for tap in signature.outputs}
        for region, signature in zip(regions, source.signatures, strict=True):
            m.d.comb += [region.port(tap).eq(taps[tap]) for tap in signature.inputs]
            if "slots" in region.signature.members:
                m.d.comb += region.slots.eq(slots)
        for function, words in self.program.outputs.items():
            self._encode(m, [self._result(taps, function, word) for word in words], function, slots)
            m.d.comb += getattr(self, f"overflow_{function}").eq(self._overflow(m, regions, function))
        return m

    def _decode(self, m: Module, source: BoundProgram, slots: Signal) -> dict[Tap, Any]:
        """Return the words of the task that enters, and its flags."""
        names = ("payload", "functions", "options")
        task = {f"entered_{name}": getattr(self, name) for name in names}
        payload, functions, options = after(m, self.bound.entry, **task)
        fields = split_sum(m, payload, self.program.slots)
        words = {
            word.value: fields[word.slot][: word.format.width].as_signed()
            for word in self.program.inputs
            if self.bound.group(word.value)[0] in self.bound.stages
        }
        words |= self._late_words(m, source, words)
        taps: dict[Tap, Any] = {}
        for value, bits in words.items():
            group = self.bound.group(value)
            if value == group[0]:
                taps[Tap(value, 0)] = turn = Signal(bits.shape(), name=source.names[value])
                m.d.comb += turn.eq(bits)
                self._take_turns(m, source, turn, group, words, slots)
        for flag in self.program.flags:
            taps[Tap(flag.value, 0)] = raised = Signal(source.shape(Tap(flag.value, 0)), name=flag.name)
            m.d.comb += raised.eq(self.flag_raised(flag, functions, options))
        return taps

    def _late_words(self, m: Module, source: BoundProgram, words: Mapping[int, Any]) -> dict[int, Any]:
        """Return the late words: those that came with the task wait until others may take their place.

        Where words enter a register, late ones do, too: as many cycles after the start of a task as others of
        their cycle are without one.
        """
        if not self.late:
            return {}
        given, late = split_words(self.late_words, self.late_payload), {}
        entry, stages = self.bound.entry, self.bound.memory_stages
        waits = self.late - entry
        for word in self.late_words:
            if word.value in words:
                bits, name = words[word.value], f"{source.names[word.value]}_early"
                early = Signal(bits.shape(), name=name)
                m.d.comb += early.eq(bits)
                line = delay_line(m, early, 1, (waits,), name=name, memory_stages=stages)
                chosen = Mux(self.late_enable, given[word.name], line[waits]).as_signed()
                (late[word.value],) = after(m, entry, **{f"{source.names[word.value]}_chosen": chosen})
        return late

    def _take_turns(
        self,
        m: Module,
        source: BoundProgram,
        turn: Signal,
        group: Sequence[int],
        words: Mapping[int, Any],
        slots: Signal,
    ) -> None:
        """Let twins, the same word of several limbs, share one signal; the later words wait in registers."""
        for value in group[1:]:
            waiting = Signal(turn.shape(), name=f"{source.names[value]}_waiting", reset_less=True)
            with m.If(slots[0]):
                m.d.sync += waiting.eq(words[value])
            with m.If(slots[self.bound.ready[value]]):
                m.d.comb += turn.eq(waiting)

    def _result(self, taps: Mapping[Tap, Any], function: str, word: Word) -> Any:
        """Return the signal of a result in the cycle in which the last one of its function is there."""
        operation = self.program.operations[word.value]
        if operation.kind is Kind.CONSTANT:
            return Const(operation.constant, signed(operation.format.width))
        return taps[self.bound.tap(word.value, self.bound.latency[function])]

    def _encode(self, m: Module, results: Sequence[Any], function: str, slots: Signal) -> None:
        result = Signal(self.result_bits(function), name=f"encoded_{function}", reset_less=True)
        with m.If(slots[self.bound.latency[function] % self.ii]):
            m.d.sync += result.eq(Cat(results))
        m.d.comb += getattr(self, f"result_{function}").eq(result)

    def _overflow(self, m: Module, regions: Sequence[RegionModule], function: str) -> Any:
        """Return whether a value that the function's results depend on overflowed, valid with the results.

        Each flag stays in registers of its region for one or :data:`~rbdhw.rtl.region.SETTLED` cycles before
        the flags are combined.
        """
        flags: dict[int, list[Any]] = defaultdict(list)
        for region in regions:
            for cycle, flag in region.flags(function):
                flags[cycle].append(flag)
        return gather_overflows(m, function, flags, self.bound.latency[function] + 1)
