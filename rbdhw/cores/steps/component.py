"""The hardware of one step, through which all links of a robot, or all stages of a method, pass in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned

from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.cores.steps.memories import OUTPUT, TASK, Lookup, Store, lookups, stores
from rbdhw.cores.steps.windows import Windows
from rbdhw.fixed.step_program import constant_integer
from rbdhw.graph.sweeps import Carried, Constant, Sweep
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.polynomial import pack


class Steps(ABC):
    """The hardware of a step, and what stands around it.

    In every window each sweep takes one link, or one stage. Numbers that a step hands on wait in registers
    for the next link, or in memories for a later sweep. A memory is written in every window, at the window's
    number, so the place of a number follows from the link and nothing is allocated. The component ``core``
    has the ``program`` of all steps, a ``schedule`` and a ``primitive``.
    """

    def __init__(self, core: Any, m: Module) -> None:
        m.submodules.step = step = PipelineComponent(
            program=core.program.steps.program, bound=core.schedule.step, primitive=core.primitive
        )
        self._core, self._m, self._step = core, m, step
        self.windows = windows = Windows(m, core.schedule, step.phase_zero)
        self._schedule, self._sweeps = core.schedule, core.program.steps.sweeps
        self._links = self._sweeps.links
        self._times = {
            sweep.name: time for sweep, time in zip(self._sweeps.sweeps, self._schedule.sweeps, strict=True)
        }
        self._words = {word.name: word for word in core.program.steps.program.inputs}
        self._places = {name: windows.link(name, time.start, time.step) for name, time in self._times.items()}
        self._handed = self._split_results()

    def build(self) -> None:
        inputs: dict[str, Any] = {}
        for store in stores(self._core.program, self._schedule):
            if store.writer != TASK and store.reader != OUTPUT:
                handed = Cat(self._handed[f"{store.writer}.{word.name}"] for word in store.words)
                inputs |= self._stored(store, handed)
        for lookup in lookups(self._core.program, self._schedule):
            inputs |= self._looked_up(lookup)
        for sweep in self._sweeps.sweeps:
            inputs |= self._constants(sweep) | self._carried(sweep) | self._task_numbers(sweep)
        self._put_out()
        ordered = sorted(self._words.values(), key=lambda word: word.slot)
        self._m.d.comb += self._step.payload.eq(Cat(inputs[word.name] for word in ordered))

    def _split_results(self) -> dict[str, Any]:
        """Return what steps hand on, by the names of the words, valid in the first cycle of a window."""
        results: dict[str, Any] = {}
        for sweep, words in self._core.program.steps.program.outputs.items():
            parts = split_sum(
                self._m, getattr(self._step, f"result_{sweep}"), [word.format.width for word in words]
            )
            results |= {word.name: part for word, part in zip(words, parts, strict=True)}
        return results

    @abstractmethod
    def _task_numbers(self, sweep: Sweep) -> dict[str, Any]:
        """Return the inputs of a sweep that are numbers of the task."""

    @abstractmethod
    def _put_out(self) -> None:
        """Put out the results."""

    # What a step reads

    def _stored(self, store: Store, value: Any) -> dict[str, Any]:
        """Return the inputs that a memory holds, which is written with a value in every window."""
        read = self.windows.store(store, value, self._places[store.reader][1])
        return {word.name: part for word, part in zip(store.words, read, strict=True)}

    def _constants(self, sweep: Sweep) -> dict[str, Any]:
        """Return the constants of the link that enters a sweep, from one table."""
        names = self._names(sweep, Constant)
        if not names:
            return {}
        widths = [self._words[name].format.width for name in names]
        rows = [
            pack([self._constant(name, link) for name in names], widths) for link in sweep.order(self._links)
        ]
        ahead = self._places[sweep.name][1]
        read = self.windows.table(f"{sweep.name}_constants", rows, sum(widths), ahead)
        return dict(zip(names, split_sum(self._m, read, widths), strict=True))

    def _constant(self, name: str, link: int) -> int:
        source = self._sweeps.sources[name]
        assert isinstance(source, Constant)
        return constant_integer(self._words[name].format, source.values[link], source.chooses)

    def _carried(self, sweep: Sweep) -> dict[str, Any]:
        """Return what the step before hands on, or the constants with which a sweep begins."""
        inputs: dict[str, Any] = {}
        if self._sweeps.branches(sweep):
            return inputs
        time, link = self._times[sweep.name], self._places[sweep.name][0]
        for name in self._names(sweep, Carried):
            handed = self.windows.delay(name, self._handed[f"{sweep.name}.{name}"], time.step - time.delay)
            inputs[name] = Mux(link == 0, self._first(name), handed)
        return inputs

    def _looked_up(self, lookup: Lookup) -> dict[str, Any]:
        """Return what another link hands on, or the constants for a link that has none before it."""
        handed = Cat(self._handed[f"{lookup.sweep}.{word.name}"] for word in lookup.words)
        ahead, step = self._places[lookup.sweep][1], self._times[lookup.sweep].step
        words, known = self.windows.look_up(lookup, handed, step, ahead)
        return {
            word.name: Mux(known, handed_on, self._first(word.name))
            for word, handed_on in zip(lookup.words, words, strict=True)
        }

    def _first(self, name: str) -> Const:
        """Return the constant that an input has if no link hands on to it."""
        source, chosen = self._sweeps.sources[name], self._words[name].format
        assert isinstance(source, Carried)
        return Const(constant_integer(chosen, source.first), unsigned(chosen.width))

    def _names(self, sweep: Sweep, kind: type) -> list[str]:
        """Return the inputs of a sweep with one kind of source."""
        return [name for name in sweep.step.inputs if isinstance(self._sweeps.sources[name], kind)]

    # What leaves

    def _overflow(self, window: int) -> Any:
        """Return whether a value of the task overflowed, in the first cycle of this window after its start.

        The flag goes through all sweeps with the links.
        """
        windows, before = self.windows, Const(0)
        ready = 0
        for name, time in self._times.items():
            if ready:
                before = windows.delay(f"{name}_overflow_before", before, time.start - ready)
            flag = Signal(name=f"{name}_overflow_carried")
            entered = Signal(name=f"{name}_overflow_entered")
            total = Signal(name=f"{name}_overflow_total")
            self._m.d.comb += [
                entered.eq(Mux(self._places[name][0] == 0, before, flag)),
                total.eq(self._settled(name) | windows.delay(f"{name}_overflow", entered, time.delay)),
                flag.eq(windows.delay(f"{name}_overflow_handed", total, time.step - time.delay)),
            ]
            before, ready = total, time.last(self._links)
        return windows.delay("overflow_done", before, window - ready)

    def _settled(self, sweep: str) -> Any:
        """Return a step's overflow in the first cycle of the window in which its results are ready."""
        overflow = getattr(self._step, f"overflow_{sweep}")
        slot = self._step.latency(sweep) % self._schedule.window
        if slot == 0:
            return overflow
        held = Signal(name=f"{sweep}_overflow_held")
        with self._m.If(self.windows.slot == slot):
            self._m.d.sync += held.eq(overflow)
        return held
