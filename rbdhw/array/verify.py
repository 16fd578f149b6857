"""An independent check that an array computes a program: it shares nothing with the placing but the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rbdhw.array.model import HOLD, Array, Constant, Job, Resource, Term
from rbdhw.fixed.fusion import GUARD_BITS


class ArrayError(Exception):
    """An array that does not compute its program: a defect of this package."""


def verify(array: Array, jobs: Sequence[Job]) -> None:
    """Check an array against the jobs that it has to do.

    Raises
    ------
    ArrayError
        Where it does not do them.
    """
    _check_jobs(array, jobs)
    _check_units(array)
    _check_writes(array)
    _check_reads(array)


def _check_jobs(array: Array, jobs: Sequence[Job]) -> None:
    """Every job is done once, with terms that are the same number; all others are copies."""
    copies = _copies(array, jobs)
    wide = {value for job in jobs if job.wide for value in job.values}
    for copy, value in copies.items():
        if value in wide:
            raise ArrayError(f"value {copy} is a copy of {value}, which is wider than a copy can be")
    done = Counter(_meaning(step.job, copies) for step in array.steps if not _is_copy(step.job, copies))
    asked = Counter(_meaning(job, {}) for job in jobs)
    if done != asked:
        raise ArrayError(f"jobs differ: {sorted((done - asked).keys() | (asked - done).keys(), key=str)[:1]}")


def _copies(array: Array, jobs: Sequence[Job]) -> dict[int, int]:
    """What is a copy, and of which value."""
    asked = {value for job in jobs for value in job.values}
    copies: dict[int, int] = {}
    for step in array.steps:
        for value in set(step.job.values) - asked:
            kept = [(GUARD_BITS - term.shift, term) for term in step.job.terms]
            whole = [
                t
                for power, t in kept
                if t.factors.count(Constant(1 << max(power, 0))) == 1 and not t.negative
            ]
            if len(kept) != 1 or len(whole) != 1 or len(whole[0].values) != 1:
                raise ArrayError(f"value {value} is neither asked for nor a copy")
            copies[value] = whole[0].values[0]
    return copies


def _is_copy(job: Job, copies: dict[int, int]) -> bool:
    return bool(job.values) and set(job.values) <= copies.keys()


def _meaning(job: Job, copies: dict[int, int]) -> tuple[object, ...]:
    """A job without what the placing may choose: the order of terms and factors, and copies."""
    operand = None if job.operand is None else _original(job.operand, copies)
    terms = tuple(sorted((_term(term, copies) for term in job.terms), key=str))
    return job.results, job.resource, terms, operand


def _original(value: int, copies: dict[int, int]) -> int:
    while value in copies:
        value = copies[value]
    return value


def _term(term: Term, copies: dict[int, int]) -> tuple[object, ...]:
    """A term with its constant's powers of two in the shift."""
    shift, constant = term.shift, 1
    for factor in term.factors:
        if isinstance(factor, Constant):
            constant *= factor.integer
    zeros = (constant & -constant).bit_length() - 1 if constant else 0
    values = tuple(sorted(_original(value, copies) for value in term.values))
    return values, constant >> zeros, term.negative, shift + zeros


def _check_units(array: Array) -> None:
    """No unit does two things in a slot, and results come when the unit's timing says."""
    taken: Counter[tuple[int, int]] = Counter()
    for step in array.steps:
        if array.units[step.unit] is not step.job.resource:
            raise ArrayError(f"{step.job.resource} on unit {step.unit}, which is none")
        if step.ready != array.timing.ready(step.job, step.start):
            raise ArrayError(f"unit {step.unit}: a result in cycle {step.ready}")
        taken.update((step.unit, (step.start + k) % array.ii) for k in range(step.job.cycles))
        if step.job.resource is Resource.SOURCE and not 1 <= step.start <= array.ii:
            raise ArrayError(f"unit {step.unit}: a word in cycle {step.start}")
    for (unit, slot), count in taken.items():
        if count > 1:
            raise ArrayError(f"unit {unit}: {count} things in slot {slot}")


def _check_writes(array: Array) -> None:
    """Each write takes what its output holds in its cycle, in its slot."""
    for port, row in array.writes.items():
        for slot, write in row.items():
            step = array.producer[write.value]
            result = step.job.results.index(write.value)
            same = write.output.unit == step.unit and write.output.result == result
            held = 0 <= write.output.delay < HOLD and write.cycle == step.ready + write.output.delay
            if not same or not held or write.cycle % array.ii != slot:
                raise ArrayError(
                    f"{port}: value {write.value} is not at {write.output} in cycle {write.cycle}"
                )


def _check_reads(array: Array) -> None:
    """Each operand stands in its memory when it is read.

    It is not written over before: a memory has as many turns as its oldest operand (:meth:`Array.turns`).
    """
    for port in array.ports():
        for cycle, factor in array.reads(port):
            if isinstance(factor, Constant):
                continue
            write = array.written.get((port, factor))
            if write is None or not write.cycle < cycle:
                raise ArrayError(f"{port}: value {factor} is not there in cycle {cycle}")
