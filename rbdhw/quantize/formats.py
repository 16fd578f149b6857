"""Number formats of a graph: ranges from random tasks over the domain, widths from the effect of errors."""

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
from rbdhw.domain.bounds import Domain
from rbdhw.domain.graph_inputs import angular_coordinates, graph_inputs, graph_ranges
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import STRATA, Drawn, draw, error_floors
from rbdhw.fixed.absorption import remove_absorbed_terms
from rbdhw.fixed.alignment import exponents, unify
from rbdhw.fixed.angles import TURN
from rbdhw.fixed.evaluate import largest_values
from rbdhw.fixed.figures import FunctionErrors, Measured
from rbdhw.fixed.fusion import fuse
from rbdhw.fixed.gains import TINY, Gains, Measure, Row, Strata, gains, optional_results
from rbdhw.fixed.lower import lower
from rbdhw.fixed.planner import Planner
from rbdhw.fixed.program import Program
from rbdhw.fixed.search import FormatSearch, Try
from rbdhw.fixed.widths import GUARD_BITS, Widths
from rbdhw.frontend.build_graph import Model
from rbdhw.golden import error_norm
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.graph.twins import Group, Twins
from rbdhw.interface import program_interface
from rbdhw.passes.specialise import reached_nodes
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS, NEXT_STATE, WordName, flag_values
from rbdhw.remarks import subject
from rbdhw.robot.model import Robot
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.scalar import STAGE
from rbdhw.sim.model import respond
from rbdhw.sim.packets import decode, encode, quantise
from rbdhw.target import target

Array = NDArray[np.float64]

CHUNK = 512
"""Tasks for which the values of all nodes are in memory together."""

TAIL_POWER, TAIL_MARGIN = 3.0, 4.0
"""The margin for tails that were not drawn: min((largest / median of the group maxima) ** POWER, MARGIN)."""

ROWS = 256
"""Nodes whose values are processed together."""

NOISE_TASKS = 512
"""Tasks in which rounding errors are observed."""

NOISE_PASSES = 2
"""The most times that formats are chosen again after rounding errors were observed."""

NOISY = 1.3
"""A value that exceeds its sampled magnitude by this factor consists mainly of rounding errors."""

NOISE_MARGIN = 4.0
"""The headroom of such a value over the largest observed."""

MOST_TERMS = 8
"""The most terms that a unit of the array adds in one operation."""

CANCELS = 8.0
"""A value is reported as cancelling if its effect on the result exceeds the result by this factor."""

BY_VELOCITY = (
    "factorization",
    "inverse",
    "solve",
    "inverse_product",
    "forward_dynamics",
    "correction",
    "mean_row",
)
"""Steps whose regions are numbered by velocity coordinates instead of bodies."""

INVERSE_MARGIN = 1.25
"""The headroom of a supplied inverse over the largest entries found by sampling."""


@dataclass(frozen=True)
class Draws:
    """The numbers of random tasks from which number formats are chosen.

    Parameters
    ----------
    ranging
        Tasks over the whole domain from which ranges are determined, in chunks.
    held_out
        Tasks of all strata in which errors are measured.
    chunk
        Tasks for which the values of all nodes are in memory together.
    group
        Tasks in a group; a chunk holds a whole number of groups. The maxima of groups are compared to
        estimate tails. The maxima of smaller groups differ more, so that more headroom is left for the tails.
    probed
        Tasks of all strata in which the effect of errors is determined.
    headroom
        The factor by which values may exceed the ranges found. A small sample of a large robot's tasks needs
        more than 1.
    """

    ranging: int
    held_out: int
    chunk: int = CHUNK
    group: int = CHUNK
    probed: int = CHUNK
    headroom: float = 1.0


def add_inverse_bounds(domain: Domain, robot: Robot, options: BuildOptions) -> Domain:
    """Return the domain with bounds of an inverse mass matrix supplied with a task, found by sampling."""
    rng = np.random.default_rng((options.seed, 2))
    found = golden.evaluate(robot, "minv", sample(robot, domain, options.samples, rng))["Minv"]
    largest = INVERSE_MARGIN * np.abs(found).max(axis=0).ravel()
    return replace(domain, bounds={**domain.bounds, "Minv": np.stack([-largest, largest], axis=1)})


