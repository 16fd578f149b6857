"""Random tasks through the RTL, held bit for bit against the model and, in error, against golden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.artifact import Design, read
from rbdhw.domain import sample
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.sim import golden
from rbdhw.sim.errors import relative_errors
from rbdhw.sim.model import respond
from rbdhw.sim.packets import Answers, Bytes, answers, contents, decode, encode, merged, requests, responses
from rbdhw.sim.verilator import Exchange, Traffic, build, exchange

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FunctionReport:
    """One function's tasks.

    Errors are relative to golden, in the Frobenius norm of a task's whole result, over the tasks that came
    back unflagged; None where there are none. ``latency_cycles`` is the least number of cycles from a
    task's first beat in to its response's last beat out; None where nothing came back.
    """

    tasks: int
    error_median: float | None
    error_max: float | None
    latency_cycles: int | None


@dataclass(frozen=True)
class Report:
    """What a simulation found.

    ``mismatches`` counts responses that differ from the model's in any bit, are missing or are too many,
    and breaches of the stream's protocol; ``flagged`` the tasks whose status is not zero; ``cycles`` run
    from the first beat in to the last beat out. ``budget`` is the design's error budget, if it has one.
    """

    tasks: int
    mismatches: int
    flagged: int
    cycles: int
    functions: dict[str, FunctionReport]
    budget: float | None

    @property
    def within_budget(self) -> bool:
        """Whether every error of an unflagged task is within the design's budget."""
        errors = [report.error_max or 0.0 for report in self.functions.values()]
        return self.budget is None or max(errors) <= self.budget

    @property
    def ok(self) -> bool:
        """Whether the RTL is bit-exact and within budget."""
        return self.mismatches == 0 and self.within_budget

    def json(self) -> dict[str, Any]:
        """The report as `simulate --json` prints it."""
        return {
            "tasks": self.tasks,
            "mismatches": self.mismatches,
            "flagged": self.flagged,
            "cycles": self.cycles,
            "functions": {function: vars(report).copy() for function, report in self.functions.items()},
        }


@dataclass(frozen=True)
class _Batch:
    """One function's tasks: places among all tasks, arrays, packets to send and to expect back."""

    places: Integers
    arrays: dict[str, Array]
    requests: Bytes
    expected: Bytes


def simulate(
    directory: Path,
    tasks: int,
    seed: int,
    *,
    bubbles: float = 0.25,
    back_pressure: float = 0.25,
    cache: Path | None = None,
    progress: Callable[[str], None] = lambda _stage: None,
) -> Report:
    """Simulate the design in a folder on random tasks over its whole domain, all its functions mixed.

    ``bubbles`` and ``back_pressure`` are as in :class:`~rbdhw.sim.verilator.Traffic`; ``cache`` keeps the
    simulator, by default in the design's folder; ``progress`` is told each stage as it begins.

    Raises
    ------
    InputError
        For a folder that holds no design, a number that cannot be, or a missing tool.
    SimulationError
        Where Verilator, the compiler or the simulation fails.
    """
    design = read(directory)
    _check(tasks, {"bubbles": bubbles, "back-pressure": back_pressure})
    progress("evaluating the bit-exact model")
    batches = _batches(design, tasks, np.random.default_rng(seed))
    progress("building the simulator")
    executable = build(directory, cache)
    progress("simulating the Verilog")
    places = {function: batch.places for function, batch in batches.items()}
    sequence = merged(places, {function: batch.requests for function, batch in batches.items()})
    outcome = exchange(executable, sequence, Traffic(bubbles, back_pressure, seed))
    progress("comparing")
    ends = np.flatnonzero(sequence.last)
    first_beats = np.concatenate([[0], ends[:-1] + 1])
    return _report(design, batches, outcome, first_beats)


def _check(tasks: int, probabilities: dict[str, float]) -> None:
    if tasks < 1:
        raise InputError(f"tasks: {tasks} are nothing to simulate; expected 1 or more")
    for name, probability in probabilities.items():
        if not 0.0 <= probability < 1.0:
            raise InputError(f"{name}: {probability:g} is not possible; expected a probability below 1")


def _batches(design: Design, tasks: int, rng: np.random.Generator) -> dict[str, _Batch]:
    arrays = sample(design.robot, design.domain, tasks, rng, design.fext)
    chosen = rng.integers(len(design.functions), size=tasks)
    batches = {}
    for i, function in enumerate(design.functions):
        places = np.flatnonzero(chosen == i)
        own = {name: array[places] for name, array in arrays.items()}
        words = encode(design, function, own)
        status, results = respond(design, function, words)
        asked = requests(design, function, places, words)
        batches[function] = _Batch(places, own, asked, responses(design, function, places, status, results))
    return batches


def _report(design: Design, batches: dict[str, _Batch], outcome: Exchange, first_beats: Integers) -> Report:
    """The report of what came back for the batches; ``first_beats`` are the places of each task's first."""
    came = answers(design, outcome.responses)
    mismatches, flagged, functions = outcome.violations, 0, {}
    for function, batch in batches.items():
        answered = came[function]
        mismatches += count_mismatches(batch.expected, answered)
        status, errors = _errors(design, function, batch, answered)
        flagged += int(np.count_nonzero(status))
        kept = errors[status == 0]
        count = min(len(batch.places), len(answered.places))
        out = outcome.taken[outcome.responses.last][answered.places[:count]]
        latencies = out - outcome.sent[first_beats[batch.places[:count]]]
        functions[function] = FunctionReport(
            len(batch.places),
            float(np.median(kept)) if len(kept) else None,
            float(np.max(kept)) if len(kept) else None,
            int(np.min(latencies)) if count else None,
        )
    packets = np.count_nonzero(outcome.responses.last) + (not outcome.responses.last[-1:].all())
    mismatches += int(packets) - sum(len(answered.places) for answered in came.values())
    budget = design.manifest.get("budget")
    return Report(len(first_beats), mismatches, flagged, outcome.cycles, functions, budget)


def count_mismatches(expected: Bytes, answered: Answers) -> int:
    """Responses that are not the expected ones bit for bit, in order; a missing or a further one is one."""
    count = min(len(expected), len(answered.packets))
    same = (expected[:count] == answered.packets[:count]).all(axis=(1, 2)) & answered.whole[:count]
    return int(np.count_nonzero(~same)) + abs(len(expected) - len(answered.packets))


def _errors(design: Design, function: str, batch: _Batch, answered: Answers) -> tuple[Integers, Array]:
    """Status and relative error of each response that answers a task."""
    count = min(len(batch.places), len(answered.places))
    status, words = contents(design, function, answered.packets[:count])
    arrays = {name: array[:count] for name, array in batch.arrays.items()}
    reference = golden.evaluate(design.robot, function, arrays)
    return status, relative_errors(decode(design, function, words), reference)
