"""The bit-exact sweep back in a solver: it finds the optimum, and says where numbers do not fit."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.golden.riccati import sweep_back
from rbdhw.golden.solver import solve
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.solving import Solved
from tests.support.knots import fixed_sweep, random_expansion
from tests.support.marks import long
from tests.support.optimal_control import random_problem, toy

KNOTS = 6


@pytest.fixture(scope="module")
def fixed():
    return fixed_sweep(toy(), KNOTS, 27, seeds=range(16))


def test_policies_are_those_of_double_precision(fixed):
    errors = []
    for seed in range(30, 40):
        expansion = random_expansion(toy(), KNOTS, seed)
        policy, reference = fixed(expansion, 1e-3), sweep_back(expansion, 1e-3)
        for one, other in ((policy.gains, reference.gains), (policy.changes, reference.changes)):
            errors.append(np.abs(one - other).max() / np.abs(other).max())
        assert policy.decrease == pytest.approx(reference.decrease, rel=1e-3)
    assert np.median(errors) < 5e-5
    assert max(errors) < 1e-3


@pytest.mark.parametrize("seed", [40, long(41), long(42)])
def test_a_solver_finds_the_optimum(fixed, seed):
    """It takes all its iterations: the words of a decrease do not tell a small one from none."""
    problem = random_problem(toy(), KNOTS, seed, rows=0)
    optimum = solve(toy(), problem, 30, 6, 1e-12)
    assert solve(toy(), problem, 12, 6, -1.0, fixed)["cost"] == pytest.approx(
        float(optimum["cost"]), rel=1e-8
    )


def test_numbers_beyond_their_formats_have_no_policy(fixed):
    expansion = random_expansion(toy(), KNOTS, 30)
    assert fixed(replace(expansion, hessian=100.0 * expansion.hessian), 1e-3) is None


@pytest.mark.parametrize("cause", ["overflow", "indefinite"])
def test_one_cause_is_enough_for_no_policy(fixed, cause, monkeypatch):
    expansion = random_expansion(toy(), KNOTS, 30)
    sweep = FixedSweep.sweep
    raised = {cause: np.array(True)}
    monkeypatch.setattr(FixedSweep, "sweep", lambda self, words: replace(sweep(self, words), **raised))
    assert fixed(expansion, 1e-3) is None


def test_numbers_fit_up_to_the_ends_of_their_formats(fixed):
    ends = {word.name: np.full(KNOTS + 1, word.format.highest * word.format.step) for word in fixed.taken}
    assert fixed.quantise(ends)[1]
    for word in fixed.taken:
        beyond = ends | {word.name: ends[word.name] + word.format.step}
        assert not fixed.quantise(beyond)[1]


def test_a_value_that_overflows_has_no_policy(fixed):
    """All numbers are at the ends of their formats."""
    words = {word.name: np.full(KNOTS + 1, word.format.highest) for word in fixed.taken}
    assert fixed.sweep(words | {"regularisation": np.array(0)}).overflow


def test_a_solver_without_a_policy_says_so():
    narrow = fixed_sweep(toy(), KNOTS, 27, seeds=(0,))
    problem = random_problem(toy(), KNOTS, 40, rows=0)
    problem["Q"] = 1e3 * problem["Q"]
    assert solve(toy(), problem, 20, 6, 1e-9, narrow)["status"] == Solved.INDEFINITE
