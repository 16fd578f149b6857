"""The accuracy of a graph by forecast: the planner's predictions from few tasks, without a program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from rbdhw.arrays import WordName
from rbdhw.domain.bounds import Domain
from rbdhw.fixed.gains import Row
from rbdhw.fixed.search import FIRST_RATIO, BudgetMissed, bounds_of
from rbdhw.fixed.widths import WIDE_PORT
from rbdhw.frontend.build_graph import Model
from rbdhw.graph.graph import Graph
from rbdhw.graph.twins import no_twins
from rbdhw.options.build import WIDTHS, BuildOptions
from rbdhw.passes.prune import prune
from rbdhw.progress import silent
from rbdhw.quantize.formats import FormatChoice, Formats
from rbdhw.quantize.observation import Draws, Trials, observe

ROUGH = Draws(ranging=128, held_out=128, chunk=128, group=16, probed=128)
"""The tasks of a forecast. Graphs are compared on the same ones, so few are enough."""


@dataclass(frozen=True)
class Accuracy:
    """What number formats of a graph reach, and what they take."""

    bounds: Mapping[str, float]
    """The smallest budget that errors support, by part of the results, such as ``did.dtau_dq``."""
    extra_blocks: int
    """The DSP blocks, without sharing, beyond one for each product."""
    widths: Sequence[tuple[int, int]]
    """Operand widths of an ordinary multiplier, and of the widest if there is a wider one."""
    ratios: Mapping[Row, float]
    """The ratio of the smallest budget to the predicted error, by part and stratum, where it is known."""

    @property
    def bound(self) -> float:
        """The smallest budget that the errors of all results support."""
        return max(self.bounds.values())

    def json(self) -> dict[str, Any]:
        """Return the entry in the manifest; a bound is None where too many tasks are flagged."""
        return {
            "supports": {part: bound if isfinite(bound) else None for part, bound in self.bounds.items()},
            "widths": [list(ports) for ports in self.widths],
            "extra_blocks": self.extra_blocks,
        }


def accuracy_of(formats: Formats) -> Accuracy:
    """Return the measured accuracy of number formats."""
    bounds = _bounds(bounds_of(formats.errors))
    return Accuracy(bounds, formats.extra_blocks, formats.taken.widths, formats.ratios)


def accuracy_of_best(missed: BudgetMissed) -> Accuracy:
    """Return the measured accuracy of the best program that misses a budget."""
    best = missed.best
    assert best is not None
    return Accuracy(_bounds(best.bounds), best.extra_blocks, best.tried.widths, best.ratios)


def _bounds(rows: Mapping[Row, float]) -> dict[str, float]:
    bounds: dict[str, float] = {}
    for row, bound in rows.items():
        bounds[row.part] = max(bounds.get(row.part, 0.0), bound)
    return bounds


def forecast(
    model: Model,
    graph: Graph,
    domain: Domain,
    options: BuildOptions,
    trials: Trials,
    ratios: Mapping[Row, float],
    fuses_sums: bool = False,
    parts: Collection[str] = (),
) -> Accuracy:
    """Return the predicted accuracy at the width of the options, or of the cheapest widths in the budget.

    If no widths meet the budget, it is that of the widths with the least errors. Of the ``trials`` only the
    floors count. ``ratios`` are those of a similar graph. Only the ``parts`` of the results count, or all.
    """
    if parts:
        functions = {part.partition(".")[0] for part in parts}
        asked = tuple(function for function in options.functions if function in functions)
        graph, options = _restrict(graph, parts), replace(options, functions=asked)
    observed = observe(model, graph, domain, options, ROUGH, trials)
    choice = FormatChoice(observed, options, no_twins(graph), fuses_sums, silent)
    planner, search, budget = choice.planner, choice.widths, options.budget
    ratios = {row: ratios.get(row, FIRST_RATIO) for row in planner.rows}
    if budget is None:
        assert options.width is not None
        widths = planner.uniform(options.width)
    else:
        among = (WIDE_PORT, WIDTHS[-1]) if options.width is None else (options.width,)
        allowed = {row: budget / ratio for row, ratio in ratios.items()}
        widths = search.predict_cheapest(allowed, among) or search.most_accurate(budget, among[-1])
    predicted = planner.predict(widths)
    bounds = _bounds({row: ratios[row] * error for row, error in predicted.items()})
    return Accuracy(bounds, search.extra_blocks(widths), search.ports(widths), ratios)


def _restrict(graph: Graph, parts: Collection[str]) -> Graph:
    """Return the share of a graph that computes some parts of the results."""
    arrays = {".".join(part.split(".")[:2]) for part in parts}
    names = ((WordName.parse(name), name, edge) for name, edge in graph.outputs)
    outputs = tuple((name, edge) for word, name, edge in names if f"{word.function}.{word.array}" in arrays)
    return prune(replace(graph, outputs=outputs))
