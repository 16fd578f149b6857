"""The loop core: the hardware of one stage of a method in time, through which all stages pass in turn."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal

from rbdhw.cores.steps.component import Steps
from rbdhw.cores.steps.memories import shared_words
from rbdhw.cores.steps.schedule import SweepSchedule
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.graph.sweeps import Sweep
from rbdhw.rtl.arithmetic import split_sum
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.stream import registers
from rbdhw.target import Primitive


class LoopComponent(CorePorts):
    """A core in which the stages of a task, and of several tasks, take turns."""

    def __init__(
        self, *, program: UnrolledProgram, schedule: SweepSchedule, primitive: Primitive | None = None
    ) -> None:
        self.schedule = schedule
        self.primitive = primitive
        super().__init__(program, schedule.ii, schedule.latency)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stages = _Stages(self, m)
        m.d.comb += self.phase_zero.eq(stages.windows.first & (stages.windows.count == 0))
        stages.build()
        return m


class _Stages(Steps):
    """Stages that read the same numbers of the task; the last one has the results."""

    def _task_numbers(self, sweep: Sweep) -> dict[str, Any]:
        shared = shared_words(self._core.program, self._schedule, self._sweeps.sweeps.index(sweep))
        if shared is None:
            return {}
        program = self._core.program
        slots = split_sum(self._m, self._core.payload, program.slots)
        return self.windows.task_words(
            f"{sweep.name}_shared_words",
            shared,
            {word.name: slots[word.slot][: word.format.width] for word in program.inputs},
            starts=self._core.phase_zero,
            ahead=self._places[sweep.name][1],
        )

    def _put_out(self) -> None:
        """Put out the results of the last step in the window in which they are ready."""
        program, schedule = self._core.program.steps.program, self._schedule
        names = [word.name for word in program.outputs[self._sweeps.sweeps[-1].name]]
        results = Cat(self._handed[name] for name in names if self._sweeps.is_result(name))
        whole, flag = registers("whole", len(results)), Signal()
        overflow = self._overflow(schedule.output + self._links)
        with self._m.If(self.windows.first & (self.windows.count == schedule.output % self._links)):
            self._m.d.sync += [whole.eq(results), flag.eq(overflow)]
        self._m.d.comb += [
            getattr(self._core, f"result_{schedule.function}").eq(whole),
            getattr(self._core, f"overflow_{schedule.function}").eq(flag),
        ]
