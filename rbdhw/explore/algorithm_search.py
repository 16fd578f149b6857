"""The search for a build with the algorithms that serve it best in number formats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rbdhw.cores import KINDS
from rbdhw.cores.prepared import TRIALS, Cache
from rbdhw.domain.overrides import Overrides
from rbdhw.explore.algorithm_choice import AccuracyChoice, Candidate, explain, name_of, tried_entries
from rbdhw.explore.plan import Plan
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.fixed.gains import Row
from rbdhw.fixed.search import BudgetMissed
from rbdhw.frontend.algorithms import MOST_NODES, compared_steps, cost_of, variants, without_long_inverse
from rbdhw.frontend.alternatives import WITH_EQUAL_ERRORS, Algorithms
from rbdhw.frontend.build_graph import operation_delay
from rbdhw.graph.graph import Graph
from rbdhw.options.build import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.quantize.forecast import Accuracy, accuracy_of, accuracy_of_best, forecast
from rbdhw.robot.model import Robot


def make_plan(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Plan:
    """Run every stage before the RTL for an accelerator with one core; InputError as :func:`search_build`."""
    search = search_build(source, options, overrides, progress)
    return search.plan(search.interval())


def search_build(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> BuildSearch:
    """Return the search for a build with its algorithms.

    Raises InputError if the robot, an option or an override is not supported, or no algorithms meet the
    budget.
    """
    prepared = prepare_build(source, options, overrides, progress)
    return settle(BuildSearch(prepared, options, progress=progress))


def settle(search: BuildSearch) -> BuildSearch:
    """Return the search for the same build by the algorithms that serve it best.

    Number formats are those of the first core at the shortest interval. InputError if no algorithms meet the
    budget.
    """
    ii = search.least
    cores = search.cores(ii)
    if not cores or not search.prepared.model.choice.costs:
        return search
    trials = _Trials(search, cores[0], ii)
    first = trials.measure(Candidate(search.prepared.algorithms, trials.operations(search.prepared.graph)))
    candidates = trials.choice(search.options.algorithms).choose(first)
    best = candidates[0].algorithms
    if best not in trials.refusals:
        tried = tried_entries(candidates, trials.steps, search.options.budget)
        return _with_tried(trials.searches[best], tried)
    if len(cores) > 1:
        return search
    remedy, budget = _find_remedy(search, cores[0], ii, first), search.options.budget
    assert budget is not None
    raise explain(trials.refusals[best], candidates, trials.steps, budget, remedy)


def _with_tried(search: BuildSearch, tried: tuple[Mapping[str, Any], ...]) -> BuildSearch:
    """Return the same search with the entries on the algorithms that were tried."""
    prepared = search.prepared
    return replace(search, prepared=prepared.with_choice(replace(prepared.model.choice, tried=tried)))


def _with_algorithms(search: BuildSearch, algorithms: Algorithms) -> BuildSearch:
    """Return the search for the same build by other algorithms, with the same tasks."""
    prepared = search.prepared.with_choice(replace(search.prepared.model.choice, algorithms=algorithms))
    prepared = prepared.traced(search.options.functions, search.device.delays)
    cache = Cache()
    cache.get(TRIALS, search.trials)
    return replace(search, prepared=prepared, cache=cache)


def _find_remedy(search: BuildSearch, core: str, ii: int, first: Candidate) -> str:
    """Return the best algorithms by forecast if they differ from forced ones; empty if there are none."""
    forced = search.options.algorithms
    if not forced:
        return ""
    trials = _Trials(search, core, ii, first.accuracy.ratios)
    choice = trials.choice({})
    start, others = choice.forecasts(first.algorithms, math.inf)
    for other in others:
        changed = [step for step in forced if getattr(other.algorithms, step) != forced[step]]
        if changed and start and choice.is_promising(other, replace(first, forecast=start.forecast)):
            return name_of(other.algorithms, changed)
    return ""


class _Trials:
    """The forecasts and measurements of algorithms on one core at one interval.

    ``ratios`` are those of the smallest budget to the predicted error; by default of the first measurement.
    """

    def __init__(
        self, search: BuildSearch, core: str, ii: int, ratios: Mapping[Row, float] | None = None
    ) -> None:
        self._search, self._core, self._ii = search, core, ii
        self._delay = operation_delay(search.device.delays)
        self._operations = self.operations(search.prepared.graph)
        self._graphs = [search.prepared.graph]
        self._nodes = 0
        self._ratios = ratios
        self._poor: set[str] = set()  # the parts of the results whose errors count at a width
        self.searches = {search.prepared.algorithms: search}
        self.refusals: dict[Algorithms, BudgetMissed] = {}
        self.steps = tuple(search.prepared.model.choice.costs)

    def choice(self, forced: Mapping[str, str]) -> AccuracyChoice:
        """Return the choice among the algorithms beside the forced ones.

        At a given width only large differences of errors count.
        """
        robot, options = self._search.prepared.robot, self._search.options
        if options.budget is None:
            kept = self._search.prepared.algorithms
            forced = {step: getattr(kept, step) for step in WITH_EQUAL_ERRORS} | dict(forced)
        forced = without_long_inverse(robot, options.functions, forced)
        groups = [
            partial(variants, robot, steps=steps, forced=forced, soonest=options.soonest)
            for steps in compared_steps(robot, options.functions, forced)
        ]
        return AccuracyChoice(options.budget, groups, self.forecast, self.measure)

    def operations(self, graph: Graph) -> float:
        """Return the cost of a graph's operations, by which algorithms are compared."""
        return cost_of(graph, self._delay, self._search.options.soonest).total

    def forecast(self, algorithms: Algorithms, limit: float) -> Candidate | None:
        """Return the forecast of algorithms; None if they cost more than the limit, or if it is known.

        Further ones of a large robot are left out, as in :mod:`rbdhw.frontend.algorithms`.
        """
        search = self.searches.get(algorithms)
        if search is None:
            least = self._operations * self._search.prepared.model.choice.cost_factor(algorithms)
            if self._nodes > MOST_NODES or least > limit:
                return None
            search = _with_algorithms(self._search, algorithms)
        graph, operations = search.prepared.graph, self.operations(search.prepared.graph)
        if search is not self._search and (operations > limit or graph in self._graphs):
            return None
        self._nodes += len(graph.nodes)
        self._graphs.append(graph)
        self.searches[algorithms] = search
        self._search.progress(f"comparing the errors of algorithms: {len(self._graphs)}")
        return Candidate(algorithms, operations, self._accuracy(search))

    def _accuracy(self, search: BuildSearch) -> Accuracy:
        build, options = search.prepared, replace(search.options, ii=self._ii, core=self._core)
        fuses, ratios, trials = KINDS[self._core].fuses_sums, self._ratios or {}, search.trials()
        return forecast(build.model, build.graph, build.domain, options, trials, ratios, fuses, self._poor)

    def measure(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the accuracy of its number formats."""
        search = self.searches[candidate.algorithms]
        try:
            accuracy = accuracy_of(search.formats(self._core, self._ii))
        except BudgetMissed as refusal:
            self.refusals[candidate.algorithms] = refusal
            accuracy = accuracy_of_best(refusal)
        if self._ratios is None:
            self._ratios = accuracy.ratios
        if self._search.options.budget is None:
            self._poor = {part for part, bound in accuracy.bounds.items() if bound > DEFAULT_MAX_ERROR}
        return replace(candidate, measured=accuracy)
