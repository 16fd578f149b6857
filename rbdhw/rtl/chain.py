"""The chain core: the hardware of one link's step, through which all links of a chain pass in turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib.memory import Memory

from rbdhw.fixed.program import Word
from rbdhw.fixed.step_program import ChainProgram, constant_integer
from rbdhw.graph.sweeps import Carried, Constant, Given, Sweep
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.core import PipelineComponent
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.stream import registers
from rbdhw.schedule.stores import OUTPUT, TASK, Store, stores
from rbdhw.schedule.sweeps import ChainSchedule
from rbdhw.target import Primitive


class ChainComponent(CorePorts):
    """A core in which the links of a chain, and of several tasks, take turns.

    In every window each sweep takes one link. Numbers that a step hands on wait in registers for the next
    link, or in memories for a later sweep. A memory is written in every window, at the window's number, so
    the place of a number follows from the link and nothing is allocated.

    Parameters
    ----------
    program
        The program of all links, with that of one step.
    schedule
        When each link enters each sweep.
    primitive
        The device's multiplier block; without it the RTL is portable, with the same results.
    """

    def __init__(
        self, *, program: ChainProgram, schedule: ChainSchedule, primitive: Primitive | None = None
    ) -> None:
        self.schedule = schedule
        self.primitive = primitive
        self.chain = program
        super().__init__(program, schedule.ii, schedule.latency)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        step, windows = add_step(m, self)
        m.d.comb += self.phase_zero.eq(step.phase_zero & (windows.count == 0))
        Chain(self, m, step, windows).build()
        return m


def add_step(m: Module, core: Any) -> tuple[PipelineComponent, Windows]:
    """Add the hardware of a link's step to a chain core, and the counters of its windows."""
    m.submodules.step = step = PipelineComponent(
        program=core.chain.steps.program, bound=core.schedule.step, primitive=core.primitive
    )
    return step, Windows(m, core.schedule, step.phase_zero)


class Windows:
    """Counters of windows.

    Members
    -------
    slot : Signal
        The cycle of the window.
    first, last : Signal
        Whether this is the first, or the last, cycle of a window.
    count : Signal
        The number of the window since the last cycle in which a task could start.
    time : Signal
        The number of the window, modulo a power of two.
    """

    def __init__(self, m: Module, schedule: ChainSchedule, first: Any) -> None:
        self._m, self._schedule = m, schedule
        self.first = first
        self.slot = Signal(range(schedule.window))
        self.last = Signal()
        m.d.comb += self.last.eq(self.slot == schedule.window - 1)
        m.d.sync += self.slot.eq(Mux(self.last, 0, self.slot + 1))
        self.count = Signal(range(schedule.links))
        self.time = Signal((2 * schedule.output + 2 * schedule.links).bit_length())
        with m.If(self.last):
            m.d.sync += [
                self.count.eq(Mux(self.count == schedule.links - 1, 0, self.count + 1)),
                self.time.eq(self.time + 1),
            ]

    def link(self, name: str, start: int, step: int) -> tuple[Signal, Signal]:
        """Return the place of the link that enters in this window, and in the next one.

        Place k enters in the windows ``start + k * step``, and every ``links`` windows later.
        """
        links = self._schedule.links
        inverse = pow(step, -1, links)
        now, ahead = (
            Signal(range(links), name=f"{name}_{when}", init=-(start - k) * inverse % links)
            for k, when in enumerate(("link", "next_link"))
        )
        more = Signal(range(2 * links), name=f"{name}_more")
        self._m.d.comb += more.eq(ahead + inverse)
        with self._m.If(self.last):
            self._m.d.sync += [now.eq(ahead), ahead.eq(Mux(more >= links, more - links, more))]
        return now, ahead

    def delay(self, name: str, value: Any, windows: int) -> Any:
        """Return a value that is valid in the first cycle of a window, this many windows later."""
        for k in range(windows):
            later = Signal.like(value, name=f"{name}_later{k + 1}", reset_less=True)
            with self._m.If(self.first):
                self._m.d.sync += later.eq(value)
            value = later
        return value

    def table(self, name: str, rows: Sequence[int], width: int, ahead: Any) -> Any:
        """Return the row of a table for the link that enters in this window."""
        memory = Memory(shape=width, depth=len(rows), init=rows)
        self._m.submodules[name] = memory
        read = memory.read_port(domain="sync")
        self._m.d.comb += [read.addr.eq(ahead), read.en.eq(self.last)]
        return read.data

    def store(self, store: Store, value: Any, ahead: Any) -> list[Any]:
        """Return the words that were written for the link that enters its reader in this window.

        Parameters
        ----------
        value
            What is written in the first cycle of every window.
        ahead
            The place of the link that enters in the next window.
        """
        m, places = self._m, self._schedule.links
        memory = Memory(shape=store.width, depth=store.depth, init=[])
        m.submodules[store.name] = memory
        write, read = memory.write_port(), memory.read_port(domain="sync")
        address = Signal(range(store.depth), name=f"{store.name}_address")
        slope = (store.last - store.first) // (places - 1)
        m.d.comb += [
            address.eq(self.time + 1 - store.first - ahead * slope),
            write.addr.eq(self.time),
            write.data.eq(value),
            write.en.eq(self.first),
            read.addr.eq(address),
            read.en.eq(self.last),
        ]
        return split_sum(m, read.data, [word.format.width for word in store.words])


