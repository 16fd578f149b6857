"""Random tasks through the RTL, held bit for bit against the model and, in error, against golden.

Tasks go through in pieces, so that memory does not grow with their number. Each piece has random numbers and
a simulation of its own; in bulk as many pieces as there are processors are in work at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.design.folder import Design, read
from rbdhw.domain.strata import STRATA, Drawn, draw
from rbdhw.errors import InputError
from rbdhw.fixed.figures import FLAGGED_SHARE, most_flagged
from rbdhw.fixed.format import Integers
from rbdhw.golden.error_norm import relative_errors
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
from rbdhw.runtime.number_bounds import LARGEST_SEED, MOST_TASKS
from rbdhw.sim import bulk as bulk_bench
from rbdhw.sim import verilator
from rbdhw.sim.diagnosis import Cause, diagnose, merge_causes
from rbdhw.sim.model import respond
from rbdhw.sim.packets import Answers, Bytes, answers, contents, decode, encode, merge, requests, responses
from rbdhw.sim.run import golden_results
from rbdhw.sim.verilator import Disturbance, Exchange

Array = NDArray[np.float64]
Key = tuple[str, bool]
"""A function, and whether its tasks have the option EXTENDED."""

PIECE_TASKS = 16_384
"""The most tasks in a piece."""

PIECE_WORDS = 1 << 22
"""The most words of results in a piece: what a piece keeps is some ten times as many numbers."""

MOST_AT_ONCE = 8
"""Pieces in work at once, however many processors there are."""


@dataclass(frozen=True)
class StratumReport:
    """The tasks of one function and one stratum that came back.

    ``flagged`` counts those whose status is not zero. Errors are those of the others, relative to the norm of
    golden's result or to the function's floor, the larger; None where there are none.
    """

    tasks: int
    flagged: int
    error_median: float | None
    error_max: float | None

    @classmethod
    def of(cls, errors: Array, unflagged: NDArray[np.bool_]) -> StratumReport:
        """The report of tasks with these errors (N,), of which those marked count."""
        kept = errors[unflagged]
        figures = (float(np.median(kept)), float(kept.max())) if len(kept) else (None, None)
        return cls(len(errors), len(errors) - len(kept), *figures)


@dataclass(frozen=True)
class FunctionReport:
    """One function's tasks, extended ones among them.

    ``mismatches`` counts responses that differ from the model's in any bit, are missing or are too many;
    ``flagged`` the tasks whose status is not zero. Errors are relative to golden, in the Frobenius norm of a
    task's whole result, or to the function's floor, the larger. They are those of the tasks that came back
    unflagged; None where there are none. ``limit`` is the largest that is allowed. ``latency_cycles`` is the
    least number of cycles, under the report's traffic, from a task's first beat in to its response's last
    beat out; None where nothing came back.
    """

    tasks: int
    mismatches: int
    flagged: int
    error_median: float | None
    error_max: float | None
    limit: float
    latency_cycles: int | None
    strata: dict[str, StratumReport]

    def json(self) -> dict[str, Any]:
        """The function's part of the report as `simulate --json` prints it."""
        return vars(self) | {"strata": {name: vars(own).copy() for name, own in self.strata.items()}}


@dataclass(frozen=True)
class Report:
    """What a simulation found.

    ``stray`` counts responses that belong to no function, and breaches of the stream's protocol; ``cycles``
    run from the first beat in to the last beat out, summed over the pieces. The tasks of all ``functions``
    were mixed, and ``traffic`` held beats back. ``causes`` say why the model flags tasks, those of most tasks
    first.
    """

    tasks: int
    stray: int
    cycles: int
    functions: dict[str, FunctionReport]
    traffic: Disturbance
    causes: tuple[Cause, ...] = ()

    @property
    def mismatches(self) -> int:
        """Mismatches of all functions, and what belongs to none."""
        return self.stray + sum(report.mismatches for report in self.functions.values())

    @property
    def flagged(self) -> int:
        """Tasks of all functions whose status is not zero."""
        return sum(report.flagged for report in self.functions.values())

    @property
    def failures(self) -> list[str]:
        """What is wrong, a line each: mismatches, errors beyond the limit, too many flagged tasks."""
        lines = []
        if self.stray:
            lines.append(
                f"answers of no function, and breaches of the stream's protocol: {self.stray}; expected none"
            )
        for name, own in self.functions.items():
            if own.mismatches:
                lines.append(f"{name}: answers that are not the model's: {own.mismatches}; expected none")
            for stratum, part in own.strata.items():
                if part.error_max is not None and not part.error_max <= own.limit:
                    lines.append(
                        f"{name}: an unflagged task ({stratum}) has an error of {part.error_max:.2g}; "
                        f"expected at most {own.limit:.2g}, the limit that the manifest states"
                    )
            if own.flagged > most_flagged(own.tasks):
                lines.append(
                    f"{name}: {own.flagged} of {own.tasks} tasks are flagged; "
                    f"expected at most {FLAGGED_SHARE:.0%}; the causes name the remedies"
                )
        if all(own.error_median is None for own in self.functions.values()):
            lines.append("no task came back unflagged, so no error is known; expected one at least")
        return lines

    @property
    def ok(self) -> bool:
        """Whether the RTL is bit-exact, within budget, and flags few tasks."""
        return not self.failures

    def json(self) -> dict[str, Any]:
        """The report as `simulate --json` prints it."""
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
        }


