"""Error figures: how far results are from the golden model's, by stratum, and which budgets they support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HEADROOM = 3.0
"""How far below a budget the largest error of the held-out samples has to stay.

Among a hundred times as many tasks some err more; at rest, of the iiwa's derivatives, 2.4 times as much.
"""

FLAGGED_SHARE = 0.01
"""The largest share of tasks within the domain that may overflow, and be flagged."""

LARGEST_LIMIT = 0.1
"""The largest error that a simulation allows, whatever the design: beyond it results are of no use."""


def most_flagged(tasks: int) -> int:
    """The most of some tasks that may be flagged in a design that flags :data:`FLAGGED_SHARE` of all.

    One more than three standard deviations above the mean: chance exceeds that less than once in 400 times.
    """
    mean = FLAGGED_SHARE * tasks
    return int(mean + 3.0 * math.sqrt(mean) + 1.0)


@dataclass(frozen=True)
class ErrorFigures:
    """Errors of tasks that are not flagged, in the Frobenius norm of each task's whole result.

    They are relative to the norm of golden's result or to a floor, the larger. ``median`` and ``max`` are
    over those of the ``samples`` tasks that are not ``flagged``; infinite where there are none.
    """

    median: float
    max: float
    samples: int
    flagged: int

    @classmethod
    def of(cls, errors: NDArray[np.float64], unflagged: NDArray[np.bool_]) -> ErrorFigures:
        """The figures of tasks' errors (N,), of which those marked count."""
        kept = errors[unflagged]
        flagged = len(errors) - len(kept)
        if not len(kept):
            return cls(math.inf, math.inf, len(errors), flagged)
        return cls(float(np.median(kept)), float(kept.max()), len(errors), flagged)


@dataclass(frozen=True)
class FunctionErrors:
    """The error figures of one function.

    Parameters
    ----------
    whole
        Over tasks of all strata.
    strata
        Of each stratum by itself.
    floor
        The norm below which a result counts as large as that, in the units of its numbers.
    """

    whole: ErrorFigures
    strata: Mapping[str, ErrorFigures]
    floor: float = 0.0

    @classmethod
    def of(
        cls,
        errors: NDArray[np.float64],
        unflagged: NDArray[np.bool_],
        stratum: NDArray[np.int64],
        names: Sequence[str],
        floor: float,
    ) -> FunctionErrors:
        """The figures of tasks' errors (N,), whose strata are indices of names."""
        parts = {
            name: ErrorFigures.of(errors[stratum == k], unflagged[stratum == k])
            for k, name in enumerate(names)
            if (stratum == k).any()
        }
        return cls(ErrorFigures.of(errors, unflagged), parts, floor)

    @property
    def bound(self) -> float:
        """The smallest budget that the figures support in every stratum."""
        return max(self.bounds.values())

    @property
    def bounds(self) -> dict[str, float]:
        """For each stratum the smallest budget that its figures support.

        They are infinite where more tasks are flagged than may be: of all tasks :data:`FLAGGED_SHARE`, and of
        a stratum what chance may make of that.
        """
        if self.whole.flagged > FLAGGED_SHARE * self.whole.samples:
            return dict.fromkeys(self.strata, math.inf)
        return {
            name: HEADROOM * own.max if own.flagged <= most_flagged(own.samples) else math.inf
            for name, own in self.strata.items()
        }

    def limit(self, budget: float | None) -> float:
        """The largest error that a simulation allows: the budget, or without one what the figures support."""
        return min(self.bound, LARGEST_LIMIT) if budget is None else budget


Measured = Mapping[str, FunctionErrors]
"""Error figures by function."""