class Chain:
    """What stands around the hardware of a step: the task's numbers, what steps hand on, and the results.

    All words of a task come in one cycle, and so do its results.
    """

    def __init__(self, core: Any, m: Module, step: PipelineComponent, windows: Windows) -> None:
        self._core, self._m, self._step, self._windows = core, m, step, windows
        self._schedule, self._sweeps = core.schedule, core.chain.steps.sweeps
        self._links = self._sweeps.links
        self._times = {
            sweep.name: time for sweep, time in zip(self._sweeps.sweeps, self._schedule.sweeps, strict=True)
        }
        self._words = {word.name: word for word in core.chain.steps.program.inputs}
        self._places = {name: windows.link(name, time.start, time.step) for name, time in self._times.items()}
        self._handed = self._split_results()

    def build(self) -> None:
        """Connect everything."""
        inputs: dict[str, Any] = {}
        for store in stores(self._core.chain, self._schedule):
            if store.reader == OUTPUT:
                self._put_out(store)
                continue
            handed = (
                Cat(self._handed[f"{store.writer}.{word.name}"] for word in store.words)
                if store.writer != TASK
                else self._next_words(store)
            )
            ahead = self._places[store.reader][1]
            found = self._windows.store(store, handed, ahead)
            inputs |= {word.name: part for word, part in zip(store.words, found, strict=True)}
        for sweep in self._sweeps.sweeps:
            inputs |= self._constants(sweep) | self._carried(sweep)
        ordered = sorted(self._words.values(), key=lambda word: word.slot)
        self._m.d.comb += self._step.payload.eq(Cat(inputs[word.name] for word in ordered))

    def _split_results(self) -> dict[str, Any]:
        """Return what steps hand on, by the names of the words, valid in the first cycle of a window."""
        found: dict[str, Any] = {}
        for sweep, words in self._core.chain.steps.program.outputs.items():
            parts = split_sum(
                self._m, getattr(self._step, f"result_{sweep}"), [word.format.width for word in words]
            )
            found |= {word.name: part for word, part in zip(words, parts, strict=True)}
        return found

    # What a step reads

    def _next_words(self, store: Store) -> Any:
        """Return the task's numbers for a store: those of one link in each window."""
        waiting = [
            Signal(store.width, name=f"{store.reader}_words_{link}", reset_less=True)
            for link in range(self._links)
        ]
        with self._m.If(self._core.phase_zero):
            self._m.d.sync += [own.eq(self._row(store.words, link)) for link, own in enumerate(waiting)]
        with self._m.Elif(self._windows.first):
            self._m.d.sync += [own.eq(later) for own, later in pairwise(waiting)]
        return waiting[0]

    def _row(self, inputs: Sequence[Word], link: int) -> Any:
        """Return the numbers of a link side by side, each as wide as the input that reads it."""
        parts = []
        for own in inputs:
            source = self._sweeps.sources[own.name]
            assert isinstance(source, Given)
            name = source.name(link)
            number = Signal(own.format.width, name=f"{own.name}_{link}")
            self._m.d.comb += number.eq(0 if name is None else self._payload[name].as_signed())
            parts.append(number)
        return Cat(parts)

    @cached_property
    def _payload(self) -> dict[str, Any]:
        """The words of the task that starts in this cycle."""
        program = self._core.program
        slots = split_sum(self._m, self._core.payload, program.slots)
        return {word.name: slots[word.slot][: word.format.width] for word in program.inputs}

    def _constants(self, sweep: Sweep) -> dict[str, Any]:
        """Return the constants of the link that enters a sweep, from one table."""
        names = self._names(sweep, Constant)
        if not names:
            return {}
        widths = self._widths(names)
        rows = [
            _pack([self._constant(name, link) for name in names], widths) for link in sweep.order(self._links)
        ]
        ahead = self._places[sweep.name][1]
        read = self._windows.table(f"{sweep.name}_constants", rows, sum(widths), ahead)
        return dict(zip(names, split_sum(self._m, read, widths), strict=True))

    def _constant(self, name: str, link: int) -> int:
        source = self._sweeps.sources[name]
        assert isinstance(source, Constant)
        return constant_integer(self._words[name].format, source.values[link], source.chooses)

    def _carried(self, sweep: Sweep) -> dict[str, Any]:
        """Return what the step before hands on, or the constants with which a sweep begins."""
        found = {}
        time, place = self._times[sweep.name], self._places[sweep.name][0]
        for name in self._names(sweep, Carried):
            source = self._sweeps.sources[name]
            assert isinstance(source, Carried)
            handed = self._windows.delay(name, self._handed[f"{sweep.name}.{name}"], time.step - time.delay)
            chosen = self._words[name].format
            first = constant_integer(chosen, source.first)
            found[name] = Mux(place == 0, Const(first, unsigned(chosen.width)), handed)
        return found

    def _names(self, sweep: Sweep, kind: type) -> list[str]:
        """Return the inputs of a sweep with one kind of source."""
        return [name for name in sweep.step.inputs if isinstance(self._sweeps.sources[name], kind)]

    def _widths(self, names: Sequence[str]) -> list[int]:
        return [self._words[name].format.width for name in names]

    # What leaves

    def _overflow(self, window: int) -> Any:
        """Return whether a value of the task overflowed, in the first cycle of this window after its start.

        The flag goes through all sweeps with the links.
        """
        windows, before = self._windows, Const(0)
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
        with self._m.If(self._windows.slot == slot):
            self._m.d.sync += held.eq(overflow)
        return held

    def _put_out(self, store: Store) -> None:
        """Put the results of all links side by side, when the last one has arrived."""
        windows, schedule, read = self._windows, self._schedule, self._next_result(store)
        gathered, whole = (registers(name, store.width * self._links) for name in ("gathered", "whole"))
        flag, overflow = Signal(), self._overflow(schedule.output + self._links)
        with self._m.If(windows.first):
            self._m.d.sync += gathered.eq(Cat(gathered[store.width :], read))
            with self._m.If(windows.count == schedule.output % self._links):
                self._m.d.sync += [whole.eq(gathered), flag.eq(overflow)]
        self._m.d.comb += [
            getattr(self._core, f"result_{schedule.function}").eq(whole),
            getattr(self._core, f"overflow_{schedule.function}").eq(flag),
        ]

    def _next_result(self, store: Store) -> Any:
        """Return the results of the task: that of one link in each window."""
        (result,) = store.words
        _, ahead = self._windows.link(OUTPUT, self._schedule.output, 1)
        (read,) = self._windows.store(store, self._handed[result.name], ahead)
        return read


def _pack(numbers: Sequence[int], widths: Sequence[int]) -> int:
    """Return integers side by side in two's complement, the first in the lowest bits."""
    packed, start = 0, 0
    for number, width in zip(numbers, widths, strict=True):
        packed |= (number & ((1 << width) - 1)) << start
        start += width
    return packed
