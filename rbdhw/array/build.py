"""The array of a program on a target."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

from rbdhw.array.annealing import anneal
from rbdhw.array.jobs import jobs
from rbdhw.array.model import ArrayResource, ArraySchedule, Timing
from rbdhw.array.placement import place_jobs
from rbdhw.array.verify import verify
from rbdhw.fixed.program import Program
from rbdhw.target import Pipeline, Target

REGISTERS = (2, 3)
"""Pipeline registers that a product may have: operands come from memories, and a shifter takes the result."""

SPARE_CYCLES = 3
"""Cycles of the unit for reciprocals beside those of its tables and products: one a shifter."""

USUAL_CHOICES = 16
"""Inputs of a multiplexer by which products' registers are chosen, before the array is known."""


def build_array(
    program: Program, device: Target, clock_mhz: float | None, ii: int, share: float = 1.0
) -> ArraySchedule:
    """The array that answers a fused program's task every ``ii`` cycles, verified.

    Without a clock :meth:`rbdhw.target.Target.clock` chooses it. Block RAMs are those of a share of the
    device.

    Raises
    ------
    InputError
        Where the clock is too fast, or no place is found for a job.
    """
    pipelines = [device.pipelines(program.port_widths)[registers] for registers in REGISTERS]
    clock = device.clock(clock_mhz)
    usable = device.usable_period(clock.schedule_mhz)
    pipeline = next(
        (way for way in pipelines if _period(device, way, USUAL_CHOICES, USUAL_CHOICES) <= usable),
        pipelines[-1],
    )
    work = jobs(program)
    outputs = {function: tuple(word.value for word in words) for function, words in program.outputs.items()}
    array = place_jobs(
        work,
        outputs,
        ii,
        clock.mhz,
        timing(program, pipeline.registers),
        pipeline.registers,
        max(program.port_widths),
    )
    array = anneal(array, outputs, max(program.port_widths))
    array = replace(array, block_rams=device.operand_blocks(share))
    verify(array, work, outputs)
    device.check_clock(clock.schedule_mhz, _longest(array, device, pipeline))
    return array


def timing(program: Program, registers: int) -> Timing:
    """Cycles of each kind of unit with so many pipeline registers of each product."""
    cycles = {ArrayResource.ACCUMULATOR: registers + 1, ArrayResource.SOURCE: 0}
    cycles[ArrayResource.TRIGONOMETRY] = 1 + program.trigonometry.order * (1 + registers)
    if program.reciprocal is not None:
        cycles[ArrayResource.RECIPROCAL] = 1 + program.reciprocal.order * (1 + registers) + SPARE_CYCLES
    return Timing(cycles)


def _period(device: Target, pipeline: Pipeline, shifts: int, inputs: int) -> float:
    """Nanoseconds of the longest cycle: to a product, in it, from it to the sum, or on to a memory."""
    delays = device.delays
    return max(
        delays.table + pipeline.before,
        pipeline.between,
        pipeline.after + delays.select * levels(shifts) + delays.add,
        delays.select * levels(inputs) + delays.select,
    )


def _longest(array: ArraySchedule, device: Target, pipeline: Pipeline) -> float:
    shifts: dict[int, set[int]] = defaultdict(set)
    for step in array.steps:
        shifts[step.unit].update(term.shift for term in step.job.terms)
    inputs = [len({write.output for write in row.values()}) for row in array.writes.values()]
    return _period(device, pipeline, max(map(len, shifts.values())), max(inputs, default=1))


def levels(choices: int) -> int:
    """Levels of 4-to-1 multiplexers that choose one of so many."""
    return math.ceil(math.log(choices, 4)) if choices > 1 else 0
