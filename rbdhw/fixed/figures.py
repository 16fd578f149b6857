"""Error figures: errors relative to the golden model, by stratum, and the budgets that they support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HEADROOM = 3.0
"""The factor by which the largest error of the held-out samples must stay below a budget.

Among a hundred times as many tasks some have larger errors: 2.4 times as large for the derivatives of
the iiwa at rest.
"""

FLAGGED_SHARE = 0.01
"""The largest share of tasks within the domain that may overflow and be flagged."""

LARGEST_LIMIT = 0.1
"""The largest error that a simulation allows for any design; results with larger errors are useless."""


def most_flagged(tasks: int) -> int:
    """Return the most of ``tasks`` that may be flagged in a design that flags :data:`FLAGGED_SHARE` of all.

    The limit is three standard deviations above the mean plus one; chance exceeds it less than once in 400
    times.
    """
    mean = FLAGGED_SHARE * tasks
    return int(mean + 3.0 * math.sqrt(mean) + 1.0)


@dataclass(frozen=True)
class ErrorFigures:
    """Errors of tasks that are not flagged, in the Frobenius norm of each task's whole result.

    Errors are relative to the norm of golden's result or to a floor, whichever is larger. ``median`` and
    ``max`` are over the tasks of ``samples`` that are not ``flagged``, and infinite if there are none.
    """

    median: float
    max: float
    samples: int
    flagged: int

    @classmethod
    def of(cls, errors: NDArray[np.float64], unflagged: NDArray[np.bool_]) -> ErrorFigures:
        """Return the figures of tasks' errors (N,); only tasks marked in ``unflagged`` (N,) count."""
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
        Figures over tasks of all strata.
    strata
        Figures of each stratum.
    floor
        The least norm by which an error is divided, in the units of the results; for an integrator, one for
        each part of the results (:mod:`rbdhw.golden.error_norm`).
    """

    whole: ErrorFigures
    strata: Mapping[str, ErrorFigures]
    floor: float | Mapping[str, float] = 0.0

    @classmethod
    def of(
        cls,
        errors: NDArray[np.float64],
        unflagged: NDArray[np.bool_],
        stratum: NDArray[np.int64],
        names: Sequence[str],
        floor: float | Mapping[str, float],
    ) -> FunctionErrors:
        """Return the figures of tasks' errors (N,); ``stratum`` (N,) holds indices of ``names``."""
        parts = {
            name: ErrorFigures.of(errors[stratum == k], unflagged[stratum == k])
            for k, name in enumerate(names)
            if (stratum == k).any()
        }
        return cls(ErrorFigures.of(errors, unflagged), parts, floor)

    @property
    def one_floor(self) -> float:
        """The floor of a function whose results have one norm.

        Raises
        ------
        ValueError
            The results have several parts.
        """
        if not isinstance(self.floor, float):
            raise ValueError("the results have several parts; expected one floor")
        return self.floor

    @property
    def bound(self) -> float:
        """The smallest budget that the figures support in every stratum."""
        return max(self.bounds.values())

    @property
    def bounds(self) -> dict[str, float]:
        """For each stratum, the smallest budget that its figures support.

        A bound is infinite if too many tasks are flagged: more than :data:`FLAGGED_SHARE` of all tasks, or
        more than :func:`most_flagged` of a stratum.
        """
        if self.whole.flagged > FLAGGED_SHARE * self.whole.samples:
            return dict.fromkeys(self.strata, math.inf)
        return {
            name: HEADROOM * own.max if own.flagged <= most_flagged(own.samples) else math.inf
            for name, own in self.strata.items()
        }

    def limit(self, budget: float | None) -> float:
        """Return the largest error that a simulation allows: the budget, or without one the bound."""
        return min(self.bound, LARGEST_LIMIT) if budget is None else budget


Measured = Mapping[str, FunctionErrors]
"""Error figures by function."""
