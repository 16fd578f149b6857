"""Stages in the schedule: twins that depend on each other, each a frame after the one before."""

from dataclasses import replace
from itertools import pairwise

import pytest

from rbdhw.graph.twins import Group
from rbdhw.scalar import Region
from rbdhw.schedule.list_scheduler import list_schedule, schedule
from rbdhw.schedule.model import Problem, Resource, Step
from rbdhw.schedule.stages import find_frames, hold_back, separate, within_frames
from rbdhw.schedule.verify import verify
from tests.support.schedule_problems import twinned

REGION = Region("solve", 0)


def stages(ii: int, count: int, length: int = 3, serve: int = 1) -> Problem:
    """Return ``count`` stages: a copy of the state, and products one after the other.

    ``serve`` is the number of stages that share a unit for each product.
    """
    steps: list[Step] = []
    rows: list[list[int]] = [[] for _ in range(length + 1)]
    value = 0
    for _ in range(count):
        for k in range(length + 1):
            resource, latency = (Resource.MULTIPLIER, 1) if k else (None, 0)
            steps.append(
                Step((value + 1,), (value,), REGION, resource, 1.0, latency, 2.0, limbs=serve, taken=serve)
            )
            value += 1
            rows[k].append(value)
    steps.append(Step((value + 1,), (value, rows[1][0]), REGION, None, 1.6, 0, 1.1))
    twins = [Group.whole(*row[k : k + serve]) for row in rows for k in range(0, count, serve)]
    limits = {Resource.MULTIPLIER: -(-length * count // ii)}
    units = {(Resource.MULTIPLIER, serve, serve): -(-length * count // ii)}
    own = tuple(twins) if serve > 1 else ()
    return Problem(tuple(steps), frozenset({0}), ii, 125.0, 7.2, limits, own, units if serve > 1 else {})


@pytest.mark.parametrize(("ii", "count", "serve"), [(4, 4, 4), (8, 4, 4), (2, 4, 2), (6, 4, 2), (3, 3, 3)])
def test_stages_follow_each_other_in_slots_of_their_own(ii, count, serve):
    problem = stages(ii, count, serve=serve)
    found = schedule(problem)
    verify(problem, found)
    producer = {value: i for i, step in enumerate(problem.steps) for value in step.results}
    frames = find_frames(problem)
    for group in problem.twins:
        members = [producer[value] for value in group]
        assert [frames[i] - frames[members[0]] for i in members] == list(range(serve))
        cycles = [found.starts[i].cycle for i in members]
        distances = {later - sooner for sooner, later in pairwise(cycles)}
        assert len(distances) == 1
        assert distances.pop() % ii == ii // serve


def test_frames_are_no_further_apart_than_the_stages_are_long():
    found = schedule(stages(4, 4, serve=4))
    # a stage takes three products of a cycle each and the copy of the state; 5 is the next slot of a twin
    assert [found.starts[4 * k].cycle for k in range(4)] == [0, 5, 10, 15]


def derived(ii: int = 4) -> Problem:
    """Return four stages with derivatives, which the first stage lacks.

    The derivative of a stage, one of 101 to 103, is a product of the stage's last one. From the third stage
    on the other factor is a copy of the derivative before it, 111 or 112.
    """
    problem = stages(ii, 4, serve=4)
    last = problem.twins[-1]
    steps = [
        Step((101,), (last[1],), REGION, Resource.MULTIPLIER, 1.0, 1, 2.0, limbs=4, taken=4),
        *(
            Step(
                (101 + k,), (last[1 + k], 110 + k), REGION, Resource.MULTIPLIER, 1.0, 1, 2.0, limbs=4, taken=4
            )
            for k in (1, 2)
        ),
        *(Step((110 + k,), (100 + k,), REGION, None, 1.0, 1, 2.0, limbs=4, taken=2) for k in (1, 2)),
    ]
    twins = (*problem.twins, Group((101, 102, 103), (1, 2, 3), 4), Group((111, 112), (2, 3), 4))
    limits = dict.fromkeys(problem.limb_limits, 4)
    return replace(problem, steps=(*problem.steps, *steps), twins=twins, limb_limits=limits)


def test_a_group_that_the_first_stage_lacks_starts_in_the_second_frame():
    problem = derived()
    frames = find_frames(problem)
    assert [frames[problem.producer[value]] for value in (101, 102, 103)] == [1, 2, 3]
    assert [frames[problem.producer[value]] for value in (111, 112)] == [2, 3]


def test_what_is_read_late_keeps_no_stages_apart():
    """Within their stage the copies could be made at once, cycles before the derivatives that they copy."""
    problem = derived()
    frames = find_frames(problem)
    inside = within_frames(problem, frames)
    early = separate(problem, frames, list_schedule(inside))
    found = schedule(problem)
    verify(problem, early)
    verify(problem, found)
    first = [[known.starts[4 * k].cycle for k in range(4)] for known in (early, found)]
    assert first == [[0, 9, 18, 27], [0, 5, 10, 15]]


def test_steps_that_need_not_be_early_are_held_back():
    problem = derived()
    frames = find_frames(problem)
    inside = within_frames(problem, frames)
    held, added = hold_back(problem, frames, list_schedule(inside))
    assert held.steps[added:] != inside.steps
    waiting = [step for step, own in zip(held.steps[added:], inside.steps, strict=True) if step != own]
    assert {111, 112} <= {step.results[0] for step in waiting}
    ready = {step.results[0]: step.latency for step in held.steps[:added]}
    assert max(ready[step.operands[-1]] for step in waiting) > 0


def test_a_step_that_joins_stages_is_in_the_frame_of_the_last():
    assert find_frames(stages(4, 4, serve=4))[-1] == 3


@pytest.mark.parametrize("problem", [stages(4, 4), twinned()[0]])
def test_without_twins_that_depend_on_each_other_there_is_one_frame(problem):
    assert set(find_frames(problem)) == {0}


def test_without_dependences_between_stages_they_are_limbs():
    problem = stages(4, 4, serve=4)
    starting = {problem.steps[4 * k].results[0] for k in range(4)}
    steps = tuple(
        replace(step, operands=(0,)) if starting & set(step.results) else step for step in problem.steps
    )
    assert set(find_frames(replace(problem, steps=steps))) == {0}
