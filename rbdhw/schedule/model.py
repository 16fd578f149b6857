"""The scheduling problem, a schedule, and a bound design: plain data that the solvers fill in.

Time is a cycle and an offset in nanoseconds within it. A task starts in cycle 0, and tasks follow each other
every ``ii`` cycles, so what happens in cycle t uses its hardware in slot ``t mod ii``.

*Twins* are values of n symmetric limbs that one piece of hardware computes in turn: that of the k-th limb
always in the slot ``k * ii / n`` after that of the first. For that hardware, limbs are like tasks that follow
each other every ``ii / n`` cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from rbdhw.fixed.block_sum import BlockSum
from rbdhw.fixed.pre_sum import PreSum
from rbdhw.fixed.program import Operand, Program
from rbdhw.graph.twins import Group
from rbdhw.scalar import Region


class Resource(StrEnum):
    """Hardware that tasks share; a unit does one operation per slot."""

    MULTIPLIER = "multiplier"
    WIDE_MULTIPLIER = "wide_multiplier"
    TRIGONOMETRY = "trigonometry"
    RECIPROCAL = "reciprocal"


MULTIPLIERS = (Resource.MULTIPLIER, Resource.WIDE_MULTIPLIER)
"""The kinds of multipliers: one for most products, and one for wide ones."""


@dataclass(frozen=True, slots=True, order=True)
class Time:
    """A point in time: ``offset`` nanoseconds after the start of ``cycle``."""

    cycle: int
    offset: float


@dataclass(frozen=True, slots=True)
class Step:
    """One operation to schedule."""

    # Indices of the program's values (without constants). A step with a product and a sum computes both in a
    # block.
    results: tuple[int, ...]
    operands: tuple[int, ...]
    region: Region
    resource: Resource | None
    setup: float  # the time (ns) that must remain in the starting cycle
    # The result is ready `delay` ns into the cycle `latency` cycles later; without latency, `delay` ns after
    # the start.
    latency: int
    delay: float
    registered: bool = False  # whether the step starts with its cycle, on operands from registers
    limbs: int = 1  # the number of limbs that take turns with each result; 1 without twins
    # The factor of a product that its block adds up in front of the multiplier; None if no factor is a sum.
    pre_sum: int | None = None


def pairs_in_blocks(steps: Iterable[Step]) -> list[tuple[int, int]]:
    """Return the products and sums that steps in blocks compute together."""
    products = (step.results for step in steps if step.resource in MULTIPLIERS)
    return [(results[0], results[1]) for results in products if len(results) > 1]


@dataclass(frozen=True)
class Problem:
    """Steps in topological order.

    ``available`` are the values that no step computes, with the cycles at whose start they are ready: 0, but
    for words that arrive later than the others of a task. ``limits`` is the number of units of each resource,
    and ``period`` the usable part of a cycle (ns). ``twins`` are values computed by steps, in the order of
    the limbs; ``limb_limits`` is the number of units that serve steps with this number of limbs.
    ``registers`` is the number of pipeline registers of each product in units of a resource, and ``pre_add``
    what a sum in front of a product adds to it (ns); 0 where blocks have no pre-adder.
    """

    steps: tuple[Step, ...]
    available: Mapping[int, int]
    ii: int
    clock_mhz: float
    period: float
    limits: dict[Resource, int]
    twins: tuple[Group, ...] = ()
    limb_limits: dict[tuple[Resource, int], int] = field(default_factory=dict)
    registers: dict[Resource, int] = field(default_factory=dict)
    pre_add: float = 0.0

    def limit(self, step: Step) -> int:
        """Return the number of units that serve steps like this one."""
        assert step.resource is not None
        if step.limbs == 1:
            return self.limits[step.resource]
        return self.limb_limits[step.resource, step.limbs]

    @cached_property
    def producer(self) -> dict[int, int]:
        return {value: i for i, step in enumerate(self.steps) for value in step.results}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Groups of steps that start in slots at fixed distances: twins, and single other steps."""
        shared = dict.fromkeys(tuple(self.producer[value] for value in group) for group in self.twins)
        return (*shared, *((i,) for i, step in enumerate(self.steps) if step.limbs == 1))


@dataclass(frozen=True)
class Schedule:
    """The start of every step."""

    starts: tuple[Time, ...]


