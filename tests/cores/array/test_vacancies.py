"""Vacancies: what they rule out could not have been chosen, and undone changes leave nothing behind."""

import pytest

from rbdhw.cores.array import placement, vacancies
from rbdhw.cores.array.model import ArrayResource, Constant, Job, Output, Port, Term, Timing, Write
from rbdhw.cores.array.placement import place_jobs
from rbdhw.cores.array.vacancies import ALL, Vacancies
from rbdhw.fixed.fusion import fuse
from tests.support.array_programs import LIMITS, chained, crowded, mixed, placed_of
from tests.support.builds import program_of
from tests.support.marks import long

ACCUMULATOR = ArrayResource.ACCUMULATOR

PLACED = {
    "mixed": lambda: placed_of(mixed(), 8),
    "crowded": lambda: placed_of(crowded(12, 40), 16),
    "added units": lambda: placed_of(fuse(program_of("hyq", 18), 8), 12),
    "copies": lambda: chain(400, 33),
} | {f"copies at {ii}": lambda jobs=jobs, ii=ii: chain(jobs, ii) for jobs, ii in LIMITS}

LONG = ("added units", "copies")


def chain(between, ii):
    timing = Timing({ACCUMULATOR: 3, ArrayResource.SOURCE: 0})
    results = {"id": tuple(range(between + 1, between + 7))}
    return place_jobs(chained(between, 6), results, ii, 50.0, timing, 2, (18, 18))


@pytest.mark.parametrize("name", [long(name) if name in LONG else name for name in PLACED])
def test_the_search_over_all_units_finds_the_same_places(name, monkeypatch):
    array = PLACED[name]()
    monkeypatch.setattr(Vacancies, "_reached", lambda *_: ALL)
    monkeypatch.setattr(placement._Placement, "_bounds", lambda *_: [])
    assert PLACED[name]() == array


@pytest.fixture
def three():
    """Three accumulators, with a value of each and one of a source that is not there."""
    ready, origin = {10: 5, 11: 5, 12: 9, 13: 2}, {10: (0, 0), 11: (1, 0), 12: (2, 0), 13: (0, 0)}
    vacant = Vacancies(8, 1, ready, origin)
    for number in range(3):
        vacant.add_unit(number, ACCUMULATOR)
    return vacant


def job(*terms):
    return Job((20,), ACCUMULATOR, tuple(Term(factors) for factors in terms))


def test_only_the_first_unused_unit_is_vacant(three):
    assert three.units(job((10, 11)), 6) == 0b001
    three.set_busy(0, 6, 1, True)
    assert three.units(job((10, 11)), 6) == 0b010
    assert three.units(job((10, 11)), 7) == 0b011
    assert three.units(job((10, 11), (10, 12)), 13) == 0b010  # the second slot is busy
    three.set_busy(0, 6, 1, False)
    assert three.units(job((10, 11)), 6) == 0b001


def test_values_are_read_after_they_are_there(three):
    assert three.units(job((10, Constant(3))), 5) == 0
    assert three.units(job((10, Constant(3))), 6) == 0b001
    assert three.units(job((12, 10)), 9) == 0


def test_a_memory_takes_one_word_in_a_slot(three):
    for cycle in (5, 6):
        for index in (0, 1):
            three.set_write(Port(0, index), Write(30 + cycle, Output(1, 0), cycle), True)
    assert three.units(job((10, 11)), 7) == 0  # both slots up to the read are taken
    assert three.units(job((10, 11)), 8) == 0b001
    three.set_write(Port(0, 1), Write(36, Output(1, 0), 6), False)
    assert three.units(job((10, Constant(1))), 7) == 0b001  # in the other order
    three.set_write(Port(0, 0), Write(10, Output(0, 0), 7), True)
    three.set_write(Port(0, 1), Write(11, Output(1, 0), 6), True)
    assert three.units(job((10, 11)), 8) == 0b001


def test_new_inputs_are_counted_once_for_an_output(three):
    work = job((10, Constant(1)), (11, Constant(1)), (13, Constant(1)))
    assert three.inputs(work) == [ALL, ALL, 0, 0]  # 10 and 13 come from the same output
    three.set_connected(Port(1, 1), Output(0, 0, 2), True)
    assert three.inputs(work) == [ALL, ~0b010, 0, 0]
    three.set_write(Port(1, 0), Write(11, Output(1, 0), 5), True)
    assert three.inputs(work) == [~0b010, ~0b010, 0, 0]
    three.set_connected(Port(1, 1), Output(0, 0, 2), False)
    assert three.inputs(work) == [ALL, ~0b010, 0, 0]


def test_both_factors_of_a_term_are_in_different_memories(three):
    three.set_connected(Port(1, 0), Output(0, 0), True)
    three.set_connected(Port(1, 0), Output(1, 0), True)
    assert three.inputs(job((10, 11)))[0] == ALL
    three.set_connected(Port(1, 1), Output(0, 0), True)
    assert three.inputs(job((10, 11)))[0] == ~0b010


def test_no_more_inputs_are_counted_than_some(three):
    three._origin = {value: (value, 0) for value in range(9)}
    counted = three.inputs(job(*((value, Constant(1)) for value in range(9))))
    assert counted == [ALL] * vacancies.MOST_COUNTED


def test_units_without_any_of_the_shifts(three):
    three.set_shifts(0, {3, 4}, True)
    three.set_shifts(2, {4}, True)
    assert three.unshifted([3, 5]) == ~0b001
    assert three.unshifted([4]) == ~0b101
    three.set_shifts(0, {4}, False)
    assert three.unshifted([4]) == ~0b100
