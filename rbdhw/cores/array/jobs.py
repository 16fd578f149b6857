"""Convert a fused program to jobs for the units of an array."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rbdhw.cores.array.model import ArrayResource, Constant, Factor, Job, Term
from rbdhw.fixed.program import Kind, Operand, Operation, Program


def jobs(program: Program) -> list[Job]:
    """Return the jobs of one task of a program of :func:`rbdhw.fixed.fusion.fuse`.

    A choice is the sum of both values, one times the flag and the other times the flag's complement. Sine and
    cosine of the same angle are one job.
    """
    found = [Job((flag.value,), ArrayResource.SOURCE) for flag in program.flags]
    found += [Job((~flag.value,), ArrayResource.SOURCE) for flag in program.flags]
    found += [Job((~value,), ArrayResource.SOURCE) for value in program.choosing_words]
    for word in program.inputs:
        wide = word.format.width > max(program.port_widths)
        found.append(Job((word.value,), ArrayResource.SOURCE, wide=wide))
    turns: dict[tuple[int, int, int], dict[Kind, int]] = defaultdict(dict)
    for i, operation in enumerate(program.operations):
        match operation.kind:
            case Kind.DOT:
                terms = tuple(_products(program, operation))
                found.append(Job((i,), ArrayResource.ACCUMULATOR, terms))
            case Kind.SELECT:
                terms = tuple(_choices(program, operation))
                found.append(Job((i,), ArrayResource.ACCUMULATOR, terms))
            case Kind.SIN | Kind.COS:
                (angle,) = operation.operands
                turns[angle.value, angle.shift, operation.constant][operation.kind] = i
            case Kind.RECIPROCAL:
                found.append(Job((i,), ArrayResource.RECIPROCAL, operand=operation.operands[0].value))
    for (value, _, _), turn in turns.items():
        found.append(Job((turn.get(Kind.SIN), turn.get(Kind.COS)), ArrayResource.TRIGONOMETRY, operand=value))
    used = {value for job in found for value in job.operands}
    return [job for job in found if job.resource is not ArrayResource.SOURCE or job.results[0] in used]


def _factor(program: Program, value: int) -> Factor:
    operation = program.operations[value]
    return Constant(operation.constant) if operation.kind is Kind.CONSTANT else value


def _products(program: Program, operation: Operation) -> Iterator[Term]:
    for operand, first, second in operation.pairs:
        factors = _factor(program, first), _factor(program, second)
        yield Term(factors, operand.negative, operand.shift)


def _choices(program: Program, operation: Operation) -> Iterator[Term]:
    flag, *values = operation.operands
    for flagged, value in zip((flag.value, ~flag.value), values, strict=True):
        if not _is_zero(program, value):
            yield Term((_factor(program, value.value), flagged), value.negative, value.shift)


def _is_zero(program: Program, operand: Operand) -> bool:
    return _factor(program, operand.value) == Constant(0)
