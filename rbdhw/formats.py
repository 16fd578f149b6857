"""Number formats of a graph: ranges from random tasks over the domain, widths by what errors do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rbdhw.artifact import Design, interface
from rbdhw.collector import seldom_collected
from rbdhw.config import WIDTHS, BuildOptions
from rbdhw.domain import Domain, graph_inputs, graph_ranges
from rbdhw.fixed.alignment import exponents, unified
from rbdhw.fixed.evaluate import largest_values
from rbdhw.fixed.fusion import fused
from rbdhw.fixed.gains import TINY, Gains, gains
from rbdhw.fixed.lower import lower
from rbdhw.fixed.program import Program
from rbdhw.fixed.search import ErrorFigures, Measured, Search
from rbdhw.fixed.vanishing import without_vanishing
from rbdhw.fixed.widths import GUARD_BITS, Planner, Widths
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.graph.twins import Group, Twins
from rbdhw.passes.specialise import reached
from rbdhw.preparation import Model
from rbdhw.progress import Progress, silent
from rbdhw.protocol import flag_values
from rbdhw.robot.model import Robot
from rbdhw.sampling import sample
from rbdhw.sim import golden
from rbdhw.sim.errors import relative_errors
from rbdhw.sim.model import respond
from rbdhw.sim.packets import decode, encode, quantised
from rbdhw.target import target

Array = NDArray[np.float64]

CHUNK = 512
"""Tasks whose every node's value is held at once."""

TAIL_POWER, TAIL_MARGIN = 3.0, 4.0
"""How the largest of all groups over that of the median group tells how far tails reach, and its limit."""

ROWS = 256
"""Nodes whose values are looked at together."""

NOISE_TASKS = 512
"""Tasks in which rounding errors are observed."""

NOISE_PASSES = 2
"""How often formats are chosen anew after rounding errors were observed."""

NOISY = 1.3
"""A value this many times as large as the samples say holds rounding errors, and little else."""

NOISE_MARGIN = 4.0
"""Headroom of such a value over the largest observed."""

MOST_TERMS = 8
"""Terms of a sum that an array's unit adds up in one go."""

INVERSE_MARGIN = 1.25
"""Headroom of a supplied inverse over the largest found by sampling."""


@dataclass(frozen=True)
class Draws:
    """How many random tasks decide about number formats.

    Parameters
    ----------
    ranging
        Tasks in which ranges are found, a chunk at a time.
    chunk
        Tasks whose every node's value is held at once.
    group
        Tasks, a whole number of them in a chunk, whose largest values are compared: of the same number of
        tasks, smaller groups differ more, and leave more headroom for the tails that were not drawn.
    held_out
        Tasks by which errors are measured.
    probed
        Of the first chunk, the tasks that tell the effect of errors.
    headroom
        How much larger values may be than the ranges found; few tasks tell little of a large robot's tails.
    """

    ranging: int
    held_out: int
    chunk: int = CHUNK
    group: int = CHUNK
    probed: int = CHUNK
    headroom: float = 1.0


def with_inverse(domain: Domain, robot: Robot, options: BuildOptions) -> Domain:
    """The domain with bounds of an inverse mass matrix that comes with a task, found by sampling."""
    rng = np.random.default_rng((options.seed, 2))
    found = golden.evaluate(robot, "minv", sample(robot, domain, options.samples, rng))["Minv"]
    largest = INVERSE_MARGIN * np.abs(found).max(axis=0).ravel()
    return replace(domain, bounds={**domain.bounds, "Minv": np.stack([-largest, largest], axis=1)})


@dataclass(frozen=True)
class Observed:
    """What random tasks over the domain tell of a graph, whatever its formats are to be.

    Parameters
    ----------
    magnitudes
        The largest that each node may have.
    effects
        What errors at the nodes do to the results.
    noise_words
        Inputs of a graph, of tasks by which rounding errors are observed.
    arrays, reference
        Tasks by which errors are measured, and their right results by function.
    """

    model: Model
    graph: Graph
    domain: Domain
    draws: Draws
    magnitudes: Sequence[float]
    effects: Gains
    noise_words: Mapping[str, Array]
    arrays: Mapping[str, Array]
    reference: Mapping[str, Mapping[str, Array]]


