"""Stages in the schedule: twins that depend on each other, each a frame after the one before."""

from dataclasses import replace
from itertools import pairwise

import pytest

from rbdhw.scalar import Region
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Problem, Resource, Step
from rbdhw.schedule.stages import find_frames
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
            steps.append(Step((value + 1,), (value,), REGION, resource, 1.0, latency, 2.0, limbs=serve))
            value += 1
            rows[k].append(value)
    steps.append(Step((value + 1,), (value, rows[1][0]), REGION, None, 1.6, 0, 1.1))
    twins = [tuple(row[k : k + serve]) for row in rows for k in range(0, count, serve)]
    limits = {Resource.MULTIPLIER: -(-length * count // ii)}
    units = {(Resource.MULTIPLIER, serve): -(-length * count // ii)}
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
