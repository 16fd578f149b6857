"""The manifest's entries and the remarks on accuracy: errors by stratum, and the choice of widths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rbdhw.config import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.fixed.figures import ErrorFigures, FunctionErrors
from rbdhw.golden.error_norm import NORM
from rbdhw.quantize.formats import Formats

Words = Mapping[str, Sequence[Mapping[str, Any]]]
"""The manifest's entries on the words of each function's results."""


def error_entry(
    errors: Mapping[str, FunctionErrors], options: BuildOptions, outputs: Words
) -> dict[str, dict[str, Any]]:
    """Return the manifest's ``error``: the figures of each function, over all tasks and by stratum.

    ``limit`` is the largest error that ``simulate`` allows. ``floor`` and ``step``, the coarsest step of a
    result word, are in the ``units`` of the function's ``outputs``.
    """
    return {
        function: _entry(own.whole)
        | {
            "norm": NORM,
            "limit": own.limit(options.budget),
            "floor": own.floor if isinstance(own.floor, float) else dict(own.floor),
            "step": max((math.ldexp(1.0, -word["binary_point"]) for word in outputs[function]), default=0.0),
            "units": list(dict.fromkeys(_units(outputs[function]))),
            "strata": {stratum: _entry(figures) for stratum, figures in own.strata.items()},
        }
        for function, own in errors.items()
    }


def _units(words: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the unit of every element that words name."""
    for word in words:
        yield from (element["unit"] for element in (word, *word.get("also", ())))


def _entry(figures: ErrorFigures) -> dict[str, Any]:
    """Return figures for JSON, which has no infinity: errors are None if every task is flagged."""
    return {name: value if math.isfinite(value) else None for name, value in asdict(figures).items()}


def formats_entry(formats: Formats, options: BuildOptions) -> dict[str, Any]:
    """Return the manifest's ``formats``: the reason for the widths, and the widths that were tried."""
    return {
        "why": _why(formats, options),
        "tries": [
            {
                "widths": [list(ports) for ports in tried.widths],
                "supports": tried.bound if math.isfinite(tried.bound) else None,
                "limited_by": dict(zip(("function", "stratum"), tried.worst, strict=True)),
                "whole": tried.whole,
                "taken": tried is formats.taken,
            }
            for tried in formats.tries
        ],
    }


def _why(formats: Formats, options: BuildOptions) -> str:
    """Return the reason for the widths."""
    if options.budget is None:
        return f"--width {options.width}: the least errors that it allows, whatever they are"
    function, stratum = formats.taken.worst
    tried = len(formats.tries)
    widths = "at this width" if options.width is not None else "of all widths"
    return (
        f"the fewest DSP blocks, then bits, {widths} with errors that support {options.budget:g}, by "
        f"prediction, confirmed on the bit-exact model after {tried} {'try' if tried == 1 else 'tries'}; "
        f"{function} in {stratum} tasks limits them"
    )


def accuracy_remarks(formats: Formats, options: BuildOptions) -> Iterator[str]:
    """Yield a remark on each function whose errors at a forced width exceed the default budget.

    Functions with too many flagged tasks are included. Each remark proposes a remedy.
    """
    if options.budget is not None:
        return
    for function, own in formats.errors.items():
        if own.bound == math.inf or _largest(own)[1] > DEFAULT_MAX_ERROR:
            yield (
                f"width: {options.width} bits give {function} {_figures(own)}; the default budget is "
                f"{DEFAULT_MAX_ERROR:g}; limited by {formats.reasons[function]}; "
                "expected --max-error in place of --width, a wider --width, or a domain file with smaller "
                "bounds"
            )


def _figures(own: FunctionErrors) -> str:
    if own.whole.flagged == own.whole.samples:
        return "no result without a flag"
    stratum, largest = _largest(own)
    flagged = f", and flags {own.whole.flagged} of {own.whole.samples} tasks" if own.bound == math.inf else ""
    return f"errors of {own.whole.median:.2g} (median) to {largest:.2g} (in {stratum} tasks){flagged}"


def _largest(own: FunctionErrors) -> tuple[str, float]:
    """Return the stratum with the largest error, and that error."""
    stratum = max(own.strata, key=lambda name: own.strata[name].max)
    return stratum, own.strata[stratum].max
