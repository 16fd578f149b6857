"""The array of a knot's step, at an interval at which what it hands on is there when the next knot starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rbdhw.cores.array.build import build_array, soonest_handover
from rbdhw.cores.array.cells import array_blocks, array_cells
from rbdhw.cores.array.core import ArrayCore
from rbdhw.cores.array.model import ArrayResource, ArraySchedule, Handover
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.estimate.model import weights_of
from rbdhw.estimate.resources import Resources
from rbdhw.fixed.program import Program
from rbdhw.graph.knots import block_length
from rbdhw.graph.sweeps import Given, Sweeps
from rbdhw.target import Target


@dataclass(frozen=True)
class SweepArray:
    """A knot's step on an array of shared units.

    A knot starts every ``schedule.ii`` cycles. It takes what the knot behind it hands on as words of a task.
    The numbers of a knot come one after the other from a memory with a column for each source of the array.
    At least so many ``problems`` take turns, or so many ``blocks`` of the knots of one.
    """

    sweeps: Sweeps
    program: Program
    device: Target
    schedule: ArraySchedule
    problems: int = 1
    blocks: int = 1

    @property
    def sweep(self) -> str:
        """The function of the program whose words are handed on."""
        return self.sweeps.sweeps[0].name

    @property
    def between(self) -> int:
        """The number of problems or blocks that take turns, so that what a knot hands on is there in time."""
        return max(-(-self.handed_on // self.schedule.ii), self.problems * self.blocks)

    @property
    def length(self) -> int:
        """The most knots of a block."""
        return block_length(self.sweeps.links - 1, self.blocks)

    @cached_property
    def handed_on(self) -> int:
        """The fewest cycles from a knot to the next one of a problem."""
        return Handover.cycles(self.schedule, handed_words(self.program, self.sweep))

    @cached_property
    def handover(self) -> Handover:
        """What a knot takes from the one behind it, an interval for each problem before."""
        words = handed_words(self.program, self.sweep)
        return Handover(self.sweep, words, self.between, self.blocks)

    @cached_property
    def streamed(self) -> frozenset[int]:
        """The values of the numbers of a knot."""
        sources = self.sweeps.sources
        return frozenset(word.value for word in self.program.inputs if isinstance(sources[word.name], Given))

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The sources that hand out numbers of knots."""
        producer = self.schedule.producer
        return tuple(sorted({producer[value].unit for value in self.streamed if value in producer}))

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """The row and the column of each number in the part of a knot; one that nothing reads has none."""
        producer = self.schedule.producer
        words = (word for word in self.program.inputs if word.value in self.streamed & producer.keys())
        steps = ((word.name, producer[word.value]) for word in words)
        return {name: (step.start - 1, self.columns.index(step.unit)) for name, step in steps}

    @property
    def width(self) -> int:
        """The bits of a number in the memory."""
        return max(word.format.width for word in self.program.inputs if word.value in self.streamed)

    @cached_property
    def rows_of_knot(self) -> int:
        """The rows of a knot's part of the memory."""
        return 1 + max(row for row, _ in self.places.values())

    @property
    def rows(self) -> int:
        """The rows of the memory."""
        return self.length * self.between * self.rows_of_knot

    def row(self, knot: int, problem: int) -> int:
        """Return the first row of a knot's part of the memory."""
        block, position = divmod(self.sweeps.links - 1 - knot, self.length)
        return (position * self.between + problem + block) * self.rows_of_knot

    @property
    def put_out(self) -> int:
        """The cycle of a knot in which its policy is put out: after all its results and their flags."""
        return max(self.schedule.latency.values()) + 2

    @property
    def kept(self) -> int:
        """The intervals for which a policy is kept until it is put out."""
        return (self.put_out - self.schedule.latency[self.sweeps.function] - 1) // self.schedule.ii

    @property
    def cycles(self) -> int:
        """The cycles from the start of the last knot to the last policy of all problems and blocks."""
        return (self.length * self.between - 1) * self.schedule.ii + self.put_out

    @property
    def dsp_blocks(self) -> int:
        return array_blocks(self.program, self.schedule, self.device)

    def cells(self) -> dict[str, Cells]:
        """Return the cells of the array and of the memory of numbers, by the parts of an estimate."""
        cells = array_cells(self.program, self.schedule, self.device, self.streamed, self.handover)
        memory = FABRICS[self.device.family].memory(self.width, self.rows)
        policy = sum(word.format.width for word in self.program.outputs[self.sweeps.function])
        kept = Cells(flip_flops=policy * self.kept)
        return {**cells, "waiting": cells["waiting"] + memory * len(self.columns) + kept}

    def estimate(self) -> Resources:
        """Return the resources that the core takes, by the weights of array cores."""
        return weigh(self.cells(), self.dsp_blocks, weights_of(self.device, ArrayCore.estimated_as))


def build_sweep(
    sweeps: Sweeps,
    program: Program,
    device: Target,
    ii: int,
    extra: Mapping[ArrayResource, int] | None = None,
    clock_mhz: float | None = None,
    problems: int | None = None,
    blocks: int = 1,
) -> SweepArray:
    """Return the core of a sweep with a knot every ``ii`` cycles.

    ``extra`` are units beyond those that the products and words take, which make a knot's results earlier:
    accumulators, and sources that hand out words. So many ``problems`` take turns, by default as many as it
    takes, or so many ``blocks`` of one.

    Raises InputError if the clock is too fast, if there is no place for an operation, or if the interval is
    too short for so many problems.
    """
    (sweep,) = sweeps.sweeps
    handed, turns = handed_words(program, sweep.name), None if problems is None else problems * blocks
    schedule = build_array(program, device, clock_mhz, ii, handed=handed, extra=extra, turns=turns)
    return SweepArray(sweeps, program, device, schedule, problems or 1, blocks)


def least_handover(
    sweeps: Sweeps, program: Program, device: Target, ii: int, clock_mhz: float | None = None
) -> int:
    """Return the fewest cycles in which a knot may hand on, with memories for an interval of ``ii``."""
    return soonest_handover(program, device, clock_mhz, ii, handed_words(program, sweeps.sweeps[0].name))


def handed_words(program: Program, sweep: str) -> dict[int, int]:
    """Return what a knot takes from the one behind it: its words, with those that the other hands on."""
    results = {word.name.partition(".")[2]: word for word in program.outputs[sweep]}
    pairs = [(word, results[word.name]) for word in program.inputs if word.name in results]
    assert all(word.format == result.format for word, result in pairs)
    return {word.value: result.value for word, result in pairs}