@dataclass(frozen=True)
class Unit:
    """A shared piece of hardware: the steps that it executes by slot, and the region that contains it."""

    resource: Resource
    steps: dict[int, int]
    host: Region


@dataclass(frozen=True)
class Tap:
    """A stage of a value's delay line; ``stage`` 0 is the value as it is computed."""

    value: int
    stage: int


@dataclass(frozen=True)
class Bound:
    """A schedule bound to hardware."""

    ii: int
    clock_mhz: float
    steps: tuple[Step, ...]
    starts: tuple[int, ...]
    ready: dict[int, int]  # for each scheduled value, the cycle in which it is computed
    hosts: dict[int, Region]  # for each value, the region whose submodule computes and delays it
    units: tuple[Unit, ...]  # multipliers, trigonometry and reciprocal units; at `ii = 1` one for each step
    # For each value (of twins the first), the stages of its delay line that are read, ascending.
    stages: dict[int, tuple[int, ...]]
    # For each function, the cycles from a task's start to the cycle in which the last output is computed.
    latency: dict[str, int]
    memory_stages: int
    twins: tuple[Group, ...] = ()  # values that share hardware and a delay line, in the order of their limbs
    # The number of pipeline registers of each product in units of a resource.
    registers: dict[Resource, int] = field(default_factory=dict)
    entry: int = 0  # cycles from a task's start to cycle 0: one if its words enter a register, otherwise none

    @cached_property
    def _group_of(self) -> dict[int, Group]:
        return {value: group for group in self.twins for value in group}

    def group(self, value: int) -> Group:
        """Return a value and its twins, in the order of the limbs."""
        return self._group_of.get(value, (value,))

    def interval(self, value: int) -> int:
        """Return the cycles from one value to the next of the hardware that computes it."""
        return self.ii // len(self.group(value))

    @cached_property
    def producer(self) -> dict[int, int]:
        return {value: index for index, step in enumerate(self.steps) for value in step.results}

    @cached_property
    def absorbed(self) -> dict[int, int]:
        """The products that no signal has, because their blocks add to them, with the sums."""
        return dict(pairs_in_blocks(self.steps))

    def block_sum(self, program: Program, index: int) -> BlockSum | None:
        """Return the sum that the block of a step's product computes; None if it adds nothing."""
        product, *totals = self.steps[index].results
        return BlockSum.of(program, product, *totals) if product in self.absorbed else None

    def operands(self, program: Program, index: int) -> list[Operand]:
        """Return the operands that the hardware of a step reads: those of all sums in a block among them."""
        step = self.steps[index]
        operands = list(program.operations[step.results[0]].operands)
        if step.pre_sum is not None:
            added = PreSum.of(program, step.pre_sum)
            operands = [operand for operand in operands if operand.value != step.pre_sum]
            operands += [added.first, added.second]
        total = self.block_sum(program, index)
        return operands if total is None else [*operands, total.addend]

    @cached_property
    def late(self) -> dict[int, int]:
        """The words that arrive after the others of their task, and the cycles in which they do."""
        return {value: at for value, at in self.ready.items() if at > 0 and value not in self.producer}

    @property
    def regions(self) -> list[Region]:
        """The regions that contain values, by step and joint."""
        return sorted({self.hosts[value] for value in self.ready})

    def unit_latency(self, unit: Unit) -> int:
        """Return the cycles of the steps of a unit, which are the same for all."""
        (latency,) = {self.steps[index].latency for index in unit.steps.values()}
        return latency

    def alone(self, value: int) -> bool:
        """Return whether a value is computed by an operator of its own (and its twins'), without a unit."""
        return value in self.producer and self.steps[self.producer[value]].resource is None

    def tap(self, value: int, cycle: int) -> Tap:
        """Return where to read a value in a cycle of its task.

        The delay line of a value computed in cycle t shifts at the end of every cycle that is t modulo its
        interval (``ii`` except for twins), so its k-th stage holds the value in the cycles from
        ``t + 1 + (k - 1) interval``. Twins have one line, that of the first.
        """
        if value not in self.ready:
            return Tap(value, 0)
        return Tap(self.group(value)[0], stage(cycle - self.ready[value], self.interval(value)))


def stage(age: int, ii: int) -> int:
    """Return the delay line's stage that holds a value ``age`` cycles after it was computed."""
    return 0 if age == 0 else 1 + (age - 1) // ii
