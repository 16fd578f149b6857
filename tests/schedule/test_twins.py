"""Twins in the schedule: the operations that share, and their steps, units, delay lines and cost."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from rbdhw.cores.pipeline.cells import counts
from rbdhw.cores.pipeline.core import core_cost, schedule_pipeline
from rbdhw.cores.pipeline.limb_sharing import find_shared_limbs, limb_inputs
from rbdhw.errors import InputError
from rbdhw.estimate.model import load
from rbdhw.fixed.program import Kind, Operand, Program
from rbdhw.graph.twins import Group
from rbdhw.options.build import BuildOptions
from rbdhw.passes.twins import find_twins
from rbdhw.schedule.model import MULTIPLIERS, Bound, Resource, Tap
from rbdhw.schedule.problem import problem
from rbdhw.schedule.twins import shareable
from rbdhw.target import target
from tests.support.builds import graph_of, model_of, program_of


def hyq() -> Program:
    """Return the program of HyQ's inverse dynamics, made once."""
    return program_of("hyq", 18)


@cache
def groups(ii: int) -> tuple[Group, ...]:
    """Return the operations of HyQ's legs that may share hardware."""
    robot = model_of("hyq").robot
    twins = find_twins(graph_of("hyq"), limb_inputs(robot, find_shared_limbs(robot, "on", ii)))
    return shareable(hyq(), twins.groups)


@cache
def bound(ii: int) -> Bound:
    """Return HyQ's inverse dynamics with legs that share hardware."""
    return schedule_pipeline(hyq(), target("xcvu9p"), BuildOptions(ii=ii), groups(ii))


def test_operations_share_that_differ_in_constants_and_signs_alone():
    assert len(groups(4)) > 0.9 * len(hyq().operations) / 4
    for group in groups(4):
        assert len({hyq().operations[i].format.width for i in group}) == 1


@pytest.mark.parametrize("change", ["width", "drop", "kind"])
def test_operations_of_another_shape_do_not_share(change):
    group = next(g for g in groups(4) if hyq().operations[g[0]].kind is Kind.SCALE)
    operation = hyq().operations[group[1]]
    other = {
        "width": replace(operation, format=replace(operation.format, width=operation.format.width + 1)),
        "drop": replace(operation, drop=operation.drop + 1),
        "kind": replace(operation, kind=Kind.MULTIPLY),
    }[change]
    operations = list(hyq().operations)
    operations[group[1]] = other
    assert shareable(replace(hyq(), operations=tuple(operations)), [group]) == ()


def test_sums_of_which_both_operands_are_negative_do_not_share():
    group = next(g for g in groups(4) if hyq().operations[g[0]].kind is Kind.ADD)
    operations = list(hyq().operations)
    operations[group[0]] = replace(operations[group[0]], operands=(Operand(0, True), Operand(1, True)))
    assert shareable(replace(hyq(), operations=tuple(operations)), [group]) == ()


def test_sines_and_cosines_share_together_or_not_at_all():
    turns = [g for g in groups(4) if hyq().operations[g[0]].kind in (Kind.SIN, Kind.COS)]
    alone = [g for g in turns if hyq().operations[g[0]].kind is Kind.SIN]
    assert len(turns) == 6
    assert shareable(hyq(), alone) == ()


