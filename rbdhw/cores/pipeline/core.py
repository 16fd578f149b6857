"""The pipeline core: an operator for each sum, and multipliers that products share over the interval."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar, Self

from rbdhw.cores.core import Core
from rbdhw.cores.pipeline.cells import Counts, adder_luts, core_cells, counts, dsp_blocks
from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.cores.pipeline.limb_sharing import (
    can_share,
    choose_sharing,
    find_shared_limbs,
    least_interval,
    limb_names,
)
from rbdhw.cores.pipeline.table_products import use_tables
from rbdhw.cores.prepared import Prepared, Sharing
from rbdhw.design.entries import RegionEntry, SharingEntry, Slots, WideProducts
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.estimate.model import load, weights_of
from rbdhw.estimate.resources import Resources
from rbdhw.fixed.block_sum import widen_products
from rbdhw.fixed.exact_sums import keep_sums
from rbdhw.fixed.program import Kind, Program
from rbdhw.graph.twins import Group
from rbdhw.options.build import LOOP, BuildOptions, CoreName
from rbdhw.robot.model import Robot
from rbdhw.robot.symmetry import limb_groups
from rbdhw.scalar import Region
from rbdhw.schedule.binding import bind
from rbdhw.schedule.block_sums import add_in_blocks
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import MULTIPLIERS, Bound, Problem, Resource, Schedule, pairs_in_blocks
from rbdhw.schedule.problem import clock_of, problem, sized_for
from rbdhw.schedule.shortening import Network
from rbdhw.schedule.twins import shareable
from rbdhw.schedule.verify import verify
from rbdhw.target import Primitive, Target

SURROUNDED = 0.05
"""The share by which operators of a solver's core take longer than those of a core alone.

