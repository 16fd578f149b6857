"""The width search: the narrowest multipliers that meet an error budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rbdhw.errors import InputError
from rbdhw.fixed.program import Program

HEADROOM = 2.0
"""How far below a budget the largest error of the held-out samples has to stay.

Relative errors have a heavy tail (results near zero), which other tasks will meet further out.
"""

FLAGGED_SHARE = 0.01
"""The largest share of tasks within the domain that may overflow, and be flagged."""


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


def narrowest(
    lower: Callable[[int], Program],
    measure: Callable[[Program], Measured],
    budget: float,
    widths: Sequence[int],
) -> tuple[Program, Measured]:
    """The smallest of ``widths`` (ascending) whose errors support ``budget`` for every function.

    Errors fall as widths grow, so the search halves the range.

    Raises
    ------
    InputError
        Where not even the largest width meets the budget; the line names the error it reaches.
    """
    tried: dict[int, tuple[Program, Measured]] = {}

    def worst(width: int) -> float:
        if width not in tried:
            program = lower(width)
            tried[width] = (program, measure(program))
        return max(figures.bound for figures in tried[width][1].values())

    if worst(widths[-1]) > budget:
        raise InputError(
            f"max-error: {budget:g} is met by no supported width; "
            f"{widths[-1]} bits support {worst(widths[-1]):.2g}, a budget of at least that was expected"
        )
    low, high = 0, len(widths) - 1
    while low < high:
        middle = (low + high) // 2
        if worst(widths[middle]) <= budget:
            high = middle
        else:
            low = middle + 1
    worst(widths[high])
    return tried[widths[high]]
