"""What the chain core and the loop core have in common: steps that pass through the hardware of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from rbdhw.cores.core import Core
from rbdhw.cores.pipeline.core import PipelineCore, schedule_pipeline
from rbdhw.cores.prepared import PreparedBuild
from rbdhw.cores.steps.cells import step_cells
from rbdhw.cores.steps.schedule import SweepSchedule, schedule_sweeps
from rbdhw.cores.steps.verify import verify_sweeps
from rbdhw.design.entries import RegionEntry
from rbdhw.estimate.fabric import Cells
from rbdhw.fixed.program import Program
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.graph.twins import Group, Twins
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.formats import Formats
from rbdhw.quantize.steps import ObservedSteps, choose_step_formats
from rbdhw.target import Target


@dataclass(frozen=True)
class StepsCore(Core):
    """A program of equal steps on the hardware of one: those of links, or of stages."""

    program: UnrolledProgram
    schedule: SweepSchedule

    estimated_as: ClassVar[str] = PipelineCore.name

    @classmethod
    @abstractmethod
    def observe(cls, build: PreparedBuild) -> ObservedSteps:
        """Return the steps of a build with observations of them on random tasks."""

    @classmethod
    def formats(cls, build: PreparedBuild, options: BuildOptions, _twins: Twins) -> Formats:
        """Return the number formats of a step, which are the same for all links or stages.

        Raises InputError if no width meets the error budget.
        """
        steps = build.cache.get((cls.name,), lambda: cls.observe(build))
        return choose_step_formats(steps, options, build.choosing_formats(cls.name))

    @classmethod
    def build(cls, program: Program, device: Target, options: BuildOptions, _twins: Sequence[Group]) -> Self:
        """Schedule the step of a link at its share of the interval, and then all sweeps.

        Raises InputError if the clock is too fast.
        """
        assert isinstance(program, UnrolledProgram)
        sweeps = program.steps.sweeps
        window = options.least_ii // sweeps.links
        step = schedule_pipeline(program.steps.program, device, replace(options, ii=window))
        schedule = schedule_sweeps(step, sweeps)
        verify_sweeps(program, schedule)
        return cls(program, device, schedule)

    @staticmethod
    def clock(program: Program, device: Target, options: BuildOptions, ii: int) -> float:
        assert isinstance(program, UnrolledProgram)
        steps = program.steps
        return PipelineCore.clock(steps.program, device, options, ii // steps.sweeps.links)

    @staticmethod
    def products(program: Program) -> int:
        return PipelineCore.products(program)

    @property
    def step(self) -> PipelineCore:
        """The step of a link as a core."""
        return PipelineCore(self.program.steps.program, self.device, self.schedule.step)

    def multipliers_by_slot(self) -> list[int]:
        """Return the multipliers in use in each slot of a window."""
        return self.step.multipliers_by_slot()

    def timeline(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return the steps of a task: the links of each sweep, or its stages."""
        plan = self.schedule
        return {
            plan.function: {
                f"{sweep.name}_{link}": (
                    time.enters(link, plan.links) * plan.window,
                    time.ready(link, plan.links) * plan.window - 1,
                )
                for sweep, time in zip(self.program.steps.sweeps.sweeps, plan.sweeps, strict=True)
                for link in range(plan.links)
            }
        }

    def regions(self, part: int) -> list[RegionEntry]:
        return self.step.regions(part)

    @property
    def multipliers(self) -> int:
        return self.step.multipliers

    @property
    def dsp_blocks(self) -> int:
        return self.step.dsp_blocks

    def cells(self) -> dict[str, Cells]:
        return step_cells(self.program, self.schedule, self.device)