@dataclass(frozen=True)
class Observed:
    """Observations of a graph on random tasks, which do not depend on its number formats.

    Parameters
    ----------
    model, graph, domain, draws
        The prepared robot, its graph, the bounds of its inputs, and the numbers of tasks.
    magnitudes
        The largest magnitude of each node.
    effects
        The effect of errors at the nodes on the results.
    noise_words
        The graph's inputs for the tasks in which rounding errors are observed.
    tasks, reference
        The tasks in which errors are measured, and their golden results by function.
    floors
        For each function and optional result, the least norm by which errors are divided: smaller results
        count as this large.
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
    """A bit-exact program, and the record of its choice.

    Parameters
    ----------
    program
        The bit-exact program.
    groups
        The groups of values that are twins.
    errors
        The errors of each function's results.
    tries
        The widths that were tried.
    taken
        Those of the program.
    reasons
        For each function, the reason that limits its accuracy.
    """

    program: Program
    groups: tuple[Group, ...]
    errors: Measured
    tries: tuple[Try, ...]
    taken: Try
    reasons: Mapping[str, str]


def observe(
    model: Model, graph: Graph, domain: Domain, options: BuildOptions, draws: Draws | None = None
) -> Observed:
    """Observe a graph on random tasks.

    Ranges come from one sample of the domain, the effect of errors from a sample of all strata, and errors
    from another sample of all strata, which by default is four times as large as the first.
    """
    draws = draws or Draws(options.samples, 4 * options.samples)
    ranging, held_out, probing = (np.random.default_rng((options.seed, k)) for k in (0, 1, 3))
    robot, functions = model.source, options.functions
    floors = error_floors(
        robot, domain, {*functions, *optional_results(functions).values()}, options.seed, model.fext
    )
    probed = draw(robot, domain, draws.probed, probing, model.fext)
    inputs = graph_inputs(robot, add_inverses(robot, domain, probed.arrays))
    measures = word_measures(robot, graph, probed.arrays)
    tasks = draw(robot, domain, draws.held_out, held_out, model.fext)
    return Observed(
        model,
        graph,
        domain,
        draws,
        domain_magnitudes(model, graph, functions, domain, draws, inputs, ranging),
        gains(graph, inputs, Strata(STRATA, probed.stratum, floors, measures), probing),
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
    """Choose number formats: the most accurate for the requested width, or the cheapest within the budget.

    Parameters
    ----------
    twins
        The nodes of the graph that share hardware, and so share formats.
    fuses_sums
        Whether the core rounds sums of products once.
    progress
        Receives the widths of each program that is tried.

    Raises
    ------
    InputError
        If no width meets the budget.
    """
    choice, draws = _Choice(observed, options, twins, fuses_sums, progress), observed.draws
    search = FormatSearch(
        choice.planner,
        choice.lower,
        partial(choice.measure, tasks=draws.held_out),
        partial(choice.measure, tasks=min(draws.ranging, draws.held_out)),
        target(options.target).blocks,
        choice.reason,
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
    reasons = {f: f"{row[1]} tasks, where {choice.reason(found.widths, row)}" for f, row in worst.items()}
    return Formats(program, groups, found.errors, tuple(search.tries), found.tried, reasons)


class _Choice:
    """What a search for number formats calls: it lowers the graph to a program, and measures its errors.

    Parameters
    ----------
    observed, options, twins, fuses_sums, progress
        As for :func:`choose_formats`.
    """

    def __init__(
        self, observed: Observed, options: BuildOptions, twins: Twins, fuses_sums: bool, progress: Progress
    ) -> None:
        model, graph, headroom = observed.model, observed.graph, observed.draws.headroom
        self._observed, self._options, self._twins = observed, options, twins
        self._fuses_sums, self._progress = fuses_sums, progress
        self._shifts = exponents(graph, twins)
        self._magnitudes = unify([headroom * size for size in observed.magnitudes], twins, self._shifts)
        self._ranges = graph_ranges(model.source, observed.domain, model.fext)
        self._tries = count(1)
        guard = 0 if fuses_sums else GUARD_BITS
        self.planner = Planner(graph, self._magnitudes, observed.effects, twins, guard=guard)

    def lower(self, widths: Widths) -> Program:
        """Return the program with these widths; magnitudes that are mainly rounding errors are raised."""
        self._progress(f"try {next(self._tries)}, {' x '.join(map(str, widths.ports))} bits")
        graph, functions, headroom = (
            self._observed.graph,
            self._options.functions,
            self._observed.draws.headroom,
        )
        seen = list(self._magnitudes)
        draft = lower(graph, seen, self._ranges, widths, self._twins)
        for _ in range(NOISE_PASSES):
            before = list(seen)
            raise_to_noise(seen, draft, functions, self._observed.noise_words, headroom)
            seen = unify(seen, self._twins, self._shifts)
            if seen == before:
                break
            fitting = widths.fit_magnitudes(self._magnitudes, seen)
            draft = lower(graph, seen, self._ranges, fitting, self._twins)
        return fuse(draft, MOST_TERMS) if self._fuses_sums else draft

    def measure(self, program: Program, tasks: int) -> Measured:
        """Return the errors of a program by function, in the first ``tasks`` tasks."""
        observed = self._observed
        draft = accelerator_model(observed.model, observed.domain, [program], self._options)
        return {f: function_errors(draft, observed, f, tasks) for f in self._options.functions}

    def reason(self, widths: Widths, row: Row) -> str:
        """Return a sentence on the node that limits the accuracy of a function in a stratum."""
        node, times = self.planner.worst_node(widths, row)
        return node_reason(self._observed.model.robot, self._observed.graph, node, times)


def node_reason(robot: Robot, graph: Graph, node: int, times: float) -> str:
    """Return a sentence on a node whose rounding dominates the errors.

    ``times`` is the effect of the node's largest value relative to the function's result.
    """
    region = graph.nodes[node].region
    place = region.step
    if region.joint is not None:
        place += f" at {subject('joint', [joint_of(robot, region.step, region.joint)])}"
    what = region.quantity or "values"
    text = f"most of the error comes from rounding {what} of {place}"
    return f"{text}, up to {times:.1g} times the result that is left of it" if times > CANCELS else text


def joint_of(robot: Robot, step: str, index: int) -> str:
    """Return the joint of a region; ``index`` is that of a body, or of a velocity in steps of BY_VELOCITY."""
    if step.partition(STAGE)[0] not in BY_VELOCITY:
        return robot.bodies[index].joint.name
    pairs = zip(robot.bodies, robot.v_of, strict=True)
    return next(
        body.joint.name
        for body, place in pairs
        if body.joint.mimic is None and place.start <= index < place.stop
    )


def first(arrays: Mapping[str, Array], tasks: int) -> dict[str, Array]:
    """Return the first tasks of each array."""
    return {name: array[:tasks] for name, array in arrays.items()}


def raise_to_noise(
    magnitudes: list[float],
    program: Program,
    functions: Sequence[str],
    reals: Mapping[str, Array],
    headroom: float = 1.0,
) -> None:
    """Raise the magnitudes of values that consist mainly of rounding errors.

    If terms cancel except for rounding errors, samples in double precision do not show the size of their sum.
    The program shows it. ``magnitudes``, which are changed in place, already include ``headroom``.
    """
    words = {word.name: quantise(word, reals[word.name]) for word in program.inputs}
    for function in functions:
        flags = {name: np.asarray(value, np.int64) for name, value in flag_values(function, False).items()}
        for i, largest in largest_values(program, words | flags, function).items():
            if i < len(magnitudes) and headroom * largest > NOISY * magnitudes[i]:
                magnitudes[i] = max(magnitudes[i], NOISE_MARGIN * largest)


def add_inverses(robot: Robot, domain: Domain, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with their inverse mass matrices, if the domain has bounds of supplied inverses."""
    inverses = golden.evaluate(robot, "minv", arrays) if "Minv" in domain.bounds else {}
    return {**arrays, **inverses}


