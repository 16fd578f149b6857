"""From a URDF to a design: every stage in order.

robot -> one scalar dataflow graph -> passes -> number formats -> static schedule -> Verilog + manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.artifact import Design, interface
from rbdhw.choice import ADDITION_COST, Choice, choose, cost_of
from rbdhw.config import CHEAPEST_ROOT, WIDTHS, BuildOptions, Mounting
from rbdhw.domain import Domain, Overrides, graph_inputs, graph_ranges, input_domain
from rbdhw.errors import InputError
from rbdhw.fixed.alignment import exponents, unified
from rbdhw.fixed.evaluate import largest_values
from rbdhw.fixed.gains import TINY, gains
from rbdhw.fixed.lower import lower
from rbdhw.fixed.program import Program
from rbdhw.fixed.search import ErrorFigures, Measured, Search
from rbdhw.fixed.widths import Planner, Widths
from rbdhw.graph.check import check
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.interpret import node_values
from rbdhw.graph.twins import Group, Twins, no_twins
from rbdhw.limbs import hardware, least_interval, limb_inputs, limb_names, shared_limbs, sharing_entry
from rbdhw.manifest import function_counts, manifest, robot_entry
from rbdhw.mounting import load_mounted
from rbdhw.passes.balance import balance
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import prune
from rbdhw.passes.specialise import reached
from rbdhw.passes.twins import find_twins
from rbdhw.protocol import FUNCTIONS, flag_values
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import RootTrial, best_root, reroot
from rbdhw.robot.rewrite import best_rewrite
from rbdhw.robot.symmetry import limb_groups
from rbdhw.rtl.core import Core
from rbdhw.rtl.packet import Function
from rbdhw.rtl.shell import Accelerator, to_verilog
from rbdhw.sampling import sample
from rbdhw.schedule.binding import bind
from rbdhw.schedule.cost import Cost, cost
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Bound
from rbdhw.schedule.problem import problem
from rbdhw.schedule.twins import shareable
from rbdhw.schedule.verify import verify
from rbdhw.sim import golden
from rbdhw.sim.errors import relative_errors
from rbdhw.sim.model import respond
from rbdhw.sim.packets import decode, encode, quantised
from rbdhw.target import Delays, Target, target
from rbdhw.tracing import Algorithms, trace

Array = NDArray[np.float64]

Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""

REPRESENTATIVE = {"id": "id", "fd": "id", "m": "m", "minv": "m", "did": "did", "dfd": "did", "difd": "did"}
"""For each function the one with the same frame-dependent part, by which rewrites are judged."""


CHUNK = 512
"""Tasks whose every node's value is held at once."""

TAIL_POWER, TAIL_MARGIN = 3.0, 4.0
"""How the largest of all groups over that of the median group tells how far tails reach, and its limit."""

NOISE_TASKS = 512
"""Tasks in which rounding errors are observed."""

NOISE_PASSES = 2
"""How often formats are chosen anew after rounding errors were observed."""

NOISY = 1.3
"""A value this many times as large as the samples say holds rounding errors, and little else."""

NOISE_MARGIN = 4.0
"""Headroom of such a value over the largest observed."""

INVERSE_MARGIN = 1.25
"""Headroom of a supplied inverse over the largest found by sampling."""

DEFAULT_DELAYS = target(BuildOptions().target).delays

DEFAULT_MOUNTING = Mounting()


ROOT_ALGORITHMS = Algorithms(inverse="block_pivots", products="solves", gradient="repeated")
"""What roots are compared with."""

ROOT_EVALUATIONS = 6
"""Roots compared, the present one included."""


def silent(_stage: str) -> None:
    """A progress that tells nobody."""


@dataclass(frozen=True)
class Model:
    """A robot prepared for tracing: rewritten, with the names of the rewrites that were kept."""

    source: Robot
    robot: Robot
    rewrites: tuple[str, ...]
    fext: tuple[int, ...]
    choice: Choice

    @property
    def pushed(self) -> tuple[int, ...]:
        """The bodies of ``robot`` that take an external force, of which ``fext`` tells the source's."""
        return pushed_bodies(self.robot, self.fext)