The solver makes the design larger, hence its wires longer: those of the toy by 3 %. As much is left for what
Yosys puts in front of sums that round, with which a core alone misses its clock by up to 2 %.
"""


@dataclass(frozen=True)
class CoreCost:
    """The cost of a core: counts of its hardware, and its estimated resources on the device."""

    counts: Counts
    estimate: Resources

    def json(self) -> dict[str, int]:
        """Return both in one table."""
        return {**vars(self.counts), **self.estimate.json()}


@dataclass(frozen=True)
class PipelineCore(Core):
    """A program on a pipeline."""

    schedule: Bound
    # If limbs can share hardware, the cost of the core with sharing (`on`) and without (`off`).
    costs: Mapping[str, CoreCost] = field(default_factory=dict)
    given: Program | None = None  # the program before its sums moved into blocks, if they may
    exact: bool = True  # whether sums may keep all bits, which changes the last ones of results

    name: ClassVar[CoreName] = "pipeline"
    estimated_as: ClassVar[str] = "pipeline"

    @classmethod
    def is_asked(cls, options: BuildOptions) -> bool:
        """Return whether a build asks for a pipeline, or for no other kind of core."""
        return super().is_asked(options) and options.share_stages != LOOP

    @classmethod
    def is_compared(cls, options: BuildOptions) -> bool:
        return options.compares_cores

    @classmethod
    def first_interval(cls, prepared: Prepared, options: BuildOptions) -> int:
        """Return the interval of the options, or the first of those among which it is chosen.

        Raises InputError if limbs must share hardware and can at none of these intervals.
        """
        if options.pacing is not None and options.share_limbs == "on":
            find_shared_limbs(prepared.robot, "on", least_interval(limb_groups(prepared.robot)))
        return super().first_interval(prepared, options)

    @classmethod
    def supports(cls, prepared: Prepared, options: BuildOptions, ii: int) -> bool:
        """Return whether limbs that must share hardware can do so at an interval."""
        shares = options.share_limbs != "on" or can_share(limb_groups(prepared.robot), ii)
        return super().supports(prepared, options, ii) and shares

    @classmethod
    def sharing(cls, prepared: Prepared, options: BuildOptions, ii: int) -> Sharing:
        return choose_sharing(prepared.robot, prepared.graph, options.share_limbs, ii)

    @classmethod
    def build(cls, program: Program, device: Target, options: BuildOptions, twins: Sequence[Group]) -> Self:
        """Schedule a program; its twins share hardware if that is required or cheaper.

        If the clock is too fast for the multiplexers that select among twins, twins share hardware only if
        that is required.

        Raises InputError if the clock is too fast.
        """
        required = options.share_limbs == "on"
        alone = cls._alone(program, device, options, exact=True)
        groups = shareable(program, twins)
        if not groups:
            return alone
        try:
            shared = schedule_pipeline(program, device, options, groups)
        except InputError:
            if required:
                raise
            return alone
        costs = {"on": core_cost(program, shared, device), "off": core_cost(program, alone.schedule, device)}
        less = load(costs["on"].estimate, device) <= load(costs["off"].estimate, device)
        return cls(program, device, shared if less or required else alone.schedule, costs)

    @classmethod
    def _alone(cls, given: Program, device: Target, options: BuildOptions, *, exact: bool) -> Self:
        """Schedule a program without shared hardware."""
        program, task = _without_twins(given, device, options, exact)
        return cls._in_blocks(program, task, device, options, given, exact)

    @classmethod
    def _in_blocks(
        cls,
        program: Program,
        task: Problem,
        device: Target,
        options: BuildOptions,
        given: Program,
        exact: bool,
    ) -> Self:
        """Schedule a program. At an interval of 1 blocks that add compute sums of their products, too.

        First those sums move into blocks that make results earlier, then all others that make none later.
        Sums in front of products and products in front of sums keep all bits.
        """
        if not _adds_in_blocks(device, options):
            return cls(program, device, _bound(program, device, options, task))
        kept, soonest = add_in_blocks(program, task, device)
        bound = bind(kept, soonest, schedule(soonest), device.memory_stages)
        kept, added = add_in_blocks(kept, soonest, device, bound)
        wide = widen_products(kept, pairs_in_blocks(added.steps))
        return cls(wide, device, _bound(wide, device, options, added), given=given, exact=exact)

    def with_fewer_blocks(self, options: BuildOptions, blocks: int) -> Self:
        given, device = self.given or self.program, self.device
        if self.schedule.twins:
            program, task = given, _problem(given, device, options, self.schedule.twins)
        else:
            program, task = _without_twins(given, device, options, self.exact)
        bound = self.schedule if self.given is None else _bound(program, device, options, task)
        sized = sized_for(program, device, options.least_ii, _longer(options))
        tabled = use_tables(program, task, bound, sized, blocks)
        if tabled is None:
            return self
        core = self._in_blocks(program, tabled, device, options, given, self.exact)
        return replace(core, costs=self.costs)

    @staticmethod
    def clock(program: Program, device: Target, options: BuildOptions, ii: int) -> float:
        return clock_of(program, device, options.clock_mhz, ii, _longer(options)).mhz

    @staticmethod
    def products(program: Program) -> int:
        return sum(operation.kind is Kind.MULTIPLY for operation in program.operations)

    @staticmethod
    def tabled(program: Program, device: Target, luts: float) -> int:
        products = (i for i, operation in enumerate(program.operations) if operation.kind is Kind.MULTIPLY)
        tables = sorted(adder_luts(program, (i,), FABRICS[device.family]) for i in products)
        return bisect_right(list(accumulate(tables)), luts)

    @property
    def as_given(self) -> bool:
        given = self.given or self.program
        pairs = zip(self.program.operations, given.operations, strict=True)
        return all(made.drop == operation.drop for made, operation in pairs)

    def given_bits(self, options: BuildOptions) -> Self:
        return self._alone(self.given or self.program, self.device, options, exact=False)

    @property
    def late(self) -> int:
        return max(self.schedule.late.values(), default=0)

    @property
    def entry(self) -> int:
        return self.schedule.entry

    @property
    def multipliers(self) -> int:
        return sum(unit.resource in MULTIPLIERS for unit in self.schedule.units)

    @property
    def dsp_blocks(self) -> int:
        return dsp_blocks(self.program, self.schedule, self.device)

    def cells(self) -> dict[str, Cells]:
        return core_cells(self.program, self.schedule, self.device)

    def entries(self) -> dict[str, Any]:
        bound = self.schedule
        multipliers = [unit for unit in bound.units if unit.resource in MULTIPLIERS]
        return {
            "multipliers": len(multipliers),
            "multiplier_slots": Slots(
                used=sum(len(unit.steps) for unit in multipliers), offered=len(multipliers) * bound.ii
            ),
            "wide_products": self._wide_products(),
            "shift_add_products": len(self.shift_add_products()),
            "pipeline_registers": {kind.value: registers for kind, registers in bound.registers.items()},
            "trigonometry_units": sum(unit.resource is Resource.TRIGONOMETRY for unit in bound.units),
            "reciprocal_units": sum(unit.resource is Resource.RECIPROCAL for unit in bound.units),
        }

    def multipliers_by_slot(self) -> list[int]:
        """Return the multipliers in use in each slot of the interval."""
        units = [unit for unit in self.schedule.units if unit.resource in MULTIPLIERS]
        return [sum(slot in unit.steps for unit in units) for slot in range(self.schedule.ii)]

    def span(self, value: int) -> tuple[int, int] | None:
        """Return the cycle in which an operation starts, and the one in which its result is computed."""
        bound = self.schedule
        step = bound.producer.get(value)
        return None if step is None else (self.entry + bound.starts[step], self.entry + bound.ready[value])

    def regions(self, part: int) -> list[RegionEntry]:
        return [self._region(region, part) for region in self.schedule.regions]

    def _region(self, region: Region, part: int) -> RegionEntry:
        bound = self.schedule
        hosted = [value for value in bound.ready if bound.hosts[value] == region and value in bound.producer]
        cycles = [bound.ready[value] for value in hosted]
        return RegionEntry(
            name=str(region),
            part=part,
            ii=bound.ii,
            operations=len(hosted),
            multipliers=sum(unit.host == region and unit.resource in MULTIPLIERS for unit in bound.units),
            latency=max(cycles) - min(cycles) + 1 if cycles else 0,
        )

    def _wide_products(self) -> WideProducts:
        program, steps = self.given or self.program, self.schedule.steps
        regions: dict[str, int] = {}
        for i in program.wide:
            name = str(program.operations[i].region)
            regions[name] = regions.get(name, 0) + 1
        return WideProducts(
            width=list(program.wide_port_widths) if program.wide else None,
            multipliers=sum(
                any(steps[index].results[0] in program.wide for index in unit.steps.values())
                for unit in self.schedule.units
                if unit.resource is Resource.WIDE_MULTIPLIER
            ),
            products=dict(sorted(regions.items())),
        )

    def shift_add_products(self) -> list[int]:
        """Return the products that adders compute."""
        products = (Kind.MULTIPLY, Kind.SCALE)
        operations = enumerate(self.program.operations)
        return [i for i, operation in operations if operation.kind in products and self.schedule.alone(i)]

    def sharing_entries(self, robot: Robot, sharing: Sharing) -> dict[str, Any]:
        groups = limb_names(robot, sharing.limbs)
        operations, bound = self.program.operations, self.schedule
        computed = [value for value in bound.producer if operations[value].kind is not Kind.INPUT]
        products = [value for value in computed if operations[value].kind in (Kind.MULTIPLY, Kind.SCALE)]

        def split(values: Sequence[int]) -> dict[str, int]:
            shared = sum(len(bound.group(value)) > 1 for value in values) if groups else 0
            return {"shared": shared, "alone": len(values) - shared}

        entry = SharingEntry(
            groups=groups,
            shared=bool(groups and bound.twins),
            operations=split(computed),
            multiplications=split(products),
            costs={way: cost.json() for way, cost in self.costs.items()} if groups else {},
        )
        return {"limbs": entry}

    def component(self, primitive: Primitive | None) -> PipelineComponent:
        return PipelineComponent(program=self.program, bound=self.schedule, primitive=primitive)


def schedule_pipeline(
    program: Program, device: Target, options: BuildOptions, groups: Sequence[Group] = ()
) -> Bound:
    """Schedule, verify and bind a program for one task every ``options.least_ii`` cycles.

    ``groups`` lists the values that share hardware. The core of a solver has a register behind the choice of
    its tasks, for which the schedule has no time. The forces of a solver's steps, which are known after the
    states before, arrive as late as leaves the latencies of all functions as they are.
    """
    return _bound(program, device, options, _problem(program, device, options, groups))


def _problem(program: Program, device: Target, options: BuildOptions, groups: Sequence[Group]) -> Problem:
    clock_mhz, ii, longer = options.clock_mhz, options.least_ii, _longer(options)
    return problem(program, device, clock_mhz, ii, groups, longer, soonest=options.soonest)


def _adds_in_blocks(device: Target, options: BuildOptions) -> bool:
    """Return whether each product has a block of its own, which also adds."""
    return options.least_ii == 1 and device.primitive.adds


def _without_twins(
    given: Program, device: Target, options: BuildOptions, exact: bool
) -> tuple[Program, Problem]:
    """Return a program with its problem; where blocks add, sums keep all bits if they may."""
    if not _adds_in_blocks(device, options):
        return given, _problem(given, device, options, ())
    program = keep_sums(given, device.primitive.ports) if exact else given
    task = _problem(program, device, options, ())
    return program, task if exact else replace(task, pre_add=0.0)


def _bound(program: Program, device: Target, options: BuildOptions, task: Problem) -> Bound:
    plan = schedule(task)
    verify(task, plan)
    bound = bind(program, task, plan, device.memory_stages)
    if not options.serves_solver:
        return bound
    if "step" in program.outputs:
        bound = _with_late_forces(program, task, plan, bound)
    return replace(bound, entry=1)


def _longer(options: BuildOptions) -> float:
    """Return the share by which operators of a build's core take longer than those of the core alone."""
    return SURROUNDED if options.serves_solver else 0.0


def _with_late_forces(program: Program, task: Problem, plan: Schedule, bound: Bound) -> Bound:
    """Return a schedule with late forces in which no function takes longer, or the one that is given.

    Forces that limbs take in turn come with the rest.
    """
    forces = [word.value for word in program.inputs if word.array == "tau"]
    if not task.available.keys() >= set(forces):
        return bound
    network = Network(task)
    cycle = network.latest_arrival(forces, network.ends(plan))
    while cycle > 0:
        delayed = replace(task, available={**task.available, **dict.fromkeys(forces, cycle)})
        plan = schedule(delayed)
        verify(delayed, plan)
        later = bind(program, delayed, plan, bound.memory_stages)
        if all(later.latency[function] <= cycles for function, cycles in bound.latency.items()):
            return later
        cycle //= 2
    return bound


def core_cost(program: Program, bound: Bound, device: Target) -> CoreCost:
    """Return the cost of the core without the rest of the accelerator."""
    cells = core_cells(program, bound, device)
    estimate = weigh(cells, dsp_blocks(program, bound, device), weights_of(device, PipelineCore.name))
    return CoreCost(counts(program, bound), estimate)
