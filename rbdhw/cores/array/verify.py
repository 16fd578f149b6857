"""An independent check that an array computes a program.

It shares only the data with placement and annealing. With the hardware it shares only the contents of the
operand memories (:mod:`rbdhw.cores.array.memories`). Reads, timing and lifetimes of words are computed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rbdhw.cores.array.memories import Contents, StoredWord, contents, outputs
from rbdhw.cores.array.model import (
    HOLD,
    SUPPLIES,
    ArraySchedule,
    ArrayStep,
    Constant,
    Factor,
    Job,
    Port,
    Term,
    Write,
    most_turns,
)
from rbdhw.fixed.fusion import GUARD_BITS


class ArrayError(Exception):
    """An array does not compute its program, which is a defect of this package."""


def verify(array: ArraySchedule, jobs: Sequence[Job], results: Mapping[str, Sequence[int]]) -> None:
    """Check an array against the jobs that it has to do.

    The ``results`` are the values that leave the array, by function. Raises ArrayError if the array does not
    do the jobs, or a result is too late.
    """
    _check_jobs(array, jobs)
    _check_units(array)
    _check_results(array, results)
    _check_writes(array)
    _check_reads(array)


def _check_jobs(array: ArraySchedule, jobs: Sequence[Job]) -> None:
    """Check that every job is done once, with equivalent terms, and that all other jobs are copies."""
    made = Counter(value for step in array.steps for value in step.job.values)
    for value, times in made.items():
        if times > 1:
            raise ArrayError(f"value {value} is computed {times} times")
    copies = _copies(array, jobs)
    wide = {value for job in jobs if job.wide for value in job.values}
    for copy, value in copies.items():
        if value in wide:
            raise ArrayError(f"value {copy} is a copy of {value}, which is wider than a copy can be")
    done = Counter(_meaning(step.job, copies) for step in array.steps if not _is_copy(step.job, copies))
    asked = Counter(_meaning(job, {}) for job in jobs)
    if done != asked:
        raise ArrayError(f"jobs differ: {sorted((done - asked).keys() | (asked - done).keys(), key=str)[:1]}")


def _copies(array: ArraySchedule, jobs: Sequence[Job]) -> dict[int, int]:
    """Return the copies, each with the value that it copies."""
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
                raise ArrayError(f"value {value} is neither a result of a job nor a copy")
            copies[value] = whole[0].values[0]
    for value in copies:
        original = value
        for _ in copies:
            original = copies.get(original, original)
        if original in copies:
            raise ArrayError(f"value {value} is a copy of itself")
    return copies


def _is_copy(job: Job, copies: dict[int, int]) -> bool:
    return bool(job.values) and set(job.values) <= copies.keys()


def _meaning(job: Job, copies: dict[int, int]) -> tuple[object, ...]:
    """Return a job without the choices of the placement: the order of terms and factors, and copies."""
    operand = None if job.operand is None else _original(job.operand, copies)
    terms = tuple(sorted((_term(term, copies) for term in job.terms), key=str))
    return job.results, job.resource, terms, operand


def _original(value: int, copies: dict[int, int]) -> int:
    while value in copies:
        value = copies[value]
    return value


def _term(term: Term, copies: dict[int, int]) -> tuple[object, ...]:
    """Return a term with the powers of two of its constant moved to the shift."""
    shift, constant = term.shift, 1
    for factor in term.factors:
        if isinstance(factor, Constant):
            constant *= factor.integer
    zeros = (constant & -constant).bit_length() - 1 if constant else 0
    values = tuple(sorted(_original(value, copies) for value in term.values))
    return values, constant >> zeros, term.negative, shift + zeros


def _check_units(array: ArraySchedule) -> None:
    """Check that a unit does one thing per slot, and that results are ready when its timing says."""
    busy: Counter[tuple[int, int]] = Counter()
    for step in array.steps:
        resource = step.job.resource
        if not 0 <= step.unit < len(array.units) or array.units[step.unit] is not resource:
            raise ArrayError(f"{resource} on unit {step.unit}, which is not one")
        if step.ready != _ready(array, step):
            raise ArrayError(f"unit {step.unit}: a result in cycle {step.ready}, against the unit's timing")
        busy.update((step.unit, (step.start + k) % array.ii) for k in range(_cycles(step.job)))
        if resource in SUPPLIES and not 1 <= step.start <= array.ii:
            raise ArrayError(f"unit {step.unit}: a word in cycle {step.start}, outside of 1 to {array.ii}")
    for (unit, slot), count in busy.items():
        if count > 1:
            raise ArrayError(f"unit {unit}: {count} jobs in slot {slot}")


def _cycles(job: Job) -> int:
    """Return the number of cycles for which a job occupies its unit: one per term."""
    return len(job.terms) or 1


def _ready(array: ArraySchedule, step: ArrayStep) -> int:
    """Return the cycle in which a step's results are at the outputs; words are there when they start."""
    if step.job.resource in SUPPLIES:
        return step.start
    return step.start + _cycles(step.job) - 1 + array.timing.read + array.timing.cycles[step.job.resource]


