"""Error figures: medians and largest errors by stratum, and the budgets that they support."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.fixed.figures import ErrorFigures, FunctionErrors, Histogram, ResultErrors, WorstTask, most_flagged

ERRORS = np.array([1e-4, 3e-4, 2e-4, 9.0, 4e-4, 8e-4])
UNFLAGGED = np.array([True, True, True, False, True, True])
STRATUM = np.array([0, 0, 0, 0, 2, 2])
TASKS = {"q": np.arange(12.0).reshape(6, 2), "h": np.arange(6.0)}


def figures(samples=1000, flagged=0, largest=5e-4, **others):
    whole = ErrorFigures(1e-4, largest, samples, flagged)
    return ResultErrors(whole, {"box": whole} | others)


def test_flagged_tasks_do_not_count_and_strata_are_apart():
    errors = ResultErrors.of(ERRORS, UNFLAGGED, ~UNFLAGGED, STRATUM, ("box", "motion", "rest"), 0.5, TASKS)
    assert errors.whole == ErrorFigures(3e-4, 8e-4, 6, 1, 1)
    assert errors.strata == {
        "box": ErrorFigures(2e-4, 3e-4, 4, 1, 1),
        "rest": ErrorFigures(pytest.approx(6e-4), 8e-4, 2, 0),
    }
    assert errors.floor == 0.5
    assert errors.worst == WorstTask(5, "rest", {"q": [10.0, 11.0], "h": [5.0]})
    assert errors.histogram == Histogram(0, -16, (1, 2, 1, 1))


def test_errors_are_counted_in_quarters_of_decades():
    assert Histogram.of(np.array([0.0, 1e-13, 0.9e-3, 1.1e-3, 1.7e-3, 1.0])) == Histogram(
        2, -13, (1, 2, *11 * (0,), 1)
    )
    assert Histogram.of(np.zeros(3)) == Histogram(3, 0, ())


def test_without_an_unflagged_task_errors_are_infinite():
    none, every = np.zeros(6, bool), np.ones(6, bool)
    assert ErrorFigures.of(ERRORS, none, none) == ErrorFigures(math.inf, math.inf, 6, 6)
    assert ErrorFigures.of(ERRORS, every, every) == ErrorFigures(math.inf, math.inf, 6, 0, 6)


def test_clipped_tasks_are_counted_and_their_errors_are_not():
    clipped = np.array([True, False, True, True, False, False])
    summary = ErrorFigures.of(ERRORS, np.ones(6, bool), clipped)
    assert summary == ErrorFigures(4e-4, 8e-4, 6, 0, 3)
    assert summary.stated
    clipped[1] = True
    summary = ErrorFigures.of(ERRORS, np.ones(6, bool), clipped)
    assert summary == ErrorFigures(pytest.approx(6e-4), 8e-4, 6, 0, 4)
    assert not summary.stated
    assert ErrorFigures.largest([summary, summary]) == summary


def test_a_stratum_of_clipped_tasks_needs_no_budget_and_the_rest_of_another_does():
    every, most = ErrorFigures(math.inf, math.inf, 50, 0, 50), ErrorFigures(1e-5, 7e-3, 50, 0, 40)
    assert figures(motion=every).bounds == {"box": 1.5e-3}
    assert figures(motion=most).bounds == {"box": 1.5e-3, "motion": 2.1e-2}


def test_figures_support_three_times_their_largest_error():
    """Tasks beyond the samples have larger errors. Over 1% of flagged tasks support no budget."""
    assert figures(flagged=10).bound == 1.5e-3
    assert figures(flagged=11).bound == math.inf


def test_every_stratum_counts():
    rest = ErrorFigures(1e-5, 7e-3, 50, 0)
    assert figures(rest=rest).bounds == {"box": 1.5e-3, "rest": 2.1e-2}
    assert figures(rest=rest).bound == 2.1e-2
    flagged = {"rest": ErrorFigures(1e-5, 1e-5, 50, 4), "single": ErrorFigures(1e-5, 1e-5, 50, 3)}
    assert figures(**flagged).bounds == {"box": 1.5e-3, "rest": math.inf, "single": pytest.approx(3e-5)}


def test_the_figures_of_a_function_are_the_largest_of_its_results():
    first, second = figures(rest=ErrorFigures(3e-5, 7e-3, 50, 0)), figures(largest=9e-4)
    second = replace(second, strata=second.strata | {"rest": ErrorFigures(4e-5, 5e-5, 50, 0)})
    both = FunctionErrors({"da_dq": first, "da_dv": second})
    assert both.whole == ErrorFigures(1e-4, 9e-4, 1000, 0)
    assert both.strata == {"box": both.whole, "rest": ErrorFigures(4e-5, 7e-3, 50, 0)}
    assert (both.bound, both.worst) == (2.1e-2, ("da_dq", "rest"))


def test_simulations_allow_the_budget_or_what_the_figures_support():
    assert figures().limit(2e-3) == 2e-3
    assert figures().limit(None) == 1.5e-3
    assert figures(largest=0.3).limit(None) == 0.1


@pytest.mark.parametrize(("tasks", "most"), [(1, 1), (10, 2), (100, 5), (1000, 20), (100_000, 1095)])
def test_chance_is_allowed_for(tasks, most):
    """A design that flags a hundredth of all tasks exceeds the limit in fewer than 1 of 400 cases."""
    assert most_flagged(tasks) == most
    tail = 1.0 - math.fsum(
        math.exp(k * math.log(0.01 * tasks) - 0.01 * tasks - math.lgamma(k + 1)) for k in range(most + 1)
    )
    assert tail < 1 / 400