def observe(
    model: Model, graph: Graph, domain: Domain, options: BuildOptions, draws: Draws | None = None
) -> Observed:
    """What tasks tell: ranges and the effect of errors come from one sample of the domain, errors from
    another, by default four times as large.
    """
    draws = draws or Draws(options.samples, 4 * options.samples)
    ranging, held_out, probing = (np.random.default_rng((options.seed, k)) for k in (0, 1, 3))
    chunks = list(sampled_inputs(model, domain, draws, ranging))
    arrays = sample(model.source, domain, draws.held_out, held_out, model.fext)
    return Observed(
        model,
        graph,
        domain,
        draws,
        largest_magnitudes(graph, options.functions, chunks, draws.group),
        gains(graph, first(chunks[0], draws.probed), probing),
        graph_inputs(model.source, with_inverses(model.source, domain, arrays, NOISE_TASKS)),
        arrays,
        {f: golden.evaluate(model.source, f, arrays) for f in options.functions},
    )


@seldom_collected()
def fix(
    observed: Observed, options: BuildOptions, twins: Twins, progress: Progress = silent
) -> tuple[Program, tuple[Group, ...], Measured]:
    """The bit-exact program: the most exact at the width asked for, or the cheapest that meets the budget.

    With it, which of its values are twins, and the errors of each function's results. ``progress`` receives
    the widths of each program that is tried.

    Raises
    ------
    InputError
        Where the budget is not met.
    """
    model, graph, domain, draws = observed.model, observed.graph, observed.domain, observed.draws
    shifts = exponents(graph, twins)
    magnitudes = unified([draws.headroom * size for size in observed.magnitudes], twins, shifts)
    ranges = graph_ranges(model.source, domain, model.fext)
    array = options.core == "array"

    tries = count(1)

    def lowered(widths: Widths) -> Program:
        progress(f"try {next(tries)}, {' x '.join(map(str, widths.ports))} bits")
        seen = list(magnitudes)
        draft = lower(graph, seen, ranges, widths, twins)
        for _ in range(NOISE_PASSES):
            before = list(seen)
            raise_to_noise(seen, draft, options.functions, observed.noise_words, draws.headroom)
            seen = unified(seen, twins, shifts)
            if seen == before:
                break
            draft = lower(graph, seen, ranges, widths.raised(magnitudes, seen), twins)
        return fused(draft, MOST_TERMS) if array else draft

    def measured(program: Program, tasks: int) -> Measured:
        draft = draft_design(model, domain, program, options)
        given, right = first(observed.arrays, tasks), observed.reference
        return {f: error_figures(draft, f, given, first(right[f], tasks)) for f in options.functions}

    search = Search(
        Planner(graph, magnitudes, observed.effects, twins, guard=0 if array else GUARD_BITS),
        lowered,
        partial(measured, tasks=draws.held_out),
        partial(measured, tasks=min(draws.ranging, draws.held_out)),
        target(options.target).blocks,
    )
    if options.budget is None:
        assert options.width is not None
        found = search.best(options.width)
    else:
        found = search.cheapest(options.budget, WIDTHS if options.width is None else [options.width])
    return *without_vanishing(found.program, twins.groups), found.errors


def first(arrays: Mapping[str, Array], tasks: int) -> dict[str, Array]:
    """The first tasks of arrays."""
    return {name: array[:tasks] for name, array in arrays.items()}


def raise_to_noise(
    magnitudes: list[float],
    program: Program,
    functions: Sequence[str],
    reals: Mapping[str, Array],
    headroom: float = 1.0,
) -> None:
    """Raise the magnitudes of values that hold little but rounding errors to what those may be.

    Where values cancel but for rounding errors, samples in double precision know nothing of their size.
    Magnitudes are larger by ``headroom`` than what the samples say.
    """
    words = {word.name: quantised(word, reals[word.name]) for word in program.inputs}
    for function in functions:
        flags = {name: np.asarray(value, np.int64) for name, value in flag_values(function, False).items()}
        for i, largest in largest_values(program, words | flags, function).items():
            if i < len(magnitudes) and headroom * largest > NOISY * magnitudes[i]:
                magnitudes[i] = max(magnitudes[i], NOISE_MARGIN * largest)


