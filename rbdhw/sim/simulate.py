"""Simulation of random tasks: RTL compared bit for bit with the model, and in error with the golden model.

The tasks are split into pieces, so that memory does not grow with their number. Each piece has its own random
numbers and its own simulation. In bulk mode the processors simulate several pieces at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.design.digests import digest_of
from rbdhw.design.error_entries import ConfidenceEntry, ErrorEntry
from rbdhw.design.folder import Design, read
from rbdhw.design.manifest import read_manifest
from rbdhw.domain.strata import STRATA, Drawn, draw, with_forces
from rbdhw.engines.engine import Source
from rbdhw.engines.packets import Connection
from rbdhw.engines.rtl import RtlEngine
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.golden.error_norm import function_errors
from rbdhw.model.diagnosis import Cause, diagnose, merge_causes, order_causes
from rbdhw.model.loads import Loads, draw_loads, load_packets
from rbdhw.model.packets import (
    Answers,
    Beats,
    Bytes,
    answers,
    contents,
    decode,
    encode,
    merge,
    requests,
    responses,
)
from rbdhw.model.responses import respond
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS, LOAD_PARAMETERS
from rbdhw.runtime.number_bounds import LARGEST_SEED, MOST_TASKS, check_confidence
from rbdhw.sim.confidence import LEVEL, confidence_entry, confirm, largest_ratios
from rbdhw.sim.mean_check import check_means
from rbdhw.sim.pieces import SIMULATED, piece_rng, piece_tasks
from rbdhw.sim.report import FunctionReport, Report, ResultReport, StratumReport
from rbdhw.sim.rollout_check import check_rollouts
from rbdhw.sim.solver_check import check_solutions
from rbdhw.verilator.simulator import Disturbance, Exchange

Array = NDArray[np.float64]
Key = tuple[str, bool]
"""A function, and whether its tasks have the option EXTENDED."""

MOST_AT_ONCE = 8
"""The most pieces in simulation at once, on any number of processors."""


@dataclass(frozen=True)
class _Batch:
    """The tasks of one key in a piece: their places in it, their arrays, the packets to send and to expect.

    ``causes`` explain the tasks that the model flags.
    """

    places: Integers
    drawn: Drawn
    requests: Bytes
    expected: Bytes
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class _Comparison:
    """The responses to a batch: of each the status, errors by result, stratum, and latency (cycles).

    ``clipped`` marks tasks that are none of their stratum.
    """

    tasks: int
    mismatches: int
    status: Integers
    errors: Mapping[str, Array]
    stratum: Integers
    clipped: NDArray[np.bool_]
    latencies: Integers
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class _Piece:
    """What the simulation of a piece gave, on all pairs of streams; ``stray`` counts what is of no batch."""

    stray: int
    cycles: int
    comparisons: tuple[tuple[Key, _Comparison], ...]


def simulate(
    directory: Path,
    tasks: int,
    seed: int,
    *,
    # As in `Disturbance`.
    bubbles: float = 0.25,
    back_pressure: float = 0.25,
    bulk: bool = False,  # use the C++ bench instead of cocotb, for hundreds of thousands of tasks
    # Draw as many more tasks on the compiled model as this confidence takes (:mod:`rbdhw.sim.confidence`).
    confidence: float | None = None,
    cache: Path | None = None,  # the folder of the simulator; by default a folder in the design's
    progress: Progress = silent,  # receives each stage and its progress
) -> Report:
    """Simulate the design in a folder on random tasks of all strata, with its functions mixed.

    All pairs of streams are busy at once. Half of the tasks that can be extended are: they send or request
    the optional arrays.

    Raises
    ------
    InputError
        For a folder without a design, a number out of range, or a missing tool.
    SimulationError
        If Verilator, the compiler or the simulation fails.
    """
    design = read(directory)
    read_manifest(directory)  # a manifest of another format is refused before anything is built
    check_draw(tasks, seed)
    if confidence is not None:
        check_confidence("confidence", confidence)
    for name, probability in {"bubbles": bubbles, "back-pressure": back_pressure}.items():
        if not 0.0 <= probability < 1.0:
            raise InputError(name, f"{probability:g} is not possible", "a probability below 1")
    progress("building the simulator")
    engine = RtlEngine("rtl", Source(directory, digest_of(directory), design, cache))
    connection = engine.connect(in_bulk=bulk)
    starts = range(0, tasks, piece_tasks(design.interface))

    def piece(start: int) -> _Piece:
        rng = piece_rng(seed, start, SIMULATED)
        shares = _shares(min(starts.step, tasks - start), design.interface.streams)
        each = [_batches(design, start + first, share, rng) for first, share in shares]
        traffic = Disturbance(bubbles, back_pressure, int(rng.integers(1 << 63)))
        return _simulate_batches(design, each, connection, traffic)

    pieces = []
    progress(f"simulating: 0 of {tasks} tasks")
    for piece_result in _in_order(piece, starts, min(os.cpu_count() or 1, MOST_AT_ONCE) if bulk else 1):
        pieces.append(piece_result)
        progress(f"simulating: {min(len(pieces) * starts.step, tasks)} of {tasks} tasks")
    traffic = Disturbance(bubbles, back_pressure, seed)
    confirmed = None
    if confidence is not None:
        confirmed = confirm(design, design.description.error, confidence, seed, progress)
    report = _report(design, tasks, pieces, traffic, confirmed)
    if design.interface.rollout is not None:
        progress("simulating rollouts")
        rolled, causes = check_rollouts(design, tasks, piece_rng(seed, tasks, SIMULATED), traffic, connection)
        report = replace(report, rollouts=rolled, causes=order_causes((*report.causes, *causes)))
    if design.interface.solver is not None:
        progress("simulating solutions")
        report = replace(report, solutions=check_solutions(design, engine, seed))
    if design.interface.rollout is not None and design.interface.rollout.means:
        progress("simulating means of samples")
        report = replace(report, means=check_means(design, engine, seed))
    return report


def check_draw(tasks: int, seed: int) -> None:
    """Refuse a number of random tasks, or a seed, that is out of range."""
    if not 1 <= tasks <= MOST_TASKS:
        raise InputError("tasks", f"{tasks} is out of range", f"1 to {MOST_TASKS}")
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError("seed", f"{seed} is not a seed", f"0 to {LARGEST_SEED}")


def _in_order(work: Callable[[int], _Piece], starts: range, at_once: int) -> Iterator[_Piece]:
    """Yield the results of ``work`` for each start, in order; after a failure no further work begins."""
    with ThreadPoolExecutor(at_once) as executor:
        yield from executor.map(work, starts)


# Random tasks


def _shares(tasks: int, streams: int) -> list[tuple[int, int]]:
    """Return the first task and the number of tasks of each pair of streams that has any."""
    ends = [tasks * (k + 1) // streams for k in range(streams)]
    return [(first, end - first) for first, end in pairwise([0, *ends]) if end > first]


def _batches(design: Design, first: int, tasks: int, rng: np.random.Generator) -> dict[Key, _Batch]:
    """Return batches of tasks, numbered from ``first``, in random order over all functions."""
    drawn = draw(design.robot, design.domain, tasks, rng, design.fext)
    loads = draw_loads(design, drawn.free, rng)
    if design.interface.held:
        drawn = with_forces(design.robot, design.domain, drawn.free, drawn.stratum, rng)
    functions = np.array(design.functions)[rng.integers(len(design.functions), size=tasks)]
    extended = rng.random(tasks) < 0.5
    batches = {}
    for function in design.functions:
        of_function = functions == function
        options = (False, True) if FUNCTIONS[function].extensible else (False,)
        for option in options:
            chosen = of_function & (extended == option) if len(options) > 1 else of_function
            places = np.flatnonzero(chosen)
            if len(places):
                batches[function, option] = _batch(design, (function, option), first, places, drawn, loads)
    return batches | ({(LOAD_PARAMETERS, False): _load_batch(design, loads)} if loads.places.size else {})


def _load_batch(design: Design, loads: Loads) -> _Batch:
    asked, answer = load_packets(design, loads)
    none = np.zeros(len(loads.places), np.int64)
    return _Batch(loads.places, Drawn({}, {}, none, none != 0), asked, answer, ())


def _batch(design: Design, key: Key, first: int, tasks: Integers, drawn: Drawn, loads: Loads) -> _Batch:
    """Return the batch of some tasks of one function; loads of parameters come in between."""
    function, extended = key
    chosen, places = drawn.taken(tasks), tasks + loads.before[tasks]
    arrays = chosen.of(function)
    if extended and FUNCTIONS[function].takes_inverse:
        arrays |= golden.evaluate(design.robot, "minv", arrays)
    words = encode(design, function, arrays, extended)
    status, results = respond(design, function, words, extended)
    asked = requests(design, function, first + places, words, extended, loads.sets[tasks])
    before = loads.before_of_set[tasks] if design.interface.held else None
    answer = responses(design, function, first + places, status, results, extended, before)
    flagged = np.flatnonzero(status)
    rows = {name: array[flagged] for name, array in arrays.items()}
    causes = diagnose(design, function, rows, extended, first + tasks[flagged])
    return _Batch(places, replace(chosen, arrays=arrays), asked, answer, causes)


# Responses


def _simulate_batches(
    design: Design, each: Sequence[Mapping[Key, _Batch]], connection: Connection, traffic: Disturbance
) -> _Piece:
    """Return what the batches of each pair of streams gave, which were simulated together."""
    sequences = [
        merge(
            {key: batch.places for key, batch in batches.items()},
            {key: batch.requests for key, batch in batches.items()},
        )
        for batches in each
    ]
    outcomes = connection(sequences, traffic)
    compared = [_compare(design, *stream) for stream in zip(each, sequences, outcomes, strict=True)]
    stray, cycles = sum(count for count, _ in compared), max(outcome.cycles for outcome in outcomes)
    return _Piece(stray, cycles, tuple(result for _, few in compared for result in few))


def _compare(
    design: Design, batches: Mapping[Key, _Batch], sequence: Beats, outcome: Exchange
) -> tuple[int, list[tuple[Key, _Comparison]]]:
    """Return what belongs to no batch of one pair of streams, and what each batch gave."""
    ends = np.flatnonzero(sequence.last)
    first_beats = np.concatenate([[0], ends[:-1] + 1])
    came = {option: answers(design, outcome.responses, option) for _, option in batches}
    answered = {(function, option): came[option][function] for function, option in batches}
    results = [
        (key, _compare_batch(design, key, batch, answered[key], outcome, first_beats))
        for key, batch in batches.items()
        if key[0] in FUNCTIONS
    ]
    wrong = sum(
        count_mismatches(batch.expected, answered[key])
        for key, batch in batches.items()
        if key[0] not in FUNCTIONS
    )
    last = outcome.responses.last
    packets = int(np.count_nonzero(last)) + int(not last[-1:].all())
    unknown = packets - sum(len(answer.places) for answer in answered.values())
    return unknown + wrong + outcome.violations, results


def _compare_batch(
    design: Design, key: Key, batch: _Batch, answered: Answers, outcome: Exchange, first_beats: Integers
) -> _Comparison:
    """Compare a batch with its responses; ``first_beats`` are the places of each task's first beat."""
    mismatches = count_mismatches(batch.expected, answered)
    status, errors = _errors(design, key, batch, answered)
    out = outcome.taken[outcome.responses.last][answered.places[: len(status)]]
    latencies = out - outcome.sent[first_beats[batch.places[: len(status)]]]
    drawn = batch.drawn.first(len(status))
    clipped, asked = drawn.clipped_of(key[0]), len(batch.places)
    return _Comparison(asked, mismatches, status, errors, drawn.stratum, clipped, latencies, batch.causes)


