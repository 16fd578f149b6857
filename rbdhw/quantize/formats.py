"""Number formats of a graph: ranges from random tasks over the domain, widths by what errors do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.config import WIDTHS, BuildOptions
from rbdhw.design.model import AcceleratorModel
from rbdhw.domain.bounds import Domain, graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import STRATA, Drawn, draw, error_floors
from rbdhw.fixed.absorption import remove_absorbed_terms
from rbdhw.fixed.alignment import exponents, unify
from rbdhw.fixed.evaluate import largest_values
from rbdhw.fixed.figures import FunctionErrors, Measured
from rbdhw.fixed.fusion import fuse
from rbdhw.fixed.gains import TINY, Gains, Row, Strata, gains, optional_results
from rbdhw.fixed.lower import lower
from rbdhw.fixed.program import Program
from rbdhw.fixed.search import FormatSearch, Try
from rbdhw.fixed.widths import GUARD_BITS, Planner, Widths
from rbdhw.frontend.build_graph import Model
from rbdhw.golden.error_norm import relative_errors
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.graph.twins import Group, Twins
from rbdhw.interface import program_interface
from rbdhw.passes.specialise import reached_nodes
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS, flag_values
from rbdhw.remarks import subject
from rbdhw.robot.model import Robot
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.sim.model import respond
from rbdhw.sim.packets import decode, encode, quantise
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

CANCELS = 8.0
"""How many times as large as the result a value counts in it that is said to cancel."""

BY_VELOCITY = (
    "factorization",
    "inverse",
    "solve",
    "inverse_product",
    "forward_dynamics",
    "correction",
)
"""Steps whose regions are numbered by velocities, not by bodies."""

INVERSE_MARGIN = 1.25
"""Headroom of a supplied inverse over the largest found by sampling."""


@dataclass(frozen=True)
class Draws:
    """How many random tasks decide about number formats.

    Parameters
    ----------
    ranging
        Tasks over the whole domain in which ranges are found, a chunk at a time.
    chunk
        Tasks whose every node's value is held at once.
    group
        Tasks, a whole number of them in a chunk, whose largest values are compared: of the same number of
        tasks, smaller groups differ more, and leave more headroom for the tails that were not drawn.
    held_out
        Tasks of all strata by which errors are measured.
    probed
        Tasks of all strata by which the effect of errors is found.
    headroom
        How much larger values may be than the ranges found; few tasks tell little of a large robot's tails.
    """

    ranging: int
    held_out: int
    chunk: int = CHUNK
    group: int = CHUNK
    probed: int = CHUNK
    headroom: float = 1.0


def add_inverse_bounds(domain: Domain, robot: Robot, options: BuildOptions) -> Domain:
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
    tasks, reference
        Tasks by which errors are measured, and their right results by function.
    floors
        For each function the norm below which a result counts as large as that.
    """

    model: Model
    graph: Graph
    domain: Domain
    draws: Draws
    magnitudes: Sequence[float]
    effects: Gains
    noise_words: Mapping[str, Array]
    tasks: Drawn
    reference: Mapping[str, Mapping[str, Array]]
    floors: Mapping[str, float]


@dataclass(frozen=True)
class Formats:
    """A bit-exact program, and how it was chosen.

    Parameters
    ----------
    groups
        Which of its values are twins.
    errors
        The errors of each function's results.
    tries
        The widths that were tried for it, the last of which it has.
    reasons
        For each function, what limits its errors.
    """

    program: Program
    groups: tuple[Group, ...]
    errors: Measured
    tries: tuple[Try, ...]
    reasons: Mapping[str, str]


def observe(
    model: Model, graph: Graph, domain: Domain, options: BuildOptions, draws: Draws | None = None
) -> Observed:
    """What tasks tell.

    Ranges come from one sample of the domain, the effect of errors from one of all strata, and errors from
    another of all strata, by default four times as large as the first.
    """
    draws = draws or Draws(options.samples, 4 * options.samples)
    ranging, held_out, probing = (np.random.default_rng((options.seed, k)) for k in (0, 1, 3))
    robot, functions = model.source, options.functions
    floors = error_floors(
        robot, domain, {*functions, *optional_results(functions).values()}, options.seed, model.fext
    )
    probed = draw(robot, domain, draws.probed, probing, model.fext)
    inputs = graph_inputs(robot, add_inverses(robot, domain, probed.arrays))
    tasks = draw(robot, domain, draws.held_out, held_out, model.fext)
    return Observed(
        model,
        graph,
        domain,
        draws,
        largest_magnitudes(
            graph, functions, [*sample_inputs(model, domain, draws, ranging), inputs], draws.group
        ),
        gains(graph, inputs, Strata(STRATA, probed.stratum, floors), probing),
        graph_inputs(robot, add_inverses(robot, domain, tasks.first(NOISE_TASKS).arrays)),
        tasks,
        {f: golden.evaluate(robot, f, tasks.arrays) for f in functions},
        floors,
    )


