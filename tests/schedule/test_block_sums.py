"""Sums in the blocks of products: fewer adders, no later results, and blocks that can compute them."""

from functools import cache

import pytest

from rbdhw.fixed.block_sum import BlockSum
from rbdhw.schedule.binding import bind
from rbdhw.schedule.block_sums import add_in_blocks, latest_moments
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import pairs_in_blocks
from rbdhw.schedule.problem import problem
from rbdhw.schedule.verify import verify
from rbdhw.target import SUM_BITS, target
from tests.support.builds import program_of


@cache
def tasks(robot="iiwa14", width=18, device="xcvu9p", clock=125.0):
    """Return a program with its problem without sums in blocks, with those that are soonest, and with all."""
    program, part = program_of(robot, width), target(device)
    plain = problem(program, part, clock, 1)
    soonest = add_in_blocks(program, plain, part)
    latest = latest_moments(program, soonest, bound(program, soonest))
    return program, plain, soonest, add_in_blocks(program, plain, part, latest)


def bound(program, task):
    plan = schedule(task)
    verify(task, plan)
    return bind(program, task, plan, 4)


@pytest.mark.parametrize(("robot", "width"), [("iiwa14", 18), ("iiwa14", 27), ("toy", 18)])
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