def count_mismatches(expected: Bytes, answered: Answers) -> int:
    """Return the number of responses that differ from the expected ones, plus the missing or surplus ones."""
    count = min(len(expected), len(answered.packets))
    same = (expected[:count] == answered.packets[:count]).all(axis=(1, 2)) & answered.whole[:count]
    return int(np.count_nonzero(~same)) + abs(len(expected) - len(answered.packets))


def _errors(design: Design, key: Key, batch: _Batch, answered: Answers) -> tuple[Integers, dict[str, Array]]:
    """Return the status of each response that belongs to a task, and the relative errors of each result."""
    function, extended = key
    count = min(len(batch.places), len(answered.places))
    status, words = contents(design, function, answered.packets[:count], extended)
    tasks = batch.drawn.first(count).arrays
    reference = golden.evaluate(design.robot, function, tasks, extended)
    entries = design.description.error[function].results
    floors = {f"{function}.{result}": entry.floor for result, entry in entries.items()}
    results = decode(design, function, words, extended, tasks.get("h"))
    return status, function_errors(design.robot, function, tasks, results, reference, floors)


def _report(
    design: Design,
    tasks: int,
    pieces: list[_Piece],
    traffic: Disturbance,
    confirmed: Mapping[str, ConfidenceEntry] | None,
) -> Report:
    every = [(key[0], batch) for piece in pieces for key, batch in piece.comparisons]
    functions = {}
    for function in design.functions:
        batches, stated = [b for name, b in every if name == function], design.description.error[function]
        confidence = confirmed[function] if confirmed else _confidence(batches, stated)
        functions[function] = _function_report(batches, stated, confidence)
    stray, cycles = sum(piece.stray for piece in pieces), sum(piece.cycles for piece in pieces)
    causes = merge_causes(cause for _, batch in every for cause in batch.causes)
    return Report(tasks, stray, cycles, functions, traffic, causes)