@dataclass(frozen=True)
class _Batch:
    """The tasks of one key in a piece: places in it, the tasks, packets to send and to expect back.

    ``causes`` say why the model flags some of them.
    """

    places: Integers
    drawn: Drawn
    requests: Bytes
    expected: Bytes
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class _Found:
    """What a batch's responses were: each one's status, error, stratum and latency (cycles)."""

    tasks: int
    mismatches: int
    status: Integers
    errors: Array
    stratum: Integers
    latencies: Integers
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class _Piece:
    """What a piece's simulation found: ``stray`` is what belongs to no batch."""

    stray: int
    cycles: int
    batches: dict[Key, _Found]


def simulate(
    directory: Path,
    tasks: int,
    seed: int,
    *,
    bubbles: float = 0.25,
    back_pressure: float = 0.25,
    bulk: bool = False,
    cache: Path | None = None,
    progress: Progress = silent,
) -> Report:
    """Simulate the design in a folder on random tasks of all strata, all its functions mixed.

    Half of the tasks that can be are extended: they bring or ask for the optional arrays.

    Parameters
    ----------
    bubbles, back_pressure
        As in :class:`~rbdhw.sim.verilator.Disturbance`.
    bulk
        Drive the RTL from C++ instead of cocotb: for hundreds of thousands of tasks.
    cache
        Keeps the simulator, by default in the design's folder.
    progress
        Receives each stage, and how far it is.

    Raises
    ------
    InputError
        For a folder that holds no design, a number that cannot be, or a missing tool.
    SimulationError
        Where Verilator, the compiler or the simulation fails.
    """
    design = read(directory)
    _check(tasks, seed, {"bubbles": bubbles, "back-pressure": back_pressure})
    progress("building the simulator")
    benches = {False: (verilator.build, verilator.exchange), True: (bulk_bench.build, bulk_bench.exchange)}
    build, exchange = benches[bulk]
    through = partial(exchange, build(directory, cache))
    starts = range(0, tasks, _piece_tasks(design))

    def piece(start: int) -> _Piece:
        rng = np.random.default_rng([seed, start])
        batches = _batches(design, start, min(starts.step, tasks - start), rng)
        traffic = Disturbance(bubbles, back_pressure, int(rng.integers(1 << 63)))
        return _simulate_batches(design, batches, partial(through, traffic=traffic))

    pieces = []
    progress(f"simulating: 0 of {tasks} tasks")
    for found in _in_order(piece, starts, min(os.cpu_count() or 1, MOST_AT_ONCE) if bulk else 1):
        pieces.append(found)
        progress(f"simulating: {min(len(pieces) * starts.step, tasks)} of {tasks} tasks")
    return _report(design, tasks, pieces, Disturbance(bubbles, back_pressure, seed))


def _check(tasks: int, seed: int, probabilities: Mapping[str, float]) -> None:
    if not 1 <= tasks <= MOST_TASKS:
        raise InputError(f"tasks: {tasks} cannot be simulated; expected 1 to {MOST_TASKS}")
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"seed: {seed} starts no random numbers; expected 0 to {LARGEST_SEED}")
    for name, probability in probabilities.items():
        if not 0.0 <= probability < 1.0:
            raise InputError(f"{name}: {probability:g} is not possible; expected a probability below 1")


