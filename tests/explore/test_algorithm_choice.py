"""The choice of algorithms by what they take in number formats, from forecasts made by hand."""

import math
from dataclasses import replace

import pytest

from rbdhw.explore.algorithm_choice import MOST_MEASURED, AccuracyChoice, Candidate, explain, tried_entries
from rbdhw.fixed.search import BudgetMissed
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.quantize.forecast import Accuracy

SOLVES = Algorithms(products="solves")
DENSE = Algorithms()
REPEATED = Algorithms(gradient="repeated")


class Bench:
    """A choice among algorithms of which each has operations, errors by function, and wide blocks."""

    def __init__(self, budget, facts, measured=None, steps=("products",)):
        self.facts, self.truth = facts, facts | (measured or {})
        self.forecasts, self.measured = [], []
        groups = [
            lambda chosen, step=step: [replace(chosen, **{step: name}) for name in ALGORITHMS[step]]
            for step in steps
        ]
        self.choice = AccuracyChoice(budget, groups, self.forecast, self.measure)

    def forecast(self, algorithms, limit):
        operations, bounds, extra = self.facts.get(algorithms, (math.inf, {}, 0))
        if operations > limit or algorithms in self.forecasts or operations == math.inf:
            return None
        self.forecasts.append(algorithms)
        return Candidate(algorithms, operations, Accuracy(bounds, extra, ((27, 18),), {}))

    def measure(self, candidate):
        self.measured.append(candidate.algorithms)
        _, bounds, extra = self.truth[candidate.algorithms]
        return replace(candidate, measured=Accuracy(bounds, extra, ((27, 18),), {}))

    def choose(self, first):
        return self.choice.choose(self.measure(Candidate(first, self.facts[first][0])))


def test_what_meets_the_budget_in_single_blocks_is_taken_without_a_comparison():
    bench = Bench(1e-3, {SOLVES: (900.0, {"fd": 9e-4}, 0), DENSE: (950.0, {"fd": 1e-6}, 0)})
    (only,) = bench.choose(SOLVES)
    assert only.algorithms == SOLVES
    assert bench.forecasts == []
    (entry,) = tried_entries([only], ["products"], 1e-3)
    assert (entry["taken"], entry["predicted"]) == (True, None)
    assert entry["measured"] == {"supports": {"fd": 9e-4}, "widths": [[27, 18]], "extra_blocks": 0}


def test_another_is_taken_where_the_cheapest_misses_the_budget():
    bench = Bench(1e-3, {SOLVES: (900.0, {"fd": 3e-3}, 900), DENSE: (950.0, {"fd": 9e-4}, 100)})
    best, other = bench.choose(SOLVES)
    assert (best.algorithms, other.algorithms) == (DENSE, SOLVES)
    assert bench.measured == [SOLVES, DENSE]
    assert [entry["why"] for entry in tried_entries([best, other], ["products"], 1e-3)] == [
        "costs 1050 in the budget, wide products included",
        "misses the budget",
    ]


def test_a_forecast_that_does_not_hold_leads_to_the_next():
    block = Algorithms(inverse="block_pivots")
    facts = {
        SOLVES: (900.0, {"fd": 3e-3}, 0),
        DENSE: (950.0, {"fd": 9e-4}, 0),
        block: (960.0, {"fd": 9e-4}, 0),
    }
    bench = Bench(1e-3, facts, {DENSE: (950.0, {"fd": 1.1e-3}, 0)}, ("products", "inverse"))
    assert [candidate.algorithms for candidate in bench.choose(SOLVES)] == [block, DENSE, SOLVES]
    assert bench.measured == [SOLVES, DENSE, block]


def test_wide_products_count_as_the_blocks_that_they_take():
    facts = {SOLVES: (900.0, {"fd": 9e-4}, 300), DENSE: (950.0, {"fd": 9e-4}, 20)}
    best, other = Bench(1e-3, facts).choose(SOLVES)
    assert (best.algorithms, best.cost) == (DENSE, 970.0)
    assert (other.algorithms, other.cost) == (SOLVES, 1200.0)


def test_a_saving_that_is_forecast_but_not_there_is_not_taken():
    facts = {SOLVES: (900.0, {"fd": 9e-4}, 300), DENSE: (950.0, {"fd": 9e-4}, 20)}
    best, other = Bench(1e-3, facts, {DENSE: (950.0, {"fd": 9e-4}, 400)}).choose(SOLVES)
    assert (best.algorithms, other.algorithms) == (SOLVES, DENSE)


