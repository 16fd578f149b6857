"""The verifier: it accepts a valid schedule and refuses one that violates each rule."""

from dataclasses import replace

import pytest

from rbdhw.schedule.model import Resource, Schedule, Time
from rbdhw.schedule.verify import ScheduleError, verify
from tests.support.schedule_problems import small, twinned


def move(step, cycle, offset=0.0):
    """Return the small schedule with one step moved."""
    problem, schedule = small()
    starts = list(schedule.starts)
    starts[step] = Time(cycle, offset)
    return problem, Schedule(tuple(starts))


def test_a_schedule_by_hand_is_valid():
    verify(*small())
    verify(*move(2, 2, 5.6))


def test_the_period_may_be_used_up_to_rounding():
    verify(*move(2, 2, 5.6 + 1e-10))


@pytest.mark.parametrize(
    ("step", "cycle", "offset", "text"),
    [
        (0, -1, 0.0, "step 0: starts before its task"),
        (1, 0, -0.1, "step 1: starts before its task"),
        (2, 2, 5.7, "step 2: does not end within its cycle"),
        (1, 0, 5.7, "step 1: does not end within its cycle"),
        (0, 0, 1.0, "step 0: must start with its cycle"),
        (2, 1, 5.0, "step 2: starts before its operand 4 is ready"),
        (2, 2, 1.5, "step 2: starts before its operand 4 is ready"),
        (3, 1, 0.0, "step 3: starts before its operand 6 is ready"),
        (3, 2, 0.0, "step 3: starts before its operand 6 is ready"),
        (3, 4, 0.0, "step 3: exceeds the number of multiplier units in slot 0"),
    ],
)
def test_a_step_that_breaks_a_rule_is_named(step, cycle, offset, text):
    with pytest.raises(ScheduleError) as error:
        verify(*move(step, cycle, offset))
    assert str(error.value) == text


def test_a_result_is_ready_within_its_last_cycle():
    problem, schedule = small()
    steps = list(problem.steps)
    steps[1] = replace(steps[1], delay=7.3)
    with pytest.raises(ScheduleError, match=r"^step 1: its result is not ready within its last cycle$"):
        verify(replace(problem, steps=tuple(steps)), schedule)


def test_every_step_has_a_start():
    problem, schedule = small()
    with pytest.raises(ScheduleError, match=r"^4 steps, but 3 starts$"):
        verify(problem, Schedule(schedule.starts[:3]))


def test_an_operand_must_come_from_somewhere():
    problem, schedule = small()
    with pytest.raises(ScheduleError, match=r"^step 1: no step computes its operand 2$"):
        verify(replace(problem, available={0: 0, 1: 0}), schedule)


def test_units_are_counted_by_resource():
    problem, schedule = small()
    none = replace(problem, limits={Resource.MULTIPLIER: 1, Resource.TRIGONOMETRY: 0})
    with pytest.raises(ScheduleError, match=r"^step 1: exceeds the number of trigonometry units in slot 0$"):
        verify(none, schedule)
    with pytest.raises(ScheduleError, match=r"^step 3: exceeds the number of multiplier units in slot 0$"):
        verify(replace(problem, ii=1), schedule)
    verify(replace(problem, ii=1, limits={Resource.MULTIPLIER: 2, Resource.TRIGONOMETRY: 1}), schedule)


def test_twins_by_hand_are_valid():
    verify(*twinned())


def test_a_twin_may_be_whole_intervals_later():
    problem, schedule = twinned()
    later = {1: Time(10, 0.0), 3: Time(11, 0.0), 4: Time(11, 3.8)}
    verify(problem, Schedule(tuple(later.get(i, start) for i, start in enumerate(schedule.starts))))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({1: Time(1, 0.0)}, "value 11: is not 2 slots after its twin 10"),
        ({3: Time(4, 0.0), 4: Time(4, 3.8)}, "value 21: is not 2 slots after its twin 20"),
        ({1: Time(2, 1.0)}, "value 11: is not 2 slots after its twin 10"),
        ({2: Time(0, 0.0)}, "step 2: starts before its operand 10 is ready"),
    ],
)
def test_twins_follow_each_other_in_equal_parts_of_the_interval(changes, text):
    problem, schedule = twinned()
    starts = tuple(changes.get(i, start) for i, start in enumerate(schedule.starts))
    with pytest.raises(ScheduleError) as error:
        verify(problem, Schedule(starts))
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"ii": 5}, "value 10: an ii of 5 is not a multiple of 2 limbs"),
        ({"twins": ((10, 11),)}, "value 20: has no twins"),
        ({"twins": ((10, 11), (20, 11))}, "value 11: is not one of 2 twins in exactly one group"),
        ({"twins": ((10, 11), (20, 30))}, "value 30: is not one of 1 twins in exactly one group"),
        (
            {"limb_limits": {(Resource.MULTIPLIER, 2): 0}},
            "step 2: exceeds the number of multiplier units in slot 1",
        ),
    ],
)
def test_groups_of_twins_are_whole_and_have_units_of_their_own(changes, text):
    problem, schedule = twinned()
    with pytest.raises(ScheduleError) as error:
        verify(replace(problem, **changes), schedule)
    assert str(error.value) == text


def test_a_word_is_not_used_before_it_arrives():
    problem, schedule = small()
    late = replace(problem, available={**problem.available, 2: 1})
    with pytest.raises(ScheduleError, match=r"^step 1: starts before its operand 2 is ready$"):
        verify(late, schedule)
