"""Build the array of a program on a target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from rbdhw.cores.array.annealing import anneal
from rbdhw.cores.array.jobs import jobs, least_handover, needs_of
from rbdhw.cores.array.model import SUPPLIES, ArrayResource, ArraySchedule, Handover, Timing
from rbdhw.cores.array.placement import Haste, place_jobs
from rbdhw.cores.array.verify import verify
from rbdhw.delays import Pipeline, Product, select_levels
from rbdhw.errors import InputError
from rbdhw.fixed.program import Program
from rbdhw.schedule.problem import polynomial_latency, reciprocal_ways
from rbdhw.target import Target

REGISTERS = (2, 3)
"""Possible numbers of pipeline registers of a product between the operand memories and the shifter."""

DIRECT_REGISTERS = (1, 2)
"""Possible numbers of them where the first takes the operands from memories that are read directly."""

SPARE_CYCLES = 3
"""The cycles of the reciprocal unit besides those of its tables and products: one for each shifter."""

USUAL_CHOICES = 16
"""The multiplexer inputs assumed for choosing the products' registers, before the array is known."""

HASTES = [Haste(lead, share, hurried=True) for lead, share in ((0.25, 0.2), (0.3, 0.25))]
"""The ways to hand words on that are tried in turn at a short interval."""

SLOW = 1.25
"""An interval that is this many times the least that results take to be handed on is not short."""

TABLE_WORDS = 64
"""The words of a memory that one look-up table has for each bit; more take multiplexers."""


@dataclass(frozen=True)
class _Way:
    """Pipeline registers, and the cycles of units that follow from them."""

    pipeline: Pipeline
    timing: Timing
    unit_entry: float = 0.0
    """The delay (ns) from an operand of a direct reciprocal unit to its first register."""
    unit_exit: float = 0.0
    """The delay (ns) from its last register to the result."""


def build_array(
    program: Program,
    device: Target,
    clock_mhz: float | None,
    ii: int,
    share: float = 1.0,
    handed: Mapping[int, int] | None = None,
    extra: Mapping[ArrayResource, int] | None = None,
    turns: int | None = None,
) -> ArraySchedule:
    """Return the verified array that processes one task of a fused program every ``ii`` cycles.

    Without a clock, :meth:`rbdhw.target.Target.clock` chooses it. ``share`` is the share of the device whose
    block RAMs may be used. ``handed`` are words that a task takes from results of an earlier one, which come
    first. If the interval is short for them, memories are direct (:class:`Timing`) where the clock allows it.
    ``extra`` units may make all results earlier. A task takes these words from the task ``turns`` before it.
    Without ``turns`` it takes them from the latest task that has them.

    Raises InputError if the clock is too fast, if there is no place for a job, or if a task would take words
    that are not there yet.
    """
    clock = device.clock(clock_mhz)
    usable = device.usable_period(clock.schedule_mhz)
    work = jobs(program, (handed or {}).keys())
    way = _fastest_way(program, device, clock.schedule_mhz, ii, direct=False)
    if handed and ii < SLOW * least_handover(work, needs_of(work), way.timing, handed.values()):
        way = _fastest_way(program, device, clock.schedule_mhz, ii, direct=True)
    outputs = {function: tuple(word.value for word in words) for function, words in program.outputs.items()}
    placer = partial(
        place_jobs,
        work,
        outputs,
        ii,
        clock.mhz,
        way.timing,
        way.pipeline.registers,
        program.port_widths,
        handed,
        extra,
    )

    def meets(array: ArraySchedule) -> bool:
        return _longest(array, device, way) <= usable

    within = ii * (turns or 1)
    array = _hasty(placer, handed or {}, within, meets) if way.timing.direct else placer()
    if turns and (cycles := Handover.cycles(array, handed or {})) > within:
        raise InputError("ii", f"a task hands results on after {cycles} cycles", "a larger ii")
    array = anneal(array, outputs, program.port_widths, handed)
    array = replace(array, block_rams=0 if way.timing.direct else device.operand_blocks(share))
    verify(array, work, outputs)
    device.check_clock(clock.schedule_mhz, _longest(array, device, way))
    return array


def soonest_handover(
    program: Program, device: Target, clock_mhz: float | None, ii: int, handed: Mapping[int, int]
) -> int:
    """Return the fewest cycles from a task to one that takes its results, with units without number.

    ``ii`` decides how memories are read.
    """
    work = jobs(program, handed.keys())
    way = _fastest_way(program, device, device.clock(clock_mhz).schedule_mhz, ii, direct=True)
    return least_handover(work, needs_of(work), way.timing, handed.values())