def domain_magnitudes(
    model: Model,
    graph: Graph,
    functions: Sequence[str],
    domain: Domain,
    draws: Draws,
    probed: Mapping[str, Array],
    rng: np.random.Generator,
) -> list[float]:
    """Return the largest magnitude of each node over the domain, and in the ``probed`` inputs.

    Functions that take no step in time have tasks with any forces of the domain, and integrators those of
    :func:`rbdhw.domain.sampling.limit_steps`.
    """
    found = []
    for limited in (False, True):
        own = [name for name in functions if FUNCTIONS[name].integrates == limited]
        if own:
            chunks = [*sample_inputs(model, domain, draws, rng, limited), probed]
            found.append(largest_magnitudes(graph, own, chunks, draws.group))
    return [max(sizes) for sizes in zip(*found, strict=True)]


def sample_inputs(
    model: Model, domain: Domain, draws: Draws, rng: np.random.Generator, limited: bool
) -> Iterator[dict[str, Array]]:
    """Yield the inputs of a graph for random tasks over the whole domain, a chunk at a time."""
    arrays = sample(model.source, domain, draws.ranging, rng, model.fext, limited)
    for start in range(0, draws.ranging, draws.chunk):
        part = {name: array[start : start + draws.chunk] for name, array in arrays.items()}
        yield graph_inputs(model.source, add_inverses(model.source, domain, part))


