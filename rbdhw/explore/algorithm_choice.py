"""The choice among combinations of algorithms by what they take in number formats.

Those with the fewest operations come first. Where they need wide products, miss the budget, or err much at a
given width, others are forecast, one group of steps after the other. The best by forecast are then measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from rbdhw.errors import told_apart
from rbdhw.fixed.search import BudgetMissed
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.options.build import DEFAULT_MAX_ERROR
from rbdhw.quantize.forecast import Accuracy

LARGE_SAVING = 0.85
"""The share of the cost at the budget below which it is worth a second search for number formats."""

SMALL_SAVING = 1.1
"""The factor on operations up to which others are compared by their errors at a given width."""

FAR = 4.0
"""The factor between errors at a given width that counts more than a small saving."""

MOST_MEASURED = 5
"""The most combinations that are measured after the first one missed the budget."""

PROMISING = 1.5
"""The factor by which a combination may miss the budget by prediction if it is to be measured."""

LARGEST = 1e9
"""The bound that stands for any larger one in comparisons."""


@dataclass(frozen=True)
class Candidate:
    """A combination of algorithms, the cost of its operations, and its accuracy as far as it is known."""

    algorithms: Algorithms
    operations: float
    forecast: Accuracy | None = None
    measured: Accuracy | None = None

    @property
    def accuracy(self) -> Accuracy:
        """The measured accuracy, or else the forecast."""
        known = self.measured or self.forecast
        assert known is not None
        return known

    @property
    def cost(self) -> float:
        """The cost of the operations in these number formats, in multiplications of one DSP block."""
        return self.operations + self.accuracy.extra_blocks


Forecast = Callable[[Algorithms, float], Candidate | None]
"""Returns the forecast of algorithms; None if their operations cost more than the limit, or are known."""

Group = Callable[[Algorithms], Iterable[Algorithms]]
"""Returns the combinations that differ from one in a group of steps."""


@dataclass(frozen=True)
class AccuracyChoice:
    """The choice for a budget, or for a given width if that is None."""

    budget: float | None
    groups: Sequence[Group]
    """The groups of steps, which are decided one after the other."""
    forecast: Forecast
    measure: Callable[[Candidate], Candidate]
    """Returns a candidate with its measured accuracy."""

    def choose(self, first: Candidate) -> list[Candidate]:
        """Return the candidates that were compared, the chosen one first.

        ``first`` is the one with the least operations, measured.
        """
        limit = self._limit(first)
        if not self._is_poor(first) or limit < first.operations:
            return [first]
        start, others = self.forecasts(first.algorithms, limit)
        if start is None:
            return [first]
        first = replace(first, forecast=start.forecast)
        missed = self._misses(first)
        better = self.is_promising if missed else self._is_better
        worthwhile = (candidate for candidate in others if better(candidate, first))
        measured = [first]
        for candidate in islice(worthwhile, MOST_MEASURED if missed else 1):
            measured.append(self.measure(candidate))
            if not self._misses(measured[-1]):
                break
        tried = {candidate.algorithms for candidate in measured}
        return [*self.rank(measured), *(other for other in others if other.algorithms not in tried)]

    def forecasts(self, first: Algorithms, limit: float) -> tuple[Candidate | None, list[Candidate]]:
        """Return the forecast of some algorithms, and those of others, the best first; None if no others."""
        start: Candidate | None = None
        best: Candidate | None = None
        others: list[Candidate] = []
        for group in self.groups:
            near = (a for a in group(best.algorithms if best else first) if a != first)
            candidates = [c for a in near if (c := self.forecast(a, limit)) is not None]
            if candidates:
                start = start or self.forecast(first, math.inf)
                assert start is not None
                others += candidates
                best = self.rank([best or start, *candidates])[0]
        return start, self.rank(others)

    def rank(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return candidates, the best first.

        In a budget the cheapest is the best, or the most accurate if all miss it. At a width it is the one
        with the least operations whose errors are not far above the others'.
        """
        if self.budget is not None:
            return sorted(candidates, key=self._budget_key)
        return sorted(candidates, key=lambda each: (max(_excess(each, candidates)[0], FAR), each.operations))

    def _budget_key(self, candidate: Candidate) -> tuple[bool, float, float]:
        missed = self._misses(candidate)
        return missed, _clip(candidate.accuracy.bound) if missed else candidate.cost, candidate.cost

    def _misses(self, candidate: Candidate) -> bool:
        return self.budget is not None and candidate.accuracy.bound > self.budget

    def _is_poor(self, candidate: Candidate) -> bool:
        """Return whether other algorithms may serve better."""
        if self.budget is None:
            return candidate.accuracy.bound > DEFAULT_MAX_ERROR
        return self._misses(candidate) or candidate.accuracy.extra_blocks > 0

    def _limit(self, first: Candidate) -> float:
        """Return the cost of operations from which others cannot serve better."""
        if self.budget is None:
            return SMALL_SAVING * first.operations
        return math.inf if self._misses(first) else LARGE_SAVING * first.cost

    def is_promising(self, candidate: Candidate, first: Candidate) -> bool:
        """Return whether a forecast may meet the budget, which the first one missed."""
        assert first.forecast is not None
        assert self.budget is not None
        bound = first.accuracy.bound
        ratio = bound / first.forecast.bound if math.isfinite(bound) else 1.0
        return not self._misses(candidate) or ratio * candidate.accuracy.bound < PROMISING * self.budget

    def _is_better(self, candidate: Candidate, first: Candidate) -> bool:
        """Return whether a forecast is so much better than the first one's that it is worth measuring."""
        start = replace(first, measured=None)
        if self.budget is None:
            both = [start, candidate]
            return _excess(start, both)[0] > max(FAR, _excess(candidate, both)[0])
        return not self._misses(candidate) and candidate.cost < LARGE_SAVING * start.cost