@pytest.mark.parametrize("ii", [2, 4, 8])
def test_twins_have_one_unit_and_follow_each_other(ii):
    design = bound(ii)
    size = len(design.twins[0])
    for unit in design.units:
        for slot, index in unit.steps.items():
            (value, *_) = design.steps[index].results
            steps = {design.producer[twin] for twin in design.group(value)}
            assert steps <= set(unit.steps.values())
            assert slot == design.starts[index] % ii
    for group in design.twins:
        first = design.ready[group[0]]
        assert [design.ready[value] - first for value in group] == [k * ii // size for k in range(size)]
        assert len({design.hosts[value] for value in group}) == 1


def test_twins_share_one_delay_line_that_moves_once_a_limb():
    design = bound(8)
    for group in design.twins[:50]:
        first, second = group[:2]
        assert design.interval(first) == design.interval(second) == 2
        assert design.tap(second, design.ready[second]) == Tap(first, 0)
        assert design.tap(second, design.ready[second] + 3) == Tap(first, 2)
        assert second not in design.stages


def test_shared_limbs_take_as_many_multipliers_and_far_fewer_adders_and_multiplexers():
    device = target("xcvu9p")
    designs = schedule_pipeline(hyq(), device, BuildOptions(ii=4)), bound(4)
    alone, shared = (counts(hyq(), design) for design in designs)
    known = [operation.kind in (Kind.ADD, Kind.SELECT) for operation in hyq().operations]
    assert shared.multipliers <= 1.1 * alone.multipliers
    sums = [sum(known[i] for i in design.producer if design.group(i)[0] == i) for design in designs]
    assert 3 * sums[1] < sums[0] == sum(known)
    assert 8 * shared.multiplexed_bits < alone.multiplexed_bits
    assert shared.delay_bits < alone.delay_bits
    apart, together = (load(core_cost(hyq(), design, device).estimate, device) for design in designs)
    assert together < apart


def test_at_an_interval_of_the_limbs_products_need_no_registers_in_front():
    products = [step for step in bound(4).steps if step.resource in MULTIPLIERS and step.limbs == 4]
    assert products
    assert not any(step.registered for step in products)
    assert all(step.registered for step in bound(8).steps if step.resource in MULTIPLIERS)


def test_units_choose_their_operands_once_of_twins_too():
    """One operand of these products is the same for all legs, so no time is spent on a second selection."""
    group = next(g for g in groups(8) if hyq().operations[g[0]].kind is Kind.MULTIPLY)
    common = hyq().operations[group[0]].operands[1]
    operations = list(hyq().operations)
    for i in group:
        operations[i] = replace(operations[i], operands=(operations[i].operands[0], common))
    program = replace(hyq(), operations=tuple(operations))
    alone, shared = (problem(program, target("xcvu9p"), None, 8, twins) for twins in ((), groups(8)))
    longest = [
        max(step.setup for step in task.steps if step.resource in MULTIPLIERS) for task in (alone, shared)
    ]
    assert longest[0] == longest[1]


def test_a_clock_too_fast_for_selecting_twins_is_refused():
    """These selections also add, and select among twins that are not in one delay line."""
    flag = next(i for i, operation in enumerate(hyq().operations) if operation.kind is Kind.INPUT)
    group = next(g for g in groups(8) if all(len(hyq().operations[i].operands) == 2 for i in g))
    operations = list(hyq().operations)
    for i in group:
        taken = tuple(replace(operand, negative=True) for operand in operations[i].operands)
        operations[i] = replace(
            operations[i], kind=Kind.SELECT, operands=(Operand(flag), *taken), checked=True
        )
    program, device = replace(hyq(), operations=tuple(operations)), target("ecp5-85")
    device = replace(device, delays=replace(device.delays, add=4.0, bit=0.1))
    assert problem(program, device, 100.0, 8).clock_mhz == 100.0
    with pytest.raises(InputError) as refusal:
        problem(program, device, 100.0, 8, groups(8))
    expected = "clock: 100 MHz is too fast for this design on ecp5-85; expected at most 89 MHz"
    assert str(refusal.value) == expected


def test_a_program_without_twins_has_the_cost_of_its_operations():
    plan = schedule_pipeline(hyq(), target("xcvu9p"), BuildOptions(ii=1))
    spatial = counts(hyq(), plan)
    kinds = Counter(operation.kind for operation in hyq().operations)
    added = sum(o.kind is Kind.SCALE and plan.alone(i) for i, o in enumerate(hyq().operations))
    assert spatial.multipliers == kinds[Kind.MULTIPLY] + kinds[Kind.SCALE] - added
    assert spatial.adders >= kinds[Kind.ADD] + kinds[Kind.SELECT] + added
    assert spatial.multiplexed_bits == 0
    assert Resource.MULTIPLIER in {step.resource for step in bound(4).steps}
