"""Confidence in errors: the bounds cover whatever is drawn, and their tasks chose nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from rbdhw.design.folder import read
from rbdhw.domain.strata import STRATA
from rbdhw.runtime.number_bounds import CONFIDENCES
from rbdhw.sim.confidence import (
    STATED_SHARE,
    confidence_entry,
    confirm,
    largest_ratios,
    largest_share,
    tasks_needed,
)
from rbdhw.sim.pieces import CONFIRMED, SIMULATED, piece_rng


@pytest.mark.parametrize("level", [0.9, 0.999, CONFIDENCES[1]])
def test_as_many_tasks_as_needed_state_the_share(level):
    needed = tasks_needed(level)
    assert largest_share(needed, 0, level) <= STATED_SHARE < largest_share(needed - 1, 0, level)
    assert largest_share(needed, 0, level) == pytest.approx(1.0 - (1.0 - level) ** (1.0 / needed))


def test_all_or_no_tasks_beyond_tell_nothing():
    assert largest_share(7, 7, 0.999) == largest_share(0, 0, 0.999) == 1.0


@pytest.mark.parametrize("tasks", [20, 300])
@pytest.mark.parametrize("level", [0.9, 0.999])
def test_the_bound_covers_every_share(tasks, level):
    counts = np.arange(tasks + 1)
    bounds = np.array([largest_share(tasks, int(k), level) for k in counts])
    for share in (1e-4, 1e-3, 0.01, 0.1, 0.37, 0.9, 0.999):
        covered = binom.pmf(counts, tasks, share)[bounds >= share].sum()
        assert covered >= level - 1e-12


def exceeded(name: str, rng: np.random.Generator, size: int) -> tuple[np.ndarray, float]:
    """Return ratios of errors to a limit, and the share of the distribution beyond it."""
    draws, share = {
        "lognormal": (rng.lognormal(-2.0, 1.0, size), 0.02275),
        "pareto": (0.1 * (1.0 + rng.pareto(2.0, size)), 0.01),
        "two values": (np.where(rng.random(size) < 0.005, 3.0, 0.5), 0.005),
    }[name]
    return draws, share


@pytest.mark.parametrize("name", ["lognormal", "pareto", "two values"])
def test_errors_of_any_distribution_are_covered(name):
    rng, level, runs = np.random.default_rng(5), 0.9, 300
    stratum, missed = np.zeros(400, np.int64), 0
    for _ in range(runs):
        ratios, share = exceeded(name, rng, 400)
        missed += confidence_entry(level, ratios, stratum == 0, stratum).strata["box"].share < share
    assert missed <= binom.ppf(0.9999, runs, 1.0 - level)


def test_only_tasks_that_count_are_counted():
    ratios = np.array([0.5, 2.0, 0.25, np.nan, 9.0])
    counted, stratum = np.array([True, True, True, True, False]), np.array([0, 0, 1, 2, 1])
    strata = confidence_entry(0.9, ratios, counted, stratum).strata
    assert [(strata[k].tasks, strata[k].beyond) for k in STRATA] == [(2, 1), (1, 0), (1, 1), (0, 0), (0, 0)]
    assert (strata["box"].largest, strata["motion"].largest, strata["single"].largest) == (2.0, 0.25, None)


def test_no_error_is_within_the_limit_of_a_result_that_is_always_zero(rail_folder):
    stated = read(rail_folder).description.error["id"]
    (result, entry), errors = next(iter(stated.results.items())), np.array([0.0, 0.05, 0.2, np.nan])
    np.testing.assert_array_equal(largest_ratios({result: errors}, stated), [0.0, 0.5, 2.0, np.nan])
    zero = stated.model_copy(update={"results": {result: entry.model_copy(update={"limit": 0.0})}})
    np.testing.assert_array_equal(largest_ratios({result: errors}, zero), [0.0, np.inf, np.inf, np.nan])


def test_the_tasks_are_none_of_those_that_chose_formats():
    choosing = {tuple(np.random.default_rng((3, k)).random(4)) for k in range(8)}
    choosing |= {tuple(np.random.default_rng((3, k)).random(4)) for k in (16_384, 32_768)}
    fresh = {
        tuple(piece_rng(3, k, use).random(4)) for k in (0, 1, 3, 16_384) for use in (SIMULATED, CONFIRMED)
    }
    assert len(fresh) == 8
    assert not fresh & choosing


def test_a_design_confirms_its_errors_and_an_error_beyond_is_counted(rail_folder):
    design = read(rail_folder)
    stated = design.description.error
    right = confirm(design, stated, 0.99, seed=1)
    assert all(entry.share <= STATED_SHARE for each in right.values() for entry in each.strata.values())
    tight = {
        name: entry.model_copy(
            update={"results": {k: r.model_copy(update={"limit": 1e-6}) for k, r in entry.results.items()}}
        )
        for name, entry in stated.items()
    }
    wrong = confirm(design, tight, 0.99, seed=1)
    assert all(
        each.strata["box"].beyond > 1000 and each.strata["box"].share > 0.05 for each in wrong.values()
    )


def test_flagged_tasks_do_not_count(rail_folder):
    design = read(rail_folder)
    beyond = np.tile([0.65, 0.95], (len(design.robot.bodies), 1))
    flagging = replace(design, domain=replace(design.domain, bounds=design.domain.bounds | {"q": beyond}))
    for entry in confirm(flagging, design.description.error, 0.5, seed=1)["id"].strata.values():
        assert (entry.tasks, entry.largest, entry.share) == (0, None, 1.0)


def test_the_commands_state_it(rail_folder, rbdhw):
    status, out, _ = rbdhw("simulate", rail_folder, "--tasks", 40, "--bulk", "--confidence", 0.5, "--json")
    report = json.loads(out)["functions"]["id"]["confidence"]
    assert (status, report["level"]) == (0, 0.5)
    assert all(entry["tasks"] > 40 and entry["share"] < 1e-3 for entry in report["strata"].values())
    status, _, err = rbdhw("simulate", rail_folder, "--confidence", 1)
    assert (status, "confidence: 1 is not a confidence" in err) == (2, True)
