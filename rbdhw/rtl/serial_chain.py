"""The chain core between memories, in which the numbers and the results of the links wait."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module

from rbdhw.fixed.step_program import ChainProgram
from rbdhw.rtl.chain import Chain, add_step
from rbdhw.rtl.column_reader import NUMBER_LATENCY
from rbdhw.rtl.serial_core import SerialCore
from rbdhw.rtl.serial_layout import readers
from rbdhw.schedule.stores import Store
from rbdhw.schedule.sweeps import FIRST_WORDS, ChainSchedule
from rbdhw.target import Primitive


class SerialChain(SerialCore):
    """A core in which the links of a chain, and of several tasks, take turns.

    It is :class:`~rbdhw.rtl.chain.ChainComponent` without the registers for all words of a task and all its
    results.

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
        self.chain = program
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
        step, windows = add_step(m, self)
        m.d.comb += [
            self.first.eq(windows.first),
            self.phase_zero.eq(windows.first & (windows.count == -_early(schedule) % schedule.links)),
            self.begins.eq(windows.first & (windows.count == schedule.output % schedule.links)),
        ]
        _SerialChain(self, m, step, windows).build()
        return m


def serial_latency(schedule: ChainSchedule) -> int:
    """Return the cycles from the start of a task, whose links are then read, to its last result."""
    return (_early(schedule) + schedule.output + schedule.links - 1) * schedule.window


def _early(schedule: ChainSchedule) -> int:
    """Return the windows from a task's start to that from which the schedule counts."""
    return -(-NUMBER_LATENCY // schedule.window) - FIRST_WORDS


class _SerialChain(Chain):
    """A chain whose links bring their numbers, and give their results, one after the other."""

    def _next_words(self, store: Store) -> Any:
        """Return the numbers of the link whose window it is."""
        return Cat(self._core.numbers[word.name.partition("[")[0]] for word in store.words)

    def _put_out(self, store: Store) -> None:
        """Put out the result of the link whose window it is."""
        schedule = self._schedule
        self._m.d.comb += [
            self._core.result.eq(self._next_result(store)),
            self._core.overflow.eq(self._overflow(schedule.output + schedule.links - 1)),
        ]
