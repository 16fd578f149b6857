"""A core: a program scheduled on hardware of one kind.

Each kind of core is a class, and :data:`rbdhw.cores.KINDS` lists them. Its class methods answer which
builds it refuses, how a build is prepared and gets its number formats, and what clock and products to expect
before scheduling. Its instances are scheduled programs; they give cells, hardware and manifest entries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from rbdhw.cores.prepared import Prepared, PreparedBuild, Sharing, prepare_graph
from rbdhw.design.entries import RegionEntry
from rbdhw.domain.bounds import Domain
from rbdhw.domain.overrides import Overrides
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.estimate.model import weights_of
from rbdhw.estimate.resources import Resources
from rbdhw.fixed.program import Program
from rbdhw.graph.twins import Group, Twins, no_twins
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.options.build import BuildOptions, CoreName
from rbdhw.progress import Progress
from rbdhw.quantize.formats import Formats, choose_formats
from rbdhw.robot.model import Robot
from rbdhw.rtl.core_ports import CorePorts
from rbdhw.rtl.edge_cells import CorePort, edge_cells
from rbdhw.rtl.lane import waiting_places
from rbdhw.rtl.mppi import cycles_beside
from rbdhw.rtl.preparation import preparation_latency
from rbdhw.rtl.rollout import flights
from rbdhw.rtl.serial_core import SerialCore
from rbdhw.rtl.shell import packet_latency
from rbdhw.rtl.step_products import preparation_products
from rbdhw.target import Primitive, Target


class CoreSchedule(Protocol):
    """The properties that the schedules of all cores have."""

    @property
    def ii(self) -> int:
        """Cycles between tasks."""

    @property
    def clock_mhz(self) -> float:
        """The clock of the schedule."""

    @property
    def latency(self) -> dict[str, int]:
        """For each function, the cycles from a task's start to the cycle of its last output."""