@seldom_collect()
def choose_formats(
    observed: Observed,
    options: BuildOptions,
    twins: Twins,
    fuses_sums: bool = False,
    progress: Progress = silent,
) -> Formats:
    """The bit-exact program: the most exact at the width asked for, or the cheapest that meets the budget.

    ``progress`` receives the widths of each program that is tried.

    Raises
    ------
    InputError
        Where the budget is not met.
    """
    model, graph, domain, draws = observed.model, observed.graph, observed.domain, observed.draws
    shifts = exponents(graph, twins)
    magnitudes = unify([draws.headroom * size for size in observed.magnitudes], twins, shifts)
    ranges = graph_ranges(model.source, domain, model.fext)

    tries = count(1)

    def lowered(widths: Widths) -> Program:
        progress(f"try {next(tries)}, {' x '.join(map(str, widths.ports))} bits")
        seen = list(magnitudes)
        draft = lower(graph, seen, ranges, widths, twins)
        for _ in range(NOISE_PASSES):
            before = list(seen)
            raise_to_noise(seen, draft, options.functions, observed.noise_words, draws.headroom)
            seen = unify(seen, twins, shifts)
            if seen == before:
                break
            draft = lower(graph, seen, ranges, widths.fit_magnitudes(magnitudes, seen), twins)
        return fuse(draft, MOST_TERMS) if fuses_sums else draft

    def measured(program: Program, tasks: int) -> Measured:
        draft = accelerator_model(model, domain, program, options)
        return {f: function_errors(draft, observed, f, tasks) for f in options.functions}

    def reason(widths: Widths, row: Row) -> str:
        node, times = planner.worst_node(widths, row)
        return node_reason(model.robot, graph, node, times)

    planner = Planner(graph, magnitudes, observed.effects, twins, guard=0 if fuses_sums else GUARD_BITS)
    search = FormatSearch(
        planner,
        lowered,
        partial(measured, tasks=draws.held_out),
        partial(measured, tasks=min(draws.ranging, draws.held_out)),
        target(options.target).blocks,
        reason,
    )
    if options.budget is None:
        assert options.width is not None
        found = search.best(options.width)
    else:
        found = search.cheapest(options.budget, WIDTHS if options.width is None else [options.width])
    program, groups = remove_absorbed_terms(found.program, twins.groups)
    bounds = found.bounds
    worst = {
        f: max((row for row in bounds if row[0] == f), key=bounds.__getitem__) for f in options.functions
    }
    reasons = {f: f"{row[1]} tasks, where {reason(found.widths, row)}" for f, row in worst.items()}
    return Formats(program, groups, found.errors, tuple(search.tries), reasons)


def node_reason(robot: Robot, graph: Graph, node: int, times: float) -> str:
    """What a node's rounding does to errors; its value counts ``times`` the result that is left of it."""
    region = graph.nodes[node].region
    place = region.step
    if region.joint is not None:
        place += f" at {subject('joint', [joint_of(robot, region.step, region.joint)])}"
    what = region.quantity or "values"
    text = f"most of the error comes from rounding {what} of {place}"
    return f"{text}, up to {times:.1g} times the result that is left of it" if times > CANCELS else text


def joint_of(robot: Robot, step: str, index: int) -> str:
    """The joint of a region: of a body, or of a velocity where the step goes through the mass matrix."""
    if step not in BY_VELOCITY:
        return robot.bodies[index].joint.name
    pairs = zip(robot.bodies, robot.v_of, strict=True)
    return next(
        body.joint.name
        for body, place in pairs
        if body.joint.mimic is None and place.start <= index < place.stop
    )


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
    words = {word.name: quantise(word, reals[word.name]) for word in program.inputs}
    for function in functions:
        flags = {name: np.asarray(value, np.int64) for name, value in flag_values(function, False).items()}
        for i, largest in largest_values(program, words | flags, function).items():
            if i < len(magnitudes) and headroom * largest > NOISY * magnitudes[i]:
                magnitudes[i] = max(magnitudes[i], NOISE_MARGIN * largest)


def add_inverses(robot: Robot, domain: Domain, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays with their inverse mass matrices where a task may bring one."""
    inverses = golden.evaluate(robot, "minv", arrays) if "Minv" in domain.bounds else {}
    return {**arrays, **inverses}


def sample_inputs(
    model: Model, domain: Domain, draws: Draws, rng: np.random.Generator
) -> Iterator[dict[str, Array]]:
    """Inputs of a graph for random tasks over the whole domain, chunk by chunk."""
    arrays = sample(model.source, domain, draws.ranging, rng, model.fext)
    for start in range(0, draws.ranging, draws.chunk):
        part = {name: array[start : start + draws.chunk] for name, array in arrays.items()}
        yield graph_inputs(model.source, add_inverses(model.source, domain, part))


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
        for extended in (False, True) if FUNCTIONS[function].optional_inputs else (False,):
            flags = flag_values(function, extended)
            own = np.array(reached_nodes(graph, function, flags))
            key = tuple(flags.items())
            used[key] = used[key] | own if key in used else own
    return used


def accelerator_model(
    model: Model, domain: Domain, program: Program, options: BuildOptions
) -> AcceleratorModel:
    """Return the bit-exact model of a build whose program is known."""
    interface = program_interface(program, options.data_width, options.number, options.priority)
    return AcceleratorModel(model.source, domain, program, model.fext, interface)


def function_errors(model: AcceleratorModel, observed: Observed, function: str, tasks: int) -> FunctionErrors:
    """Errors of the bit-exact model against the golden one in the first tasks, those not flagged."""
    drawn, floor = observed.tasks.first(tasks), observed.floors[function]
    status, words = respond(model, function, encode(model, function, drawn.arrays))
    reference = first(observed.reference[function], tasks)
    errors = relative_errors(decode(model, function, words), reference, floor)
    return FunctionErrors.of(errors, status == 0, drawn.stratum, STRATA, floor)
