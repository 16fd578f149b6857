"""Choose the products by constants that adders compute instead of multipliers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rbdhw.fixed.program import Kind, Program
from rbdhw.fixed.recoding import ShiftAdd, shift_add
from rbdhw.graph.twins import Group
from rbdhw.schedule.model import Resource, Step
from rbdhw.target import Target


def use_adders(
    program: Program, steps: Sequence[Step], twins: Sequence[Group], target: Target, ii: int, period: float
) -> Iterator[Step]:
    """Yield the steps of a program; products that adders compute at lower cost have no resource.

    Adders replace only a multiplier that a product and its twins would occupy in every slot, because a slot
    of a shared multiplier costs almost nothing. A multiplier is worth as many look-up tables as the device
    has for each of its DSP blocks. Adders must fit the ``period`` and must not be later than the multiplier.
    Twins share adders if their constants are equal. A power of two needs none, whatever the interval.
    """
    group_of = {value: group for group in twins for value in group}
    for step in steps:
        group = group_of.get(step.results[0], step.results[:1])
        adders = constant_adders(program, group)
        if adders is None or step.resource is None:
            yield step
            continue
        ports = program.port_widths if step.resource is Resource.MULTIPLIER else program.wide_port_widths
        filled = len(group) == ii
        price = target.blocks(ports) * target.luts / target.dsp_blocks if filled else 0.0
        delay = target.delays.sums(adders.levels)
        choice = target.delays.select if len(group) > 1 else 0.0
        fits = choice + delay <= period
        if adders.bits <= price and fits and choice + delay <= step.latency * period + step.delay:
            yield replace(step, resource=None, setup=delay, latency=0, delay=delay, registered=False)
        else:
            yield step


def constant_adders(program: Program, group: Sequence[int]) -> ShiftAdd | None:
    """Return the adders of a product by a constant common to its twins; None for other operations."""
    operations = [program.operations[value] for value in group]
    if operations[0].kind is not Kind.SCALE:
        return None
    widths = [program.operations[operation.operands[0].value].format.width for operation in operations]
    first, *others = {(w, o.constant, o.drop) for w, o in zip(widths, operations, strict=True)}
    return None if others or not first[1] else shift_add(*first)
