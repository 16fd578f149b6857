"""Placement: arrays of real and artificial programs are valid and small."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from rbdhw.cores.array import fits, placement, vacancies
from rbdhw.cores.array.build import timing
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import HOLD, ArrayResource, Constant, Job, Term, Timing, kept_window
from rbdhw.cores.array.placement import Haste, place_jobs
from rbdhw.cores.array.verify import verify
from rbdhw.cores.sweep.array import handed_words
from rbdhw.errors import InputError
from rbdhw.fixed.fusion import fuse
from tests.support.array_programs import LIMITS, array_of, chained, crowded, mixed, oldest
from tests.support.builds import program_of
from tests.support.fixed_solvers import fixed_solver
from tests.support.marks import long

CASES = [("toy", 8), ("toy", 13), long("iiwa14", 16), long("hyq", 32)]


@pytest.mark.parametrize(("name", "ii"), CASES)
def test_arrays_of_robots_are_valid(name, ii):
    array = array_of(fuse(program_of(name, 18), 8), ii)
    terms = sum(len(step.job.terms) for step in array.steps)
    accumulators = array.units.count(ArrayResource.ACCUMULATOR)
    assert accumulators <= math.ceil(math.ceil(terms / ii) * 1.1)
    assert all(write.output.delay < HOLD for row in array.writes.values() for write in row.values())


def test_a_job_that_finds_no_place_gets_one_more_accumulator(monkeypatch):
    program = fuse(program_of("hyq", 18), 8)
    array = array_of(program, 12)
    cycles = sum(step.job.cycles for step in array.steps if step.job.resource is ArrayResource.ACCUMULATOR)
    assert array.units.count(ArrayResource.ACCUMULATOR) <= math.ceil(math.ceil(cycles / 12) * 1.1)
    monkeypatch.setattr(placement, "MOST_SPARE", placement.SPARE)
    with pytest.raises(InputError, match="found no place"):
        array_of(program, 12)


@pytest.mark.parametrize(("ii", "width"), [(8, 18), (9, 8), (64, 18)])
def test_all_kinds_of_jobs_hold(ii, width):
    array = array_of(mixed(width), ii)
    assert set(array.units) == {ArrayResource.ACCUMULATOR, ArrayResource.RECIPROCAL, ArrayResource.SOURCE}


@pytest.mark.parametrize(("jobs_between", "copies"), [(20, 0), (80, 0), (120, 1), (400, 4)])
def test_values_that_memories_do_not_keep_long_enough_are_copied(jobs_between, copies):
    chain, last = chained(jobs_between), jobs_between + 1
    timing = Timing({ArrayResource.ACCUMULATOR: 3, ArrayResource.SOURCE: 0})
    array = place_jobs(chain, {"id": (last,)}, 33, 50.0, timing, 2, (18, 18))
    verify(array, chain, {"id": (last,)})
    assert array.latency["id"] > jobs_between * 4
    assert (array.latency["id"] > kept_window(33)) == (copies > 0)
    assert len(array.steps) - len(chain) == copies


def test_no_accumulators_are_added_that_a_job_and_its_copies_would_not_use(monkeypatch):
    words = [Job((1000 + k,), ArrayResource.SOURCE) for k in range(14)]
    old = [Term((1000 + k, 1007 + k)) for k in range(7)]
    *chain, last = chained(200)
    last = replace(last, terms=(*old, *last.terms[1:]))
    tried = []
    original = placement._Placement._place_with_copies
    monkeypatch.setattr(
        placement._Placement, "_place_with_copies", lambda *a: tried.append(a) or original(*a)
    )
    monkeypatch.setattr(placement, "MOST_SPARE", 100.0)
    for module in (fits, placement, vacancies):
        monkeypatch.setattr(module, "HOLD", 1)  # so that copies that are made at the same time are in the way
    timing = Timing({ArrayResource.ACCUMULATOR: 3, ArrayResource.SOURCE: 0})
    with pytest.raises(InputError, match="found no place"):
        place_jobs([*words, *chain, last], {"id": last.values}, 64, 50.0, timing, 2, (18, 18))
    assert len(tried) <= 2 + 2 * 14  # a unit for each of two copies of a word, and one for the job


def test_jobs_that_read_a_value_late_share_its_copies():
    chain = chained(400, ends=6)
    results = {"id": tuple(range(401, 407))}
    timing = Timing({ArrayResource.ACCUMULATOR: 3, ArrayResource.SOURCE: 0})
    array = place_jobs(chain, results, 33, 50.0, timing, 2, (18, 18))
    verify(array, chain, results)
    assert len(array.steps) - len(chain) == 4


@pytest.mark.parametrize(("between", "cycles"), LIMITS)
def test_a_word_is_kept_up_to_the_last_cycle_and_no_longer(between, cycles):
    chain, results = chained(between), {"id": (between + 1,)}
    timing = Timing({ArrayResource.ACCUMULATOR: cycles, ArrayResource.SOURCE: 0})
    array = place_jobs(chain, results, 8, 50.0, timing, 2, (18, 18))
    verify(array, chain, results)
    assert oldest(array) == kept_window(8) - 1
    assert len(array.steps) == len(chain)


def test_conflicting_wide_words_are_supplied_one_per_cycle():
    """If supplied at once, few of these words would find a slot in the only memory that they go to."""
    program = crowded(angles=12, words=60)
    array = array_of(program, 12)
    angles = {word.value for word in program.inputs if word.name.startswith("q")}
    assert {
        step.job.operand for step in array.steps if step.job.resource is ArrayResource.TRIGONOMETRY
    } == angles
    assert array.units.count(ArrayResource.TRIGONOMETRY) == 1
    started = [step.start for step in array.steps if set(step.job.values) <= angles]
    assert sorted(started) == list(range(1, 13))


@pytest.mark.parametrize(("wide", "copies"), [(False, True), (True, False)])
def test_wide_words_are_not_copied(wide, copies):
    """The words are the same, wide or not; narrow ones are copied until each has found its slot."""
    chain = [Job((k,), ArrayResource.SOURCE, wide=wide) for k in range(12)]
    chain += [Job((k,), ArrayResource.SOURCE) for k in range(12, 132)]
    chain += [Job((200 + k, None), ArrayResource.TRIGONOMETRY, operand=k) for k in range(12)]
    timing = Timing({ArrayResource.TRIGONOMETRY: 4, ArrayResource.SOURCE: 0, ArrayResource.ACCUMULATOR: 3})
    for k in range(13):
        terms = Term((200 + k % 12, Constant(3))), Term((200 + k % 12, Constant(5)))
        chain.append(Job((300 + k,), ArrayResource.ACCUMULATOR, terms))
    array = place_jobs(chain, {"id": (300,)}, 12, 50.0, timing, 2, (18, 18))
    verify(array, chain, {"id": (300,)})
    assert (len(array.steps) > len(chain)) == copies


def test_wide_words_keep_their_cycles_from_words_that_are_more_urgent():
    chain = [Job((k,), ArrayResource.SOURCE, wide=True) for k in range(12)]
    chain += [Job((k,), ArrayResource.SOURCE) for k in range(12, 132)]
    chain += [Job((200 + k, None), ArrayResource.TRIGONOMETRY, operand=k) for k in range(12)]
    for k in range(20):
        terms = Term((400 + k - 1 if k else 12, Constant(3))), Term((13 + k, Constant(5)))
        chain.append(Job((400 + k,), ArrayResource.ACCUMULATOR, terms))
    timing = Timing({ArrayResource.TRIGONOMETRY: 4, ArrayResource.SOURCE: 0, ArrayResource.ACCUMULATOR: 3})
    array = place_jobs(chain, {"id": (200, 419)}, 12, 50.0, timing, 2, (18, 18))
    verify(array, chain, {"id": (200, 419)})
    started = [step.start for step in array.steps if step.job.wide]
    assert sorted(started) == list(range(1, 13))


def test_the_same_program_gives_the_same_array():
    program = fuse(program_of("toy", 18), 8)
    assert array_of(program, 8) == array_of(program, 8)


def test_more_registers_take_more_cycles():
    program = fuse(program_of("toy", 18), 8)
    two, three = (array_of(program, 16, registers).latency["id"] for registers in (2, 3))
    assert two < three


def test_too_few_cycles_are_refused():
    program = fuse(program_of("toy", 18), 8)
    with pytest.raises(InputError) as error:
        array_of(program, 2)
    assert str(error.value) == (
        "ii: the array found no place for all operations in 2 cycles; expected a larger ii"
    )


def test_words_are_kept_for_as_long_as_a_block_ram_has_room():
    """At 34 cycles rounds have 64 words, of which 16 fit a memory."""
    assert [kept_window(ii) for ii in (8, 16, 32, 34, 64)] == [512, 512, 512, 544, 512]


def test_at_long_intervals_words_are_kept_for_four_tasks():
    assert [kept_window(ii) for ii in (127, 256, 700, 4096)] == [1016, 1024, 2800, 4 * 4096]


@pytest.mark.parametrize("hurried", [False, True])
def test_words_of_one_sum_are_handed_out_in_different_cycles(hurried):
    shape = fixed_solver("toy", 3, 2).shape
    handed = handed_words(shape.program, shape.sweeps.sweeps[0].name)
    work = jobs(shape.program, handed.keys())
    outputs = {name: tuple(word.value for word in words) for name, words in shape.program.outputs.items()}
    haste, extra = Haste(0.25, 0.1, hurried), {ArrayResource.ACCUMULATOR: 4}
    widths, times = shape.program.port_widths, timing(shape.program, 2)
    array = place_jobs(work, outputs, 64, 125.0, times, 2, widths, handed, extra, haste)
    verify(array, work, outputs)
    cycle = {word: array.producer[word].start for word in handed}
    shared = [
        uses - 1
        for step in array.steps
        for uses in Counter(cycle[word] for word in step.job.operands if word in cycle).values()
    ]
    assert (sum(shared) == 0) is hurried
