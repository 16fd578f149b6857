"""The core of a sweep back equals the bit-exact model, bit for bit."""

import pytest

from rbdhw.cores.sweep.array import build_sweep
from rbdhw.target import target
from tests.support.knots import any_words, fixed_sweep, random_words
from tests.support.marks import long
from tests.support.optimal_control import toy
from tests.support.swept import expected, simulated

KNOTS = 2


@pytest.mark.parametrize(("width", "ii"), [(27, 100), (18, 34), long(32, 120), long(24, 52)])
def test_sweeps_are_those_of_the_model(width, ii):
    fixed = fixed_sweep(toy(), KNOTS, width)
    sweep = build_sweep(fixed.sweeps, fixed.program, target("xcvu9p"), ii)
    runs = [random_words(fixed, 10, sweep.between), any_words(fixed, 11, sweep.between)]
    statuses = []
    for words, (policies, cycles) in zip(runs, simulated(sweep, runs), strict=True):
        assert policies == expected(fixed, words)
        assert 0 <= cycles - sweep.cycles <= sweep.between * ii
        statuses.append({tuple(policy[-2:]) for policy in policies.values()})
    assert statuses[0] == {(0, 0)}
    assert (1, 1) in statuses[1]
