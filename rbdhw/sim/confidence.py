"""Confidence in errors: how large a share of the tasks of a kind may err more than the limit.

The tasks of a stratum are drawn independently of each other and of those that chose number formats. So the
number of them that err more than the limit is binomial, and the bound of Clopper and Pearson on its share is
exact: it holds with at least the probability that is asked for, however rare large errors are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from rbdhw import golden
from rbdhw.design.error_entries import ConfidenceEntry, ErrorEntry, ShareEntry
from rbdhw.domain.strata import SHARES, STRATA, Drawn, draw
from rbdhw.fixed.format import Integers
from rbdhw.golden.error_norm import function_errors
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import decode, encode
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
from rbdhw.sim.pieces import CONFIRMED, piece_rng, piece_tasks
from rbdhw.software.exact_library import ExactLibrary

LEVEL = 0.999
"""The confidence of statements for which none is asked."""

STATED_SHARE = 5e-4
"""The share of a stratum's tasks that may err more, as stated if none of the tasks drawn does."""

Array = NDArray[np.float64]


def largest_share(tasks: int, beyond: int, level: float) -> float:
    """Return the bound of Clopper and Pearson: with confidence ``level``, no larger share is beyond a limit.

    ``beyond`` of ``tasks`` that were drawn are.
    """
    return 1.0 if beyond == tasks else float(betaincinv(beyond + 1, tasks - beyond, level))


def tasks_needed(level: float) -> int:
    """Return the number of tasks of which none may be beyond a limit to state :data:`STATED_SHARE`."""
    return math.ceil(math.log1p(-level) / math.log1p(-STATED_SHARE))


def confidence_entry(
    level: float, ratios: Array, counted: NDArray[np.bool_], stratum: Integers
) -> ConfidenceEntry:
    """Return the entry on tasks (N,): the largest share of each stratum that errs more than the limits.

    ``ratios`` are the largest ratios of the tasks' errors to their limits; those of tasks that are not
    ``counted`` do not count.
    """
    strata = {}
    for k, name in enumerate(STRATA):
        kept = ratios[counted & (stratum == k)]
        beyond = int(np.count_nonzero(~(kept <= 1.0)))
        strata[name] = ShareEntry(
            tasks=len(kept),
            beyond=beyond,
            largest=float(kept.max()) if len(kept) else None,
            share=largest_share(len(kept), beyond, level),
        )
    return ConfidenceEntry(level=level, strata=strata)


def confirm(
    model: AcceleratorModel,
    stated: Mapping[str, ErrorEntry],
    level: float,
    seed: int,
    progress: Progress = silent,
) -> dict[str, ConfidenceEntry]:
    """Return each function's entry, from as many fresh tasks on the compiled model as ``level`` takes.

    ``stated`` are the manifest's errors by function.

    Raises
    ------
    CompilerError
        If there is no compiler, or it fails.
    """
    library = ExactLibrary(model)
    tasks = math.ceil(tasks_needed(level) * sum(SHARES.values()) / min(SHARES.values()))
    starts = range(0, tasks, piece_tasks(model.interface))
    drawn = [
        draw(
            model.robot,
            model.domain,
            min(starts.step, tasks - start),
            piece_rng(seed, start, CONFIRMED),
            model.fext,
        )
        for start in starts
    ]
    entries = {}
    for function, errors in stated.items():
        progress(f"confirming the errors of {function} in {tasks:,} tasks")
        parts = [_ratios(model, library, function, piece, errors) for piece in drawn]
        ratios, counted = (np.concatenate(column) for column in zip(*parts, strict=True))
        stratum = np.concatenate([piece.stratum for piece in drawn])
        entries[function] = confidence_entry(level, ratios, counted, stratum)
    return entries


def _ratios(
    model: AcceleratorModel, library: ExactLibrary, function: str, drawn: Drawn, stated: ErrorEntry
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the largest ratio of each task's errors (N,) to their limits, and whether it counts."""
    arrays, extended = drawn.of(function), bool(FUNCTIONS[function].optional_outputs)
    status, words = library.respond(function, encode(model, function, arrays, extended), extended)
    results = decode(model, function, words, extended, arrays.get("h"))
    reference = golden.evaluate(model.robot, function, arrays, extended)
    floors = {f"{function}.{result}": entry.floor for result, entry in stated.results.items()}
    errors = function_errors(model.robot, function, arrays, results, reference, floors)
    return largest_ratios(errors, stated), (status == 0) & ~drawn.clipped_of(function)


def largest_ratios(errors: Mapping[str, Array], stated: ErrorEntry) -> Array:
    """Return the largest ratio of each task's errors (N,), by result, to the limits that are stated.

    The ratio of an error of zero is zero, also where the limit is zero.
    """
    with np.errstate(divide="ignore"):
        ratios = [
            np.divide(error, stated.results[result].limit, out=np.zeros_like(error), where=error != 0.0)
            for result, error in errors.items()
        ]
    return np.asarray(np.max(ratios, axis=0))
