"""Error figures: errors relative to the golden model, by stratum, and the budgets that they support."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADROOM = 3.0
"""The factor by which the largest error of the held-out samples must stay below a budget. Among a hundred
times as many tasks some have larger errors: 2.4 times as large for the derivatives of the iiwa at rest."""

FLAGGED_SHARE = 0.01
"""The largest share of tasks within the domain that may overflow and be flagged."""

BINS_A_DECADE, LEAST_ERROR = 4, 1e-12
"""The bins of a histogram in a decade, and the error below which it has none."""

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
    """Errors of tasks that are neither flagged nor clipped, in the Frobenius norm of a part of the results.

    Errors are relative to the norm of golden's result or to a floor, whichever is larger. ``median`` and
    ``max`` are over the tasks of ``samples`` that are neither ``flagged`` nor ``clipped``
    (:mod:`rbdhw.domain.strata`), and infinite if there are none.
    """

    median: float
    max: float
    samples: int
    flagged: int
    clipped: int = 0

    @classmethod
    def of(
        cls, errors: NDArray[np.float64], unflagged: NDArray[np.bool_], clipped: NDArray[np.bool_]
    ) -> ErrorFigures:
        """Return the figures of tasks' errors (N,); tasks in ``unflagged`` and not in ``clipped`` count."""
        kept = errors[unflagged & ~clipped]
        median, largest = (float(np.median(kept)), float(kept.max())) if len(kept) else (math.inf, math.inf)
        flagged, unlike = (int(np.count_nonzero(flags)) for flags in (~unflagged, clipped))
        return cls(median, largest, len(errors), flagged, unlike)

    @property
    def stated(self) -> bool:
        """Whether the errors are stated: at most half of the tasks are clipped."""
        return 2 * self.clipped <= self.samples

    @classmethod
    def largest(cls, figures: Iterable[ErrorFigures]) -> ErrorFigures:
        """Return the largest median and the largest maximum of figures of the same tasks."""
        every = list(figures)
        median, largest = max(figure.median for figure in every), max(figure.max for figure in every)
        return cls(median, largest, every[0].samples, every[0].flagged, every[0].clipped)


@dataclass(frozen=True)
class Histogram:
    """Errors counted in bins of a quarter of a decade; the first begins at ``10 ** (lowest / 4)``.

    ``below`` counts the errors below :data:`LEAST_ERROR`, most of which are zero; they are in no bin.
    """

    below: int
    lowest: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, errors: NDArray[np.float64]) -> Histogram:
        """Return the histogram of errors."""
        large = errors[errors >= LEAST_ERROR]
        bins = np.floor(BINS_A_DECADE * np.log10(large)).astype(np.int64)
        lowest = int(bins.min(initial=0 if not len(bins) else bins[0]))
        return cls(len(errors) - len(large), lowest, tuple(map(int, np.bincount(bins - lowest))))


@dataclass(frozen=True)
class WorstTask:
    """The task with the largest error: its index, its stratum and its arrays, as lists."""

    task: int
    stratum: str
    inputs: Mapping[str, list[Any]]


@dataclass(frozen=True)
class ResultErrors:
    """The error figures of a part of a function's results (:mod:`rbdhw.golden.error_norm`)."""

    whole: ErrorFigures
    """Figures over tasks of all strata."""
    strata: Mapping[str, ErrorFigures]
    """Figures of each stratum."""
    floor: float = 0.0
    """The least norm by which an error is divided, in the units of the results."""
    histogram: Histogram | None = None
    worst: WorstTask | None = None
    """The errors of the tasks that count, and the task with the largest; None if no task counts."""
    share: float = 1.0
    """The ratio of the build's common budget to that of the function."""

    @classmethod
    def of(
        cls,
        errors: NDArray[np.float64],
        unflagged: NDArray[np.bool_],
        clipped: NDArray[np.bool_],
        stratum: NDArray[np.int64],
        names: Sequence[str],
        floor: float,
        inputs: Mapping[str, NDArray[np.float64]],
        share: float = 1.0,
    ) -> ResultErrors:
        """Return the figures of tasks' errors (N,); ``stratum`` (N,) holds indices of ``names``.

        ``inputs`` are the arrays of the tasks, (N, ...) each.
        """
        kinds = {
            name: ErrorFigures.of(errors[members], unflagged[members], clipped[members])
            for name, members in ((name, stratum == k) for k, name in enumerate(names))
            if members.any()
        }
        whole = ErrorFigures.of(errors, unflagged, clipped)
        kept = np.flatnonzero(unflagged & ~clipped)
        if not len(kept):
            return cls(whole, kinds, floor, share=share)
        task = int(kept[np.argmax(errors[kept])])
        arrays = {name: np.atleast_1d(array[task]).tolist() for name, array in inputs.items()}
        worst = WorstTask(task, names[stratum[task]], arrays)
        return cls(whole, kinds, floor, Histogram.of(errors[kept]), worst, share)

    @property
    def bound(self) -> float:
        """The smallest budget that the figures support in every stratum."""
        return max(self.bounds.values())

    @property
    def bounds(self) -> dict[str, float]:
        """For each stratum, the smallest common budget that its figures support.

        The function's own budget is in proportion to it.
        A bound is infinite if too many tasks are flagged: more than :data:`FLAGGED_SHARE` of all tasks, or
        more than :func:`most_flagged` of a stratum. A stratum whose tasks are all clipped has none.
        """
        if self.whole.flagged > FLAGGED_SHARE * self.whole.samples:
            return dict.fromkeys(self.strata, math.inf)
        factor = HEADROOM * self.share
        return {
            name: factor * figures.max if figures.flagged <= most_flagged(figures.samples) else math.inf
            for name, figures in self.strata.items()
            if figures.clipped < figures.samples
        }

    def limit(self, budget: float | None) -> float:
        """Return the largest error that a simulation allows: the function's budget, or else the bound.

        ``budget`` is the common one.
        """
        return min(self.bound, LARGEST_LIMIT) if budget is None else budget / self.share


@dataclass(frozen=True)
class FunctionErrors:
    """The error figures of one function: those of each part of its results, by the name of the result."""

    results: Mapping[str, ResultErrors]

    @property
    def whole(self) -> ErrorFigures:
        """The largest figures of all results, over tasks of all strata."""
        return ErrorFigures.largest(result.whole for result in self.results.values())

    @property
    def strata(self) -> dict[str, ErrorFigures]:
        """The largest figures of all results, by stratum."""
        every = [result.strata for result in self.results.values()]
        return {name: ErrorFigures.largest(strata[name] for strata in every) for name in every[0]}

    @property
    def share(self) -> float:
        """The ratio of the build's common budget to that of the function."""
        return next(iter(self.results.values())).share

    @property
    def bound(self) -> float:
        """The smallest common budget that the figures of all results support in every stratum."""
        return max(result.bound for result in self.results.values())

    @property
    def worst(self) -> tuple[str, str]:
        """The result and the stratum that need the largest budget."""
        bounds = {name: result.bounds for name, result in self.results.items()}
        every = ((name, stratum) for name, of_result in bounds.items() for stratum in of_result)
        return max(every, key=lambda pair: bounds[pair[0]][pair[1]])


Measured = Mapping[str, FunctionErrors]
"""Error figures by function."""