@dataclass(frozen=True)
class Core(ABC):
    """A program scheduled on a device."""

    program: Program
    device: Target
    schedule: CoreSchedule  # the cycle and the unit in which each operation is computed

    name: ClassVar[CoreName]  # the name that `--core` takes
    estimated_as: ClassVar[str]  # the kind of core whose weights the estimate takes
    # Whether the program's sums of products are rounded once, by an accumulator.
    fuses_sums: ClassVar[bool] = False
    # The shortest initiation interval at which it can be built, if no interval is given.
    least_ii: ClassVar[int] = 1
    is_smaller: ClassVar[bool] = False  # whether messages suggest it for builds that do not fit a device
    stands_alone: ClassVar[bool] = False  # whether it can only stand beside copies of itself

    @property
    def as_given(self) -> bool:
        """Whether its results have the bits of the program that was given."""
        return True

    def given_bits(self, _options: BuildOptions) -> Self:
        """Return the core with results that have the bits of the program that was given."""
        return self

    @property
    def late(self) -> int:
        """The cycles from a task's start until its forces may be given, to a core of a solver."""
        return 0

    @property
    def entry(self) -> int:
        """The cycles from a task's start to the first cycle of the schedule."""
        return 0

    # Before a build: what it asks for

    @classmethod
    def is_asked(cls, options: BuildOptions) -> bool:
        """Return whether a build asks for this kind of core."""
        return options.asked_core == cls.name

    @classmethod
    def is_compared(cls, _options: BuildOptions) -> bool:
        """Return whether a build leaves it open: it is taken where it is the cheapest."""
        return False

    @classmethod
    def suggestion(cls, _source: Robot, _options: BuildOptions) -> str | None:
        """Return why this kind is taken for a robot if no kind is asked for; None if it is not."""
        return None

    @classmethod
    def needs(cls, _options: BuildOptions) -> tuple[str, ...]:
        """Return the options that this kind needs at any interval and that a build lacks."""
        return ()

    @classmethod
    def refusal(cls, _options: BuildOptions, _ii: int) -> InputError | None:
        """Return the refusal of a build at an interval, whatever the robot, or None if it is possible."""
        return None

    # Before scheduling

    @classmethod
    def prepare(
        cls,
        source: Robot,
        domain: Domain,
        options: BuildOptions,
        overrides: Overrides | None,
        progress: Progress,
    ) -> Prepared:
        """Run the stages that do not depend on number formats or the schedule.

        Raises InputError if the robot, an option or an override is not supported.
        """
        return prepare_graph(source, domain, options, overrides, progress)

    @classmethod
    def first_interval(cls, _prepared: Prepared, options: BuildOptions) -> int:
        """Return the interval of the options; if it is to be chosen, the first of those among which it is.

        Raises InputError if a prepared build is impossible at this interval, or at any.
        """
        return options.least_ii

    @classmethod
    def unit(cls, _prepared: Prepared) -> int:
        """Return the number of which all intervals are multiples."""
        return 1

    @classmethod
    def supports(cls, prepared: Prepared, options: BuildOptions, ii: int) -> bool:
        """Return whether a prepared build is possible at an interval."""
        return cls.refusal(options, ii) is None and ii % cls.unit(prepared) == 0

    @classmethod
    def sharing(cls, prepared: Prepared, _options: BuildOptions, _ii: int) -> Sharing:
        """Return the limbs that may share hardware at an interval.

        Raises InputError if sharing is required but impossible.
        """
        return Sharing(no_twins(prepared.graph))

    @classmethod
    def formats(cls, build: PreparedBuild, options: BuildOptions, twins: Twins) -> Formats:
        """Return the number formats of a build, in which twins share hardware.

        Raises InputError if the error budget is not met.
        """
        observed = build.observed()
        return choose_formats(observed, options, twins, cls.fuses_sums, build.choosing_formats(cls.name))

    @classmethod
    @abstractmethod
    def build(cls, program: Program, device: Target, options: BuildOptions, twins: Sequence[Group]) -> Self:
        """Schedule a program at the interval and clock of the options, and verify the schedule.

        Raises InputError if the clock is too fast, or the interval too short.
        """

    @staticmethod
    @abstractmethod
    def clock(program: Program, device: Target, options: BuildOptions, ii: int) -> float:
        """Return the clock in MHz at which the core would run, before it is scheduled."""

    @staticmethod
    @abstractmethod
    def products(program: Program) -> int:
        """Return the products of one task of all functions that take multipliers at long intervals."""

    @staticmethod
    def tabled(_program: Program, _device: Target, _luts: float) -> int:
        """Return how many of these products fit in a number of look-up tables, at short intervals."""
        return 0

    @property
    @abstractmethod
    def multipliers(self) -> int:
        """Multipliers, without those inside the trigonometry and reciprocal units."""

    @property
    @abstractmethod
    def dsp_blocks(self) -> int:
        """DSP blocks of the whole core."""

    @abstractmethod
    def cells(self) -> dict[str, Cells]:
        """Return the cells of each part of the core, before they are weighted."""

    @abstractmethod
    def entries(self) -> dict[str, Any]:
        """Return the manifest's entries on the core's units, by the fields of ``PartEntry``."""

    @abstractmethod
    def multipliers_by_slot(self) -> list[int]:
        """Return the multipliers in use in each slot of the interval, or of a window."""

    def with_fewer_blocks(self, _options: BuildOptions, _blocks: int) -> Self:
        """Return the core without a number of its DSP blocks, if look-up tables can take their place."""
        return self

    def span(self, _value: int) -> tuple[int, int] | None:
        """Return the cycle in which an operation of the program starts, and the one of its result.

        None for words, constants, and operations that take no time of their own.
        """
        return None

    def timeline(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return for each function the steps of a task: the first cycle, and that of the last result."""
        return {function: self._steps(function) for function in self.program.outputs}

    def _steps(self, function: str) -> dict[str, tuple[int, int]]:
        operations = self.program.operations
        steps: dict[str, tuple[int, int]] = {}
        for value in self.program.operations_of(function, optional=False):
            span = self.span(value)
            if span is not None:
                name = str(operations[value].region)
                first, last = steps.get(name, span)
                steps[name] = min(first, span[0]), max(last, span[1])
        return dict(sorted(steps.items(), key=lambda step: (step[1], step[0])))

    def regions(self, _part: int) -> list[RegionEntry]:
        """Return the manifest's entries on the submodules of the core with this place in ``parts``."""
        return []

    def sharing_entries(self, _robot: Robot, _sharing: Sharing) -> dict[str, Any]:
        """Return the manifest's entries on limbs that share hardware, if this kind allows it."""
        return {}

    @abstractmethod
    def component(self, primitive: Primitive | None) -> CorePorts | SerialCore:
        """Return the hardware; without the device's multiplier ``primitive`` it is portable."""

    @property
    def latency(self) -> dict[str, int]:
        """For each function, the cycles from a task's words at the core's input to its results."""
        return {function: self.entry + cycles + 1 for function, cycles in self.schedule.latency.items()}

    def packet_latency(self, interface: Interface, function: FunctionWords, cores: int = 1) -> int:
        """Return the latency of a function's packets in cycles, in an accelerator of so many cores."""
        waiting = waiting_places(cores, self.schedule.ii, interface.streams)
        return packet_latency(interface, function, self.latency[function.name], waiting)

    def cycles_of_means(self, interface: Interface) -> tuple[int, int, int]:
        """Return the samples of a mean in progress, the cycles in which all take all steps, and the others.

        The interface is that of an accelerator that takes means of samples.
        """
        shape = interface.rollout
        assert shape is not None
        latency = self.latency[shape.function] + preparation_latency(interface)
        most = flights(latency, self.schedule.ii)
        return most, most * self.schedule.ii * shape.horizon, cycles_beside(interface, most)

    @property
    def port(self) -> CorePort:
        """The core as the edge sees it."""
        return CorePort(self.latency, self.schedule.ii, sum(self.program.slots))

    def parts(self, interface: Interface) -> dict[str, Cells]:
        """Return the cells of each part of an accelerator with this core, before they are weighted."""
        return self.cells() | edge_cells(interface, [self.port], FABRICS[self.device.family])

    def estimate(self, interface: Interface) -> Resources:
        """Return the estimated resources of an accelerator with this core."""
        return estimate_accelerator([self], interface)


def estimate_accelerator(cores: Sequence[Core], interface: Interface) -> Resources:
    """Return the estimated resources of an accelerator with these cores; copies are listed each."""
    device = cores[0].device
    edge = edge_cells(interface, [core.port for core in cores], FABRICS[device.family])
    blocks = sum(map(device.blocks, preparation_products(interface)))
    total = Resources(0, 0, 0, 0)
    for kind in dict.fromkeys(core.estimated_as for core in cores):
        alike = [core for core in cores if core.estimated_as == kind]
        parts = dict(edge)
        for core in alike:
            for part, cells in core.cells().items():
                parts[part] = parts.get(part, Cells()) + cells
        total += weigh(parts, blocks + sum(core.dsp_blocks for core in alike), weights_of(device, kind))
        edge, blocks = {}, 0
    return total
