"""The manifest's entries and the remarks on accuracy: errors by stratum, and the choice of widths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rbdhw.arrays import WordName, is_optional
from rbdhw.design.entries import FormatsEntry, Limit, Try
from rbdhw.design.error_entries import BackwardEntry, ErrorEntry, Figures, ProofEntry, ResultErrors
from rbdhw.design.packet_entries import OutputWord
from rbdhw.errors import told_apart
from rbdhw.fixed.backward import BackwardErrors
from rbdhw.fixed.figures import ErrorFigures, FunctionErrors
from rbdhw.fixed.figures import ResultErrors as PartErrors
from rbdhw.golden.error_norm import NORM, Part, parts_of
from rbdhw.graph.graph import Graph
from rbdhw.options.build import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.quantize.formats import Formats, node_reason
from rbdhw.robot.model import Robot

Words = Mapping[str, Sequence[OutputWord]]
"""The words of each function's results, the optional ones among them."""


def error_entries(
    robot: Robot,
    errors: Mapping[str, FunctionErrors],
    options: BuildOptions,
    words: Words,
    proofs: Mapping[str, Mapping[str, ProofEntry]],
    backward: Mapping[str, BackwardErrors],
) -> dict[str, ErrorEntry]:
    """Return the manifest's ``error``: the figures of each function and of each of its results.

    The figures are over all tasks and by stratum; those of a function are the largest of its results.
    ``limit`` is the largest error that ``simulate`` allows. ``floor`` and ``step``, the coarsest step of a
    result word, are in the ``units`` of the ``words``.
    """
    return {
        function: ErrorEntry(
            **_entry(figures, [word for word in words[function] if not is_optional(word.name)]),
            norm=NORM,
            limit=max(result.limit(options.budget) for result in figures.results.values()),
            floor=_floors(function, figures),
            results=_results(robot, function, figures, options, words[function], proofs.get(function, {})),
            backward=_backward_entry(backward[function]) if function in backward else None,
        )
        for function, figures in errors.items()
    }


def _results(
    robot: Robot,
    function: str,
    errors: FunctionErrors,
    options: BuildOptions,
    words: Sequence[OutputWord],
    proofs: Mapping[str, ProofEntry],
) -> dict[str, ResultErrors]:
    parts = {part.result: part for part in parts_of(robot, function)}
    return {
        result: ResultErrors(
            **_entry(figures, words, parts[result]),
            limit=figures.limit(options.budget),
            floor=figures.floor,
            histogram=asdict(figures.histogram) if figures.histogram and figures.whole.stated else None,
            worst=asdict(figures.worst) if figures.worst and figures.whole.stated else None,
            proof=proofs.get(result),
        )
        for result, figures in errors.results.items()
    }


def proof_entries(robot: Robot, graph: Graph, formats: Formats) -> dict[str, dict[str, ProofEntry]]:
    """Return the entries on proven errors of a core's functions, by result."""
    return {
        function: {
            result: ProofEntry(
                absolute=proven.absolute,
                relative=proven.relative,
                limited_by=node_reason(robot, graph, proven.node, 0.0),
            )
            for result, proven in results.items()
        }
        for function, results in formats.proofs.items()
    }


def _backward_entry(errors: BackwardErrors) -> BackwardEntry:
    return BackwardEntry(
        mass_matrix=errors.matrix.tolist(),
        forces=errors.forces.tolist(),
        acceleration=errors.acceleration.tolist(),
    )


def _floors(function: str, errors: FunctionErrors) -> float | dict[str, float]:
    """Return the floor of the function's only result, or the floors of its results by name."""
    floors = {f"{function}.{result}": part.floor for result, part in errors.results.items()}
    return floors if len(floors) > 1 else next(iter(floors.values()))


def _entry(
    errors: FunctionErrors | PartErrors, words: Sequence[OutputWord], part: Part | None = None
) -> dict[str, Any]:
    """Return figures over all tasks and by stratum, and the coarsest step and the units of a part's words."""
    elements = [
        (element.unit, word.binary_point)
        for word in words
        for element in (word, *(word.also or ()))
        if part is None or WordName.parse(element.name) in part
    ]
    return {
        **_figures(errors.whole),
        "strata": {stratum: Figures(**_figures(figures)) for stratum, figures in errors.strata.items()},
        "step": max((math.ldexp(1.0, -point) for _, point in elements), default=0.0),
        "units": list(dict.fromkeys(unit for unit, _ in elements)),
    }