def with_inverses(robot: Robot, domain: Domain, arrays: Mapping[str, Array], tasks: int) -> dict[str, Array]:
    """The first tasks of arrays, with their inverse mass matrices where a task may bring one."""
    part = first(arrays, tasks)
    return part | golden.evaluate(robot, "minv", part) if "Minv" in domain.bounds else part


def sampled_inputs(
    model: Model, domain: Domain, draws: Draws, rng: np.random.Generator
) -> Iterator[dict[str, Array]]:
    """Inputs of a graph for random tasks over the whole domain, chunk by chunk."""
    arrays = sample(model.source, domain, draws.ranging, rng, model.fext)
    for start in range(0, draws.ranging, draws.chunk):
        part = {name: array[start : start + draws.chunk] for name, array in arrays.items()}
        yield graph_inputs(model.source, with_inverses(model.source, domain, part, draws.chunk))


def largest_magnitudes(
    graph: Graph, functions: Sequence[str], chunks: Iterable[Mapping[str, Array]], group: int = CHUNK
) -> list[float]:
    """The largest magnitude that each node may have in tasks of those functions that depend on it.

    Beyond those of the samples lie others, in proportion to how much the largest of groups of tasks differ.
    """
    largest: list[Array] = []
    used = _used_by_flags(graph, functions)
    for inputs in chunks:
        tasks = len(next(iter(inputs.values())))
        starts = range(0, tasks, group)
        seen = np.zeros((len(starts), len(graph.nodes)))
        for decided, use in used.items():
            flags = {name: np.asarray(float(value)) for name, value in decided}
            values = node_values(graph, {**inputs, **flags})
            nodes = np.flatnonzero(use)
            for some in np.array_split(nodes, len(nodes) // ROWS + 1):
                sizes = np.abs(np.stack([values[i] for i in some]))
                seen[:, some] = np.maximum(seen[:, some], np.maximum.reduceat(sizes, starts, axis=1).T)
        largest.extend(seen)
    most: Array = np.max(largest, axis=0)
    usual = np.maximum(np.median(largest, axis=0), most / TAIL_MARGIN)
    tails = np.minimum((most / np.maximum(usual, TINY)) ** TAIL_POWER, TAIL_MARGIN)
    return [float(size) for size in most * tails]


def _used_by_flags(
    graph: Graph, functions: Sequence[str]
) -> dict[tuple[tuple[str, bool], ...], NDArray[np.bool_]]:
    """For each setting of the flags that tasks of those functions have, which nodes these depend on."""
    used: dict[tuple[tuple[str, bool], ...], NDArray[np.bool_]] = {}
    for function in functions:
        for extended in (False, True) if function == "difd" else (False,):
            flags = flag_values(function, extended)
            own = np.array(reached(graph, function, flags))
            key = tuple(flags.items())
            used[key] = used[key] | own if key in used else own
    return used


def draft_design(model: Model, domain: Domain, program: Program, options: BuildOptions) -> Design:
    """The design so far: all but its Verilog and most of its manifest."""
    return Design(
        model.source, domain, program, model.fext, interface(program, options.data_width, options.number), ""
    )


def error_figures(
    design: Design, function: str, arrays: Mapping[str, Array], reference: Mapping[str, Array]
) -> ErrorFigures:
    """Relative errors of the bit-exact model against the golden one, over the tasks it does not flag."""
    status, words = respond(design, function, encode(design, function, arrays))
    errors = relative_errors(decode(design, function, words), reference)
    kept = errors[status == 0]
    if not len(kept):
        return ErrorFigures(float("inf"), float("inf"), len(errors), len(errors))
    return ErrorFigures(float(np.median(kept)), float(kept.max()), len(errors), len(errors) - len(kept))