def largest_magnitudes(
    graph: Graph, functions: Sequence[str], chunks: Iterable[Mapping[str, Array]], group: int = CHUNK
) -> list[float]:
    """Return the largest magnitude of each node in tasks of the functions that depend on it.

    It is the largest of the samples times a margin for tails that were not drawn. The more the maxima of
    groups of tasks differ, the larger the margin (:data:`TAIL_POWER`, :data:`TAIL_MARGIN`).
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
                sizes = np.abs(np.stack([np.broadcast_to(values[i], tasks) for i in some]))
                seen[:, some] = np.maximum(seen[:, some], np.maximum.reduceat(sizes, starts, axis=1).T)
        largest.extend(seen)
    most: Array = np.max(largest, axis=0)
    usual = np.maximum(np.median(largest, axis=0), most / TAIL_MARGIN)
    tails = np.minimum((most / np.maximum(usual, TINY)) ** TAIL_POWER, TAIL_MARGIN)
    return [float(size) for size in most * tails]


def _used_by_flags(
    graph: Graph, functions: Sequence[str]
) -> dict[tuple[tuple[str, bool], ...], NDArray[np.bool_]]:
    """Return, for each setting of the flags in tasks of the functions, the nodes that the results need."""
    used: dict[tuple[tuple[str, bool], ...], NDArray[np.bool_]] = {}
    for function in functions:
        for extended in (False, True) if FUNCTIONS[function].optional_inputs else (False,):
            flags = flag_values(function, extended)
            own = np.array(reached_nodes(graph, function, flags))
            key = tuple(flags.items())
            used[key] = used[key] | own if key in used else own
    return used


def accelerator_model(
    model: Model, domain: Domain, programs: Sequence[Program], options: BuildOptions
) -> AcceleratorModel:
    """Return the bit-exact model of a build with the programs of its cores."""
    interface = program_interface(programs, options.data_width, options.number, options.priority)
    return AcceleratorModel(model.source, domain, tuple(programs), model.fext, interface)


def function_errors(model: AcceleratorModel, observed: Observed, function: str, tasks: int) -> FunctionErrors:
    """Return the errors of the bit-exact model against the golden one in the first ``tasks`` tasks.

    Flagged tasks are counted, but their errors are not.
    """
    drawn = observed.tasks.first(tasks)
    status, words = respond(model, function, encode(model, function, drawn.arrays))
    reference = first(observed.reference[function], tasks)
    results = decode(model, function, words)
    errors = error_norm.function_errors(
        model.robot, function, drawn.arrays, results, reference, observed.floors
    )
    own = {part.name: observed.floors[part.name] for part in error_norm.parts_of(model.robot, function)}
    floor = own or observed.floors[function]
    return FunctionErrors.of(errors, status == 0, drawn.stratum, STRATA, floor)


def word_measures(robot: Robot, graph: Graph, tasks: Mapping[str, Array]) -> dict[str, Measure]:
    """Return how errors of the result words of integrators are measured, by the word's name."""
    found = {}
    angles = angular_coordinates(robot)
    for text, _ in graph.outputs:
        name = WordName.parse(text)
        for part in error_norm.parts_of(robot, str(name.function)):
            if part.array == name.array and part.rows.start <= name.index[0] < part.rows.stop:
                row = name.index[0]
                in_turns = name.array == NEXT_STATE and row < robot.nq and angles[row]
                unit = TURN if in_turns else 1.0
                scale = unit * np.power(error_norm.time_step(robot, tasks), -part.power)
                whole = error_norm.origin_of(robot, name.array, tasks)
                origin = whole[:, row] if name.array == NEXT_STATE else whole[name.index]
                found[text] = Measure(part.name, scale, np.broadcast_to(origin / unit, scale.shape))
    return found
