"""The width search: the cheapest widths whose program meets an error budget.

Errors are predicted by the planner and measured on the bit-exact program. How far the largest error lies
above the predicted root mean square depends little on widths, so few measurements make predictions good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.errors import InputError
from rbdhw.fixed.program import Program
from rbdhw.fixed.widths import WIDE_PORT, WIDEST, Planner, Widths, port_widths

HEADROOM = 2.0
"""How far below a budget the largest error of the held-out samples has to stay.

Relative errors have a heavy tail (results near zero), which other tasks will meet further out.
"""

FLAGGED_SHARE = 0.01
"""The largest share of tasks within the domain that may overflow, and be flagged."""

FIRST_RATIO = 16.0
"""What a budget is to the root mean square error that may be predicted, before anything was measured."""

CAUTION = 1.1
"""By how much predictions are corrected beyond what measurements of too large errors say, for each."""

WASTE = 1.5
"""How far below a budget errors may stay for the search to end."""

NEAR = 3
"""How far from the width chosen last others are looked at next, besides those that fill a DSP block."""

UNREACHABLE = 1e-6
"""The share of a budget that makes the planner spare all that it can."""

ROUNDS = 6
"""Measurements of some tasks, and then of all tasks, in which the search has to come to an end."""


@dataclass(frozen=True)
class ErrorFigures:
    """Relative errors of a function's results, in the Frobenius norm of each task's whole result.

    ``median`` and ``max`` are over those of the ``samples`` tasks that were not flagged.
    """

    median: float
    max: float
    samples: int
    flagged: int

    @property
    def bound(self) -> float:
        """The smallest budget that the figures support; infinite where too many tasks are flagged."""
        if self.flagged > FLAGGED_SHARE * self.samples:
            return math.inf
        return HEADROOM * self.max


Measured = dict[str, ErrorFigures]


@dataclass(frozen=True)
class Fixed:
    """A bit-exact program and the errors of its results."""

    program: Program
    errors: Measured

    @property
    def bound(self) -> float:
        """The smallest budget that the errors of all functions support."""
        return max(figures.bound for figures in self.errors.values())


class _Ratio:
    """What a function's budget is to the root mean square error that may be predicted for it.

    The best guess so far; above every one at which errors were too large, below every one at which they were
    not.
    """

    def __init__(self, value: float = FIRST_RATIO) -> None:
        self.value = value
        self._failures = 0
        self._too_small = 0.0
        self._enough = math.inf

    def learn(self, budget: float, predicted: float, bound: float) -> None:
        """Correct the guess after errors that support the budget ``bound`` were measured."""
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


class Search:
    """Finds widths.

    Parameters
    ----------
    lower
        Makes the program of widths.
    measure, glance
        The errors of a program's results over all held-out tasks, and over some of them.
    blocks
        DSP blocks of a multiplier with these operand widths.
    """

    def __init__(
        self,
        planner: Planner,
        lower: Callable[[Widths], Program],
        measure: Callable[[Program], Measured],
        glance: Callable[[Program], Measured],
        blocks: Callable[[tuple[int, int]], int],
    ) -> None:
        self._planner = planner
        self._lower = lower
        self._measure = measure
        self._glance = glance
        self._blocks = blocks

    def best(self, width: int) -> Fixed:
        """The program with nearly the least errors that ordinary multipliers of this width allow."""
        return self._made(self._planner.widths(width), self._measure)

    def cheapest(self, budget: float, widths: Sequence[int]) -> Fixed:
        """The program with the fewest DSP blocks, and then bits, whose errors support a budget.

        Parameters
        ----------
        widths
            What an ordinary multiplier's may be, ascending.

        Raises
        ------
        InputError
            Where none meets it; the line names the error that the largest width supports.
        """
        ratios = {function: _Ratio() for function in self._planner.functions}
        near = widths
        for measure, enough in ((self._glance, budget / WASTE), (self._measure, 0.0)):
            ratios = {function: _Ratio(ratio.value) for function, ratio in ratios.items()}
            for _ in range(ROUNDS):
                allowed = {function: budget / ratio.value for function, ratio in ratios.items()}
                chosen = self._predicted_cheapest(allowed, near) or self._predicted_cheapest(allowed, widths)
                if chosen is None:
                    return self._least(budget, widths)
                found = self._made(chosen, measure)
                self._learn(ratios, budget, chosen, found)
                if measure is self._measure and found.bound <= budget:
                    return found
                if enough <= found.bound <= budget:
                    break
                near = [w for w in widths if abs(w - chosen.ports[0]) <= NEAR or w in port_widths(WIDE_PORT)]
        return self._least(budget, widths)

    def cost(self, widths: Widths) -> tuple[int, int, int]:
        """DSP blocks, were no multiplier shared; wide products; bits of signals and of multipliers' ports."""
        products = self._planner.products(widths)
        wide = products[(products > widths.ports).any(axis=1)]
        blocks = self._blocks(widths.ports) * (len(products) - len(wide))
        bits = sum(widths.bits) + sum(widths.ports) * (len(products) - len(wide))
        if len(wide):
            first, second = wide.max(axis=0).tolist()
            blocks += self._blocks((first, second)) * len(wide)
            bits += (first + second) * len(wide)
        return blocks, len(wide), bits

    def _learn(self, ratios: Mapping[str, _Ratio], budget: float, chosen: Widths, found: Fixed) -> None:
        for function, predicted in self._planner.predicted(chosen).items():
            if predicted > 0.0:
                ratios[function].learn(budget, predicted, found.errors[function].bound)

    def _predicted_cheapest(self, allowed: Mapping[str, float], widths: Sequence[int]) -> Widths | None:
        chosen, least = None, None
        for width in widths:
            for widest in WIDEST:
                plan = self._planner.widths(width, allowed, widest)
                predicted = self._planner.predicted(plan)
                if all(predicted[function] <= most for function, most in allowed.items()):
                    cost = self.cost(plan)
                    if least is None or cost < least:
                        chosen, least = plan, cost
                    break
        return chosen

    def _least(self, budget: float, widths: Sequence[int]) -> Fixed:
        """The program with the least errors of all, if these support the budget."""
        unreachable = dict.fromkeys(self._planner.functions, UNREACHABLE * budget)
        found = self._made(self._planner.widths(widths[-1], unreachable, WIDEST[-1]), self._measure)
        if found.bound <= budget:
            return found
        if len(widths) == 1:
            raise InputError(
                f"max-error: {budget:g} is not met at a width of {widths[0]} bits, "
                f"which support {found.bound:.2g}; a wider width or a larger budget was expected"
            )
        raise InputError(
            f"max-error: {budget:g} is met by no supported width; "
            f"{widths[-1]} bits support {found.bound:.2g}, a budget of at least that was expected"
        )

    def _made(self, widths: Widths, measure: Callable[[Program], Measured]) -> Fixed:
        program = self._lower(widths)
        return Fixed(program, measure(program))