def test_algorithms_whose_operations_alone_cost_as_much_are_not_forecast():
    facts = {SOLVES: (900.0, {"fd": 9e-4}, 150), DENSE: (1000.0, {"fd": 9e-4}, 0)}
    bench = Bench(1e-3, facts)
    assert [candidate.algorithms for candidate in bench.choose(SOLVES)] == [SOLVES]
    assert DENSE not in bench.forecasts


def test_groups_of_steps_are_decided_one_after_the_other():
    first = Algorithms(products="solves", gradient="repeated")
    facts = {
        first: (800.0, {"fd": 3e-3, "difd": 9e-3}, 0),
        REPEATED: (850.0, {"fd": 1e-4, "difd": 9e-3}, 0),
        SOLVES: (900.0, {"fd": 3e-3, "difd": 1e-4}, 0),
        DENSE: (950.0, {"fd": 1e-4, "difd": 1e-4}, 0),
    }
    bench = Bench(1e-3, facts, steps=("gradient", "products"))
    assert bench.choose(first)[0].algorithms == DENSE


@pytest.mark.parametrize(
    ("operations", "error", "best"),
    [
        (930.0, 1e-2, DENSE),  # eight times more accurate
        (930.0, 3e-2, REPEATED),  # less than four times
        (1000.0, 1e-2, REPEATED),  # too dear
    ],
)
def test_at_a_width_a_small_saving_does_not_make_errors_far_worse(operations, error, best):
    facts = {
        REPEATED: (900.0, {"dfd": 0.1, "difd": 8e-2}, 0),
        DENSE: (operations, {"dfd": 0.12, "difd": error}, 0),
    }
    candidates = Bench(None, facts, steps=("gradient",)).choose(REPEATED)
    assert candidates[0].algorithms == best
    entries = tried_entries(candidates, ["gradient"], None)
    assert [entry["taken"] for entry in entries] == [True] + [False] * (len(entries) - 1)


def test_at_a_width_errors_within_the_default_budget_are_as_good_as_any():
    facts = {REPEATED: (900.0, {"dfd": 9e-4}, 0), DENSE: (901.0, {"dfd": 1e-6}, 0)}
    bench = Bench(None, facts, steps=("gradient",))
    assert [candidate.algorithms for candidate in bench.choose(REPEATED)] == [REPEATED]


def test_results_that_all_overflow_are_worse_than_any_error():
    facts = {REPEATED: (900.0, {"dfd": math.inf}, 0), DENSE: (930.0, {"dfd": 0.5}, 0)}
    assert Bench(None, facts, steps=("gradient",)).choose(REPEATED)[0].algorithms == DENSE


def test_only_so_many_are_measured_before_a_budget_is_refused():
    names = [
        Algorithms(inverse=inverse, products=products)
        for inverse in ALGORITHMS["inverse"]
        for products in ALGORITHMS["products"]
    ]
    facts = {algorithms: (900.0 + k, {"fd": 9e-4}, 0) for k, algorithms in enumerate(names)}
    facts[SOLVES] = (800.0, {"fd": 2e-3}, 0)
    truth = {algorithms: (900.0, {"fd": 1.5e-3}, 0) for algorithms in names} | {SOLVES: facts[SOLVES]}
    bench = Bench(1e-3, facts, truth, ("inverse", "products", "inverse"))
    bench.choose(SOLVES)
    assert len(bench.measured) == 1 + MOST_MEASURED


@pytest.mark.parametrize(("bound", "told"), [(3e-3, "supports 0.003"), (math.inf, "overflows")])
def test_a_refusal_names_what_was_tried_and_what_may_help(bound, told):
    block = Algorithms(inverse="block_pivots")
    facts = {
        SOLVES: (900.0, {"fd": bound}, 0),
        DENSE: (950.0, {"fd": 1.4e-3}, 0),
        block: (960.0, {"fd": 2e-3}, 0),  # too far from the budget to be measured
    }
    candidates = Bench(1e-3, facts, steps=("products", "inverse")).choose(SOLVES)
    refusal = BudgetMissed("max-error", "no supported width meets 0.001", remedy="use a larger --max-error")
    explained = explain(
        refusal, candidates, ["axes", "products"], 1e-3, "inverse=articulated, forward=inverse"
    )
    assert explained.where == "max-error"
    assert explained.reason == (
        "no supported width meets 0.001; this is by products=dense; "
        f"also tried: products=solves ({told}); 1 more would not meet it by prediction"
    )
    assert explained.remedy == (
        "use --algorithm inverse=articulated, --algorithm forward=inverse, a larger --max-error"
    )
