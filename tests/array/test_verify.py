"""The verifier: an array that holds, and ones that break each rule."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rbdhw.array.jobs import jobs
from rbdhw.array.model import Array, Constant, Job, Port, Resource, Term
from rbdhw.array.verify import ArrayError, verify
from rbdhw.fixed.fusion import GUARD_BITS, fused
from tests.array.programs import array_of, mixed
from tests.builds import program_of

PROGRAM = mixed()
ARRAY = array_of(PROGRAM, 16)


def refusal(array: Array) -> str:
    """What the verifier has against an array."""
    with pytest.raises(ArrayError) as caught:
        verify(array, jobs(PROGRAM))
    return str(caught.value)


def with_step(place: int, **changes) -> Array:
    steps = list(ARRAY.steps)
    steps[place] = replace(steps[place], **changes)
    return replace(ARRAY, steps=tuple(steps))


def a_step(resource: Resource = Resource.ACCUMULATOR) -> int:
    return next(k for k, step in enumerate(ARRAY.steps) if step.job.resource is resource)


def a_write(port: Port | None = None):
    ports = [port] if port else sorted(ARRAY.writes)
    return next((port, slot) for port in ports for slot in ARRAY.writes[port])


def with_write(port: Port, slot: int, **changes) -> Array:
    row = dict(ARRAY.writes[port])
    row[slot] = replace(row[slot], **changes)
    return replace(ARRAY, writes=ARRAY.writes | {port: row})


def test_the_array_holds():
    verify(ARRAY, jobs(PROGRAM))


def test_every_job_is_done():
    assert refusal(replace(ARRAY, steps=ARRAY.steps[:-1])).startswith("jobs differ: ")


def test_a_sign_matters():
    place = a_step()
    job = ARRAY.steps[place].job
    turned = replace(job.terms[0], negative=not job.terms[0].negative)
    assert refusal(with_step(place, job=replace(job, terms=(turned, *job.terms[1:])))).startswith(
        "jobs differ: "
    )


def test_a_shift_matters():
    place = a_step()
    job = ARRAY.steps[place].job
    moved = replace(job.terms[0], shift=job.terms[0].shift + 1)
    assert refusal(with_step(place, job=replace(job, terms=(moved, *job.terms[1:])))).startswith(
        "jobs differ: "
    )


def test_powers_of_two_may_stand_in_a_constant():
    place, k = next(
        (place, k)
        for place, step in enumerate(ARRAY.steps)
        for k, term in enumerate(step.job.terms)
        if any(isinstance(factor, Constant) for factor in term.factors)
    )
    job = ARRAY.steps[place].job
    factors = list(job.terms[k].factors)
    place_of = next(n for n, factor in enumerate(factors) if isinstance(factor, Constant))
    factors[place_of] = Constant(factors[place_of].integer << 1)
    term = replace(job.terms[k], factors=tuple(factors), shift=job.terms[k].shift - 1)
    verify(
        with_step(place, job=replace(job, terms=(*job.terms[:k], term, *job.terms[k + 1 :]))), jobs(PROGRAM)
    )


def test_what_is_wider_than_a_sum_is_not_copied():
    program = fused(program_of("toy", 18), 8)
    array = array_of(program, 16)
    turn = next(step for step in array.steps if step.job.resource is Resource.TRIGONOMETRY)
    usual = next(step for step in array.steps if step.job.resource is Resource.ACCUMULATOR)
    copy = 1 + max(value for step in array.steps for value in step.job.values)
    term = Term((turn.job.operand, Constant(1)), shift=GUARD_BITS)
    copying = replace(usual, job=Job((copy,), Resource.ACCUMULATOR, (term,)))
    taking = replace(turn, job=replace(turn.job, operand=copy))
    others = (step for step in array.steps if step is not turn)
    with pytest.raises(ArrayError, match=rf"^value {copy} is a copy of {turn.job.operand}, which is wider"):
        verify(replace(array, steps=(*others, taking, copying)), jobs(program))


def test_a_unit_does_one_thing_at_a_time():
    first = a_step()
    unit = ARRAY.steps[first].unit
    second = next(k for k, step in enumerate(ARRAY.steps) if step.unit == unit and k != first)
    start = ARRAY.steps[first].start + ARRAY.ii
    moved = replace(ARRAY.steps[second], start=start)
    ready = ARRAY.timing.ready(moved.job, start)
    assert re.search(
        rf"^unit {unit}: 2 things in slot \d+$", refusal(with_step(second, start=start, ready=ready))
    )


def test_a_job_is_on_a_unit_of_its_kind():
    place = a_step(Resource.RECIPROCAL)
    assert refusal(with_step(place, unit=ARRAY.steps[a_step()].unit)).startswith("reciprocal on unit ")


def test_results_take_their_time():
    place = a_step()
    assert re.search("a result in cycle ", refusal(with_step(place, ready=ARRAY.steps[place].ready - 1)))


def test_a_word_is_gone_when_that_of_the_next_task_came():
    place = a_step(Resource.SOURCE)
    assert re.search(r": a word in cycle 17$", refusal(with_step(place, start=17, ready=17)))


def test_a_memory_takes_what_stands_at_the_output():
    port, slot = a_write()
    write = ARRAY.writes[port][slot]
    assert re.search(": value .* is not at ", refusal(with_write(port, slot, cycle=write.cycle + ARRAY.ii)))
    later = replace(write.output, delay=write.output.delay + 1)
    assert re.search(": value .* is not at ", refusal(with_write(port, slot, output=later)))


def test_an_operand_stands_in_its_memory():
    port, slot = a_write()
    row = {s: write for s, write in ARRAY.writes[port].items() if s != slot}
    value = ARRAY.writes[port][slot].value
    assert re.search(
        rf": value {value} is not there in cycle \d+$",
        refusal(replace(ARRAY, writes=ARRAY.writes | {port: row})),
    )