def _piece_tasks(design: Design) -> int:
    """How many tasks a piece has; the same on every machine, as they say which tasks are drawn."""
    most = max(len(words) for words in design.program.outputs.values())
    return max(1, min(PIECE_TASKS, PIECE_WORDS // most))


def _in_order(work: Callable[[int], _Piece], starts: range, at_once: int) -> Iterator[_Piece]:
    """What ``work`` makes of each start, in order; a failure leaves what has not begun."""
    with ThreadPoolExecutor(at_once) as executor:
        yield from executor.map(work, starts)


# Random tasks


def _batches(design: Design, first: int, tasks: int, rng: np.random.Generator) -> dict[Key, _Batch]:
    """Tasks whose tags count from ``first``, in random order over all functions."""
    drawn = draw(design.robot, design.domain, tasks, rng, design.fext)
    functions = np.array(design.functions)[rng.integers(len(design.functions), size=tasks)]
    extended = rng.random(tasks) < 0.5
    batches = {}
    for function in design.functions:
        own = functions == function
        options = (False, True) if FUNCTIONS[function].extensible else (False,)
        for option in options:
            chosen = own & (extended == option) if len(options) > 1 else own
            places = np.flatnonzero(chosen)
            if len(places):
                batches[function, option] = _batch(design, (function, option), first, places, drawn)
    return batches


def _batch(design: Design, key: Key, first: int, places: Integers, drawn: Drawn) -> _Batch:
    function, extended = key
    own = {name: array[places] for name, array in drawn.arrays.items()}
    if extended and "Minv" in FUNCTIONS[function].optional_inputs:
        own |= golden.evaluate(design.robot, "minv", own)
    words = encode(design, function, own, extended)
    status, results = respond(design, function, words, extended)
    asked = requests(design, function, first + places, words, extended)
    answer = responses(design, function, first + places, status, results, extended)
    flagged = np.flatnonzero(status)
    rows = {name: array[flagged] for name, array in own.items()}
    causes = diagnose(design, function, rows, extended, first + places[flagged])
    return _Batch(places, Drawn(own, drawn.stratum[places]), asked, answer, causes)


# What came back


def _simulate_batches(
    design: Design, batches: Mapping[Key, _Batch], exchange: Callable[..., Exchange]
) -> _Piece:
    sequence = merge(
        {key: batch.places for key, batch in batches.items()},
        {key: batch.requests for key, batch in batches.items()},
    )
    outcome = exchange(requests=sequence)
    ends = np.flatnonzero(sequence.last)
    first_beats = np.concatenate([[0], ends[:-1] + 1])
    came = {option: answers(design, outcome.responses, option) for _, option in batches}
    answered = {(function, option): came[option][function] for function, option in batches}
    found = {
        key: _compare_batch(design, key, batch, answered[key], outcome, first_beats)
        for key, batch in batches.items()
    }
    last = outcome.responses.last
    packets = int(np.count_nonzero(last)) + int(not last[-1:].all())
    unknown = packets - sum(len(answer.places) for answer in answered.values())
    return _Piece(unknown + outcome.violations, outcome.cycles, found)


def _compare_batch(
    design: Design, key: Key, batch: _Batch, answered: Answers, outcome: Exchange, first_beats: Integers
) -> _Found:
    """How a batch was answered; ``first_beats`` are the places of each task's first."""
    mismatches = count_mismatches(batch.expected, answered)
    status, errors = _errors(design, key, batch, answered)
    out = outcome.taken[outcome.responses.last][answered.places[: len(status)]]
    latencies = out - outcome.sent[first_beats[batch.places[: len(status)]]]
    stratum = batch.drawn.stratum[: len(status)]
    return _Found(len(batch.places), mismatches, status, errors, stratum, latencies, batch.causes)


def count_mismatches(expected: Bytes, answered: Answers) -> int:
    """Responses that are not the expected ones bit for bit, in order; a missing or a further one is one."""
    count = min(len(expected), len(answered.packets))
    same = (expected[:count] == answered.packets[:count]).all(axis=(1, 2)) & answered.whole[:count]
    return int(np.count_nonzero(~same)) + abs(len(expected) - len(answered.packets))


def _errors(design: Design, key: Key, batch: _Batch, answered: Answers) -> tuple[Integers, Array]:
    """Status and relative error of each response that answers a task."""
    count = min(len(batch.places), len(answered.places))
    status, words = contents(design, key[0], answered.packets[:count], key[1])
    reference = golden_results(design, key[0], batch.drawn.first(count).arrays, key[1])
    floor = design.manifest["error"][key[0]]["floor"]
    return status, relative_errors(decode(design, key[0], words, key[1]), reference, floor)


def _report(design: Design, tasks: int, pieces: list[_Piece], traffic: Disturbance) -> Report:
    """The report of all pieces."""
    every = [(key[0], found) for piece in pieces for key, found in piece.batches.items()]
    functions = {
        function: _function_report([found for name, found in every if name == function], limit)
        for function, limit in ((f, design.manifest["error"][f]["limit"]) for f in design.functions)
    }
    stray, cycles = sum(piece.stray for piece in pieces), sum(piece.cycles for piece in pieces)
    causes = merge_causes(cause for _, found in every for cause in found.causes)
    return Report(tasks, stray, cycles, functions, traffic, causes)


def _function_report(own: list[_Found], limit: float) -> FunctionReport:
    """The report of all batches of one function."""
    errors = np.concatenate([np.zeros(0), *(found.errors for found in own)])
    unflagged = np.concatenate([np.zeros(0, np.int64), *(found.status for found in own)]) == 0
    stratum = np.concatenate([np.zeros(0, np.int64), *(found.stratum for found in own)])
    latencies = np.concatenate([np.zeros(0, np.int64), *(found.latencies for found in own)])
    whole = StratumReport.of(errors, unflagged)
    kinds = ((name, stratum == k) for k, name in enumerate(STRATA))
    return FunctionReport(
        sum(found.tasks for found in own),
        sum(found.mismatches for found in own),
        whole.flagged,
        whole.error_median,
        whole.error_max,
        limit,
        int(np.min(latencies)) if len(latencies) else None,
        {name: StratumReport.of(errors[kind], unflagged[kind]) for name, kind in kinds if kind.any()},
    )