@dataclass(frozen=True)
class Draws:
    """How many random tasks decide about number formats.

    Parameters
    ----------
    ranging
        Tasks in which ranges are found, a chunk at a time.
    chunk
        Tasks whose every node's value is held at once; the first chunk tells the effect of errors, too.
    group
        Tasks, a whole number of them in a chunk, whose largest values are compared: of the same number of
        tasks, smaller groups differ more, and leave more headroom for the tails that were not drawn.
    held_out
        Tasks by which errors are measured.
    headroom
        How much larger values may be than the ranges found; few tasks tell little of a large robot's tails.
    """

    ranging: int
    held_out: int
    chunk: int = CHUNK
    group: int = CHUNK
    headroom: float = 1.0


@dataclass(frozen=True)
class Plan:
    """All that is decided about a build before its RTL is written."""

    model: Model
    domain: Domain
    graph: Graph
    program: Program
    errors: Measured
    bound: Bound
    costs: dict[str, Cost]


def generate(
    urdf: Path, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """The design of an accelerator for the robot in a URDF file.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    options.check(tuple(FUNCTIONS))
    target(options.target)
    progress("reading the robot")
    source = load_mounted(urdf, options.mounting)
    progress("choosing the root")
    delays = target(options.target).delays
    source, trials = rooted(source, options.mounting.root, options.functions, options.fext, delays)
    design = design_of(source, options, overrides, progress)
    return replace(design, manifest=design.manifest | {"roots": [vars(trial) for trial in trials]})


def design_of(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """The design of an accelerator for a robot, wherever it comes from.

    Raises
    ------
    InputError
        For an option or override that cannot be built for it.
    """
    plan = planned(source, options, overrides, progress)
    progress("writing Verilog")
    draft = draft_design(plan.model, plan.domain, plan.program, options)
    facts = manifest(
        source, plan.graph, plan.program, plan.bound, target(options.target), options, plan.errors
    )
    groups = shared_limbs(plan.model.robot, options.share_limbs, options.ii)
    facts["limbs"] = sharing_entry(plan.model.robot, groups, plan.program, plan.bound, plan.costs)
    facts["algorithms"] = plan.model.choice.json() | {"rewrites": list(plan.model.rewrites)}
    text = to_verilog(accelerator(draft, plan.bound))
    return replace(draft, manifest=facts | draft.manifest, verilog=text)


def planned(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Plan:
    """Every stage before the RTL.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    device = target(options.target)
    domain = input_domain(source, overrides)
    progress("rewriting frames and inertias")
    model = prepare(source, options.functions, options.fext, device.delays, options.algorithms)
    if "difd" in options.functions:
        domain = with_inverse(domain, source, options)
    progress("tracing")
    graph = optimised(traced(model, options.functions), device.delays)
    twins = limb_twins(model, graph, options)
    progress("choosing number formats")
    program, errors = fix(model, graph, domain, options, twins)
    progress("scheduling")
    return Plan(model, domain, graph, program, errors, *cheapest(program, device, options, twins))


def describe(
    urdf: Path,
    functions: Sequence[str],
    fext: str = "none",
    forced: Mapping[str, str] = MappingProxyType({}),
    mounting: Mounting = DEFAULT_MOUNTING,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The robot, the operations of each function of the graph that would be built, and its algorithms.

    Raises
    ------
    InputError
        For a robot, function or link that cannot be built.
    """
    BuildOptions(functions=tuple(functions), mounting=mounting).check(tuple(FUNCTIONS))
    source = load_mounted(urdf, mounting)
    progress("choosing the root")
    source, trials = rooted(source, mounting.root, functions, fext)
    progress("rewriting frames and inertias")
    model = prepare(source, functions, fext, forced=forced)
    progress("tracing")
    graph = factor(traced(model, functions))
    groups = limb_groups(model.robot)
    ii = least_interval(groups)
    twins = find_twins(graph, limb_inputs(model.robot, groups))
    return {
        "robot": robot_entry(source),
        "functions": {function: function_counts(graph, function) for function in functions},
        "algorithms": model.choice.json(),
        "limbs": {
            "groups": limb_names(model.robot, groups),
            "ii": ii,
            "hardware": hardware(graph, twins, ii),
        },
        "joints": joint_rows(source),
        "roots": [vars(trial) for trial in trials],
    }


def joint_rows(robot: Robot) -> list[dict[str, str]]:
    """Each joint with its kind, the link that it moves, the parent of that, and what it mimics."""
    rows = []
    for body in robot.bodies:
        joint, mimic = body.joint, body.joint.mimic
        parent = robot.base if body.parent == BASE else robot.bodies[body.parent].name
        row = {"joint": joint.name, "kind": joint.kind.value, "link": body.name, "parent": parent}
        rows.append(row | {"mimics": mimic.joint if mimic else ""})
    return rows


def rooted(
    source: Robot,
    root: str | None,
    functions: Sequence[str],
    fext: str = "none",
    delays: Delays = DEFAULT_DELAYS,
) -> tuple[Robot, list[RootTrial]]:
    """The robot from the root asked for, and what was tried, if the cheapest was asked for.

    The cost is that by which algorithms are chosen: operations, and the longest paths to the results.

    Raises
    ------
    InputError
        For a link that is none or cannot be the root, or a robot that does not float.
    """

    def cost(robot: Robot) -> float:
        plain = regroup_inertias(align_axes(elementary(robot)))
        graph = trace(plain, functions, pushed_bodies(plain, external_bodies(robot, fext)), ROOT_ALGORITHMS)
        return cost_of(graph, operation_delay(delays)).total

    if root is None:
        return source, []
    if root != CHEAPEST_ROOT:
        return reroot(source, root), []
    return best_root(source, cost, ROOT_EVALUATIONS)


def accelerator(design: Design, bound: Bound) -> Accelerator:
    """The hardware of a design."""
    functions = []
    for name in design.functions:
        inputs, outputs = design.inputs(name), design.outputs(name)
        optional_inputs = design.inputs(name, extended=True)[len(inputs) :]
        optional_outputs = design.outputs(name, extended=True)[len(outputs) :]
        functions.append(Function(name, inputs, outputs, optional_inputs, optional_outputs))
    core = Core(program=design.program, bound=bound)
    stream = design.stream
    return Accelerator(
        core=core, functions=tuple(functions), data_width=stream.data_width, number=stream.number
    )


def prepare(
    source: Robot,
    functions: Sequence[str],
    fext: str = "none",
    delays: Delays = DEFAULT_DELAYS,
    forced: Mapping[str, str] = MappingProxyType({}),
) -> Model:
    """A robot with its frames and inertias rewritten, and the algorithms chosen, so that operations fall.

    Algorithms named in ``forced`` are taken whatever they cost.
    """
    bodies = external_bodies(source, fext)
    judged = tuple({REPRESENTATIVE[function]: None for function in functions})

    def cost(robot: Robot) -> float:
        graph = factor(trace(robot, judged, pushed_bodies(robot, bodies)))
        return multiplications(graph) + ADDITION_COST * graph.count(Op.ADD)

    robot, names = best_rewrite(elementary(source), cost)
    choice = choose(robot, functions, pushed_bodies(robot, bodies), operation_delay(delays), forced)
    return Model(source, robot, tuple(names), bodies, choice)


def traced(model: Model, functions: Sequence[str]) -> Graph:
    """The graph of some functions of a prepared robot."""
    return trace(model.robot, functions, model.pushed, model.choice.algorithms)


def multiplications(graph: Graph) -> int:
    """Products of a graph, by variables and by constants."""
    return graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)


def pushed_bodies(robot: Robot, links: Sequence[int]) -> tuple[int, ...]:
    """The bodies of an elementary robot that are the links of these numbers."""
    return tuple(robot.links[link] for link in links)


def external_bodies(robot: Robot, fext: str) -> tuple[int, ...]:
    """The indices of the bodies that ``none``, ``all`` or a list of links names.

    Raises
    ------
    InputError
        For a link that is unknown, or that does not move by itself.
    """
    if fext == "none":
        return ()
    names = [body.name for body in robot.bodies]
    if fext == "all":
        return tuple(range(len(names)))
    fixed = dict(robot.fixed_links)
    for link in fext.split(","):
        if link in fixed:
            raise InputError(
                f"fext: link '{link}' is fixed to '{fixed[link]}'; a moving link of {robot.name} was expected"
            )
        if link not in names:
            raise InputError(
                f"fext: link '{link}' is unknown; expected none, all or some of {', '.join(names)}"
            )
    return tuple(sorted({names.index(link) for link in fext.split(",")}))


def limb_twins(model: Model, graph: Graph, options: BuildOptions) -> Twins:
    """The nodes of a graph that symmetric limbs compute in turn.

    Raises
    ------
    InputError
        Where sharing is asked for but cannot be.
    """
    groups = shared_limbs(model.robot, options.share_limbs, options.ii)
    return find_twins(graph, limb_inputs(model.robot, groups)) if groups else no_twins(graph)


def optimised(graph: Graph, delays: Delays) -> Graph:
    """The graph after the passes: common factors drawn out, sums balanced by arrival."""
    graph = prune(balance(factor(graph), operation_delay(delays)))
    check(graph)
    return graph


def operation_delay(delays: Delays) -> Callable[[Op], float]:
    """About how long each operation takes, in nanoseconds, before widths and clock are known."""
    turn = delays.table + delays.multiply + delays.add
    known = {
        Op.ADD: delays.add,
        Op.MULTIPLY: delays.multiply,
        Op.SCALE: delays.multiply,
        Op.SIN: turn,
        Op.COS: turn,
        Op.RECIPROCAL: 2.0 * turn,
        Op.SELECT: delays.select,
    }
    return lambda op: known.get(op, 0.0)


def fix(
    model: Model,
    graph: Graph,
    domain: Domain,
    options: BuildOptions,
    twins: Twins,
    draws: Draws | None = None,
) -> tuple[Program, Measured]:
    """The bit-exact program: the most exact at the width asked for, or the cheapest that meets the budget.

    Ranges and the effect of errors come from one sample of the domain, errors from another; by default that
    is four times as large.

    Raises
    ------
    InputError
        Where the budget is not met.
    """
    draws = draws or Draws(options.samples, 4 * options.samples)
    ranging, held_out, probing = (np.random.default_rng((options.seed, k)) for k in (0, 1, 3))
    chunks = list(sampled_inputs(model, domain, draws, ranging))
    shifts = exponents(graph, twins)
    largest = largest_magnitudes(graph, options.functions, chunks, draws.group)
    magnitudes = unified([draws.headroom * size for size in largest], twins, shifts)
    ranges = graph_ranges(model.source, domain, model.fext)
    arrays = sample(model.source, domain, draws.held_out, held_out, model.fext)
    reference = {f: golden.evaluate(model.source, f, arrays) for f in options.functions}
    noise_words = graph_inputs(model.source, with_inverses(model.source, domain, arrays, NOISE_TASKS))

    def lowered(widths: Widths) -> Program:
        seen = list(magnitudes)
        for _ in range(NOISE_PASSES):
            draft = lower(graph, seen, ranges, widths, twins)
            raise_to_noise(seen, draft, options.functions, noise_words, draws.headroom)
            seen = unified(seen, twins, shifts)
        return lower(graph, seen, ranges, widths, twins)

    def measured(program: Program, tasks: int) -> Measured:
        draft = draft_design(model, domain, program, options)
        given = first(arrays, tasks)
        return {f: error_figures(draft, f, given, first(reference[f], tasks)) for f in options.functions}

    search = Search(
        Planner(graph, magnitudes, gains(graph, chunks[0], probing), twins),
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
    return found.program, found.errors


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
            for i in np.flatnonzero(use):
                np.maximum(seen[:, i], np.maximum.reduceat(np.abs(values[i]), starts), out=seen[:, i])
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


def with_inverse(domain: Domain, robot: Robot, options: BuildOptions) -> Domain:
    """The domain with bounds of an inverse mass matrix that comes with a task, found by sampling."""
    rng = np.random.default_rng((options.seed, 2))
    found = golden.evaluate(robot, "minv", sample(robot, domain, options.samples, rng))["Minv"]
    largest = INVERSE_MARGIN * np.abs(found).max(axis=0).ravel()
    return replace(domain, bounds={**domain.bounds, "Minv": np.stack([-largest, largest], axis=1)})


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


def cheapest(
    program: Program, device: Target, options: BuildOptions, twins: Twins
) -> tuple[Bound, dict[str, Cost]]:
    """The program scheduled with twins sharing hardware or not, as asked for or cheaper, and both costs."""
    alone = scheduled(program, device, options)
    groups = shareable(program, twins.groups)
    if not groups:
        return alone, {}
    shared = scheduled(program, device, options, groups)
    costs = {"on": cost(program, shared), "off": cost(program, alone)}
    cheaper = costs["on"].total <= costs["off"].total
    return shared if cheaper or options.share_limbs == "on" else alone, costs


def scheduled(program: Program, device: Target, options: BuildOptions, groups: Sequence[Group] = ()) -> Bound:
    """The program scheduled, verified and bound for one task every ``options.ii`` cycles.

    ``groups`` are the values that share hardware.
    """
    task = problem(program, device, options.clock_mhz, options.ii, groups)
    plan = schedule(task)
    verify(task, plan)
    return bind(program, task, plan, device.memory_stages)
