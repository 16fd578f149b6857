"""Annealing: the array computes the same in the same time, with fewer connections."""

from dataclasses import replace

import pytest

from rbdhw.cores.array import annealing
from rbdhw.cores.array.annealing import _PlaceSearch, _State, anneal, place_of
from rbdhw.cores.array.jobs import jobs
from rbdhw.cores.array.model import (
    ArrayResource,
    ArraySchedule,
    Constant,
    Term,
    Timing,
    equivalent_terms,
    kept_window,
    slots_of,
)
from rbdhw.cores.array.placement import place_jobs
from rbdhw.cores.array.verify import verify
from rbdhw.fixed.fusion import fuse
from tests.support.array_programs import LIMITS, chained, mixed, oldest, outputs_of, placed_of, shared
from tests.support.builds import program_of
from tests.support.marks import long


def inputs(array: ArraySchedule) -> int:
    """Return the number of inputs of all multiplexers before memories."""
    return sum(len({write.output for write in row.values()}) for row in array.writes.values())


def shifts(array: ArraySchedule) -> int:
    """Return the number of shifts of all accumulators."""
    return len({(step.unit, term.shift) for step in array.steps for term in step.job.terms})


@pytest.mark.parametrize(("name", "ii"), [("toy", 8), long("iiwa14", 16), long("hyq", 32)])
def test_annealing_leaves_fewer_connections(name, ii):
    program = fuse(program_of(name, 18), 8)
    before = placed_of(program, ii)
    after = anneal(before, outputs_of(program), (18, 18))
    verify(after, jobs(program), outputs_of(program))
    assert (after.units, after.latency, len(after.steps)) == (before.units, before.latency, len(before.steps))
    assert inputs(after) + shifts(after) <= inputs(before) + shifts(before)
    if name != "toy":
        assert inputs(after) < 0.97 * inputs(before)


def test_idle_units_are_removed():
    """The other units keep their order, and everything that refers to them has the new numbers."""
    program = fuse(program_of("toy", 18), 8)
    right = placed_of(program, 8)
    idle = {unit: unit + (unit > 0) for unit in range(len(right.units))}
    gap = replace(
        right,
        units=(right.units[0], ArrayResource.ACCUMULATOR, *right.units[1:]),
        steps=tuple(replace(step, unit=idle[step.unit]) for step in right.steps),
        writes={
            port._replace(unit=idle[port.unit]): {
                slot: write._replace(output=write.output._replace(unit=idle[write.output.unit]))
                for slot, write in row.items()
            }
            for port, row in right.writes.items()
        },
    )
    assert gap.remove_idle_units() == right == right.remove_idle_units()
    verify(anneal(gap, outputs_of(program), (18, 18)), jobs(program), outputs_of(program))


@pytest.mark.parametrize(("ii", "width"), [(8, 18), (13, 8), long(8, 8), long(13, 18)])
def test_all_kinds_of_jobs(ii, width):
    """Units other than accumulators keep their jobs, and the latency of functions does not rise."""
    program = mixed(width)
    before = placed_of(program, ii)
    after = anneal(before, outputs_of(program), (width, width))
    verify(after, jobs(program), outputs_of(program))
    for old, new in zip(before.steps, after.steps, strict=True):
        assert old.job.results == new.job.results
        if old.job.resource is not ArrayResource.ACCUMULATOR:
            assert (old.unit, old.start) == (new.unit, new.start)
    for function, values in outputs_of(program).items():
        ready = [after.producer[value].ready for value in values if value in after.producer]
        assert max(ready) <= before.latency[function]


@pytest.mark.parametrize(("ii", "number"), [(13, 0), *(long(ii, n) for ii in (8, 13) for n in range(3))])
def test_arrays_are_valid_after_any_exchanges(monkeypatch, ii, number):
    """If each connection saves something, jobs move everywhere, up to the last cycle that results allow."""
    monkeypatch.setattr(annealing, "INPUT", -1.0)
    program = shared(24)
    before = placed_of(program, ii)
    after = anneal(before, outputs_of(program), (18, 18), seed=number)
    verify(after, jobs(program), outputs_of(program))
    moved = [old.start != new.start for old, new in zip(before.steps, after.steps, strict=True)]
    assert sum(moved) > len(moved) // 8


def test_annealing_is_reproducible():
    program = shared(24)
    before = placed_of(program, 13)
    assert anneal(before, outputs_of(program), (18, 18)) == anneal(before, outputs_of(program), (18, 18))
    assert anneal(before, outputs_of(program), (18, 18), seed=1) != anneal(
        before, outputs_of(program), (18, 18)
    )


def test_powers_of_two_move_between_a_shift_and_a_constant():
    term = Term((7, Constant(-12)), True, -3)
    pairs = {
        (equivalent.factors[1].integer, equivalent.shift) for equivalent in equivalent_terms(term, (6, 6))
    }
    assert pairs == {(-3, -1), (-6, -2), (-12, -3), (-24, -4)}
    assert {
        (equivalent.factors[0], equivalent.negative) for equivalent in equivalent_terms(term, (6, 6))
    } == {(7, True)}
    assert list(equivalent_terms(Term((7, Constant(0)), shift=2), (6, 6))) == [
        Term((7, Constant(0)), shift=2)
    ]
    assert list(equivalent_terms(Term((7, 8), shift=2), (6, 6))) == [Term((7, 8), shift=2)]


TIMING = Timing({ArrayResource.ACCUMULATOR: 3, ArrayResource.SOURCE: 0})

LATER = 24
"""The number of cycles by which a job may be later than it is."""


@pytest.mark.parametrize("ends", [1, 2, 3])
@pytest.mark.parametrize(("between", "cycles"), LIMITS)
def test_a_place_is_refused_where_a_word_would_be_too_old(between, cycles, ends):
    """The last job of a chain is placed some cycles later. Its first word is then written later, too, if
    no other job reads it.
    """
    chain, results = chained(between, ends), {"id": tuple(range(between + 1, between + 1 + ends))}
    timing = Timing({ArrayResource.ACCUMULATOR: cycles, ArrayResource.SOURCE: 0})
    array = place_jobs(chain, results, 8, 50.0, timing, 2, (18, 18))
    index = len(array.steps) - 1
    last = array.steps[index]
    accepted = []
    for later in range(LATER):
        state = _State(array)
        state.leave(index)
        search = _PlaceSearch(state, index, last.unit, last.start + later)
        if search.fits([list(equivalent_terms(term, (18, 18))) for term in last.job.terms]):
            state.take(index, search.place)
            accepted.append(later)
            assert oldest(state.array()) < kept_window(8)
    assert accepted[0] == 0
    assert len(accepted) < LATER


@pytest.mark.parametrize("cycles", [1, 2, 5, 8])
def test_free_slots_are_those_of_which_no_cycle_is_taken(cycles):
    array = place_jobs(chained(6, 2), {"id": (7, 8)}, 8, 50.0, TIMING, 2, (18, 18))
    state = _State(array)
    for unit in range(len(array.units)):
        bits = state.free_slots(unit, cycles)
        free = [slot for slot in range(8) if not state.busy[unit] & slots_of(slot, cycles, 8)]
        assert [place_of(bits, n) for n in range(bits.bit_count())] == free


def test_the_number_of_exchanges_is_limited(monkeypatch):
    array = place_jobs(chained(6, 2), {"id": (7, 8)}, 8, 50.0, TIMING, 2, (18, 18))
    monkeypatch.setattr(annealing, "MOST_TRIALS", 0)
    assert anneal(array, {"id": (7, 8)}, (18, 18)) == array
