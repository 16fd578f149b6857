"""The report of a simulation: what differed from the model, how large the errors were, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.error_entries import ConfidenceEntry
from rbdhw.errors import told_apart
from rbdhw.fixed.figures import FLAGGED_SHARE, most_flagged
from rbdhw.model.diagnosis import Cause
from rbdhw.protocol import ROLLOUT
from rbdhw.sim.mean_check import MeanReport
from rbdhw.sim.rollout_check import RolloutReport
from rbdhw.sim.solver_check import SolverReport
from rbdhw.verilator.simulator import Disturbance

Array = NDArray[np.float64]


def all_flagged(kind: str, tasks: int, flagged: int) -> tuple[str, ...]:
    """Return the warning that every task, or whatever ``kind`` they are, is flagged; nothing otherwise."""
    if not tasks or flagged < tasks:
        return ()
    line = f"every {kind} is flagged ({tasks}), so no result is to be trusted; the causes name the remedies"
    return (line,)


@dataclass(frozen=True)
class StratumReport:
    """The answered tasks of one function, or those with one of its results, in one stratum or in all.

    ``flagged`` counts the tasks whose status is not zero. The errors are those of the other tasks, without
    clipped ones (:mod:`rbdhw.domain.strata`), relative to the norm of the golden result or to the result's
    floor, whichever is larger; None if there are none.
    """

    tasks: int
    flagged: int
    error_median: float | None
    error_max: float | None

    @classmethod
    def of(cls, errors: Array, unflagged: NDArray[np.bool_], clipped: NDArray[np.bool_]) -> StratumReport:
        """Return the report of tasks (N,); the errors of those in ``unflagged`` and not ``clipped`` count."""
        kept = errors[unflagged & ~clipped]
        figures = (float(np.median(kept)), float(kept.max())) if len(kept) else (None, None)
        return cls(len(errors), int(np.count_nonzero(~unflagged)), *figures)

    @staticmethod
    def largest(unflagged: NDArray[np.bool_], reports: Iterable[StratumReport]) -> StratumReport:
        """Return the report of tasks (N,) with the largest median and the largest error of all results."""
        every = list(reports)
        median = max((each.error_median for each in every if each.error_median is not None), default=None)
        largest = max((each.error_max for each in every if each.error_max is not None), default=None)
        return StratumReport(len(unflagged), int(np.count_nonzero(~unflagged)), median, largest)


@dataclass(frozen=True)
class ResultReport(StratumReport):
    """The answered tasks that have one of a function's results (:mod:`rbdhw.golden.error_norm`).

    ``limit`` is the largest permitted error.
    """

    limit: float
    strata: dict[str, StratumReport]

    def json(self) -> dict[str, Any]:
        return vars(self) | {"strata": {name: vars(entry).copy() for name, entry in self.strata.items()}}


@dataclass(frozen=True)
class FunctionReport:
    """The tasks of one function, extended ones included.

    ``mismatches`` counts responses that differ from the model's in any bit, are missing or are surplus.
    ``flagged`` counts the tasks whose status is not zero. The errors and ``limit`` are the largest of
    ``results``, and ``confidence`` bounds the share of tasks beyond their limits. ``latency_cycles`` is the
    least number of cycles, under the report's traffic, from the first beat of a task to the last beat of its
    response; None without responses.
    """

    tasks: int
    mismatches: int
    flagged: int
    error_median: float | None
    error_max: float | None
    limit: float
    latency_cycles: int | None
    strata: dict[str, StratumReport]
    results: dict[str, ResultReport]
    confidence: ConfidenceEntry

    def json(self) -> dict[str, Any]:
        return vars(self) | {
            "confidence": self.confidence.model_dump(),
            "strata": {name: vars(entry).copy() for name, entry in self.strata.items()},
            "results": {name: entry.json() for name, entry in self.results.items()},
        }

    def excess(self, name: str) -> Iterator[str]:
        """Yield a line on each result and stratum beyond the limit; ``name`` is the function's."""
        for result, part_of in self.results.items():
            for stratum, part in part_of.strata.items():
                if part.error_max is not None and not part.error_max <= part_of.limit:
                    error, limit = told_apart(part.error_max, part_of.limit, digits=2)
                    yield (
                        f"{name}: {result} of an unflagged task ({stratum}) has an error of {error}; "
                        f"expected at most {limit}, the limit that the manifest states"
                    )


