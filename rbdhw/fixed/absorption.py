"""Absorbed terms: remove terms of sums that rounding always discards, whatever their value.

Every signal has a few bits at least. If a term is so small beside the other operand of its sum that rounding
discards all of it, the sum equals the other operand, and everything that is computed only for the term is
removed. If the overflow of such a removed value would be the only sign of an overflow in a function, the sum
takes the sign of the value that the term scales instead, which is absorbed, too. Results and overflow flags
do not change by a bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rbdhw.fixed.program import Kind, Operand, Operation, Program
from rbdhw.graph.twins import Group


def remove_absorbed_terms(program: Program, twins: Sequence[Group] = ()) -> tuple[Program, tuple[Group, ...]]:
    """Return the program without absorbed terms and the values needed only for them; and the remaining twins.

    Groups of ``twins`` may be computed in turn by one piece of hardware. A group loses a term only if each of
    its members can, and it remains as long as one of its members is needed.
    """
    group_of = {value: group for group in twins for value in group}
    terms = dict(_find_absorbed(program, group_of))
    while True:
        operations, same = _drop_terms(program, terms, group_of)
        flagging = _flag_sources(program, replace(program, operations=tuple(operations)), terms)
        if not flagging:
            break
        kept = {group_of.get(i, (i,)): terms[i] for i in flagging}
        program = _unscale(program, kept)
        terms = {i: k for i, k in terms.items() if (group_of.get(i, (i,))) not in kept}
    needed = _needed_values(program, operations, same, group_of)
    index = {value: k for k, value in enumerate(sorted(needed))}
    index |= {i: index[value] for i, value in same.items() if value in index}
    shorter = program.with_values(
        [_move_operand(operations[value], index) for value in sorted(needed)], index
    )
    left = (group for group in twins if group[0] in needed)
    return shorter, tuple(tuple(index[value] for value in group) for group in left)


def _find_absorbed(program: Program, group_of: Mapping[int, Group]) -> Iterator[tuple[int, int]]:
    """Yield the sums that lose an operand, and which of the two; in a group all or none lose the same one."""
    for i, operation in enumerate(program.operations):
        group = group_of.get(i, (i,))
        if operation.kind is not Kind.ADD or len(operation.operands) != 2 or i != group[0]:
            continue
        for k in (0, 1):
            if all(_is_absorbed(program, program.operations[twin], k) for twin in group):
                yield from ((twin, k) for twin in group)


def _is_absorbed(program: Program, operation: Operation, k: int) -> bool:
    """Return whether rounding discards an operand: it is below half a step, added to whole steps."""
    lost, other = operation.operands[k], operation.operands[1 - k]
    bits = max(program.operations[lost.value].format.width - 1 + lost.shift, 0)
    return other.shift >= operation.drop and bits < operation.drop - 1


def _drop_terms(
    program: Program, terms: Mapping[int, int], group_of: Mapping[int, Group]
) -> tuple[list[Operation], dict[int, int]]:
    """Return the operations without these terms, and the sums that now equal another value."""
    operations = list(program.operations)
    same: dict[int, int] = {}
    for i, k in terms.items():
        operation = program.operations[i]
        other = operation.operands[1 - k]
        moved = replace(other, shift=other.shift - operation.drop)
        operations[i] = replace(operation, operands=(moved,), drop=0)
    for i in sorted(terms):
        if all(_passes(program, operations[twin]) for twin in group_of.get(i, (i,))):
            (operand,) = operations[i].operands
            same[i] = same.get(operand.value, operand.value)
    return operations, same


def _unscale(program: Program, kept: Mapping[Group, int]) -> Program:
    """Replace absorbed terms of these sums by the sign bits of the values that the terms scale."""
    operations = list(program.operations)
    for group, k in kept.items():
        lost = [operations[twin].operands[k].value for twin in group]
        while all(_only_scales(operations[value]) for value in lost):
            lost = [operations[value].operands[0].value for value in lost]
        for twin, value in zip(group, lost, strict=True):
            operands = list(operations[twin].operands)
            operands[k] = Operand(value, operands[k].negative, 1 - operations[value].format.width)
            operations[twin] = replace(operations[twin], operands=tuple(operands))
    return replace(program, operations=tuple(operations))


def _only_scales(operation: Operation) -> bool:
    """Return whether an operation multiplies its operand by a constant and cannot overflow itself."""
    return operation.kind is Kind.SCALE and not operation.checked


def _passes(program: Program, operation: Operation) -> bool:
    """Return whether a sum of one operand equals the operand."""
    (operand,) = operation.operands
    width = program.operations[operand.value].format.width
    return operand == Operand(operand.value) and width == operation.format.width and not operation.checked


def _needed_values(
    program: Program, operations: Sequence[Operation], same: Mapping[int, int], group_of: Mapping[int, Group]
) -> set[int]:
    """Return the values that the results need, all twins of these values, and all inputs."""
    waiting = [i for i, operation in enumerate(operations) if operation.kind is Kind.INPUT]
    waiting += [word.value for words in program.outputs.values() for word in words]
    needed: set[int] = set()
    while waiting:
        value = waiting.pop()
        value = same.get(value, value)
        if value not in needed:
            needed.add(value)
            waiting += group_of.get(value, ())
            waiting += [operand.value for operand in operations[value].operands]
    return needed


def _flag_sources(before: Program, after: Program, terms: Mapping[int, int]) -> set[int]:
    """Return the sums whose lost term is the only sign of a possible overflow in some function."""
    sources: set[int] = set()
    for function in before.outputs:
        reported = after.operations_of(function)
        for i in before.operations_of(function).intersection(terms):
            if _may_overflow(before, before.operations[i].operands[terms[i]].value, reported):
                sources.add(i)
    return sources


def _may_overflow(program: Program, value: int, reported: frozenset[int]) -> bool:
    """Return whether a value or its operands may overflow, except for those in ``reported``."""
    waiting, seen = [value], set(reported)
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            if program.operations[value].checked:
                return True
            waiting += [operand.value for operand in program.operations[value].operands]
    return False


def _move_operand(operation: Operation, index: Mapping[int, int]) -> Operation:
    operands = tuple(replace(operand, value=index[operand.value]) for operand in operation.operands)
    return replace(operation, operands=operands)
