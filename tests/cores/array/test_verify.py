"""The verifier: it accepts a valid array and refuses one that violates each rule."""

import re
from dataclasses import replace

import pytest

from rbdhw.cores.array import verify as verifier
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.memories import StoredWord, contents
from rbdhw.cores.array.model import (
    MEMORY_WORDS,
    ArrayResource,
    ArraySchedule,
    ArrayStep,
    Constant,
    Job,
    Output,
    Port,
    Term,
    Timing,
    Write,
)
from rbdhw.cores.array.verify import ArrayError, verify
from rbdhw.fixed.fusion import GUARD_BITS, fuse
from tests.support.array_programs import array_of, mixed, outputs_of
from tests.support.builds import program_of

PROGRAM = mixed()
ARRAY = array_of(PROGRAM, 16)
RESULTS = outputs_of(PROGRAM)


def refusal(array: ArraySchedule) -> str:
    """Return the verifier's message for an array."""
    with pytest.raises(ArrayError) as caught:
        verify(array, jobs(PROGRAM), RESULTS)
    return str(caught.value)


def with_step(index: int, **changes) -> ArraySchedule:
    steps = list(ARRAY.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(ARRAY, steps=tuple(steps))


def a_step(resource: ArrayResource = ArrayResource.ACCUMULATOR) -> int:
    return next(k for k, step in enumerate(ARRAY.steps) if step.job.resource is resource)


def a_write(port: Port | None = None):
    ports = [port] if port else sorted(ARRAY.writes)
    return next((port, slot) for port in ports for slot in ARRAY.writes[port])


def with_write(port: Port, slot: int, **changes) -> ArraySchedule:
    row = dict(ARRAY.writes[port])
    row[slot] = row[slot]._replace(**changes)
    return replace(ARRAY, writes=ARRAY.writes | {port: row})


def test_the_array_is_valid():
    verify(ARRAY, jobs(PROGRAM), RESULTS)


def test_every_job_is_done():
    assert refusal(replace(ARRAY, steps=ARRAY.steps[:-1])).startswith("jobs differ: ")


def test_a_sign_matters():
    index = a_step()
    job = ARRAY.steps[index].job
    turned = replace(job.terms[0], negative=not job.terms[0].negative)
    assert refusal(with_step(index, job=replace(job, terms=(turned, *job.terms[1:])))).startswith(
        "jobs differ: "
    )


def test_a_shift_matters():
    index = a_step()
    job = ARRAY.steps[index].job
    moved = replace(job.terms[0], shift=job.terms[0].shift + 1)
    assert refusal(with_step(index, job=replace(job, terms=(moved, *job.terms[1:])))).startswith(
        "jobs differ: "
    )


def test_powers_of_two_may_stand_in_a_constant():
    index, k = next(
        (index, k)
        for index, step in enumerate(ARRAY.steps)
        for k, term in enumerate(step.job.terms)
        if any(isinstance(factor, Constant) for factor in term.factors)
    )
    job = ARRAY.steps[index].job
    factors = list(job.terms[k].factors)
    place_of = next(n for n, factor in enumerate(factors) if isinstance(factor, Constant))
    factors[place_of] = Constant(factors[place_of].integer << 1)
    term = replace(job.terms[k], factors=tuple(factors), shift=job.terms[k].shift - 1)
    verify(
        with_step(index, job=replace(job, terms=(*job.terms[:k], term, *job.terms[k + 1 :]))),
        jobs(PROGRAM),
        RESULTS,
    )


def test_a_word_wider_than_a_sum_is_not_copied():
    program = fuse(program_of("toy", 18), 8)
    array = array_of(program, 16)
    turn = next(step for step in array.steps if step.job.resource is ArrayResource.TRIGONOMETRY)
    usual = next(step for step in array.steps if step.job.resource is ArrayResource.ACCUMULATOR)
    copy = 1 + max(value for step in array.steps for value in step.job.values)
    term = Term((turn.job.operand, Constant(1)), shift=GUARD_BITS)
    copying = replace(usual, job=Job((copy,), ArrayResource.ACCUMULATOR, (term,)))
    taking = replace(turn, job=replace(turn.job, operand=copy))
    others = (step for step in array.steps if step is not turn)
    with pytest.raises(ArrayError, match=rf"^value {copy} is a copy of {turn.job.operand}, which is wider"):
        verify(replace(array, steps=(*others, taking, copying)), jobs(program), outputs_of(program))


def test_a_unit_does_one_thing_at_a_time():
    first = a_step()
    unit = ARRAY.steps[first].unit
    second = next(k for k, step in enumerate(ARRAY.steps) if step.unit == unit and k != first)
    start = ARRAY.steps[first].start + ARRAY.ii
    moved = replace(ARRAY.steps[second], start=start)
    ready = ARRAY.timing.ready(moved.job, start)
    assert re.search(
        rf"^unit {unit}: 2 jobs in slot \d+$", refusal(with_step(second, start=start, ready=ready))
    )


def test_a_job_is_on_a_unit_of_its_kind():
    index = a_step(ArrayResource.RECIPROCAL)
    assert refusal(with_step(index, unit=ARRAY.steps[a_step()].unit)).startswith("reciprocal on unit ")


@pytest.mark.parametrize("late", [-1, 1])
def test_results_take_their_time(late):
    index = a_step()
    assert re.search("a result in cycle ", refusal(with_step(index, ready=ARRAY.steps[index].ready + late)))


def test_a_word_is_replaced_by_that_of_the_next_task():
    index = a_step(ArrayResource.SOURCE)
    assert re.search(r": a word in cycle 17, outside of 1 to ", refusal(with_step(index, start=17, ready=17)))


def test_a_memory_takes_the_value_at_the_output():
    port, slot = a_write()
    write = ARRAY.writes[port][slot]
    assert re.search(": value .* is not at ", refusal(with_write(port, slot, cycle=write.cycle + ARRAY.ii)))
    later = write.output._replace(delay=write.output.delay + 1)
    assert re.search(": value .* is not at ", refusal(with_write(port, slot, output=later)))


def test_an_operand_is_in_its_memory():
    port, slot = a_write()
    row = {s: write for s, write in ARRAY.writes[port].items() if s != slot}
    value = ARRAY.writes[port][slot].value
    assert re.search(
        rf": value {value} is not in the memory in cycle \d+$",
        refusal(replace(ARRAY, writes=ARRAY.writes | {port: row})),
    )


class TestTiny:
    """An accumulator multiplies one word by three: each rule is tested at its limit."""

    JOBS = (Job((0,), ArrayResource.SOURCE), Job((1,), ArrayResource.ACCUMULATOR, (Term((0, Constant(3))),)))
    PORT = Port(1, 0)

    def array(self, start: int, **changes) -> ArraySchedule:
        """The sum starts in a cycle of the interval of 8; the word is written in cycle 1."""
        word, product = self.JOBS
        whole = ArraySchedule(
            8,
            50.0,
            Timing({ArrayResource.ACCUMULATOR: 3, ArrayResource.SOURCE: 0}),
            (ArrayResource.SOURCE, ArrayResource.ACCUMULATOR),
            (ArrayStep(word, 0, 1, 1), ArrayStep(product, 1, start, start + 4)),
            {self.PORT: {1: Write(0, Output(0, 0), 1)}},
            {"id": start + 4},
            2,
        )
        return replace(whole, **changes)

    def refusal(self, array: ArraySchedule) -> str:
        with pytest.raises(ArrayError) as caught:
            verify(array, self.JOBS, {"id": (1,)})
        return str(caught.value)

    @pytest.mark.parametrize("start", [2, 8, 9, 10, 1 + MEMORY_WORDS // 2 - 1])
    def test_a_word_can_be_read_from_the_cycle_after_its_write(self, start):
        verify(self.array(start), self.JOBS, {"id": (1,)})

    @pytest.mark.parametrize("start", [0, 1])
    def test_a_word_is_not_read_in_the_cycle_of_its_write(self, start):
        expected = f"{self.PORT}: value 0 is not in the memory in cycle {start}"
        assert self.refusal(self.array(start)) == expected

    def test_direct_memories_pass_on_what_they_take(self):
        timing = Timing({ArrayResource.ACCUMULATOR: 2, ArrayResource.SOURCE: 0}, read=0, write=0)

        def array(start: int) -> ArraySchedule:
            usual = self.array(start)
            steps = usual.steps[0], replace(usual.steps[1], ready=start + 2)
            return replace(usual, timing=timing, steps=steps)

        verify(array(1), self.JOBS, {"id": (1,)})
        assert self.refusal(array(0)) == f"{self.PORT}: value 0 is not in the memory in cycle 0"
        assert "a result in cycle 5" in self.refusal(replace(self.array(1), timing=timing))

    @pytest.mark.parametrize(("turns", "age"), [(1, 8), (2, 16), (4, 32)])
    def test_a_word_is_not_read_in_the_cycle_in_which_another_takes_its_place(self, monkeypatch, turns, age):
        """The hardware decides, however many tasks the model says that the memory holds."""
        monkeypatch.setattr(ArraySchedule, "turns", lambda *_: turns)
        verify(self.array(1 + age - 1), self.JOBS, {"id": (1,)})
        for later in (0, 1, 8):
            expected = f"{self.PORT}: value 0 is not in the memory in cycle {1 + age + later}"
            assert self.refusal(self.array(1 + age + later)) == expected

    def test_a_memory_keeps_no_more_words_than_it_has(self):
        """With rounds of 16 words, the next power of two above 8, a memory has 64."""
        expected = f"{self.PORT}: words of 128 tasks, more than a memory keeps"
        assert self.refusal(self.array(1 + 8 * MEMORY_WORDS // 16)) == expected

    def test_a_result_comes_before_its_function_ends(self):
        expected = "id: value 1 in cycle 6, which is after the latency of 5"
        assert self.refusal(self.array(2, latency={"id": 5})) == expected
        verify(self.array(2, latency={"id": 7}), self.JOBS, {"id": (1,)})

    def test_a_word_that_leaves_as_it_is_has_no_deadline(self):
        verify(self.array(2, latency={"id": 6, "fd": 0}), self.JOBS, {"id": (1,), "fd": (0,)})

    def test_a_value_is_computed_once(self):
        steps = (*self.array(2).steps, ArrayStep(self.JOBS[1], 1, 4, 8))
        assert self.refusal(self.array(2, steps=steps)) == "value 1 is computed 2 times"

    def test_a_copy_is_of_something(self):
        copy = Job((9,), ArrayResource.ACCUMULATOR, (Term((9, Constant(1)), shift=GUARD_BITS),))
        steps = (*self.array(2).steps, ArrayStep(copy, 1, 4, 8))
        assert self.refusal(self.array(2, steps=steps)) == "value 9 is a copy of itself"

    @pytest.mark.parametrize("unit", [-1, 0, 2])
    def test_a_unit_exists_and_has_the_right_kind(self, unit):
        steps = (self.array(2).steps[0], replace(self.array(2).steps[1], unit=unit))
        assert self.refusal(self.array(2, steps=steps)) == f"accumulator on unit {unit}, which is not one"

    def test_only_computed_values_are_written(self):
        writes = {self.PORT: {1: Write(0, Output(0, 0), 1), 2: Write(7, Output(0, 0, 1), 2)}}
        expected = f"{self.PORT}: value 7 is written, but no step computes it"
        assert self.refusal(self.array(2, writes=writes)) == expected

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"constants": (5,)}, "constant 3 is not read in cycle 2"),
            ({"reads": {2: 0}}, "value 0 is not in the memory in cycle 2"),
            ({"reads": {}}, "value 0 is not in the memory in cycle 2"),
            ({"reads": {2: StoredWord(1, 1)}, "turns": 2}, "value 0 is not in the memory in cycle 2"),
            ({"reads": {2: StoredWord(2, 0)}}, "value 0 is not in the memory in cycle 2"),
        ],
    )
    def test_a_memory_gives_what_is_read(self, monkeypatch, changes, reason):
        """The contents from which the hardware is built are checked against the schedule, slot by slot."""

        def altered(array):
            held = contents(array)
            port = Port(1, 1) if "constants" in changes else self.PORT
            return held | {port: replace(held[port], **changes)}

        monkeypatch.setattr(verifier, "contents", altered)
        assert self.refusal(self.array(2)).endswith(f": {reason}")

    def test_a_memory_takes_the_output_that_is_written(self, monkeypatch):
        other = Output(1, 0)
        monkeypatch.setattr(verifier, "outputs", lambda *_: [other])
        expected = f"{self.PORT}: an output other than {Output(0, 0)} is written in slot 1"
        assert self.refusal(self.array(2)) == expected
