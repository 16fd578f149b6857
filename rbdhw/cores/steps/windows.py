"""Windows: the cycles in which one link enters each sweep, and the memories that are written once in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory

from rbdhw.cores.steps.memories import Lookup, SharedWords, Store
from rbdhw.cores.steps.schedule import SweepSchedule
from rbdhw.rtl.arithmetic import split_sum


class Windows:
    """Counters of windows.

    ``slot`` is the cycle of the window, which is its ``first`` or its ``last`` one. ``count`` is the number
    of the window since the last cycle in which a task could start, and ``time`` its number modulo a power of
    two.
    """

    def __init__(self, m: Module, schedule: SweepSchedule, first: Any) -> None:
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

    def store(
        self,
        store: Store,
        value: Any,  # what is written in the first cycle of every window
        ahead: Any,  # the place of the link that enters in the next window
    ) -> list[Any]:
        """Return the words that were written for the link that enters its reader in this window."""
        slope = (store.last - store.first) // (self._schedule.links - 1)
        return self._remember(store, value, store.first + ahead * slope)

    def look_up(
        self,
        lookup: Lookup,
        value: Any,  # what is written in the first cycle of every window
        step: int,  # the windows from one link of a task to the next
        ahead: Any,  # the place of the link that enters in the next window
    ) -> tuple[list[Any], Any]:
        """Return the words that another link wrote for the link that enters, and whether there is one."""
        links = self._schedule.links
        bits = lookup.depth.bit_length() - 1
        following = pow(step, -1, links)  # places from the link of this window to that of the next one
        rows = [lookup.ages[(k + following) % links] << 1 | (lookup.ages[k] > 0) for k in range(links)]
        row = self.table(f"{lookup.name}_ages", rows, bits + 1, ahead)
        return self._remember(lookup, value, row[1:]), row[0]

    def task_words(
        self,
        name: str,  # the name of the memory
        shared: SharedWords,
        words: Mapping[str, Any],  # the words of the task that may start in this cycle
        starts: Any,  # whether a task may start in this cycle, which is the first one of a window
        ahead: Any,  # the place of the step that enters in the next window
    ) -> dict[str, Any]:
        """Return the words of the task whose step enters in this window, by name."""
        m = self._m
        memory = Memory(shape=shared.width, depth=shared.depth, init=[])
        m.submodules[name] = memory
        write, read = memory.write_port(), memory.read_port(domain="sync")
        newest, number, address = (
            Signal(range(shared.depth), name=f"{name}_{what}") for what in ("newest", "task", "address")
        )
        m.d.comb += [
            number.eq(newest + starts),
            address.eq(number - Array([C(age, newest.shape()) for age in shared.ages])[ahead]),
            write.addr.eq(number),
            write.data.eq(Cat(words[word.name] for word in shared.words)),
            write.en.eq(starts),
            read.addr.eq(address),
            read.en.eq(self.last),
        ]
        m.d.sync += newest.eq(number)
        parts = split_sum(m, read.data, [word.format.width for word in shared.words])
        return {word.name: part for word, part in zip(shared.words, parts, strict=True)}

    def _remember(self, memory_of: Store | Lookup, value: Any, age: Any) -> list[Any]:
        """Return the words that were written so many windows before the next one."""
        m = self._m
        memory = Memory(shape=memory_of.width, depth=memory_of.depth, init=[])
        m.submodules[memory_of.name] = memory
        write, read = memory.write_port(), memory.read_port(domain="sync")
        address = Signal(range(memory_of.depth), name=f"{memory_of.name}_address")
        m.d.comb += [
            address.eq(self.time + 1 - age),
            write.addr.eq(self.time),
            write.data.eq(value),
            write.en.eq(self.first),
            read.addr.eq(address),
            read.en.eq(self.last),
        ]
        return split_sum(m, read.data, [word.format.width for word in memory_of.words])
