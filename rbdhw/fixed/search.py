"""The width search: the cheapest widths whose program meets an error budget.

Errors are predicted by the planner and measured on the bit-exact program. How far the largest error lies
above the predicted root mean square depends little on widths, so few measurements make predictions good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.errors import InputError
from rbdhw.fixed.figures import Measured
from rbdhw.fixed.gains import Row
from rbdhw.fixed.program import Program
from rbdhw.fixed.widths import WIDE_PORT, WIDEST, Planner, Widths, port_widths

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
class Try:
    """Widths that were tried.

    Parameters
    ----------
    widths
        Operand widths of an ordinary multiplier, and of the wider ones if there are any.
    bound
        The smallest budget that the errors support.
    worst
        The function and the stratum that need it.
    whole
        Whether all held-out tasks were evaluated, or only some.
    """

    widths: tuple[tuple[int, int], ...]
    bound: float
    worst: Row
    whole: bool


@dataclass(frozen=True)
class Fixed:
    """A bit-exact program, its widths, and the errors of its results."""

    program: Program
    widths: Widths
    errors: Measured

    @property
    def bounds(self) -> dict[Row, float]:
        """The smallest budget that the errors support, by function and stratum."""
        return {
            (function, stratum): bound
            for function, own in self.errors.items()
            for stratum, bound in own.bounds.items()
        }

    @property
    def worst(self) -> Row:
        """The function and the stratum with the largest bound."""
        return max(self.bounds, key=self.bounds.__getitem__)

    @property
    def bound(self) -> float:
        """The smallest budget that the errors of all functions support."""
        return max(self.bounds.values())


class _Ratio:
    """What the budget is to the root mean square error that may be predicted for a function and stratum.

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


class FormatSearch:
    """Finds widths.

    Parameters
    ----------
    lower
        Makes the program of widths.
    measure, glance
        The errors of a program's results over all held-out tasks, and over some of them.
    blocks
        DSP blocks of a multiplier with these operand widths.
    reason
        Why the errors of a function in a stratum are what they are, at given widths.

    Members
    -------
    tries
        The widths tried so far.
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
        ratios = {row: _Ratio() for row in self._planner.rows}
        near = widths
        for measure, enough in ((self._glance, budget / WASTE), (self._measure, 0.0)):
            ratios = {row: _Ratio(ratio.value) for row, ratio in ratios.items()}
            for _ in range(ROUNDS):
                allowed = {row: budget / ratio.value for row, ratio in ratios.items()}
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

    def _learn(self, ratios: Mapping[Row, _Ratio], budget: float, chosen: Widths, found: Fixed) -> None:
        bounds = found.bounds
        for row, predicted in self._planner.predicted(chosen).items():
            if predicted > 0.0 and row in bounds:
                ratios[row].learn(budget, predicted, bounds[row])

    def _predicted_cheapest(self, allowed: Mapping[Row, float], widths: Sequence[int]) -> Widths | None:
        chosen, least = None, None
        for width in widths:
            for widest in WIDEST:
                plan = self._planner.widths(width, allowed, widest)
                predicted = self._planner.predicted(plan)
                if all(predicted[row] <= most for row, most in allowed.items()):
                    cost = self.cost(plan)
                    if least is None or cost < least:
                        chosen, least = plan, cost
                    break
        return chosen

    def _least(self, budget: float, widths: Sequence[int]) -> Fixed:
        """The program with the least errors of all, if these support the budget."""
        unreachable = dict.fromkeys(self._planner.rows, UNREACHABLE * budget)
        found = self._made(self._planner.widths(widths[-1], unreachable, WIDEST[-1]), self._measure)
        if found.bound <= budget:
            return found
        function, stratum = found.worst
        reason = f"limited by {function} in {stratum} tasks, where {self._reason(found.widths, found.worst)}"
        remedies = "a domain with smaller bounds or another --root"
        if len(found.errors) > 1:
            remedies = f"a domain with smaller bounds, another --root, or --functions without {function}"
        if len(widths) == 1:
            raise InputError(
                f"max-error: {budget:g} is not met at a width of {widths[0]} bits, "
                f"which support {found.bound:.2g}, {reason}; expected another width, a larger --max-error, "
                f"{remedies}"
            )
        raise InputError(
            f"max-error: {budget:g} is met by no supported width; "
            f"{widths[-1]} bits support {found.bound:.2g}, {reason}; expected at least that --max-error, "
            f"{remedies}"
        )

    def _made(self, widths: Widths, measure: Callable[[Program], Measured]) -> Fixed:
        program = self._lower(widths)
        found = Fixed(program, widths, measure(program))
        wide = self._planner.products(widths)
        wider = wide[(wide > widths.ports).any(axis=1)]
        ports = (widths.ports, *([tuple(wider.max(axis=0).tolist())] if len(wider) else []))
        self.tries.append(Try(ports, found.bound, found.worst, measure is self._measure))
        return found
