"""Build the array of a program on a target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from rbdhw.cores.array.annealing import anneal
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import ArrayResource, ArraySchedule, Timing
from rbdhw.cores.array.placement import place_jobs
from rbdhw.cores.array.verify import verify
from rbdhw.fixed.program import Program
from rbdhw.schedule.problem import polynomial_latency, select_levels
from rbdhw.target import Pipeline, Target

REGISTERS = (2, 3)
"""Possible numbers of pipeline registers of a product between the operand memories and the shifter."""

SPARE_CYCLES = 3
"""The cycles of the reciprocal unit besides those of its tables and products: one for each shifter."""

USUAL_CHOICES = 16
"""The multiplexer inputs assumed for choosing the products' registers, before the array is known."""


def build_array(
    program: Program,
    device: Target,
    clock_mhz: float | None,
    ii: int,
    share: float = 1.0,
    awaited: Mapping[int, int] | None = None,
    extra: Mapping[ArrayResource, int] | None = None,
) -> ArraySchedule:
    """Return the verified array that processes one task of a fused program every ``ii`` cycles.

    Without a clock, :meth:`rbdhw.target.Target.clock` chooses it. ``share`` is the share of the device whose
    block RAMs may be used. Values that are ``awaited`` come first, by the cycles of what follows them, and
    ``extra`` units may make all results earlier.

    Raises InputError if the clock is too fast, or there is no place for a job.
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
        program.port_widths,
        awaited,
        extra,
    )
    array = anneal(array, outputs, program.port_widths)
    array = replace(array, block_rams=device.operand_blocks(share))
    verify(array, work, outputs)
    device.check_clock(clock.schedule_mhz, _longest(array, device, pipeline))
    return array


def timing(program: Program, registers: int) -> Timing:
    """Return the cycles of each kind of unit if products have this number of pipeline registers."""
    cycles = {ArrayResource.ACCUMULATOR: registers + 1, ArrayResource.SOURCE: 0}
    cycles[ArrayResource.TRIGONOMETRY] = polynomial_latency(program.trigonometry.order, registers)
    if program.reciprocal is not None:
        cycles[ArrayResource.RECIPROCAL] = (
            polynomial_latency(program.reciprocal.order, registers) + SPARE_CYCLES
        )
    return Timing(cycles)


def _period(device: Target, pipeline: Pipeline, shifts: int, inputs: int) -> float:
    """Return the length (ns) of the longest cycle: to, in, or after a product, or on to a memory."""
    delays = device.delays
    return max(
        delays.table + pipeline.before,
        pipeline.between,
        pipeline.after + delays.select * select_levels(shifts) + delays.add,
        delays.select * select_levels(inputs) + delays.select,
    )


def _longest(array: ArraySchedule, device: Target, pipeline: Pipeline) -> float:
    shifts: dict[int, set[int]] = defaultdict(set)
    for step in array.steps:
        shifts[step.unit].update(term.shift for term in step.job.terms)
    inputs = [len({write.output for write in row.values()}) for row in array.writes.values()]
    return _period(device, pipeline, max(map(len, shifts.values())), max(inputs, default=1))
