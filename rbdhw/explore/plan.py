"""The plan of an accelerator and of each core: the frozen result of every stage before the RTL."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.cores.choice import CoreChoice
from rbdhw.cores.core import Core
from rbdhw.cores.prepared import Prepared, Sharing
from rbdhw.cores.solver.core import SolverCore
from rbdhw.design.entries import MixEntry
from rbdhw.estimate.resources import Resources
from rbdhw.explore.initiation_interval import Interval
from rbdhw.fixed.program import Program
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import Interface
from rbdhw.quantize.formats import Formats
from rbdhw.target import Target


@dataclass(frozen=True)
class Scheduled:
    """A build on one core at one interval: its formats, its bit-exact model, its core and its resources.

    ``sharing`` are the limbs that may share hardware.
    """

    formats: Formats
    sharing: Sharing
    accelerator: AcceleratorModel
    core: Core
    estimate: Resources

    @property
    def program(self) -> Program:
        """The bit-exact program."""
        return self.formats.program

    @property
    def interface(self) -> Interface:
        """The layout of packets."""
        return self.accelerator.interface

    @property
    def ii(self) -> int:
        """Cycles between tasks."""
        return self.core.schedule.ii

    @property
    def clock_mhz(self) -> float:
        """The clock of the schedule."""
        return self.core.schedule.clock_mhz

    @property
    def latency(self) -> dict[str, int]:
        """The :func:`~rbdhw.rtl.shell.packet_latency` of each function in cycles."""
        interface = self.interface
        return {words.name: self.core.packet_latency(interface, words) for words in interface.computed}


@dataclass(frozen=True)
class Plan(Scheduled):
    """The complete plan of a core, with the reasons for its interval and its kind.

    ``accelerator``, ``estimate`` and ``latency`` are those of an accelerator with this core alone.
    """

    prepared: Prepared
    interval: Interval
    choice: CoreChoice


@dataclass(frozen=True)
class PlannedCore:
    """A core of an accelerator, the number of its copies, and the kind of core that was asked for."""

    plan: Plan
    copies: int
    asked: str

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the core."""
        return self.plan.accelerator.functions


@dataclass(frozen=True)
class AcceleratorPlan:
    """The plan of an accelerator: its cores, its bit-exact model, and its resources by estimate."""

    prepared: Prepared
    """The prepared robot and domain, and the graph of all functions."""
    parts: tuple[PlannedCore, ...]
    """The cores, of which each function has one."""
    accelerator: AcceleratorModel
    estimate: Resources
    mix: MixEntry | None = None
    """The manifest's entry on the mix for which the cores were chosen; None if they were not."""
    solver: SolverCore | None = None
    """The solver around one of the cores, of an accelerator that has one."""

    @property
    def device(self) -> Target:
        """The device."""
        return self.parts[0].plan.core.device

    @property
    def clock_mhz(self) -> float:
        """The clock of all cores."""
        return self.parts[0].plan.clock_mhz

    @property
    def interface(self) -> Interface:
        """The layout of packets."""
        return self.accelerator.interface

    @property
    def cores(self) -> list[Core]:
        """Every core; copies are listed each."""
        return [part.plan.core for part in self.parts for _ in range(part.copies)]

    @property
    def only(self) -> Plan | None:
        """The plan of the only core; None if there are several."""
        return self.parts[0].plan if len(self.cores) == 1 else None

    def part_of(self, function: str) -> PlannedCore:
        """Return the core that computes a function."""
        return next(part for part in self.parts if function in part.functions)

    def latency(self, function: str) -> int:
        """Return the :func:`~rbdhw.rtl.shell.packet_latency` of a function in cycles."""
        core, words = self.part_of(function).plan.core, self.interface.words(function)
        return core.packet_latency(self.interface, words, len(self.cores))


def accelerator_of(plan: Plan) -> AcceleratorPlan:
    """Return the plan of an accelerator with one core."""
    return AcceleratorPlan(
        plan.prepared, (PlannedCore(plan, 1, plan.core.name),), plan.accelerator, plan.estimate
    )
