"""Schedules with one random change: the verifier refuses them, or their RTL still answers correctly."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from rbdhw.cores.array.component import ArrayComponent
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import ArraySchedule, ArrayStep, Constant, Job, Output, Port, Write
from rbdhw.cores.array.verify import ArrayError, verify
from tests.support.array_programs import array_of, mixed, outputs_of
from tests.support.mixed import mixed_words
from tests.support.rtl_cores import expected, requests, responses

PROGRAM = mixed()
ARRAY = array_of(PROGRAM, 11)
RESULTS = outputs_of(PROGRAM)
TRIALS = 40
"""The number of changes of each kind."""

Mutation = Callable[[random.Random], ArraySchedule | None]
"""A function that returns the array with a change, or None if the draw changes nothing."""


def with_steps(*changed: tuple[int, ArrayStep]) -> ArraySchedule:
    steps = list(ARRAY.steps)
    for index, step in changed:
        steps[index] = step
    return replace(ARRAY, steps=tuple(steps))


def with_row(port: Port, row: dict[int, Write]) -> ArraySchedule:
    return replace(ARRAY, writes=ARRAY.writes | {port: dict(sorted(row.items()))})


def move(step: ArrayStep, **changes) -> ArrayStep:
    """Return an array with a step elsewhere; its results are ready accordingly."""
    step = replace(step, **changes)
    return replace(step, ready=ARRAY.timing.ready(step.job, step.start))


def a_place(rng: random.Random) -> int:
    return rng.randrange(len(ARRAY.steps))


def a_start(rng: random.Random) -> ArraySchedule:
    """Start a step earlier or later, with or without its results."""
    index = a_place(rng)
    start = ARRAY.steps[index].start + rng.choice((-22, -11, -2, -1, 1, 2, 11, 22))
    return with_steps((index, (move if rng.random() < 0.7 else replace)(ARRAY.steps[index], start=start)))


def a_job_in_time(rng: random.Random) -> ArraySchedule:
    """Start a step elsewhere; its words are written when they are then ready."""
    index = a_place(rng)
    step = move(ARRAY.steps[index], start=ARRAY.steps[index].start + rng.choice((-11, -2, -1, 1, 2, 11)))
    later = step.ready - ARRAY.steps[index].ready
    writes = {}
    for port, row in ARRAY.writes.items():
        moved = [w._replace(cycle=w.cycle + later * (w.value in step.job.values)) for w in row.values()]
        writes[port] = {write.cycle % ARRAY.ii: write for write in moved}
    return replace(with_steps((index, step)), writes=writes)


def a_unit(rng: random.Random) -> ArraySchedule:
    index = a_place(rng)
    return with_steps((index, replace(ARRAY.steps[index], unit=rng.randrange(-1, len(ARRAY.units) + 1))))


def two_starts(rng: random.Random) -> ArraySchedule:
    """Exchange two steps in time, on units, or both."""
    a, b = a_place(rng), a_place(rng)
    one, other = ARRAY.steps[a], ARRAY.steps[b]
    if rng.random() < 0.5:
        one, other = replace(one, unit=other.unit), replace(other, unit=one.unit)
    if rng.random() < 0.5:
        one, other = move(one, start=other.start), move(other, start=one.start)
    return with_steps((a, one), (b, other))


def a_term(rng: random.Random) -> ArraySchedule | None:
    """Change a term: order, factors, sign or shift, or leave it out."""
    index = a_place(rng)
    job = ARRAY.steps[index].job
    if not job.terms:
        return None
    k = rng.randrange(len(job.terms))
    term, (first, second) = job.terms[k], job.terms[k].factors
    other = rng.randrange(max(ARRAY.producer) + 1) if rng.random() < 0.5 else Constant(rng.randrange(9))
    changed = rng.choice(
        (
            replace(term, factors=(second, first)),
            replace(term, factors=(other, second)),
            replace(term, factors=(first, other)),
            replace(term, negative=not term.negative),
            replace(term, shift=term.shift + rng.choice((-1, 1))),
            None,
        )
    )
    terms = (*job.terms[:k], *((changed,) if changed else ()), *job.terms[k + 1 :])
    return with_steps((index, replace(ARRAY.steps[index], job=replace(job, terms=terms))))


def a_job(rng: random.Random) -> ArraySchedule:
    """Let a step do the job of another, or compute its value."""
    index, other = a_place(rng), a_place(rng)
    job: Job = ARRAY.steps[other].job
    if rng.random() < 0.5:
        job = replace(ARRAY.steps[index].job, results=job.results)
    return with_steps((index, replace(ARRAY.steps[index], job=job)))


def a_write(rng: random.Random) -> ArraySchedule | None:
    """Change a write: its memory, cycle or value; or move, duplicate or remove it."""
    port = rng.choice(list(ARRAY.writes))
    row = dict(ARRAY.writes[port])
    slot = rng.choice(list(row))
    write = row[slot]
    out = write.output
    by = rng.choice((-11, -1, 1, 11))
    match rng.randrange(7):
        case 0:
            row[slot] = write._replace(cycle=write.cycle + by)
        case 1:
            row[slot] = write._replace(output=out._replace(delay=out.delay + by))
        case 2:
            row[slot] = write._replace(output=Output(rng.randrange(len(ARRAY.units)), out.result, out.delay))
        case 3:
            row[slot] = write._replace(value=rng.randrange(max(ARRAY.producer) + 1))
        case 4:
            del row[slot]
        case 5:
            later = write._replace(output=out._replace(delay=out.delay + by), cycle=write.cycle + by)
            if rng.random() < 0.5:
                del row[slot]
            row[later.cycle % ARRAY.ii] = later
        case _:
            return replace(ARRAY, writes=ARRAY.writes | {rng.choice(list(ARRAY.ports())): {slot: write}})
    return with_row(port, row)


def a_latency(rng: random.Random) -> ArraySchedule:
    function = rng.choice(list(ARRAY.latency))
    later = ARRAY.latency[function] + rng.choice((-11, -2, -1, 1, 2, 11))
    return replace(ARRAY, latency=ARRAY.latency | {function: later})


MUTATIONS: tuple[Mutation, ...] = (
    a_start, a_job_in_time, a_unit, two_starts, a_term, a_job, a_write, a_latency
)  # fmt: skip


def answers_right(array: ArraySchedule) -> bool:
    """Return whether the array's RTL answers tasks of all functions as the evaluator does."""
    words = mixed_words(PROGRAM, 6, seed=3)
    asked = requests(PROGRAM, len(next(iter(words.values()))), 5)
    core = ArrayComponent(program=PROGRAM, array=replace(array, block_rams=4), memory_stages=4)
    return responses(core, words, 0, asked) == expected(PROGRAM, words, asked)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_changed_schedule_is_refused_or_harmless(mutation):
    rng = random.Random(mutation.__name__)
    refused, accepted = 0, [ARRAY]
    for _ in range(TRIALS):
        array = mutation(rng)
        if array is None or array in accepted:
            continue
        try:
            verify(array, jobs(PROGRAM), RESULTS)
        except ArrayError:
            refused += 1
        else:
            accepted.append(array)
    assert refused > 10
    for array in accepted[1:2]:
        assert answers_right(array)


def test_the_simulation_sees_a_wrong_schedule():
    """Return an array whose results are taken a cycle early, which the verifier refuses."""
    latency = {function: cycles - 1 for function, cycles in ARRAY.latency.items()}
    early = replace(ARRAY, latency=latency)
    with pytest.raises(ArrayError):
        verify(early, jobs(PROGRAM), RESULTS)
    assert answers_right(ARRAY)
    assert not answers_right(early)
