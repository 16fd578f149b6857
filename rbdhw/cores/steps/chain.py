"""The chain core: the hardware of one link, through which all links of a robot pass in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from rbdhw.cores.steps.chain_component import SerialChain, serial_latency
from rbdhw.cores.steps.core import StepsCore
from rbdhw.estimate.edge import Port
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.options.build import CHAIN_CORE
from rbdhw.rtl.serial_edge import serial_packet_latency
from rbdhw.rtl.serial_layout import readers
from rbdhw.target import Primitive


class ChainCore(StepsCore):
    """The program of all links on the hardware of one link's step."""

    name: ClassVar[str] = CHAIN_CORE

    @property
    def latency(self) -> dict[str, int]:
        """The cycles from a task's start, from which on its links are read, to its last result."""
        return {self.schedule.function: serial_latency(self.schedule)}

    def packet_latency(self, interface: Interface, function: FunctionWords, _cores: int = 1) -> int:
        """Return the :func:`~rbdhw.rtl.serial_edge.serial_packet_latency` of a function."""
        return serial_packet_latency(interface, function, self.latency[function.name])

    @property
    def port(self) -> Port:
        """The core as the edge sees it."""
        return replace(super().port, readers=readers(self.program.steps))

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
