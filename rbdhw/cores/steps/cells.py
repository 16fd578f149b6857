"""The cells of a core of steps: those of one step, and the memories and registers around it."""

from __future__ import annotations

from rbdhw.cores.pipeline.cells import core_cells
from rbdhw.cores.steps.memories import lookups, shared_words, stores
from rbdhw.cores.steps.schedule import SweepSchedule
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.graph.sweeps import Carried, Constant
from rbdhw.target import Target


def step_cells(program: UnrolledProgram, schedule: SweepSchedule, device: Target) -> dict[str, Cells]:
    """Return the cells of a core of steps, by the parts of :data:`rbdhw.estimate.calibration.PARTS`."""
    fabric, steps, links = FABRICS[device.family], program.steps, schedule.links
    parts = core_cells(steps.program, schedule.step, device)
    waiting, selection = Cells(), Cells()
    for store in stores(program, schedule):
        address = store.depth.bit_length() - 1
        waiting += fabric.queue(store.width, store.depth)
        selection += Cells(2.0 * address, 2.0 * address)
    for lookup in lookups(program, schedule):
        address = lookup.depth.bit_length() - 1
        waiting += fabric.queue(lookup.width, lookup.depth) + fabric.table(address + 1, links)
        selection += Cells(2.0 * address, address)
    if not steps.sweeps.each_link:  # a register that holds the results of the last step
        waiting += Cells(
            flip_flops=sum(word.format.width for words in program.outputs.values() for word in words)
        )
    widths = {word.name: word.format.width for word in steps.program.inputs}
    for index, (sweep, time) in enumerate(zip(steps.sweeps.sweeps, schedule.sweeps, strict=True)):
        if shared := shared_words(program, schedule, index):
            waiting += fabric.queue(shared.width, shared.depth)
        sources = {name: steps.sweeps.sources[name] for name in sweep.step.inputs}
        table = sum(widths[name] for name, source in sources.items() if isinstance(source, Constant))
        carried = sum(widths[name] for name, source in sources.items() if isinstance(source, Carried))
        direct = 0 if steps.sweeps.branches(sweep) else carried
        if table:
            waiting += fabric.table(table, links)
        selection += Cells(carried)
        waiting += Cells(flip_flops=direct * (time.step - time.delay))
    parts["waiting"] += waiting
    parts["selection"] += selection
    return parts
