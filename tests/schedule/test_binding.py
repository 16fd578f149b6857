"""Binding: each step has one unit, each slot of a unit one step, and delay lines hold the values read."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdhw.fixed.program import Kind
from rbdhw.scalar import Region
from rbdhw.schedule.model import Resource, Tap, stage
from tests.support.builds import bound_of, program_of

BUILDS = [("toy", "ecp5-85"), ("iiwa14", "xcvu9p"), ("hyq", "xcvu9p")]


@pytest.mark.parametrize("ii", [1, 2, 3, 8])
@pytest.mark.parametrize(("robot", "device"), BUILDS)
def test_every_shared_step_has_one_unit_and_every_slot_of_it_one_step(robot, device, ii):
    bound = bound_of(program_of(robot, 18), device, ii)
    served = Counter(index for unit in bound.units for index in unit.steps.values())
    shared = [i for i, step in enumerate(bound.steps) if step.resource is not None]
    assert served == Counter(shared)
    for unit in bound.units:
        assert all(bound.steps[i].resource is unit.resource for i in unit.steps.values())
        assert all(bound.starts[i] % ii == slot for slot, i in unit.steps.items())
    for resource in Resource:
        steps = sum(step.resource is resource for step in bound.steps)
        assert sum(unit.resource is resource for unit in bound.units) == math.ceil(steps / ii)


@pytest.mark.parametrize("ii", [1, 4])
def test_a_unit_is_held_by_the_region_it_serves_most(ii):
    bound = bound_of(program_of("iiwa14", 18), "xcvu9p", ii)
    for unit in bound.units:
        regions = Counter(bound.steps[i].region for i in unit.steps.values())
        assert regions[unit.host] == max(regions.values())
        for i in unit.steps.values():
            assert {bound.hosts[value] for value in bound.steps[i].results} == {unit.host}


@pytest.mark.parametrize("ii", [1, 3, 8])
def test_values_are_read_at_stages_that_are_kept(ii):
    program = program_of("iiwa14", 18)
    bound = bound_of(program, "xcvu9p", ii)
    read = Counter()
    for step, start in zip(bound.steps, bound.starts, strict=True):
        for value in step.operands:
            assert start >= bound.ready[value]
            read[bound.tap(value, start)] += 1
    for word in program.outputs["id"]:
        read[bound.tap(word.value, bound.latency["id"])] += 1
    kept = {Tap(value, k) for value, stages in bound.stages.items() for k in stages}
    assert kept == set(read)
    assert all(stages == tuple(sorted(stages)) for stages in bound.stages.values())


def test_results_stand_when_their_latency_is_over():
    program = program_of("iiwa14", 18)
    bound = bound_of(program, "xcvu9p", 4)
    assert bound.latency == {"id": max(bound.ready[word.value] for word in program.outputs["id"])}
    for value, index in bound.producer.items():
        assert bound.ready[value] == bound.starts[index] + bound.steps[index].latency
    inputs = [i for i, operation in enumerate(program.operations) if operation.kind is Kind.INPUT]
    assert all(bound.ready[i] == 0 for i in inputs)


def test_unscheduled_values_are_read_directly():
    program = program_of("toy", 18)
    constant = len(program.operations)
    assert bound_of(program, "xcvu9p", 1).tap(constant, 7) == Tap(constant, 0)


@given(st.integers(0, 40), st.integers(1, 9))
def test_a_stage_is_where_the_delay_line_has_the_value(ready, ii):
    """The line is simulated: task n computes its value n in cycle ``ready + n ii``."""
    line = []
    for cycle in range(ready + 12 * ii):
        since = cycle - ready
        if since >= 0:
            task, phase = divmod(since, ii)
            for age_task in range(task + 1):
                k = stage(since - age_task * ii, ii)
                if k == 0:
                    assert (age_task, phase) == (task, 0)
                else:
                    assert line[k - 1] == age_task
            if phase == 0:
                line.insert(0, task)


def test_binding_is_reproducible():
    program = program_of("hyq", 18)
    assert bound_of(program, "xcvu9p", 4) == bound_of(program, "xcvu9p", 4)


def test_a_region_without_a_joint_comes_before_those_of_its_step():
    program = program_of("toy", 18)
    regions = [operation.region for operation in program.operations]
    free = [Region(region.step, region.joint or None) for region in regions]
    steps = {region.step for region in free if region.joint is None}
    assert steps & {region.step for region in free if region.joint is not None}
    operations = zip(program.operations, free, strict=True)
    moved = replace(program, operations=tuple(replace(each, region=region) for each, region in operations))
    bound, expected = bound_of(moved, "xcvu9p", 2), bound_of(program, "xcvu9p", 2)
    assert [unit.steps for unit in bound.units] == [unit.steps for unit in expected.units]
    assert [(region.step, region.joint or 0) for region in bound.regions] == [
        (region.step, region.joint or 0) for region in expected.regions
    ]
