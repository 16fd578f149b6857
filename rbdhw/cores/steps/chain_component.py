"""The chain core between memories, in which the numbers and the results of the links wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Cat, Module

from rbdhw.cores.steps.component import Steps
from rbdhw.cores.steps.memories import OUTPUT, TASK, Store, stores
from rbdhw.cores.steps.schedule import FIRST_WORDS, SweepSchedule
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.graph.sweeps import Sweep
from rbdhw.rtl.column_reader import NUMBER_LATENCY
from rbdhw.rtl.serial_core import SerialCore
from rbdhw.rtl.serial_layout import readers
from rbdhw.target import Primitive


class ChainComponent(SerialCore):
    """A core in which the links of a chain, and of several tasks, take turns."""

    def __init__(
        self, *, program: UnrolledProgram, schedule: SweepSchedule, primitive: Primitive | None = None
    ) -> None:
        self.program = program
        self.schedule = schedule
        self.primitive = primitive
        super().__init__(
            function=schedule.function,
            readers=readers(program.steps),
            slots=program.slots,
            width=program.outputs[schedule.function][0].format.width,
            window=schedule.window,
            cycles=serial_latency(schedule),
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        schedule = self.schedule
        links = _Links(self, m)
        windows = links.windows
        m.d.comb += [
            self.first.eq(windows.first),
            self.phase_zero.eq(windows.first & (windows.count == -_early(schedule) % schedule.links)),
            self.begins.eq(windows.first & (windows.count == schedule.output % schedule.links)),
        ]
        links.build()
        return m


def serial_latency(schedule: SweepSchedule) -> int:
    """Return the cycles from the start of a task, whose links are then read, to its last result."""
    return (_early(schedule) + schedule.output + schedule.links - 1) * schedule.window


def _early(schedule: SweepSchedule) -> int:
    """Return the windows from a task's start to that from which the schedule counts."""
    return -(-NUMBER_LATENCY // schedule.window) - FIRST_WORDS


class _Links(Steps):
    """Links that bring their numbers, and give their results, one after the other."""

    def _task_numbers(self, sweep: Sweep) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        for store in self._between(TASK, sweep.name):
            numbers = Cat(self._core.numbers[word.name.partition("[")[0]] for word in store.words)
            inputs |= self._stored(store, numbers)
        return inputs

    def _put_out(self) -> None:
        schedule = self._schedule
        (store,) = self._between(self._sweeps.sweeps[-1].name, OUTPUT)
        (result,) = store.words
        _, ahead = self.windows.link(OUTPUT, schedule.output, 1)
        (read,) = self.windows.store(store, self._handed[result.name], ahead)
        self._m.d.comb += [
            self._core.result.eq(read),
            self._core.overflow.eq(self._overflow(schedule.output + schedule.links - 1)),
        ]

    def _between(self, writer: str, reader: str) -> Iterator[Store]:
        for store in stores(self._core.program, self._schedule):
            if (store.writer, store.reader) == (writer, reader):
                yield store
