"""The chain core: the hardware of one link, through which all links of a chain pass in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from rbdhw.config import CHAIN_CORE, BuildOptions
from rbdhw.cores.core import Core
from rbdhw.cores.pipeline import PipelineCore, schedule_pipeline
from rbdhw.estimate.chain import chain_cells
from rbdhw.estimate.edge import Port
from rbdhw.estimate.fabric import Cells
from rbdhw.fixed.program import Program
from rbdhw.fixed.step_program import ChainProgram
from rbdhw.graph.twins import Group
from rbdhw.interface import FunctionWords, Interface
from rbdhw.rtl.serial_chain import SerialChain, serial_latency
from rbdhw.rtl.serial_edge import serial_packet_latency
from rbdhw.rtl.serial_layout import readers
from rbdhw.schedule.sweeps import ChainSchedule, schedule_sweeps
from rbdhw.schedule.verify_sweeps import verify_sweeps
from rbdhw.target import Primitive, Target


@dataclass(frozen=True)
class ChainCore(Core):
    """The program of a chain on the hardware of one link's step."""

    program: ChainProgram
    schedule: ChainSchedule

    name: ClassVar[str] = CHAIN_CORE
    estimated_as: ClassVar[str] = PipelineCore.name
    fuses_sums: ClassVar[bool] = False
    shares_hardware: ClassVar[bool] = False

    @classmethod
    def build(cls, program: Program, device: Target, options: BuildOptions, _twins: Sequence[Group]) -> Self:
        """Schedule the step of a link at its share of the interval, and then all sweeps.

        Raises
        ------
        InputError
            If the clock is too fast.
        """
        assert isinstance(program, ChainProgram)
        sweeps = program.steps.sweeps
        window = options.least_ii // sweeps.links
        step = schedule_pipeline(program.steps.program, device, replace(options, ii=window))
        order = [(sweep.name, sweep.inward) for sweep in sweeps.sweeps]
        schedule = schedule_sweeps(step, sweeps.links, order, sweeps.function)
        verify_sweeps(program, schedule)
        return cls(program, device, schedule)

    @staticmethod
    def clock(program: Program, device: Target, options: BuildOptions, ii: int) -> float:
        """Return the clock in MHz at which the core would run, before it is scheduled."""
        assert isinstance(program, ChainProgram)
        steps = program.steps
        return PipelineCore.clock(steps.program, device, options, ii // steps.sweeps.links)

    @staticmethod
    def products(program: Program) -> int:
        """Return the products of one task that take multipliers at long intervals."""
        return PipelineCore.products(program)

    @property
    def step(self) -> PipelineCore:
        """The step of a link as a core."""
        return PipelineCore(self.program.steps.program, self.device, self.schedule.step)

    @property
    def multipliers(self) -> int:
        """Multipliers, without those inside the trigonometry and reciprocal units."""
        return self.step.multipliers

    @property
    def dsp_blocks(self) -> int:
        """DSP blocks of the whole core."""
        return self.step.dsp_blocks

    @property
    def latency(self) -> dict[str, int]:
        """The cycles from a task's start, from which on its links are read, to its last result."""
        return {self.schedule.function: serial_latency(self.schedule)}

    @property
    def port(self) -> Port:
        """The core as the edge sees it."""
        return replace(super().port, readers=readers(self.program.steps))

    def packet_latency(self, interface: Interface, function: FunctionWords, _cores: int = 1) -> int:
        """Return the :func:`~rbdhw.rtl.serial_edge.serial_packet_latency` of a function."""
        return serial_packet_latency(interface, function, self.latency[function.name])

    def cells(self) -> dict[str, Cells]:
        """Return the cells of each part of the core, before they are weighted."""
        return chain_cells(self.program, self.schedule, self.device)

    def entries(self) -> dict[str, Any]:
        """Return the manifest's entries on the core: the units of a link's step, and how links follow."""
        schedule = self.schedule
        names = [sweep.name for sweep in self.program.steps.sweeps.sweeps]
        sweeps = zip(names, schedule.sweeps, strict=True)
        return self.step.entries() | {
            "links": {
                "links": schedule.links,
                "window": schedule.window,
                "sweeps": [
                    {"name": name, "inward": own.inward, "cycles_per_link": own.step * schedule.window}
                    for name, own in sweeps
                ],
            }
        }

    def component(self, primitive: Primitive | None) -> SerialChain:
        """Return the hardware; without the device's multiplier ``primitive`` it is portable."""
        return SerialChain(program=self.program, schedule=self.schedule, primitive=primitive)
