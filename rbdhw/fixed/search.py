"""The width search: find the cheapest widths whose program meets an error budget.

The planner predicts errors, and they are measured on the bit-exact program. The ratio of the largest error to
the predicted root mean square depends little on widths, so few measurements make the predictions good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdhw.errors import InputError, told_apart
from rbdhw.fixed.figures import Measured
from rbdhw.fixed.gains import Row
from rbdhw.fixed.planner import WIDEST, Planner
from rbdhw.fixed.program import Program
from rbdhw.fixed.widths import WIDE_PORT, Widths, port_widths

FIRST_RATIO = 16.0
"""The assumed ratio of a budget to the allowed prediction (root mean square) before any measurement."""

CAUTION = 1.1
"""The extra factor by which predictions are corrected for each measurement with too large errors."""

WASTE = 1.5
"""The factor by which errors may stay below a budget without a search for cheaper widths."""

NEAR = 3
"""The range around the last width that is searched next, besides the widths that fill a DSP block."""

UNREACHABLE = 1e-6
"""The share of a budget that no widths reach; it makes the planner use all the bits that it can."""

ROUNDS = 10
"""The largest number of measurements, first on some tasks and then on all tasks."""


@dataclass(frozen=True)
class Try:
    """Widths that were tried."""

    widths: tuple[tuple[int, int], ...]
    """Operand widths of an ordinary multiplier, and of the wide multiplier if there is one."""
    bound: float
    """The smallest budget that the errors support."""
    worst: Row
    """The part of the results and the stratum that determine it."""
    whole: bool
    """Whether all held-out tasks were evaluated, or only some."""


@dataclass(frozen=True)
class Fixed:
    """A bit-exact program, its widths, the errors of its results, and its entry among the tries.

    ``predicted`` are the root mean square errors that the planner predicts, by result and stratum, and
    ``extra_blocks`` the DSP blocks, without sharing, beyond one for each product.
    """

    program: Program
    widths: Widths
    errors: Measured
    tried: Try
    predicted: Mapping[Row, float]
    extra_blocks: int

    @property
    def ratios(self) -> dict[Row, float]:
        """The ratio of the smallest budget to the prediction, by result and stratum, where it is known."""
        bounds = self.bounds
        return {
            row: bounds[row] / predicted
            for row, predicted in self.predicted.items()
            if predicted > 0.0 and 0.0 < bounds.get(row, math.inf) < math.inf
        }

    @property
    def bounds(self) -> dict[Row, float]:
        """The smallest budget that the errors support, by part of the results and stratum."""
        return bounds_of(self.errors)

    @property
    def bound(self) -> float:
        """The smallest budget that the errors of all functions support."""
        return self.tried.bound


@dataclass(eq=False)
class BudgetMissed(InputError):
    """The refusal of a budget that no widths meet; ``best`` is the program with the least errors."""

    best: Fixed | None = None


def bounds_of(errors: Measured) -> dict[Row, float]:
    """Return the smallest budget that errors support, by part of the results and stratum."""
    return {
        Row(f"{function}.{result}", stratum): bound
        for function, every in errors.items()
        for result, result_errors in every.results.items()
        for stratum, bound in result_errors.bounds.items()
    }


class _Ratio:
    """The ratio of the budget to the allowed prediction (root mean square) for a part and a stratum.

    It is the best guess so far: above every ratio with too large errors, and below every other one.
    """

    def __init__(self, value: float = FIRST_RATIO) -> None:
        self.value = value
        self._failures = 0
        self._too_small = 0.0
        self._enough = math.inf

    def learn(self, budget: float, predicted: float, bound: float) -> None:
        """Correct the guess after a measurement whose errors support the budget ``bound``."""
        tried = budget / predicted
        if bound > budget:
            self._too_small = max(self._too_small, tried)
            self._failures += 1
            self.value = CAUTION**self._failures * max(
                tried, bound / predicted if bound < math.inf else 2.0 * tried
            )
        else:
            self._enough = min(self._enough, tried)
            self.value = bound / predicted
        if not self._too_small < self.value < self._enough and self._too_small < self._enough < math.inf:
            self.value = math.sqrt(max(self._too_small, 1.0) * self._enough)


class FormatSearch:
    """The search for widths.

    Parameters
    ----------
    lower
        Returns the program for widths.
    measure, glance
        Return the errors of a program over all held-out tasks, and over some of them.
    blocks
        Returns the DSP blocks of a multiplier with these operand widths.
    reason
        Returns an explanation of the errors of a part of the results in a stratum at given widths.
    """

    def __init__(
        self,
        planner: Planner,
        lower: Callable[[Widths], Program],
        measure: Callable[[Program], Measured],
        glance: Callable[[Program], Measured],
        blocks: Callable[[tuple[int, int]], int],
        reason: Callable[[Widths, Row], str],
    ) -> None:
        self.tries: list[Try] = []
        self._reason = reason
        self._planner = planner
        self._lower = lower
        self._measure = measure
        self._glance = glance
        self._blocks = blocks

    def best(self, width: int) -> Fixed:
        """Return the program with nearly the least errors that ordinary multipliers of this width allow."""
        return self._evaluate(self._planner.widths(width), self._measure)

    def cheapest(self, budget: float, widths: Sequence[int]) -> Fixed:
        """Return the program with the fewest DSP blocks, then bits, whose errors support a budget.

        ``widths`` are the allowed widths of an ordinary multiplier, ascending. InputError if none meets the
        budget; the message names the error that the largest width supports.
        """
        ratios = {row: _Ratio() for row in self._planner.rows}
        near: Sequence[int] = widths
        best: Fixed | None = None
        for measure in (self._glance, self._measure):
            ratios = {row: _Ratio(ratio.value) for row, ratio in ratios.items()}
            missed = 0
            for _ in range(ROUNDS):
                aim = budget / CAUTION**missed
                allowed = {row: aim / ratio.value for row, ratio in ratios.items()}
                chosen = self.predict_cheapest(allowed, near) or self.predict_cheapest(allowed, widths)
                if chosen is None or (best and self.cost(chosen)[0] >= self.cost(best.widths)[0]):
                    break
                fixed = self._evaluate(chosen, measure)
                _learn(ratios, budget, fixed)
                missed = 0 if fixed.bound <= budget else missed + 1
                if measure is self._measure and not missed:
                    best = min(best or fixed, fixed, key=lambda candidate: self.cost(candidate.widths))
                if budget / WASTE <= fixed.bound <= budget:
                    break
                near = [w for w in widths if abs(w - chosen.ports[0]) <= NEAR or w in port_widths(WIDE_PORT)]
        return best or self._least(budget, widths)

    def cost(self, widths: Widths) -> tuple[int, int, int]:
        """Return DSP blocks without sharing, wide products, and the bits of signals and multiplier ports."""
        products = self._planner.products(widths)
        wide = products[(products > widths.ports).any(axis=1)]
        pairs, counts = np.unique(wide, axis=0, return_counts=True)
        blocks = self._blocks(widths.ports) * (len(products) - len(wide))
        blocks += sum(
            self._blocks((a, b)) * n for (a, b), n in zip(pairs.tolist(), counts.tolist(), strict=True)
        )
        bits = sum(widths.bits) + sum(widths.ports) * (len(products) - len(wide))
        if len(wide):
            first, second = wide.max(axis=0).tolist()
            bits += (first + second) * len(wide)
        return blocks, len(wide), bits

    def extra_blocks(self, widths: Widths) -> int:
        """Return the DSP blocks, without sharing, beyond one for each product."""
        return self.cost(widths)[0] - len(self._planner.products(widths))

    def ports(self, widths: Widths) -> tuple[tuple[int, int], ...]:
        """Return the operand widths of an ordinary multiplier, and of the wide one if there is one."""
        products = self._planner.products(widths)
        wide = products[(products > widths.ports).any(axis=1)]
        return (widths.ports, *([tuple(wide.max(axis=0).tolist())] if len(wide) else []))

    def predict_cheapest(self, allowed: Mapping[Row, float], widths: Sequence[int]) -> Widths | None:
        """Return the cheapest widths whose predicted errors are ``allowed``; None if there are none."""
        chosen, least = None, None
        for width in widths:
            for widest in WIDEST:
                plan = self._planner.widths(width, allowed, widest)
                predicted = self._planner.predict(plan)
                if all(predicted[row] <= most for row, most in allowed.items()):
                    cost = self.cost(plan)
                    if least is None or cost < least:
                        chosen, least = plan, cost
        return chosen

    def most_accurate(self, budget: float, width: int) -> Widths:
        """Return the widths with the least errors beside ordinary multipliers of this width."""
        unreachable = dict.fromkeys(self._planner.rows, UNREACHABLE * budget)
        return self._planner.widths(width, unreachable, WIDEST[-1])

    def _least(self, budget: float, widths: Sequence[int]) -> Fixed:
        """Return the program with the least errors of all, if these support the budget; else InputError."""
        fixed = self._evaluate(self.most_accurate(budget, widths[-1]), self._measure)
        if fixed.bound <= budget:
            return fixed
        raise self._refusal(budget, widths, fixed)

    def _refusal(self, budget: float, widths: Sequence[int], fixed: Fixed) -> BudgetMissed:
        """Return the refusal of a budget that the best program misses: the limit, and the remedies."""
        worst = fixed.tried.worst
        share = fixed.errors[worst.function].share
        supported, asked = told_apart(fixed.bound / share, budget / share, digits=2)
        remedies = ["a domain with smaller bounds", "another --root"]
        if len(fixed.errors) > 1:
            remedies.append(f"--functions without {worst.function}")
        if math.isinf(fixed.bound):
            whole = fixed.errors[worst.function].whole
            limit = f"flag {whole.flagged:,} of {whole.samples:,} tasks of {worst.function}: values overflow"
        else:
            reason = self._reason(fixed.widths, worst)
            limit = f"support {supported}, limited by {worst}, where {reason}"
            remedies.insert(0, "a larger --max-error")
        missed = f"no supported width meets {asked}; {widths[-1]} bits {limit}"
        if len(widths) == 1:
            missed = f"{asked} is not met at a width of {widths[0]} bits, which {limit}"
            remedies.insert(0, "another --width")
        remedy = f"use {', '.join(remedies[:-1])}, or {remedies[-1]}"
        return BudgetMissed("max-error", missed, remedy=remedy, best=fixed)

    def _evaluate(self, widths: Widths, measure: Callable[[Program], Measured]) -> Fixed:
        program = self._lower(widths)
        errors = measure(program)
        bounds = bounds_of(errors)
        worst = max(bounds, key=bounds.__getitem__)
        self.tries.append(Try(self.ports(widths), bounds[worst], worst, measure is self._measure))
        predicted, extra = self._planner.predict(widths), self.extra_blocks(widths)
        return Fixed(program, widths, errors, self.tries[-1], predicted, extra)


def _learn(ratios: Mapping[Row, _Ratio], budget: float, fixed: Fixed) -> None:
    bounds = fixed.bounds
    for row, predicted in fixed.predicted.items():
        if predicted > 0.0 and row in bounds:
            ratios[row].learn(budget, predicted, bounds[row])
