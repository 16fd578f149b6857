"""The list scheduler: its schedules are valid and early."""

import pytest
from hypothesis import given

from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Resource, Schedule, Time
from rbdhw.schedule.problem import problem
from rbdhw.schedule.verify import verify
from rbdhw.target import target
from tests.support.builds import bound_of, program_of
from tests.support.schedule_problems import problems, small, twinned


@given(problems())
def test_random_problems(task):
    verify(task, schedule(task))


@pytest.mark.parametrize("ii", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize(
    ("robot", "device", "clock"),
    [("toy", "ecp5-85", 50.0), ("iiwa14", "xcvu9p", 125.0), ("hyq", "xcvu9p", 160.0)],
)
def test_real_programs(robot, device, clock, ii):
    task = problem(program_of(robot, 18), target(device), clock, ii)
    verify(task, schedule(task))


def test_steps_chain_within_a_cycle_where_they_fit():
    task, _ = small()
    result = schedule(task)
    verify(task, result)
    assert result == Schedule((Time(0, 0.0), Time(0, 0.0), Time(2, 1.6), Time(3, 0.0)))


def test_an_empty_program_has_an_empty_schedule():
    task, _ = small()
    assert schedule(type(task)((), task.available, 1, 125.0, 7.2, {})) == Schedule(())


def test_iiwa_answers_within_20_cycles_at_125_mhz():
    bound = bound_of(program_of("iiwa14", 18), "xcvu9p", 1, 125.0)
    assert bound.latency["id"] + 1 <= 20


@pytest.mark.parametrize("ii", [2, 4, 8])
def test_iiwa_uses_nine_tenths_of_its_multiplier_slots(ii):
    bound = bound_of(program_of("iiwa14", 18), "xcvu9p", ii)
    units = [unit for unit in bound.units if unit.resource is Resource.MULTIPLIER]
    assert sum(len(unit.steps) for unit in units) >= 0.9 * len(units) * ii


def test_sharing_and_a_faster_clock_cost_latency():
    program = program_of("iiwa14", 18)
    spatial, shared, slow, fast = (
        bound_of(program, "xcvu9p", ii, clock).latency["id"]
        for ii, clock in ((1, 125.0), (8, 125.0), (1, 60.0), (1, 190.0))
    )
    assert slow < spatial < fast
    assert spatial < shared


def test_twins_start_as_early_as_the_latest_of_them_can():
    task, by_hand = twinned()
    assert schedule(task) == by_hand