def _fastest_way(program: Program, device: Target, clock_mhz: float, ii: int, *, direct: bool) -> _Way:
    """Return the way with the fewest registers that the clock allows, or that with the most.

    Its memories are ``direct`` only if that is asked for.
    """
    pipelines, usable = device.pipelines(program.port_widths), device.usable_period(clock_mhz)
    ways = [_Way(pipelines[registers], timing(program, registers)) for registers in REGISTERS]
    if direct:
        ways = [*(_direct_way(program, device, pipelines[k], clock_mhz) for k in DIRECT_REGISTERS), *ways]
    choices = USUAL_CHOICES, USUAL_CHOICES
    return next((way for way in ways if _period(device, way, ii, *choices) <= usable), ways[-1])


def _hasty(
    placer: Callable[..., ArraySchedule],
    handed: Mapping[int, int],
    within: int,
    meets: Callable[[ArraySchedule], bool],
) -> ArraySchedule:
    """Return the first array of several that ``meets`` the clock and hands on ``within`` some cycles.

    Without one it is the one that hands on soonest. Jobs are placed one after the other, and from another
    beginning fall into quite different places.
    """
    arrays, refusals = [], []
    for haste in HASTES:
        try:
            array = placer(haste=haste)
        except InputError as error:
            refusals.append(error)
            continue
        if Handover.cycles(array, handed) <= within and meets(array):
            return array
        arrays.append(array)
    if not arrays:
        raise refusals[0]
    return min(arrays, key=lambda array: Handover.cycles(array, handed))


def timing(program: Program, registers: int) -> Timing:
    """Return the cycles of each kind of unit if products have this number of pipeline registers."""
    return Timing(_cycles(program, registers, registers, SPARE_CYCLES), registers)


def _cycles(program: Program, registers: int, of_units: int, spare: int) -> dict[ArrayResource, int]:
    cycles = {ArrayResource.ACCUMULATOR: registers + 1, **dict.fromkeys(SUPPLIES, 0)}
    cycles[ArrayResource.TRIGONOMETRY] = polynomial_latency(program.trigonometry.order, of_units)
    if program.reciprocal is not None:
        cycles[ArrayResource.RECIPROCAL] = polynomial_latency(program.reciprocal.order, of_units) + spare
    return cycles


def _direct_way(program: Program, device: Target, pipeline: Pipeline, clock_mhz: float) -> _Way:
    """Return a way with direct memories and the fewest cycles of units."""
    widths = program.trigonometry.multipliers
    if program.reciprocal is not None:
        widths = (*widths, *program.reciprocal.multipliers)
    of_units = max(device.pipeline(Product(pair), clock_mhz).registers for pair in widths)
    ways = []
    for spare, (entry, *_, end) in enumerate(reciprocal_ways(program, device.delays, 1) or ((0.0, 0.0),)):
        cycles = _cycles(program, pipeline.registers, of_units, spare)
        ways.append(_Way(pipeline, Timing(cycles, of_units, read=0, write=0), entry, end))
    usable = device.usable_period(clock_mhz)
    choices = 1, USUAL_CHOICES, USUAL_CHOICES
    return next((way for way in ways if _period(device, way, *choices) <= usable), ways[-1])


def _period(device: Target, way: _Way, ii: int, shifts: int, inputs: int) -> float:
    """Return the length (ns) of the longest cycle: to, in, or after a product, or on to a memory."""
    delays, pipeline = device.delays, way.pipeline
    to_memory = delays.select * select_levels(inputs) + delays.select
    summed = pipeline.after + delays.select * select_levels(shifts) + delays.add
    if not way.timing.direct:
        return max(delays.table + pipeline.before, pipeline.between, summed, to_memory)
    passed = to_memory + delays.select  # past the memory
    stored = delays.table + delays.select * (1 + select_levels(-(-ii // TABLE_WORDS)))
    operand = max(passed, stored) + max(pipeline.before, way.unit_entry)
    return max(operand, pipeline.between, summed, way.unit_exit + passed + pipeline.before)


def _longest(array: ArraySchedule, device: Target, way: _Way) -> float:
    shifts: dict[int, set[int]] = defaultdict(set)
    for step in array.steps:
        shifts[step.unit].update(term.shift for term in step.job.terms)
    inputs = [len({write.output for write in row.values()}) for row in array.writes.values()]
    return _period(device, way, array.ii, max(map(len, shifts.values())), max(inputs, default=1))
