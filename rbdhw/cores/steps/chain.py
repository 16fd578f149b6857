"""The chain core: the hardware of one link, through which all links of a robot pass in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from rbdhw.cores.prepared import Prepared, PreparedBuild
from rbdhw.cores.steps.chain_component import ChainComponent, serial_latency
from rbdhw.cores.steps.core import StepsCore
from rbdhw.design.entries import LinksEntry, SweepEntry
from rbdhw.domain.bounds import Domain
from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.frontend.chain import CHAIN_FUNCTIONS, check_chain, prepare_chain, record_chain
from rbdhw.graph.sweeps import Sweeps, unroll
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.options.build import BuildOptions, CoreName
from rbdhw.progress import Progress
from rbdhw.quantize.steps import ObservedSteps, observe_links
from rbdhw.robot.elementary import elementary
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import NO_LINKS
from rbdhw.rtl.edge_cells import CorePort
from rbdhw.rtl.serial_edge import serial_packet_latency
from rbdhw.rtl.serial_layout import readers
from rbdhw.target import Primitive

LONG_CHAIN = 64
"""The most links of a robot that has a pipeline by default."""


class ChainCore(StepsCore):
    """The program of all links on the hardware of one link's step."""

    name: ClassVar[CoreName] = "chain"
    stands_alone: ClassVar[bool] = True

    @classmethod
    def suggestion(cls, source: Robot, options: BuildOptions) -> str | None:
        """Return a remark for a robot of more than :data:`LONG_CHAIN` links that a chain core supports.

        For an interval that is no multiple of the links it is None.
        """
        links = len(source.bodies)
        if links <= LONG_CHAIN or (options.ii or links) % links or cls.refusal(options, options.least_ii):
            return None
        try:
            check_chain(elementary(source))
        except InputError:
            return None
        return (
            f"robot {source.name!r} has {links:,} links; taken: the chain core; "
            "--core pipeline computes each link by hardware of its own"
        )

    @classmethod
    def refusal(cls, options: BuildOptions, _ii: int) -> InputError | None:
        other = "use --core pipeline or --core array"
        if len(options.functions) != 1 or options.functions[0] not in CHAIN_FUNCTIONS:
            names = " or ".join(CHAIN_FUNCTIONS)
            return InputError("core", f"the chain core computes {names} only", f"one of {names}", other)
        if options.fext != NO_LINKS:
            return InputError("fext", "the chain core takes no external forces", "none", other)
        if options.algorithms:
            return InputError("algorithm", "the chain core has its own algorithm", "none", other)
        for name, share in options.sharing.items():
            if share == "on":
                return InputError(name, "the links of a chain core share all hardware anyway", "auto or off")
        return None

    @classmethod
    def prepare(
        cls,
        source: Robot,
        domain: Domain,
        options: BuildOptions,
        _overrides: Overrides | None,
        progress: Progress,
    ) -> Prepared:
        """Record the steps of the links, of which the graph consists.

        Raises InputError if a chain core does not support the robot.
        """
        model = prepare_chain(source)
        progress("recording the steps of the links")
        chain = record_chain(model.robot, *options.functions)
        return Prepared(model, domain, unroll(chain), chain)

    @classmethod
    def first_interval(cls, prepared: Prepared, options: BuildOptions) -> int:
        """Return the interval of the options, or the first at which each link has a cycle.

        Raises InputError if not every link has the same number of cycles in the interval of the
        options.
        """
        links, ii = cls.unit(prepared), options.ii
        if ii is None:
            return links
        if options.pacing is None and ii % links:
            near = max(1, round(ii / links)) * links
            reason = f"{ii} is no multiple of the robot's {links} links"
            raise InputError("ii", reason, "as many cycles for each link", f"use --ii {near}")
        return ii

    @classmethod
    def unit(cls, prepared: Prepared) -> int:
        """Return the number of links: each has the same number of cycles of an interval."""
        return _links(prepared).links

    @classmethod
    def observe(cls, build: PreparedBuild) -> ObservedSteps:
        prepared = build.prepared
        return observe_links(prepared.model, _links(prepared), prepared.domain, build.options)

    @property
    def latency(self) -> dict[str, int]:
        """The cycles from a task's start, from which on its links are read, to its last result."""
        return {self.schedule.function: serial_latency(self.schedule)}

    def packet_latency(self, interface: Interface, function: FunctionWords, _cores: int = 1) -> int:
        return serial_packet_latency(interface, function, self.latency[function.name])

    @property
    def port(self) -> CorePort:
        return replace(super().port, readers=readers(self.program.steps))

    def entries(self) -> dict[str, Any]:
        schedule = self.schedule
        names = [sweep.name for sweep in self.program.steps.sweeps.sweeps]
        sweeps = [
            SweepEntry(name=name, inward=sweep.inward, cycles_per_link=sweep.step * schedule.window)
            for name, sweep in zip(names, schedule.sweeps, strict=True)
        ]
        links = LinksEntry(links=schedule.links, window=schedule.window, sweeps=sweeps)
        return {**self.step.entries(), "links": links}

    def component(self, primitive: Primitive | None) -> ChainComponent:
        return ChainComponent(program=self.program, schedule=self.schedule, primitive=primitive)


def _links(prepared: Prepared) -> Sweeps:
    assert prepared.chain is not None
    return prepared.chain
