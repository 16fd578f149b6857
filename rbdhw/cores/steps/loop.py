"""The loop core: the hardware of one stage of a method in time, which the stages of a task enter in turn."""

from __future__ import annotations

from typing import Any, ClassVar

from rbdhw.cores.steps.core import StepsCore
from rbdhw.cores.steps.loop_component import LoopComponent
from rbdhw.options.build import LOOP_CORE
from rbdhw.target import Primitive


class LoopCore(StepsCore):
    """The program of all stages on the hardware of one.

    A stage hands its results to the next one a fixed number of windows later. Each stage has a window of the
    interval, so nothing is arbitrated, and stages of other tasks enter in between.
    """

    name: ClassVar[str] = LOOP_CORE

    def entries(self) -> dict[str, Any]:
        """Return the manifest's entries on the core: the units of a stage, and how stages follow."""
        schedule = self.schedule
        (own,) = schedule.sweeps
        return self.step.entries() | {
            "loop": {
                "stages": schedule.links,
                "window": schedule.window,
                "cycles_per_stage": own.step * schedule.window,
            }
        }

    def component(self, primitive: Primitive | None) -> LoopComponent:
        """Return the hardware; without the device's multiplier ``primitive`` it is portable."""
        return LoopComponent(program=self.program, schedule=self.schedule, primitive=primitive)
