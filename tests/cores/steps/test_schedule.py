"""The times of sweeps along a chain, and the check that shares nothing with the scheduler."""

import math
from dataclasses import replace
from functools import cache

import pytest

from rbdhw.cores.steps.chain import ChainCore
from rbdhw.cores.steps.memories import OUTPUT, TASK, lookups, stores
from rbdhw.cores.steps.verify import SweepError, verify_sweeps
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.target import target
from tests.support.chains import TREES, chain, options_of, program_of, tree

LINKS = 6


@cache
def program() -> UnrolledProgram:
    return program_of(chain(LINKS))


def core(window: int) -> ChainCore:
    return ChainCore.build(program(), target("xcvu9p"), options_of(LINKS, window), ())


@pytest.mark.parametrize("window", [1, 2, 3, 8])
def test_sweeps_follow_each_other(window: int) -> None:
    schedule = core(window).schedule
    assert (schedule.window, schedule.ii) == (window, LINKS * window)
    for time in schedule.sweeps:
        assert time.step >= time.delay
        assert math.gcd(time.step, LINKS) == 1
    for before, after in zip(schedule.sweeps, schedule.sweeps[1:], strict=False):
        assert after.start == before.last(LINKS) + 2
    assert schedule.latency == {"fd": (schedule.output + LINKS) * window}


def test_latency_grows_with_the_links_and_units_do_not() -> None:
    device = target("xcvu9p")
    long = ChainCore.build(program_of(chain(15)), device, options_of(15, 2), ())
    short = core(2)
    assert long.multipliers == short.multipliers
    assert 2.0 < long.latency["fd"] / short.latency["fd"] < 3.0


def test_memories_hold_what_waits() -> None:
    chain_core = core(2)
    memories = list(stores(program(), chain_core.schedule))
    pairs = {(store.writer, store.reader) for store in memories}
    assert {(TASK, "motion"), (TASK, "gather"), ("motion", "gather"), ("gather", "release")} <= pairs
    assert ("release", OUTPUT) in pairs
    for store in memories:
        assert min(store.first, store.last) >= 2
        assert max(store.first, store.last) < store.depth <= 2 * max(store.first, store.last, 1)


def broken(**changes: object) -> str:
    """Return the refusal of a schedule with changes of its second sweep, or of its output."""
    schedule = core(2).schedule
    verify_sweeps(program(), schedule)
    if "output" in changes:
        schedule = replace(schedule, output=changes["output"])
    else:
        first, second, *rest = schedule.sweeps
        schedule = replace(schedule, sweeps=(first, replace(second, **changes), *rest))
    with pytest.raises(SweepError) as refusal:
        verify_sweeps(program(), schedule)
    return str(refusal.value)


def test_branches_wait_in_memories() -> None:
    """Each link reads what its parent, its first child or its next sibling wrote, and not before."""
    parents = TREES["two arms"]
    program = program_of(tree(parents))
    schedule = ChainCore.build(program, target("xcvu9p"), options_of(len(parents), 2), ()).schedule
    links = len(parents)
    motion, children, siblings, release = lookups(program, schedule)
    times = dict(zip(("motion", "gather", "release"), schedule.sweeps, strict=True))
    for lookup in (motion, release):
        time = times[lookup.sweep]
        assert lookup.ages == (0, *((i - parents[i]) * time.step - time.delay for i in range(1, links)))
    time = times["gather"]
    step, waits = time.step, time.delay
    assert children.ages == (0, 0, step - waits, 3 * step - waits, step - waits, step - waits)
    assert siblings.ages == (0, 0, 0, step - waits, 0, 0)
    assert min(age for age in motion.ages if age) >= 2


def test_a_number_that_waits_where_a_robot_branches_is_not_read_early() -> None:
    parents = TREES["a hand"]
    program = program_of(tree(parents))
    schedule = ChainCore.build(program, target("xcvu9p"), options_of(len(parents), 2), ()).schedule
    first, *rest = schedule.sweeps
    soon = next(k for k in (first.delay + 1, first.delay) if k % len(parents))
    with pytest.raises(SweepError, match=r"motion_.*: link 1 enters before window"):
        verify_sweeps(program, replace(schedule, sweeps=(replace(first, step=soon), *rest)))


def test_each_rule() -> None:
    second, output = core(2).schedule.sweeps[1], core(2).schedule.output
    common = next(step for step in range(second.step + 1, 2 * LINKS) if math.gcd(step, LINKS) > 1)
    assert broken(step=common) == "gather: two links enter in one window"
    assert "link 5 enters before window" in broken(start=second.start - 1)
    assert "gather" in broken(step=1)
    assert broken(start=2).startswith("gather_")
    assert "before it is written" in broken(output=output - 1)
