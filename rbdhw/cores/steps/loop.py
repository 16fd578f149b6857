"""The loop core: the hardware of one stage of a method in time, which the stages of a task enter in turn."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from rbdhw.cores.prepared import PreparedBuild
from rbdhw.cores.steps.core import StepsCore
from rbdhw.cores.steps.loop_component import LoopComponent
from rbdhw.design.entries import LoopEntry
from rbdhw.errors import InputError
from rbdhw.frontend.stage_step import STAGES, record_loop
from rbdhw.options.build import DEFAULT_CORE, LOOP, BuildOptions, CoreName
from rbdhw.protocol import FUNCTIONS, staged
from rbdhw.quantize.steps import ObservedSteps, observe_stages
from rbdhw.target import Primitive


class LoopCore(StepsCore):
    """The program of all stages on the hardware of one.

    A stage hands its results to the next one a fixed number of windows later. Each stage has a window of the
    interval, so nothing is arbitrated, and stages of other tasks enter in between.
    """

    name: ClassVar[CoreName] = LOOP
    least_ii: ClassVar[int] = STAGES

    @classmethod
    def is_asked(cls, options: BuildOptions) -> bool:
        return options.share_stages == LOOP

    @classmethod
    def is_compared(cls, options: BuildOptions) -> bool:
        """Return whether a build may have a pipeline, in whose place stages may loop."""
        return options.compares_cores or options.asked_core == DEFAULT_CORE

    @classmethod
    def refusal(cls, options: BuildOptions, ii: int) -> InputError | None:
        if len(options.functions) > 1 or not staged(options.functions):
            reason = "stages loop in a core of their own"
            return InputError("share-stages", reason, "one function, in stages", "give it a core in --cores")
        stages = FUNCTIONS[options.functions[0]].stages
        if ii % stages:
            reason = f"the {stages} stages cannot loop at an ii of {ii}"
            remedy = f"use --ii {math.ceil(ii / stages) * stages}"
            return InputError("share-stages", reason, f"a multiple of {stages}", remedy)
        if options.share_limbs == "on":
            return InputError("share-limbs", "limbs do not share the hardware of a loop", "auto or off")
        if options.share_stages == "off":
            return InputError("share-stages", "stages do not loop", f"auto or {LOOP}")
        return None

    @classmethod
    def observe(cls, build: PreparedBuild) -> ObservedSteps:
        build.progress("observing the stages of random tasks")
        prepared, (function,) = build.prepared, build.options.functions
        sweeps = record_loop(prepared.model, function, build.device.delays)
        return observe_stages(prepared.model, sweeps, prepared.domain, build.options, build.trials())

    def entries(self) -> dict[str, Any]:
        schedule = self.schedule
        (sweep,) = schedule.sweeps
        cycles = sweep.step * schedule.window
        loop = LoopEntry(stages=schedule.links, window=schedule.window, cycles_per_stage=cycles)
        return {**self.step.entries(), "loop": loop}

    def component(self, primitive: Primitive | None) -> LoopComponent:
        return LoopComponent(program=self.program, schedule=self.schedule, primitive=primitive)
