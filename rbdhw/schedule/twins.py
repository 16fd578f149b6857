"""Twins in the schedule: choose the operations of symmetric limbs that share hardware, and adapt steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rbdhw.delays import Delays
from rbdhw.fixed.program import Kind, Operation, Program
from rbdhw.graph.twins import Group
from rbdhw.schedule.model import Resource, Step


def shareable(program: Program, groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return the groups of operations that one operator can compute in turn.

    Members of a group have the same kind, width and rounding. Negations of results that are twins are twins,
    too. One unit computes sine and cosine of an angle, so either both have twins or neither has.
    """
    groups = [*groups, *_result_turns(program, groups)]
    kept = {group for group in groups if _alike([program.operations[i] for i in group])}
    angles: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for group in kept:
        turns = tuple(_turn(program.operations[i]) for i in group)
        for turn in turns:
            if turn is not None:
                angles.setdefault(turn, set()).add(turns)
    twofold = {turn for turn, sequences in angles.items() if len(sequences) > 1}
    grouped = {i for group in kept for i in group}
    loose = {_turn(operation) for i, operation in enumerate(program.operations) if i not in grouped}
    broken = twofold | loose - {None}
    return tuple(
        group
        for group in groups
        if group in kept and not broken.intersection(_turn(program.operations[i]) for i in group)
    )


def _result_turns(program: Program, groups: Sequence[Group]) -> Iterator[Group]:
    """Yield groups of sums of one operand, which copy or negate results, if the operands are twins."""
    sums_of: dict[int, list[int]] = {}
    known = {i for group in groups for i in group}
    for i, operation in enumerate(program.operations):
        if operation.kind is Kind.ADD and len(operation.operands) == 1 and i not in known:
            sums_of.setdefault(operation.operands[0].value, []).append(i)
    for group in groups:
        candidates = [sums_of.get(value, []) for value in group]
        if all(len(sums) == 1 for sums in candidates):
            yield tuple(sums[0] for sums in candidates)


def _turn(operation: Operation) -> tuple[object, ...] | None:
    """Return a key that identifies the step of a sine or cosine, or None."""
    if operation.kind not in (Kind.SIN, Kind.COS):
        return None
    return operation.operands, operation.constant, operation.region


def _alike(operations: Sequence[Operation]) -> bool:
    first = operations[0]
    shapes = {(o.kind, len(o.operands), o.format.width, o.drop) for o in operations}
    twice = any(len(o.operands) > 1 and all(operand.negative for operand in o.operands) for o in operations)
    return len(shapes) == 1 and first.kind is not Kind.CONSTANT and not twice


def share_steps(
    program: Program, steps: Sequence[Step], twins: Sequence[Group], delays: Delays, ii: int
) -> Iterator[Step]:
    """Yield the steps of a program whose twins share hardware; inputs that are twins become steps.

    An operator computes twins in turn. If its operands are not twins of each other, they are selected by
    slot; units shared by several steps select their operands anyway. A multiplier that serves only one group
    need not start with its cycle.
    """
    group_of = {value: group for group in twins for value in group}
    wide = {value for step in steps if step.resource is Resource.WIDE_MULTIPLIER for value in step.results}
    everything = [*_entries(program, twins, delays), *steps]
    times = {value: (step.setup, step.delay) for step in everything for value in step.results}
    for step in everything:
        group = group_of.get(step.results[0])
        if group is None:
            yield step
            continue
        setup, delay = map(max, zip(*(times[value] for value in group), strict=True))
        chooses = delays.select if step.resource is None and _choose_group(program, group, group_of) else 0.0
        resource = Resource.WIDE_MULTIPLIER if wide.intersection(group) else step.resource
        yield replace(
            step,
            resource=resource,
            setup=setup + chooses,
            delay=delay + (0.0 if step.latency else chooses),
            registered=step.registered and ii > len(group),
            limbs=len(group),
        )


def _entries(program: Program, twins: Sequence[Group], delays: Delays) -> Iterator[Step]:
    """Yield steps that select the inputs of limbs in turn."""
    for group in twins:
        for value in group:
            operation = program.operations[value]
            if operation.kind is Kind.INPUT:
                yield Step((value,), (), operation.region, None, delays.select, 0, delays.select)


def _choose_group(program: Program, group: Group, group_of: dict[int, Group]) -> bool:
    """Return whether the operands of the twins must be selected, as they are not one delay line of twins."""
    rows = zip(*(program.operations[i].operands for i in group), strict=True)
    lines = (tuple(operand.value for operand in row) for row in rows)
    return any(group_of.get(line[0]) != line for line in lines)
