"""The jobs of a fused program for the units of an array, their precedence, and what follows from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter

from rbdhw.cores.array.model import SUPPLIES, ArrayResource, Constant, Factor, Job, Term, Timing
from rbdhw.fixed.program import Kind, Operand, Operation, Program

LONG_AGO = -(1 << 20)
"""A cycle before all others."""


def jobs(program: Program, handed: Collection[int] = ()) -> list[Job]:
    """Return the jobs of one task of a program of :func:`rbdhw.fixed.fusion.fuse`.

    Words that are ``handed`` come from an earlier task. A choice is the sum of both values, one times the
    flag and the other times the flag's complement. Sine and cosine of the same angle are one job.
    """
    work = [Job((flag.value,), ArrayResource.SOURCE) for flag in program.flags]
    work += [Job((~flag.value,), ArrayResource.SOURCE) for flag in program.flags]
    work += [Job((~value,), ArrayResource.SOURCE) for value in program.choosing_words]
    for word in program.inputs:
        wide = word.format.width > max(program.port_widths)
        resource = ArrayResource.HANDOVER if word.value in handed else ArrayResource.SOURCE
        work.append(Job((word.value,), resource, wide=wide))
    turns: dict[tuple[int, int, int], dict[Kind, int]] = defaultdict(dict)
    for i, operation in enumerate(program.operations):
        match operation.kind:
            case Kind.DOT:
                work.append(Job((i,), ArrayResource.ACCUMULATOR, tuple(_products(program, operation))))
            case Kind.SELECT:
                work.append(Job((i,), ArrayResource.ACCUMULATOR, tuple(_choices(program, operation))))
            case Kind.SIN | Kind.COS:
                (angle,) = operation.operands
                turns[angle.value, angle.shift, operation.constant][operation.kind] = i
            case Kind.RECIPROCAL:
                work.append(Job((i,), ArrayResource.RECIPROCAL, operand=operation.operands[0].value))
    for (value, _, _), turn in turns.items():
        work.append(Job((turn.get(Kind.SIN), turn.get(Kind.COS)), ArrayResource.TRIGONOMETRY, operand=value))
    used = {value for job in work for value in job.operands}
    return [job for job in work if job.resource not in SUPPLIES or job.results[0] in used]


def _factor(program: Program, value: int) -> Factor:
    if value < 0 or program.operations[value].kind is not Kind.CONSTANT:
        return value
    return Constant(program.operations[value].constant)


def _width(program: Program, value: int) -> int:
    """Return the bits of a factor; a constant has those that it needs, whatever its format."""
    operation = program.operations[~value if value < 0 else value]
    return operation.constant.bit_length() + 1 if operation.kind is Kind.CONSTANT else operation.format.width


def _term(program: Program, values: tuple[int, int], operand: Operand) -> Term:
    """Return the product of two values; one that only the first memory holds comes first."""
    narrow = program.port_widths[1]
    first, second = values if _width(program, values[1]) <= narrow else (values[1], values[0])
    ordered = _width(program, first) > narrow
    factors = _factor(program, first), _factor(program, second)
    return Term(factors, operand.negative, operand.shift, ordered)


def _products(program: Program, operation: Operation) -> Iterator[Term]:
    for operand, first, second in operation.pairs:
        yield _term(program, (first, second), operand)


def _choices(program: Program, operation: Operation) -> Iterator[Term]:
    flag, *values = operation.operands
    for flagged, value in zip((flag.value, ~flag.value), values, strict=True):
        if _factor(program, value.value) != Constant(0):
            yield _term(program, (value.value, flagged), value)


Needs = Sequence[set[int]]
"""For each job, the jobs whose results it reads."""


def needs_of(jobs: Sequence[Job]) -> Needs:
    """Return for each job the jobs whose results it reads."""
    producer = {value: k for k, job in enumerate(jobs) for value in job.values}
    return [{producer[value] for value in job.operands} for job in jobs]


def users_of(needs: Needs) -> list[list[int]]:
    """Return for each job the jobs that read its results."""
    users: list[list[int]] = [[] for _ in needs]
    for k, needed in enumerate(needs):
        for other in needed:
            users[other].append(k)
    return users


def urgencies(
    jobs: Sequence[Job], users: Sequence[Sequence[int]], timing: Timing, awaited: Mapping[int, int]
) -> list[int]:
    """Return the cycles from each job's start to the end of the longest path through it.

    ``awaited`` are values that something waits for, with the cycles of what follows them.
    """
    urgency = [0] * len(jobs)
    for k in TopologicalSorter(dict(enumerate(users))).static_order():  # users first
        after = max((awaited.get(value, 0) for value in jobs[k].values), default=0)
        after = max([after, *(urgency[user] for user in users[k])])
        urgency[k] = timing.ready(jobs[k], 0) + timing.write + after
    return urgency


def least_handover(jobs: Sequence[Job], needs: Needs, timing: Timing, results: Collection[int]) -> int:
    """Return the cycles from words that are handed on to the last of some results, if units are always free.

    The words of the task are there before.
    """
    ready: dict[int, int] = {}
    for k in TopologicalSorter(dict(enumerate(needs))).static_order():
        job = jobs[k]
        if job.resource in SUPPLIES:
            ready[job.values[0]] = 0 if job.resource is ArrayResource.HANDOVER else LONG_AGO
            continue
        reads = [term.values for term in job.terms] or [tuple(job.operands)]
        last = sorted(max((ready[value] for value in values), default=LONG_AGO) for values in reads)
        start = max(cycle + timing.write - n for n, cycle in enumerate(last))
        ready |= dict.fromkeys(job.values, timing.ready(job, start))
    return max((ready[value] for value in results if value in ready), default=0)


def least_copies(jobs: Sequence[Job], needs: Needs, timing: Timing, lasting: int) -> int:
    """Return the copies of values that some jobs read late even if each job starts as early as it can.

    ``lasting`` are the cycles by which a copy extends the life of a value.
    """
    ready: dict[int, int] = {}
    last: Counter[int] = Counter()
    for k in TopologicalSorter(dict(enumerate(needs))).static_order():
        job = jobs[k]
        start = max((ready[value] + timing.write for value in job.operands), default=0)
        for value in job.operands:
            last[value] = max(last[value], start)
        ready |= dict.fromkeys(job.values, timing.ready(job, start))
    return sum((start - ready[value]) // lasting for value, start in last.items())
