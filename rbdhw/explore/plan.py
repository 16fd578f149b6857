"""The plan of a build: the frozen result of every stage before the RTL."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.cores.choice import CoreChoice
from rbdhw.cores.core import Core
from rbdhw.cores.pipeline import PipelineCore
from rbdhw.design.model import AcceleratorModel
from rbdhw.domain.bounds import Domain
from rbdhw.estimate.resources import Resources
from rbdhw.explore.initiation_interval import Interval
from rbdhw.fixed.program import Program
from rbdhw.frontend.build_graph import Model
from rbdhw.graph.graph import Graph
from rbdhw.interface import Interface
from rbdhw.quantize.formats import Formats
from rbdhw.rtl.shell import packet_latency
from rbdhw.schedule.model import Bound


@dataclass(frozen=True)
class Prepared:
    """The stages that do not depend on number formats or the schedule: prepared robot, domain and graph."""

    model: Model
    domain: Domain
    graph: Graph


@dataclass(frozen=True)
class Scheduled:
    """A build on one core at one interval: its formats, its bit-exact model, its core and its resources."""

    formats: Formats
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
    def pipeline(self) -> Bound:
        """The schedule of a build on the pipeline core."""
        assert isinstance(self.core, PipelineCore)
        return self.core.schedule

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
        core = self.core.latency
        return {
            own.name: packet_latency(self.interface, own, core[own.name]) for own in self.interface.functions
        }


@dataclass(frozen=True)
class Plan(Scheduled):
    """The complete plan of a build, with the reasons for its interval and its core."""

    prepared: Prepared
    interval: Interval
    choice: CoreChoice
