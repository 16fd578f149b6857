"""The cells of an array: accumulators, operand memories with multiplexers, delay lines, and units."""

from __future__ import annotations

from collections.abc import Set

from rbdhw.cores.array.memories import Contents, block_memories, contents, memory_bits, outputs, word_bits
from rbdhw.cores.array.model import SUPPLIES, ArrayResource, ArraySchedule, Handover, Port
from rbdhw.cores.pipeline.cells import unit_cells
from rbdhw.estimate.fabric import FABRICS, Cells, Fabric
from rbdhw.fixed.fusion import GUARD_BITS
from rbdhw.fixed.program import Program
from rbdhw.rtl.delay import line_cells
from rbdhw.rtl.multiplexer import tables
from rbdhw.schedule import model
from rbdhw.schedule.model import stage
from rbdhw.target import Target

SUM_HEAD = 6
"""The approximate number of bits of an accumulator's sum above its result."""

CONTROL_BITS = 8
"""The bits of the counters and registers that control a memory or an accumulator."""


def array_cells(
    program: Program,
    array: ArraySchedule,
    device: Target,
    streamed: Set[int] = frozenset(),
    handover: Handover | None = None,
) -> dict[str, Cells]:
    """Return the cells of an array, by the parts of :data:`rbdhw.estimate.calibration.PARTS`.

    Words that are ``streamed`` wait elsewhere, and those of a ``handover`` from their results on.
    """
    fabric = FABRICS[device.family]
    arithmetic, selection, units = Cells(), Cells(), Cells()
    for unit, resource in enumerate(array.units):
        values = [value for step in array.steps_of[unit] for value in step.job.values]
        width = max(word_bits(program, array, value) for value in values)
        if resource is ArrayResource.ACCUMULATOR:
            total = width + GUARD_BITS + SUM_HEAD
            shifts = {term.shift for step in array.steps_of[unit] for term in step.job.terms}
            arithmetic += Cells(total, 2.0 * total)
            selection += Cells(_multiplexers(fabric, len(shifts), total), CONTROL_BITS)
            selection += Cells(fabric.constants(array.ii, len(shifts).bit_length() + 2))
        elif resource in SUPPLIES:
            words = sum(streamed.isdisjoint(step.job.results) for step in array.steps_of[unit])
            choices = words + (words < len(array.steps_of[unit]))
            kept = words if resource is ArrayResource.SOURCE else 0
            selection += Cells(_multiplexers(fabric, choices, width), kept * width)
        else:
            kind = model.Resource(resource.value)
            units += unit_cells(program, kind, fabric)
    waiting = _delay_memories(program, array, device, fabric, handover)
    held = contents(array)
    blocks = block_memories(array, held, program.port_widths, array.block_rams)
    for port, stored in held.items():
        inputs = len(outputs(array, port))
        bits = memory_bits(program, array, port, stored)
        selection += Cells(_multiplexers(fabric, inputs, bits))
        waiting += _memory(array, stored, inputs, port in blocks, bits, fabric)
    return {"arithmetic": arithmetic, "selection": selection, "waiting": waiting, "units": units}


def array_blocks(program: Program, array: ArraySchedule, device: Target) -> int:
    """Return the DSP blocks of accumulators and of the units for sines and reciprocals."""
    products = {
        ArrayResource.TRIGONOMETRY: program.trigonometry.multipliers,
        ArrayResource.RECIPROCAL: program.reciprocal.multipliers if program.reciprocal else (),
    }
    blocks = sum(device.blocks(widths) for unit in array.units for widths in products.get(unit, ()))
    bits = {port: memory_bits(program, array, port, held) for port, held in contents(array).items()}
    for unit, resource in enumerate(array.units):
        if resource is ArrayResource.ACCUMULATOR:
            blocks += device.blocks((bits[Port(unit, 0)], bits[Port(unit, 1)]))
    return blocks


def _multiplexers(fabric: Fabric, choices: int, width: int) -> float:
    """Return the look-up tables of a multiplexer, in the family's own cells if it is built from them."""
    return float(tables(choices) * width) if fabric.joined else fabric.multiplexer(choices, width)


def _memory(
    array: ArraySchedule, held: Contents, inputs: int, block: bool, width: int, fabric: Fabric
) -> Cells:
    """Return the cells of an operand memory with its addresses and input by slot, or of a constant table."""
    if not inputs:
        return Cells(fabric.constants(array.ii, width), float(width))
    address = held.slot_bits(array.ii)
    bits = address + held.turns.bit_length() - 1 + (inputs - 1).bit_length()
    cells = Cells(fabric.constants(array.ii, bits) + CONTROL_BITS, 2.0 * address + CONTROL_BITS)
    if block:
        return cells + Cells(block_rams=held.blocks(array.ii, width) * fabric.tables[0].takes.block_rams)
    return cells + fabric.distributed(width, held.depth(array.ii))


def _delay_memories(
    program: Program, array: ArraySchedule, device: Target, fabric: Fabric, handover: Handover | None
) -> Cells:
    """Return the cells of results that wait for the last of their function, and of outputs that are kept."""
    cells = Cells()
    stages: dict[int, set[int]] = {}
    if handover is not None:
        for word, result in handover.words.items():
            if {word, result} <= array.producer.keys():
                stages.setdefault(result, set()).add(stage(handover.wait(array, word), array.ii))
                if handover.blocks > 1:
                    width = program.operations[result].format.width
                    cells += fabric.distributed(width, 2 * handover.blocks)
    inside = handover.function if handover else None
    for function, words in program.outputs.items():
        for output in words if function != inside else ():
            step = array.producer.get(output.value)
            ready = step.ready if step else 0
            stages.setdefault(output.value, set()).add(stage(array.latency[function] - ready, array.ii))
    for value, read in stages.items():
        width = program.operations[value].format.width
        cells += line_cells(width, sorted(read), device.memory_stages, fabric)
    latest: dict[tuple[int, int], int] = {}
    for row in array.writes.values():
        for write in row.values():
            key = write.output.unit, write.output.result
            latest[key] = max(latest.get(key, 0), write.output.delay)
    return cells + Cells(flip_flops=float(sum(latest.values()) * max(program.port_widths)))