def _figures(figures: ErrorFigures) -> dict[str, Any]:
    """Return the fields of figures: errors are None if every task is flagged, or most of them are clipped."""
    known = figures.stated and math.isfinite(figures.max)
    return asdict(figures) | ({} if known else {"median": None, "max": None})


def formats_entry(formats: Formats, options: BuildOptions) -> FormatsEntry:
    """Return the manifest's ``formats``: the reason for the widths, and the widths that were tried."""
    tries = [
        Try(
            widths=[list(ports) for ports in trial.widths],
            supports=trial.bound if math.isfinite(trial.bound) else None,
            limited_by=Limit(
                function=trial.worst.function, result=trial.worst.result, stratum=trial.worst.stratum
            ),
            whole=trial.whole,
            taken=trial is formats.taken,
        )
        for trial in formats.tries
    ]
    return FormatsEntry(why=_why(formats, options), tries=tries)


def _why(formats: Formats, options: BuildOptions) -> str:
    if options.budget is None:
        return f"--width {options.width}: the least errors that it allows, whatever they are"
    tried = len(formats.tries)
    widths = "at this width" if options.width is not None else "of all widths"
    budget = ", ".join(
        [*(f"{limit:g} of {f}" for f, limit in options.budgets.items()), f"{options.budget:g}"]
    )
    return (
        f"the fewest DSP blocks, then bits, {widths} with errors that support {budget}, by "
        f"prediction, confirmed on the bit-exact model after {tried} {'try' if tried == 1 else 'tries'}"
        f"{', and proven' if options.prove else ''}; "
        f"{formats.taken.worst} limits them"
    )


def accuracy_remarks(formats: Formats, options: BuildOptions) -> Iterator[str]:
    """Yield a remark on each function whose errors at a forced width exceed the default budget.

    Functions with too many flagged tasks are included. Each remark proposes a remedy.
    """
    if options.budget is not None:
        return
    for function, errors in formats.errors.items():
        if errors.bound == math.inf or _largest(errors)[2] > DEFAULT_MAX_ERROR:
            figures, budget = _told_figures(errors)
            yield (
                f"width: {options.width} bits give {function} {figures}; the default budget is "
                f"{budget}; limited by {formats.reasons[function]}; "
                "expected --max-error in place of --width, a wider --width, or a domain file with smaller "
                "bounds"
            )


def clipped_remarks(formats: Formats) -> Iterator[str]:
    """Yield a remark on each kind of tasks whose errors are unknown, because most of them are clipped."""
    for function, errors in formats.errors.items():
        for stratum, figures in errors.strata.items():
            if not figures.stated:
                yield (
                    f"domain: in {figures.clipped:,} of {figures.samples:,} {stratum} tasks of {function} "
                    "forces within their bounds do not hold the robot; no error is stated for these tasks; "
                    "effort in a domain file widens the bounds"
                )


def _told_figures(errors: FunctionErrors) -> tuple[str, str]:
    """Return a function's largest errors as text, and the default budget."""
    whole = errors.whole
    if whole.flagged == whole.samples:
        return "no result without a flag", f"{DEFAULT_MAX_ERROR:g}"
    result, stratum, error = _largest(errors)
    largest, budget = told_apart(error, DEFAULT_MAX_ERROR, digits=2)
    flagged = f", and flags {whole.flagged} of {whole.samples} tasks" if errors.bound == math.inf else ""
    return (
        f"errors of {whole.median:.2g} (median) to {largest} ({result} in {stratum} tasks){flagged}",
        budget,
    )


def _largest(errors: FunctionErrors) -> tuple[str, str, float]:
    """Return the result and the stratum with the largest error, and that error."""
    stated = [
        (result, stratum, figures.max)
        for result, part in errors.results.items()
        for stratum, figures in part.strata.items()
        if figures.stated
    ]
    return max(stated, key=lambda entry: entry[2])