def _confidence(batches: list[_Comparison], stated: ErrorEntry) -> ConfidenceEntry:
    """Return the entry on all batches of a function."""
    ratios = np.concatenate([np.zeros(0), *(largest_ratios(batch.errors, stated) for batch in batches)])
    counted = (_joined(b.status for b in batches) == 0) & (_joined(b.clipped for b in batches) == 0)
    return confidence_entry(LEVEL, ratios, counted, _joined(batch.stratum for batch in batches))


def _function_report(
    batches: list[_Comparison], stated: ErrorEntry, confidence: ConfidenceEntry
) -> FunctionReport:
    """Return the report of all batches of a function; ``stated`` is the manifest's entry on its errors."""
    unflagged = _joined(batch.status for batch in batches) == 0
    stratum = _joined(batch.stratum for batch in batches)
    latencies = _joined(batch.latencies for batch in batches)
    results = {name: _result_report(batches, name, entry.limit) for name, entry in stated.results.items()}
    whole = StratumReport.largest(unflagged, results.values())
    return FunctionReport(
        sum(batch.tasks for batch in batches),
        sum(batch.mismatches for batch in batches),
        whole.flagged,
        whole.error_median,
        whole.error_max,
        max(result.limit for result in results.values()),
        int(np.min(latencies)) if len(latencies) else None,
        {
            kind: StratumReport.largest(
                unflagged[stratum == k], (r.strata[kind] for r in results.values() if kind in r.strata)
            )
            for k, kind in enumerate(STRATA)
            if (stratum == k).any()
        },
        results,
        confidence,
    )


def _result_report(batches: list[_Comparison], name: str, limit: float) -> ResultReport:
    """Return the report of one result in those batches whose tasks ask for it."""
    asked = [batch for batch in batches if name in batch.errors]
    errors = np.concatenate([np.zeros(0), *(batch.errors[name] for batch in asked)])
    unflagged, stratum = _joined(batch.status for batch in asked) == 0, _joined(f.stratum for f in asked)
    clipped = _joined(batch.clipped for batch in asked) != 0
    kinds = {kind: stratum == k for k, kind in enumerate(STRATA) if (stratum == k).any()}
    strata = {
        kind: StratumReport.of(errors[mask], unflagged[mask], clipped[mask]) for kind, mask in kinds.items()
    }
    return ResultReport(**vars(StratumReport.of(errors, unflagged, clipped)), limit=limit, strata=strata)


def _joined(numbers: Iterable[Integers | NDArray[np.bool_]]) -> Integers:
    return np.concatenate([np.zeros(0, np.int64), *numbers])
