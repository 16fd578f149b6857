"""Shortened schedules: valid, not longer, and without later results unless that is necessary."""

from dataclasses import replace

import pytest
from hypothesis import given

from rbdhw.schedule.list_scheduler import list_schedule
from rbdhw.schedule.model import Resource, Schedule, Step, Time
from rbdhw.schedule.problem import problem
from rbdhw.schedule.shortening import LATENESS_LIMIT, Network, StartSearch, shorten
from rbdhw.schedule.verify import verify
from rbdhw.target import target
from tests.support.builds import program_of
from tests.support.schedule_problems import INPUTS, REGION, problems, small, twinned


@given(problems())
def test_random_problems(task):
    known = list_schedule(task)
    shortened = shorten(task, known)
    verify(task, shortened)
    network = Network(task)
    before, after = network.ends(known), network.ends(shortened)
    assert max(after) <= max(before)
    if max(after) < max(before) <= LATENESS_LIMIT * max(network.unlimited_ends()):
        assert all(new <= old for new, old in zip(after, before, strict=True))
    assert shorten(task, known) == shortened


@pytest.mark.parametrize(("ii", "before", "after"), [(1, 8, 8), (2, 15, 15), (4, 18, 15)])
def test_iiwa_is_shortened(ii, before, after):
    task = problem(program_of("iiwa14", 18), target("xcvu9p"), 125.0, ii)
    known = list_schedule(task)
    network = Network(task)
    assert max(network.ends(known)) == before
    assert max(network.ends(shorten(task, known))) == after == max(network.unlimited_ends())


@pytest.mark.parametrize(("ii", "end", "unlimited"), [(16, 18, 15)])
def test_iiwa_waits_for_few_units(ii, end, unlimited):
    task = problem(program_of("iiwa14", 18), target("xcvu9p"), 125.0, ii)
    network = Network(task)
    assert max(network.ends(shorten(task, list_schedule(task)))) == end
    assert max(network.unlimited_ends()) == unlimited


@given(problems())
def test_words_may_arrive_until_the_last_cycle_in_time(task):
    """One cycle later at least one result of a group is later, with as many units as there are steps."""
    task = replace(task, limits=dict.fromkeys(Resource, len(task.steps)))
    network = Network(task)
    ends = network.ends(list_schedule(task))
    used = [value for value in INPUTS if any(value in step.operands for step in task.steps)]
    for value in used:
        last = network.latest_arrival([value], ends)
        assert last >= task.available[value]
        for arrival in (last, last + 1):
            late = replace(task, available={**task.available, value: arrival})
            after = Network(late).ends(list_schedule(late))
            in_time = all(new <= old for new, old in zip(after, ends, strict=True))
            assert in_time == (arrival == last)


class CheckedSearch(StartSearch):
    """A search in which a group's earliest start must be that of the groups placed before."""

    def _free_cycle(self, g):
        network, starts = self._network, []
        for k in range(len(network.groups)):
            starts.append(network.earliest(k, starts, self._placed.get(k, 0)))
        assert self._early[g] == starts[g]
        return super()._free_cycle(g)


@given(problems())
def test_groups_start_as_early_as_those_placed_before_allow(task):
    """Also where groups that were placed are evicted."""
    network = Network(task)
    for end in range(max(network.unlimited_ends()), max(network.ends(list_schedule(task)))):
        CheckedSearch(network, [end] * len(network.groups)).run()


def test_schedule_that_cannot_be_shorter_is_kept():
    for task, known in (small(), twinned()):
        assert shorten(task, known) == known


def test_twins_keep_their_distance_when_all_start_later_than_they_must():
    task, known = twinned()
    late = Schedule(tuple(Time(start.cycle + 3, start.offset) for start in known.starts))
    verify(task, late)
    assert shorten(task, late) == known


def test_search_gives_up_where_units_are_too_few():
    """Three products on two multipliers at II 2: two may start in cycle 0, and only one in cycle 1."""
    task, _ = small()
    product = task.steps[0]
    products = tuple(replace(product, results=(value,)) for value in (3, 4, 5))
    network = Network(replace(task, steps=products, limits={Resource.MULTIPLIER: 2}))
    assert StartSearch(network, [0, 0, 0]).run() is None
    assert StartSearch(network, [0, 0, 1]).run() == Schedule((Time(0, 0.0), Time(0, 0.0), Time(1, 0.0)))
    assert StartSearch(network, [1, 1, 0]).run() == Schedule((Time(0, 0.0), Time(1, 0.0), Time(0, 0.0)))


def test_delays_with_fractions_of_picoseconds_leave_no_gaps():
    """Sums that exactly fill a cycle take one cycle each, even if rounding makes them longer."""
    task, _ = small()
    sums = [Step((value,), (value - 1,), REGION, None, 7.2000004, 0, 7.2000002) for value in (3, 4, 5)]
    tight = replace(task, steps=tuple(sums), period=7.2000004)
    known = list_schedule(tight)
    network = Network(tight)
    assert network.room == [0, 0, 0]
    result = StartSearch(network, network.ends(known)).run()
    assert result is not None
    verify(tight, result)
    assert [start.cycle for start in result.starts] == [0, 1, 2]


def test_delays_are_rounded_up_to_picoseconds():
    """Two sums of 3.6009 ns are longer than a cycle of 7.2 ns, although two of 3.6 ns would fill it."""
    task, _ = small()
    sums = [Step((value,), (value - 1,), REGION, None, 3.6009, 0, 3.6009) for value in (3, 4)]
    tight = replace(task, steps=tuple(sums))
    late = Schedule((Time(0, 0.0), Time(3, 0.0)))
    shortened = shorten(tight, late)
    verify(tight, shortened)
    assert [start.cycle for start in shortened.starts] == [0, 1]


def test_moments_are_cycles_and_picoseconds():
    task, _ = small()
    network = Network(task)
    assert network.cycle == 7201
    assert [network.groups[g] for g in range(4)] == [(k,) for k in range(4)]
    starts = [0, 0, 2 * 7201 + 1600, 3 * 7201]
    assert [network.earliest(g, starts, 0) for g in range(4)] == starts
    assert network.earliest(1, starts, 5) == 5 * 7201
    assert network.latest(2, starts, 3) == 2 * 7201 + 5600
    assert network.latest(1, starts, 3) == 5600
