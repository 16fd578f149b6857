"""The array's jobs and their schedule: plain data between the placement and the RTL.

A task starts in cycle 0, and tasks follow each other every ``ii`` cycles; what happens in cycle t uses its
hardware in slot ``t mod ii``. Every unit reads operands from its own memories. Every memory takes one word
per cycle from the outputs of any unit, present or up to some cycles old. Each value is written once to every
memory from which it is read.

Values have the indices of the program's. ``~f`` is the complement of the flag ``f``, or of a word that
chooses. Indices above the program's are copies of values, made because a memory was busy when the original
was ready.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple


class ArrayResource(StrEnum):
    """The kinds of units."""

    ACCUMULATOR = "accumulator"
    """Adds a product of two operands to a sum in every cycle."""
    TRIGONOMETRY = "trigonometry"
    RECIPROCAL = "reciprocal"
    SOURCE = "source"
    """Supplies the words of the task that started last."""
    HANDOVER = "handover"
    """Supplies what that task takes from results of an earlier one."""


SUPPLIES = (ArrayResource.SOURCE, ArrayResource.HANDOVER)
"""The units that read no operands."""


READ = 1
"""The cycles from an operand's address to the operand."""

WRITE = 1
"""The cycles from a result at a memory to the first cycle in which its address can be read."""

HOLD = 6
"""The number of cycles for which a unit's outputs are kept."""


MEMORY_WORDS = 1024
"""The words of a block RAM with :data:`MEMORY_BITS` each; of words twice as wide it holds half as many."""

MEMORY_BITS = 18

LEAST_TURNS = 4
"""The tasks of which a memory may hold words at long intervals, when they take more than one block RAM."""


def most_turns(ii: int) -> int:
    """Return the most tasks of which a memory may hold words at interval ``ii``, with room for constants.

    They fill a block RAM. At long intervals there are some more, so that a word can wait for its readers.
    """
    return max(LEAST_TURNS, MEMORY_WORDS >> ii.bit_length())


def kept_window(ii: int) -> int:
    """Return the cycles for which a memory can keep a word at interval ``ii``."""
    return most_turns(ii) * ii


def slots_of(start: int, cycles: int, ii: int) -> int:
    """Return the slots of successive cycles as bits."""
    bits = ((1 << cycles) - 1) << (start % ii)
    return (bits | bits >> ii) & ((1 << ii) - 1)


@dataclass(frozen=True, slots=True)
class Constant:
    """An operand that a memory holds from the beginning."""

    integer: int


Factor = int | Constant
"""A value by its index, or a constant."""


@dataclass(frozen=True, slots=True)
class Term:
    """A product that an accumulator adds to its sum, shifted left by ``shift`` bits (right if negative).

    After placement the first factor is read from the unit's first memory and the second from the other. The
    factors of an ``ordered`` term stay in their order: the first has more bits than the second memory.
    """

    factors: tuple[Factor, Factor]
    negative: bool = False
    shift: int = 0
    ordered: bool = False

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(factor for factor in self.factors if not isinstance(factor, Constant))

    @property
    def orders(self) -> tuple[tuple[Factor, Factor], ...]:
        """The possible orders of the factors, the present one first."""
        first, second = self.factors
        return ((first, second),) if self.ordered else ((first, second), (second, first))


def equivalent_terms(term: Term, widths: tuple[int, int]) -> Iterator[Term]:
    """Yield a term and equivalent ones with part of the shift in a constant.

    ``widths`` are the bits of an accumulator's operands, the wider first; a constant does not exceed them.
    """
    yield term
    for k, factor in enumerate(term.factors):
        if isinstance(factor, Constant) and factor.integer:
            integer = factor.integer
            zeros = (integer & -integer).bit_length() - 1
            width = widths[k] if term.ordered else widths[1]
            for power in range(-zeros, width - integer.bit_length()):
                moved = Constant(integer << power if power > 0 else integer >> -power)
                factors = (moved, term.factors[1]) if k == 0 else (term.factors[0], moved)
                if power:
                    yield replace(term, factors=factors, shift=term.shift - power)


@dataclass(frozen=True, slots=True)
class Job:
    """The work of one unit in successive cycles to compute values: one term per cycle, or one operand.

    ``results`` are in the order of the unit's outputs (sine and cosine); an unused one is None. A ``wide``
    value has more bits than an accumulator's results, so it cannot be copied.
    """

    results: tuple[int | None, ...]
    resource: ArrayResource
    terms: tuple[Term, ...] = ()
    operand: int | None = None
    wide: bool = False

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(value for value in self.results if value is not None)

    @property
    def cycles(self) -> int:
        """The number of cycles for which the job occupies its unit."""
        return max(1, len(self.terms))

    @property
    def operands(self) -> Iterator[int]:
        """The values that the job reads."""
        if self.operand is not None:
            yield self.operand
        for term in self.terms:
            yield from term.values


