"""The times of stages that loop, and the memory of the words that all stages of a task read."""

import math
from dataclasses import replace
from functools import cache

import pytest

from rbdhw.cores.steps.loop import LoopCore
from rbdhw.cores.steps.memories import shared_words
from rbdhw.cores.steps.verify import SweepError, verify_sweeps
from rbdhw.explore.search import BuildSearch
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.stage_loops import loop_core, search_of

STAGES = 4


@cache
def search() -> BuildSearch:
    return search_of(load_urdf(path("toy")), "rk4")


@cache
def core(window: int) -> LoopCore:
    return loop_core(search(), window)


@pytest.mark.parametrize("window", [1, 2, 3, 16])
def test_a_stage_waits_for_the_one_before_and_has_its_windows_alone(window: int) -> None:
    schedule = core(window).schedule
    (time,) = schedule.sweeps
    assert (schedule.ii, schedule.links) == (STAGES * window, STAGES)
    assert time.delay <= time.step <= time.delay + 1
    assert math.gcd(time.step, STAGES) == 1
    assert schedule.latency == {"rk4": (time.start + 3 * time.step + time.delay) * window}


@pytest.mark.parametrize("window", [1, 2, 16])
def test_each_stage_reads_the_words_of_its_task(window: int) -> None:
    """The memory window by window: written when a task starts, and read in the window before a stage."""
    loop_core = core(window)
    (time,), words = loop_core.schedule.sweeps, shared_words(loop_core.program, loop_core.schedule, 0)
    assert words is not None
    held: dict[int, int] = {}
    entries = {
        (STAGES * task + time.enters(k, STAGES)): (task, k) for task in range(40) for k in range(STAGES)
    }
    assert len(entries) == 40 * STAGES
    for now in range(40 * STAGES):
        if now + 1 in entries:
            task, stage = entries[now + 1]
            newest = now // STAGES
            assert held[(newest - words.ages[stage]) % words.depth] == task
        if now % STAGES == 0:
            held[now // STAGES % words.depth] = now // STAGES


def test_each_rule() -> None:
    loop_core = core(2)
    (time,) = loop_core.schedule.sweeps
    verify_sweeps(loop_core.program, loop_core.schedule)

    def refusal(output: int | None = None, **changes: int) -> str:
        changed = replace(loop_core.schedule, sweeps=(replace(time, **changes),))
        if output is not None:
            changed = replace(changed, output=output)
        with pytest.raises(SweepError) as error:
            verify_sweeps(loop_core.program, changed)
        return str(error.value)

    assert refusal(step=time.step + 1) == "stage: two links enter in one window"
    assert "link 1 enters before window" in refusal(step=time.step - 2)
    assert "link 0 enters before window 2" in refusal(start=1)
    assert refusal(output=loop_core.schedule.output - 1) == "the results leave before they are ready"
