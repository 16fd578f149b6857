"""The table of random problems: what is counted, and that the toy finds its optima."""

import pytest

from benchmarks import solver_starts
from benchmarks.solver_starts import ITERATIONS, start_layout, start_rows


def test_problems_are_counted_by_their_costs_and_those_without_a_solution_apart(monkeypatch):
    trials = iter([[1e-5, None], [1e-3, 1e-5], [0.5, -1e-9], *[[1e-5, 1e-5]] * 3])

    def trial(_solvers, _knots, _seed):
        first, then = next(trials)
        return {1: first} | dict.fromkeys(ITERATIONS[1:], then)

    monkeypatch.setattr(solver_starts, "solvers_of", lambda *_: None)
    monkeypatch.setattr(solver_starts, "_trial", trial)
    first, then, *others = start_layout(start_rows(starts=3))
    assert list(first.values()) == [1, 1, 3, 1, 2, "1.0e-03", "5.0e-01", 0]
    assert list(then.values()) == [1, 2, 3, 2, 2, "5.0e-06", "1.0e-05", 1]
    assert list(others[-1].values()) == [4, 10, 3, 3, 3, "1.0e-05", "1.0e-05", 0]


@pytest.mark.verify(minutes=0.3)
def test_the_toy_finds_its_optima():
    rows = start_rows("toy", 20, 20)
    for last in rows[len(ITERATIONS) - 1], rows[-1]:
        assert (last["unsolved"], last["close"]) == (0, 20)
        assert last["median"] < 1e-6