@dataclass(frozen=True)
class Report:
    """The result of a simulation.

    ``stray`` counts responses that belong to no function, and violations of the stream protocol. ``cycles``
    runs from the first beat sent to the last beat received, summed over the pieces. The tasks of all
    ``functions`` are mixed, under the random ``traffic``. ``rollouts``, ``solutions`` and ``means`` are those
    of a build that has them; they come after these tasks, and are not among them. ``causes`` explain the
    tasks that the model flags, the most frequent cause first.
    """

    tasks: int
    stray: int
    cycles: int
    functions: dict[str, FunctionReport]
    traffic: Disturbance
    causes: tuple[Cause, ...] = ()
    rollouts: RolloutReport | None = None
    solutions: SolverReport | None = None
    means: MeanReport | None = None

    @property
    def mismatches(self) -> int:
        """The mismatches of all functions, rollouts, solutions and means, and the stray responses."""
        commands = (self.rollouts, self.solutions, self.means)
        others = sum(each.mismatches for each in commands if each is not None)
        return self.stray + others + sum(report.mismatches for report in self.functions.values())

    @property
    def flagged(self) -> int:
        return sum(report.flagged for report in self.functions.values())

    @property
    def failures(self) -> list[str]:
        """The failures, one line each: mismatches, errors beyond the limit, too many flagged tasks."""
        lines = []
        if self.stray:
            lines.append(
                f"responses of no function, or violations of the stream protocol: {self.stray}; expected 0"
            )
        for name, report in self.functions.items():
            if report.mismatches:
                lines.append(
                    f"{name}: responses that differ from the model's: {report.mismatches}; expected 0"
                )
            lines.extend(report.excess(name))
            if report.flagged > most_flagged(report.tasks):
                lines.append(
                    f"{name}: {report.flagged} of {report.tasks} tasks are flagged; "
                    f"expected at most {FLAGGED_SHARE:.0%}; the causes name the remedies"
                )
        if self.rollouts and self.rollouts.mismatches:
            differing = self.rollouts.mismatches
            lines.append(f"rollout: responses that differ from the model's: {differing}; expected 0")
        if self.solutions and self.solutions.mismatches:
            differing = self.solutions.mismatches
            lines.append(f"solve: responses that differ from the model's: {differing}; expected 0")
        if self.means and self.means.mismatches:
            differing = self.means.mismatches
            lines.append(f"mppi: responses that differ from the model's: {differing}; expected 0")
        if all(report.error_median is None for report in self.functions.values()):
            lines.append("no response is unflagged, so no error can be measured; expected at least one")
        return lines

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines about what was compared, but tells nothing about results: only flagged rollouts."""
        return all_flagged(ROLLOUT, self.rollouts.tasks, self.rollouts.flagged) if self.rollouts else ()

    @property
    def ok(self) -> bool:
        """Whether the RTL is bit-exact, within the error budget, and flags few tasks."""
        return not self.failures

    def json(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "mismatches": self.mismatches,
            "stray": self.stray,
            "flagged": self.flagged,
            "cycles": self.cycles,
            "traffic": {
                "bubbles": self.traffic.bubbles,
                "back_pressure": self.traffic.back_pressure,
                "seed": self.traffic.seed,
                "mixed_functions": len(self.functions) > 1,
            },
            "functions": {function: report.json() for function, report in self.functions.items()},
            "causes": [cause.json() for cause in self.causes],
            "warnings": list(self.warnings),
            **({"rollouts": vars(self.rollouts).copy()} if self.rollouts else {}),
            **({"solutions": vars(self.solutions).copy()} if self.solutions else {}),
            **({"means": vars(self.means).copy()} if self.means else {}),
        }