def _check_results(array: ArraySchedule, results: Mapping[str, Sequence[int]]) -> None:
    """Check that a function's results are ready within its latency; words of the task always are."""
    ready = {value: step.ready for step in array.steps for value in step.job.values}
    handed = {value for step in array.steps if step.job.resource in SUPPLIES for value in step.job.values}
    for function, values in results.items():
        for value in values:
            if value not in handed and ready.get(value, 0) > array.latency[function]:
                raise ArrayError(
                    f"{function}: value {value} in cycle {ready[value]}, "
                    f"which is after the latency of {array.latency[function]}"
                )


def _check_writes(array: ArraySchedule) -> None:
    """Check that each write, in its slot, takes the value that its output holds in that cycle."""
    makers = {value: step for step in array.steps for value in step.job.values}
    for port, row in array.writes.items():
        for slot, write in row.items():
            step = makers.get(write.value)
            if step is None:
                raise ArrayError(f"{port}: value {write.value} is written, but no step computes it")
            result = step.job.results.index(write.value)
            same = write.output.unit == step.unit and write.output.result == result
            held = 0 <= write.output.delay < HOLD and write.cycle == step.ready + write.output.delay
            if not same or not held or write.cycle % array.ii != slot:
                raise ArrayError(
                    f"{port}: value {write.value} is not at {write.output} in cycle {write.cycle}"
                )


def _check_reads(array: ArraySchedule) -> None:
    """Check that each operand is in its memory when it is read, at the address that is read.

    A memory holds ``turns`` rounds of slots. A word is stored at its slot in the current round, and the same
    word of a later task replaces it ``turns`` rounds later. It can be read in the cycles between the two
    writes; in the cycle of a write to the same address a memory may return any bits.
    """
    read: dict[Port, list[tuple[int, Factor]]] = {port: [] for port in array.ports()}
    for step in array.steps:
        for index, cycle, factor in _operands(step):
            read[Port(step.unit, index)].append((cycle, factor))
    for port, factors in read.items():
        written = {write.value for write in array.writes.get(port, {}).values()}
        for cycle, factor in factors:
            if not isinstance(factor, Constant) and factor not in written:
                raise ArrayError(f"{port}: value {factor} is not in the memory in cycle {cycle}")
    for port, held in contents(array).items():
        if held.turns > most_turns(array.ii):
            raise ArrayError(f"{port}: words of {held.turns} tasks, more than a memory keeps")
        row = array.writes.get(port, {})
        _check_choices(port, row, held, array)
        for cycle, factor in read[port]:
            what = held.reads.get(cycle % array.ii)
            if isinstance(factor, Constant):
                if isinstance(what, StoredWord) or what is None or held.constants[what] != factor.integer:
                    raise ArrayError(f"{port}: constant {factor.integer} is not read in cycle {cycle}")
            elif not isinstance(what, StoredWord) or not _stands(array, row, what, factor, cycle, held.turns):
                raise ArrayError(f"{port}: value {factor} is not in the memory in cycle {cycle}")


def _operands(step: ArrayStep) -> Iterator[tuple[int, int, Factor]]:
    if step.job.operand is not None:
        yield 0, step.start, step.job.operand
    for k, term in enumerate(step.job.terms):
        for index, factor in enumerate(term.factors):
            yield index, step.start + k, factor


def _check_choices(port: Port, row: Mapping[int, Write], held: Contents, array: ArraySchedule) -> None:
    """Check that in the slot of each write the memory takes the output that the write names."""
    inputs = outputs(array, port)
    for slot, write in row.items():
        if inputs[held.choices[slot]] != write.output:
            raise ArrayError(f"{port}: an output other than {write.output} is written in slot {slot}")


def _stands(
    array: ArraySchedule, row: Mapping[int, Write], word: StoredWord, value: int, cycle: int, turns: int
) -> bool:
    """Return whether the word read in a cycle is a value of the same task."""
    write = row.get(word.slot)
    if write is None or write.value != value:
        return False
    same_round = (cycle // array.ii - word.turns - write.cycle // array.ii) % turns == 0
    return same_round and write.cycle + array.timing.write <= cycle < write.cycle + turns * array.ii
