"""Sums in the blocks of products: fewer adders, no later results, and blocks that can compute them."""

from functools import cache

import pytest

from rbdhw.fixed.block_sum import BlockSum
from rbdhw.fixed.pre_sum import PreSum
from rbdhw.schedule.binding import bind
from rbdhw.schedule.block_sums import add_in_blocks
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import pairs_in_blocks
from rbdhw.schedule.problem import problem
from rbdhw.schedule.verify import verify
from rbdhw.target import SUM_BITS, target
from tests.support.builds import program_of
from tests.support.marks import long


@cache
def tasks(robot="iiwa14", width=18, device="xcvu9p", clock=140.0):
    """Return a program with its problem without sums in blocks, with those that are soonest, and with all."""
    program, part = program_of(robot, width), target(device)
    plain = problem(program, part, clock, 1)
    kept, soonest = add_in_blocks(program, plain, part)
    every, task = add_in_blocks(kept, soonest, part, bound(kept, soonest))
    return every, plain, soonest, task


def bound(program, task):
    plan = schedule(task)
    verify(task, plan)
    return bind(program, task, plan, 4)


@pytest.mark.parametrize(("robot", "width"), [long("iiwa14", 18), long("iiwa14", 27), ("toy", 18)])
def test_no_function_is_later_and_many_adders_go(robot, width):
    program, plain, soonest, every = tasks(robot, width)
    before, first, last = (bound(program, task).latency for task in (plain, soonest, every))
    assert all(first[function] <= cycles for function, cycles in before.items())
    assert last == first
    adders = [sum(step.resource is None for step in task.steps) for task in (plain, soonest, every)]
    assert adders[0] > adders[1] >= adders[2]
    if (robot, width) == ("iiwa14", 18):
        assert first["id"] < before["id"]
        assert adders[2] < 0.7 * adders[0]
    multipliers = [task.limits for task in (plain, soonest, every)]
    assert multipliers[0] == multipliers[1] == multipliers[2]


def test_a_step_waits_for_the_addend():
    program, _, _, every = tasks()
    pairs = dict(pairs_in_blocks(every.steps))
    assert pairs
    for step in every.steps:
        if step.results[0] in pairs:
            found = BlockSum.of(program, *step.results)
            constant = program.operations[found.addend.value].kind == "constant"
            assert constant or found.addend.value in step.operands
            assert found.place + found.aligned < SUM_BITS


@pytest.mark.parametrize(("device", "clock"), [("ecp5-85", None), ("xcvu9p", 400.0)])
def test_blocks_that_cannot_add_at_once_add_nothing(device, clock):
    """Those of an ECP5 have no adder, and products of a fast clock have registers before it."""
    _, plain, soonest, _ = tasks("toy", 18, device, clock)
    assert soonest.steps == plain.steps


def test_blocks_of_seven_series_add_only_what_they_do_not_negate():
    program, _, _, every = tasks("toy", 18, "xc7a200t", 50.0)
    pairs = pairs_in_blocks(every.steps)
    assert pairs
    assert all(BlockSum.of(program, *pair).below for pair in pairs)


@pytest.mark.parametrize(
    ("robot", "device", "clock"), [("iiwa14", "xcvu9p", 125.0), ("toy", "xc7a200t", 50.0)]
)
def test_sums_in_front_of_products_have_no_step_of_their_own(robot, device, clock):
    program, plain, soonest, every = tasks(robot, 18, device, clock)
    sums = {step.pre_sum for step in every.steps} - {None}
    assert sums >= {step.pre_sum for step in soonest.steps} - {None} > set()
    computed = {value for step in every.steps for value in step.results}
    assert not sums & computed
    assert sums <= {value for step in plain.steps for value in step.results}
    steps = {step.results[0]: step for step in every.steps}
    for i, operation in enumerate(program.operations):
        for value in sums.intersection(operand.value for operand in operation.operands):
            added = PreSum.of(program, value)
            read = {added.first.value, added.second.value}
            constants = {v for v in read if program.operations[v].kind == "constant"}
            assert steps[i].pre_sum == value
            assert read - constants <= {*steps[i].operands}
            assert value not in steps[i].operands


def test_no_sum_is_in_front_of_a_product_whose_cycle_has_no_room_for_it():
    """The sum stays apart where a product of the block with its sum takes more than a cycle."""
    program, part = program_of("toy", 18), target("xcvu9p")
    plain = problem(program, part, None, 1)
    product = max(step.setup for step in plain.steps if step.resource is not None)
    fast = problem(program, part, 1e3 / (product + plain.pre_add / 2 + part.delays.overhead), 1)
    _, task = add_in_blocks(program, fast, part)
    assert task.pre_add
    assert all(step.setup <= task.period for step in task.steps)
    verify(task, schedule(task))


def test_blocks_without_a_pre_adder_take_no_sum_in_front():
    program, part = program_of("toy", 18), target("ecp5-85")
    task = problem(program, part, None, 1)
    assert not task.pre_add
    assert add_in_blocks(program, task, part)[0] is program