def _clip(bound: float) -> float:
    """Return a bound for comparisons: all within the default budget are as good, and all that overflow."""
    return min(max(bound, DEFAULT_MAX_ERROR), LARGEST)


def _excess(candidate: Candidate, among: Sequence[Candidate]) -> tuple[float, str]:
    """Return the largest ratio of an error to the least of some candidates, and the part of the results.

    Measured errors are compared with measured ones, and forecasts with forecasts.
    """
    if candidate.measured:
        peers = [peer.measured for peer in among if peer.measured]
    else:
        peers = [peer.forecast for peer in among if peer.forecast]
    return max(
        (_clip(bound) / min(_clip(peer.bounds[part]) for peer in peers), part)
        for part, bound in candidate.accuracy.bounds.items()
    )


def name_of(algorithms: Algorithms, steps: Iterable[str]) -> str:
    """Return algorithms as options name them."""
    return ", ".join(f"{step}={getattr(algorithms, step)}" for step in steps)


def differing(candidates: Sequence[Candidate], steps: Iterable[str]) -> list[str]:
    """Return the steps in which candidates differ."""
    return [step for step in steps if len({getattr(c.algorithms, step) for c in candidates}) > 1]


def tried_entries(
    candidates: Sequence[Candidate], steps: Sequence[str], budget: float | None
) -> tuple[Mapping[str, Any], ...]:
    """Return the manifest's entries on the candidates that were compared; the first one was taken."""
    return tuple(
        {
            "algorithms": {step: getattr(candidate.algorithms, step) for step in steps},
            "cost": round(candidate.operations, 1),
            "predicted": candidate.forecast and candidate.forecast.json(),
            "measured": candidate.measured and candidate.measured.json(),
            "taken": candidate is candidates[0],
            "why": _why(candidate, candidates, budget),
        }
        for candidate in candidates
    )


def _why(candidate: Candidate, among: Sequence[Candidate], budget: float | None) -> str:
    if len(among) == 1:
        return "the least cost of operations; its number formats call for no comparison"
    prefix = "" if candidate.measured else "predicted: "
    if budget is None:
        factor, part = _excess(candidate, among)
        return f"{prefix}errors of {part} are {factor:.2g} times the least of those compared"
    if candidate.accuracy.bound > budget:
        return f"{prefix}misses the budget"
    return f"{prefix}costs {candidate.cost:.0f} in the budget, wide products included"


def explain(
    refusal: BudgetMissed, candidates: Sequence[Candidate], steps: Sequence[str], budget: float, remedy: str
) -> BudgetMissed:
    """Return the refusal of the best of all candidates, the first, with the algorithms that were tried.

    ``remedy`` has algorithms that may do better than forced ones; it is empty if there are none.
    """
    best, *others = (candidate for candidate in candidates if candidate.measured)
    names = differing([best, *others], steps) or differing(candidates, steps) or steps
    reason = f"{refusal.reason}; this is by {name_of(best.algorithms, names)}"
    if others:
        texts = (f"{name_of(other.algorithms, names)} ({_support(other, budget)})" for other in others)
        reason += f"; also tried: {'; '.join(texts)}"
    left = len(candidates) - 1 - len(others)
    if left:
        reason += f"; {left} more would not meet it by prediction"
    options = "".join(f"--algorithm {choice}, " for choice in remedy.split(", ") if choice)
    return replace(refusal, reason=reason, remedy=refusal.remedy.replace("use ", f"use {options}", 1))


def _support(candidate: Candidate, budget: float) -> str:
    """Return the budget that a measured candidate supports."""
    bound = candidate.accuracy.bound
    return f"supports {told_apart(bound, budget, digits=2)[0]}" if math.isfinite(bound) else "overflows"