@dataclass(frozen=True)
class Timing:
    """The cycles from the last operands of a job to its results, by kind of unit.

    ``read`` are those from an operand's address to the operand, and ``write`` those from a result at a memory
    to the first cycle in which its address can be read. Without either, memories are of look-up tables, are
    read into the registers of multipliers, and pass on what they are just taking.
    """

    cycles: dict[ArrayResource, int]
    unit_registers: int = 0  # pipeline registers of each product in the units for sines and reciprocals
    read: int = READ
    write: int = WRITE

    @property
    def direct(self) -> bool:
        """Whether memories are read without a cycle of their own."""
        return self.read == 0

    def ready(self, job: Job, start: int) -> int:
        """Return the cycle in which the results are at the unit's outputs."""
        if job.resource in SUPPLIES:
            return start
        return start + job.cycles - 1 + self.read + self.cycles[job.resource]


class Port(NamedTuple):
    """The memory of an operand of a unit, by its index."""

    unit: int
    operand: int


class Output(NamedTuple):
    """A unit's output by its index in the results of a job, ``delay`` cycles after it was computed."""

    unit: int
    result: int
    delay: int = 0


@dataclass(frozen=True, slots=True)
class ArrayStep:
    """A job on a unit from cycle ``start``; its results are at the outputs in cycle ``ready``."""

    job: Job
    unit: int
    start: int
    ready: int


class Write(NamedTuple):
    """A memory takes a value from an output at the end of a cycle."""

    value: int
    output: Output
    cycle: int


@dataclass(frozen=True)
class ArraySchedule:
    """A scheduled array."""

    ii: int
    clock_mhz: float
    timing: Timing
    units: tuple[ArrayResource, ...]  # the kind of each unit
    steps: tuple[ArrayStep, ...]  # all jobs with their places
    writes: dict[Port, dict[int, Write]]  # writes by memory and slot
    # For each function, the cycles from a task's start to the cycle in which the last output is computed.
    latency: dict[str, int]
    registers: int  # pipeline registers of each product in accumulators
    block_rams: int = 0  # the number of operand memories that may be block RAMs; the deepest are chosen

    @cached_property
    def producer(self) -> dict[int, ArrayStep]:
        return {value: step for step in self.steps for value in step.job.values}

    @cached_property
    def steps_of(self) -> dict[int, list[ArrayStep]]:
        steps: dict[int, list[ArrayStep]] = defaultdict(list)
        for step in self.steps:
            steps[step.unit].append(step)
        return steps

    @cached_property
    def written(self) -> dict[tuple[Port, int], Write]:
        return {(port, write.value): write for port, row in self.writes.items() for write in row.values()}

    def remove_idle_units(self) -> ArraySchedule:
        """Return this array without units that have no job; the others are renumbered."""
        number = {unit: k for k, unit in enumerate(sorted({step.unit for step in self.steps}))}

        def renumber(write: Write) -> Write:
            return write._replace(output=write.output._replace(unit=number[write.output.unit]))

        return replace(
            self,
            units=tuple(self.units[unit] for unit in number),
            steps=tuple(replace(step, unit=number[step.unit]) for step in self.steps),
            writes={
                port._replace(unit=number[port.unit]): {slot: renumber(write) for slot, write in row.items()}
                for port, row in self.writes.items()
                if port.unit in number
            },
        )

    def turns(self, port: Port) -> int:
        """Return the number of tasks of which a memory holds words at the same time."""
        ages = [
            cycle - self.written[port, factor].cycle
            for cycle, factor in self.reads(port)
            if not isinstance(factor, Constant)
        ]
        return max((1 + age // self.ii for age in ages), default=1)

    def reads(self, port: Port) -> Iterator[tuple[int, Factor]]:
        """Yield the factors that a memory is read for, with the cycle of the address."""
        for step in self.steps_of[port.unit]:
            if step.job.operand is not None:
                yield step.start, step.job.operand
            for k, term in enumerate(step.job.terms):
                yield step.start + k, term.factors[port.operand]

    def ports(self) -> Iterator[Port]:
        for unit, resource in enumerate(self.units):
            for index in range(PORTS[resource]):
                yield Port(unit, index)


@dataclass(frozen=True)
class Handover:
    """Words that a task takes from the results of an earlier task, the one so many tasks ``before`` it.

    ``words`` has the result of each word, and ``function`` is the one that has no other results. Tasks of
    several ``blocks`` take turns. The first of a block takes the last results of the block before it.
    """

    function: str
    words: Mapping[int, int]
    before: int
    blocks: int = 1

    @staticmethod
    def cycles(array: ArraySchedule, words: Mapping[int, int]) -> int:
        """Return the fewest cycles between two tasks of which one takes words from the other."""
        steps = array.producer
        pairs = ((steps[word], steps.get(result)) for word, result in words.items() if word in steps)
        return max((result.ready + 1 - word.start for word, result in pairs if result), default=1)

    def wait(self, array: ArraySchedule, word: int) -> int:
        """Return the cycles from a result to the word that is handed out."""
        result = array.producer[self.words[word]]
        return array.producer[word].start + self.before * array.ii - result.ready


PORTS = {
    ArrayResource.ACCUMULATOR: 2,
    ArrayResource.TRIGONOMETRY: 1,
    ArrayResource.RECIPROCAL: 1,
    ArrayResource.SOURCE: 0,
    ArrayResource.HANDOVER: 0,
}
"""The number of operand memories of a unit."""
