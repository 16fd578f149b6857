"""The core of a sweep back: it equals the bit-exact model, bit for bit, and has a place for every number."""

from dataclasses import replace

import pytest

from rbdhw.cores.array.model import ArrayResource
from rbdhw.cores.sweep.array import SweepArray, build_sweep
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.target import target
from tests.support.knots import any_words, fixed_sweep, random_words
from tests.support.marks import long
from tests.support.optimal_control import toy
from tests.support.remembered import remembered
from tests.support.swept import expected, simulated

KNOTS = 2

ARM = {ArrayResource.ACCUMULATOR: 4}
"""Units with which the arm takes two problems in turn."""

MORE = {ArrayResource.SOURCE: 1, ArrayResource.ACCUMULATOR: 2}


@remembered
def fixed(width):
    return fixed_sweep(toy(), KNOTS, width)


@remembered
def built(width, ii, more=False):
    model = fixed(width)
    return build_sweep(model.sweeps, model.program, target("xcvu9p"), ii, MORE if more else None)


def most_cycles(sweep):
    """Return the most cycles until a core is ready, which it is in the cycle after the last policy.

    It starts at once from its rest, and otherwise with the next interval.
    """
    return sweep.cycles + sweep.between * sweep.schedule.ii + 2


@pytest.mark.parametrize(
    ("width", "ii", "more", "between"),
    [(18, 9, True, 3), long(27, 112, False, 1), long(32, 120, True, 1), long(24, 14, False, 2)],
)
def test_sweeps_are_those_of_the_model(width, ii, more, between):
    model, sweep = fixed(width), built(width, ii, more)
    assert sweep.between == between
    runs = [random_words(toy(), model, 10, between), any_words(model, 11, between)]
    statuses = []
    for words, (policies, cycles) in zip(runs, simulated(sweep, runs), strict=True):
        assert policies == expected(model, words)
        assert sweep.cycles <= cycles <= most_cycles(sweep)
        statuses.append({tuple(policy[-2:]) for policy in policies.values()})
    assert statuses[0] == {(0, 0)}
    assert (1, 1) in statuses[1]


@pytest.mark.parametrize("later", [long(32), long(33), long(34), 67])
def test_policies_wait_for_what_is_there_later(later, monkeypatch):
    model, sweep = fixed(18), built(18, 34, True)
    soonest = sweep.put_out
    monkeypatch.setattr(SweepArray, "put_out", soonest + later)
    assert sweep.kept == (later + 1) // 34
    words = any_words(model, 11, sweep.between)
    ((policies, _cycles),) = simulated(sweep, [words])
    assert policies == expected(model, words)
    assert {tuple(policy[-2:]) for policy in policies.values()} > {(1, 1)}


@pytest.mark.parametrize(("slot", "waits"), [long(20, 14), long(32, 2), (33, 2)])
def test_a_sweep_begins_in_any_cycle_of_an_interval(slot, waits):
    """From its rest, and in the last cycle of an interval, with which the rest begins, in two cycles."""
    model, sweep = fixed(18), built(18, 34, True)
    words = random_words(toy(), model, 10, sweep.between)
    first, second = simulated(sweep, [words, words], slot)
    assert first == (expected(model, words), sweep.cycles + 3)
    assert second == (first[0], sweep.cycles + waits + 1)


@pytest.mark.parametrize("more", [long(False), True])
def test_every_number_has_a_place_of_its_own(more):
    sweep = built(18, 34, more)
    places = sweep.places
    assert len(set(places.values())) == len(places)
    assert {name.partition("[")[0] for name in places} == {"D", "H", "g", "R"}
    parts = {sweep.row(knot, problem) for knot in range(KNOTS + 1) for problem in range(sweep.between)}
    assert parts == set(range(0, sweep.rows, sweep.rows_of_knot))


@pytest.mark.verify(minutes=2)
def test_an_arm_takes_few_look_up_tables_and_blocks():
    arm = load_urdf(path("iiwa14"))
    model = fixed_sweep(arm, 1, 27, seeds=range(2))
    sweep = build_sweep(model.sweeps, model.program, target("xcvu9p"), 264, ARM)
    assert sweep.estimate().luts <= 60_000
    assert sweep.dsp_blocks <= 400


def test_more_sources_hand_numbers_out_sooner():
    assert built(18, 34, True).rows_of_knot < built(18, 34).rows_of_knot


def test_a_longer_horizon_takes_memory_and_nothing_else():
    sweep = built(27, 112)
    longer = replace(sweep, sweeps=replace(sweep.sweeps, links=1025))
    before, after = sweep.cells(), longer.cells()
    assert after["waiting"].block_rams > before["waiting"].block_rams
    assert {part: after[part] for part in after if part != "waiting"} == {
        part: before[part] for part in before if part != "waiting"
    }
    assert longer.dsp_blocks == sweep.dsp_blocks
    assert longer.cycles - sweep.cycles == (1025 - KNOTS - 1) * 112
