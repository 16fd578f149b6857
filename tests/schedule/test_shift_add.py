"""Products by constants in adders: used if they cost less and are not later."""

from dataclasses import replace

import pytest

from rbdhw.fixed.program import Kind
from rbdhw.fixed.recoding import shift_add
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Resource
from rbdhw.schedule.problem import problem, sized_for
from rbdhw.schedule.verify import verify
from rbdhw.target import target
from tests.support.builds import program_of

PROGRAM = program_of("iiwa14", 18)
SCALES = [i for i, operation in enumerate(PROGRAM.operations) if operation.kind is Kind.SCALE]


def steps(program, device="xcvu9p", clock=None, ii=1, twins=()):
    """Return the problem, and the step of each product by a constant."""
    task = problem(program, target(device), clock, ii, twins)
    by_value = {step.results[0]: step for step in task.steps}
    return task, {
        i: by_value[i] for i, operation in enumerate(program.operations) if operation.kind is Kind.SCALE
    }


def with_constants(program, constants):
    """Return the program with other constants."""
    operations = list(program.operations)
    for i, constant in constants.items():
        operations[i] = replace(operations[i], constant=constant)
    return replace(program, operations=tuple(operations))


def test_two_terms_cost_less_than_a_block_and_more_than_a_slot():
    program = with_constants(PROGRAM, dict.fromkeys(SCALES, 5))
    for ii, resource in ((1, None), (2, Resource.MULTIPLIER)):
        _, products = steps(program, ii=ii)
        assert {step.resource for step in products.values()} == {resource}


def test_powers_of_two_take_nothing():
    program = with_constants(PROGRAM, dict.fromkeys(SCALES, 1))
    operations = [replace(o, drop=0) if o.kind is Kind.SCALE else o for o in program.operations]
    for ii in (1, 16):
        _, products = steps(replace(program, operations=tuple(operations)), ii=ii)
        assert {(step.resource, step.delay, step.latency) for step in products.values()} == {(None, 0.0, 0)}


@pytest.mark.parametrize("device", ["xcvu9p", "ecp5-85"])
def test_adders_cost_less_than_a_block_and_are_no_later(device):
    way = sized_for(PROGRAM, target(device), 1)
    task, products = steps(PROGRAM, device)
    multiply = next(step for step in task.steps if step.resource is Resource.MULTIPLIER)
    share = way.luts / way.dsp_blocks
    for i, step in products.items():
        operation = PROGRAM.operations[i]
        width = PROGRAM.operations[operation.operands[0].value].format.width
        taken = shift_add(width, operation.constant, operation.drop)
        if step.resource is None:
            assert taken.bits <= share
            assert step.delay == way.delays.sums(taken.levels) <= multiply.delay
            assert (step.latency, step.registered) == (0, False)
        else:
            assert taken.bits > share or way.delays.sums(taken.levels) > way.delays.multiply
    verify(task, schedule(task))


def test_a_fast_clock_leaves_time_for_few_adders():
    """At 400 MHz only two adders fit a cycle, and multipliers have registers."""
    task, products = steps(PROGRAM, clock=400.0)
    in_adders = [i for i, step in products.items() if step.resource is None]
    assert all(products[i].setup <= task.period for i in in_adders)
    delays = sized_for(PROGRAM, target("xcvu9p"), 1).delays
    assert {products[i].delay for i in in_adders} <= {0.0, delays.sums(1), delays.sums(2)}
    verify(task, schedule(task))


@pytest.mark.parametrize(("clock", "resource"), [(355.0, None), (390.0, Resource.MULTIPLIER)])
def test_adders_fit_a_cycle(clock, resource):
    """Three levels of adders take 2.45 ns; the cycles leave 2.48 ns and 2.2 ns."""
    _, products = steps(with_constants(PROGRAM, dict.fromkeys(SCALES, 341)), clock=clock)
    assert {step.resource for step in products.values()} == {resource}


@pytest.mark.parametrize(("second", "resource"), [(5, None), (7, Resource.MULTIPLIER)])
def test_twins_take_adders_where_their_constants_are_the_same(second, resource):
    pair = next(
        (a, b)
        for a in SCALES
        for b in SCALES
        if a < b
        and PROGRAM.operations[a].drop == PROGRAM.operations[b].drop
        and PROGRAM.operations[a].operands == PROGRAM.operations[b].operands
    )
    program = with_constants(PROGRAM, {pair[0]: 5, pair[1]: second})
    _, products = steps(program, ii=2, twins=[pair])
    assert [products[i].resource for i in pair] == [resource, resource]
    assert [products[i].limbs for i in pair] == [2, 2]
