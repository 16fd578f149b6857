"""From a robot to its graph: the choice of the root, rewrites, the choice of algorithms, and the passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from types import MappingProxyType

from rbdhw.delays import Delays
from rbdhw.dynamics.shared_axes import can_share_axes
from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import (
    ADDITION_COST,
    NEEDED_BY,
    AlgorithmChoice,
    choose,
    cost_of,
    without_long_inverse,
)
from rbdhw.frontend.alternatives import DEFAULT, Algorithms, is_plain, is_too_long
from rbdhw.frontend.embedding import embeddable_loops
from rbdhw.frontend.functions import trace, unmerged
from rbdhw.frontend.result_elements import without_integrals
from rbdhw.frontend.sizes import check_sizes
from rbdhw.frontend.solvability import check_solvable
from rbdhw.graph.check import check
from rbdhw.graph.graph import Graph, Op
from rbdhw.options.build import BuildOptions
from rbdhw.passes.balance import balance
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import prune
from rbdhw.passes.signs import turn_differences
from rbdhw.progress import Progress, silent, within
from rbdhw.protocol import FUNCTIONS
from rbdhw.remarks import subject, warn
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import ALL_LINKS, CHEAPEST_ROOT, NO_LINKS, Links, link_text
from rbdhw.robot.parameters import with_held_map
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import RootTrial, best_root, reroot
from rbdhw.robot.rewrite import Rewriting, best_rewrite
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.target import target

DEFAULT_DELAYS = target(BuildOptions().target).delays

ROOT_ALGORITHMS = Algorithms(inverse="block_pivots", products="solves", gradient="repeated")
"""The algorithms with which roots are compared."""

PROPAGATED = {"forward": "propagated", "contacts": "propagated"}
"""The algorithms that chains take which are too long for the inverse of the mass matrix."""

TRIALS = 15
"""About as many alternatives of a whole robot are traced in a search, and four more for each body."""

ROOT_EVALUATIONS = 6
"""The most roots that are compared, including the URDF's own."""

ROOT_STAGE = "choosing the root"
REWRITE_STAGE = "rewriting frames and inertias"
CHOICE_STAGE = "choosing algorithms"


@dataclass(frozen=True)
class Model:
    """A robot prepared for tracing."""

    source: Robot
    """The robot before it was rewritten."""
    robot: Robot
    """The robot with its frames and inertias rewritten."""
    rewrites: tuple[str, ...]
    """The names of the rewrites that were kept."""
    fext: tuple[int, ...]
    """The bodies of ``source`` that take an external force."""
    choice: AlgorithmChoice
    """The chosen algorithms."""
    remarks: tuple[str, ...] = ()
    """What the searches did not try because the robot is large."""

    @property
    def loaded_bodies(self) -> tuple[int, ...]:
        """The bodies of ``robot`` that take an external force."""
        return externally_loaded_bodies(self.robot, self.fext)


@seldom_collect()
def choose_root(
    source: Robot,
    root: str | None,
    functions: Sequence[str],
    fext: Links = NO_LINKS,
    delays: Delays = DEFAULT_DELAYS,
    progress: Progress = silent,
) -> tuple[Robot, list[RootTrial]]:
    """Return the robot seen from the requested root, and the roots that were compared.

    Roots are compared only if the cheapest one is requested, by the same cost as algorithms
    (:func:`rbdhw.frontend.algorithms.cost_of`). The roots of a large robot that were not compared are listed
    in the robot's remarks and on stderr.
    """

    def cost(robot: Robot) -> float:
        plain = regroup_inertias(align_axes(elementary(robot)))
        graph = unmerged(
            plain, functions, externally_loaded_bodies(plain, external_bodies(robot, fext)), ROOT_ALGORITHMS
        )
        return cost_of(graph, operation_delay(delays)).total

    progress(ROOT_STAGE)
    if root is None:
        return source, []
    if root != CHEAPEST_ROOT:
        return reroot(source, root), []
    best, trials, skipped = best_root(
        source, count_evaluations(cost, within(ROOT_STAGE, progress)), ROOT_EVALUATIONS
    )
    if skipped:
        links = subject("link", skipped)
        remark = f"{_large_robot(source)}: not compared as roots: {links}; --root LINK takes one"
        warn([remark])
        best = replace(best, remarks=(*best.remarks, remark))
    return best, trials


@seldom_collect()
def prepare(
    source: Robot,
    functions: Sequence[str],
    fext: Links = NO_LINKS,
    delays: Delays = DEFAULT_DELAYS,
    forced: Mapping[str, str] = MappingProxyType({}),
    progress: Progress = silent,
    *,
    most_traced: float = inf,
    soonest: bool = False,
) -> Model:
    """Rewrite a robot's frames and inertias, and choose its algorithms, so that operations become fewer.

    Algorithms named in ``forced`` are taken whatever they cost; with ``soonest`` the others are chosen for
    the soonest answer. If the search would trace more operations than ``most_traced``, frames stay where they
    are, and the algorithms are those that mostly cost least. Without this limit functions of too many
    operations are refused (:func:`rbdhw.frontend.sizes.check_sizes`). Functions that need the inverse of a
    singular mass matrix always are (:func:`rbdhw.frontend.solvability.check_solvable`): their graphs divide
    by zero.
    """
    check_solvable(source, functions)
    forced = without_long_inverse(elementary(source), functions, forced)
    if most_traced == inf:
        check_sizes(source, functions)
    bodies = external_bodies(source, fext)
    progress(REWRITE_STAGE)
    plain = regroup_inertias(align_axes(elementary(source)))
    search = most_traced == inf or searched_operations(plain, functions) <= most_traced
    if search:
        robot, names, skipped = _search_rewrite(source, functions, bodies, within(REWRITE_STAGE, progress))
    else:
        robot, names, skipped = Rewriting(plain, ["regroup_inertias"])
        forced = _usual_algorithms(robot, functions) | dict(forced)
    progress(CHOICE_STAGE)
    choice = choose(
        robot,
        functions,
        externally_loaded_bodies(robot, bodies),
        operation_delay(delays),
        forced,
        within(CHOICE_STAGE, progress),
        soonest=soonest,
    )
    remarks = _remarks(source, skipped, choice) if search else (_without_search(source),)
    remarks += embeddable_loops(source)
    source = with_held_map(source, robot) if source.loaded else source
    return Model(source, robot, tuple(names), bodies, choice, remarks)


def _search_rewrite(
    source: Robot, functions: Sequence[str], bodies: Sequence[int], progress: Progress
) -> Rewriting:
    """Return the cheapest rewrite found of a robot for some functions, with forces on these bodies."""
    representatives = tuple({FUNCTIONS[function].cost_like or function: None for function in functions})
    loaded = {source.bodies[i].name for i in bodies}

    def cost(robot: Robot) -> float:
        """Return the cost of a rewritten robot, or of a part of one, which may lack some of the bodies."""
        links = tuple(i for i in robot.links if robot.bodies[i].name in loaded)
        return operation_cost(robot, representatives, links)

    return best_rewrite(elementary(source), count_evaluations(cost, progress))


def searched_operations(robot: Robot, functions: Sequence[str]) -> int:
    """Return about how many operations the search for frames and algorithms traces."""
    algorithms = replace(ROOT_ALGORITHMS, **PROPAGATED) if is_too_long(robot) else ROOT_ALGORITHMS
    return len(unmerged(robot, functions, (), algorithms).nodes) * (4 * len(robot.bodies) + TRIALS)


def _usual_algorithms(robot: Robot, functions: Sequence[str]) -> dict[str, str]:
    """Return the algorithms that mostly cost least of a large robot."""
    names = vars(ROOT_ALGORITHMS) | {"axes": "shared" if any(can_share_axes(robot)) else "turning"}
    steps = ("axes",) if is_too_long(robot) else ("axes", "inverse", "products", "gradient")
    return {step: names[step] for step in steps if set(functions).intersection(NEEDED_BY[step])}


def operation_cost(robot: Robot, functions: tuple[str, ...], bodies: tuple[int, ...]) -> float:
    """Return the cost of the operations of some functions, with external forces on these bodies."""
    long = is_plain(robot) and is_too_long(robot)
    graph = factor(unmerged(robot, functions, bodies, Algorithms(**PROPAGATED) if long else DEFAULT))
    return multiplications(graph) + ADDITION_COST * graph.count(Op.ADD)


def _remarks(robot: Robot, skipped: str, choice: AlgorithmChoice) -> tuple[str, ...]:
    remarks = [f"{_large_robot(robot)}: {skipped}"] if skipped else []
    if choice.skipped:
        left_out = subject("algorithm", choice.skipped)
        remarks.append(f"{_large_robot(robot)}: not compared: {left_out}; --algorithm STEP=NAME takes one")
    return tuple(remarks)


def _without_search(robot: Robot) -> str:
    return (
        f"{_large_robot(robot)}: operations are counted without the search for frames and algorithms of a "
        "build, which takes longer and finds fewer"
    )


def _large_robot(robot: Robot) -> str:
    return f"robot {robot.name!r} is large ({robot.nv} degrees of freedom)"


def count_evaluations(cost: Callable[[Robot], float], progress: Progress) -> Callable[[Robot], float]:
    """Return ``cost``, wrapped to report to ``progress`` how often it was evaluated."""
    numbers = count(1)

    def evaluate(robot: Robot) -> float:
        total = cost(robot)
        progress(f"{next(numbers)} tried")
        return total

    return evaluate


@seldom_collect()
def trace_model(model: Model, functions: Sequence[str]) -> Graph:
    """Return the graph of some functions of a prepared robot."""
    return trace(model.robot, functions, model.loaded_bodies, model.choice.algorithms)


def trace_accelerator(model: Model, functions: Sequence[str]) -> Graph:
    """Return the graph of some functions without results that the user's side computes from others."""
    return without_integrals(trace_model(model, functions), model.robot)


@seldom_collect()
def optimise(graph: Graph, delays: Delays) -> Graph:
    """Return the graph after the passes: common factors factored out, sums balanced by arrival time."""
    graph = prune(balance(factor(graph), operation_delay(delays)))
    check(graph)
    return graph


def accelerator_graph(model: Model, functions: Sequence[str], delays: Delays) -> Graph:
    """Return the graph of some functions for hardware, where the sign of a result is not free."""
    return turn_differences(optimise(trace_accelerator(model, functions), delays))


def multiplications(graph: Graph) -> int:
    """Return the number of products of a graph, with variables and with constants."""
    return graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)


def externally_loaded_bodies(robot: Robot, links: Sequence[int]) -> tuple[int, ...]:
    """Return the bodies of an elementary robot that stand for the given links of its source."""
    return tuple(robot.links[link] for link in links)


def external_bodies(robot: Robot, fext: Links) -> tuple[int, ...]:
    """Return the indices of the bodies that take an external force; refuse an unknown or a fixed link."""
    if fext == NO_LINKS:
        return ()
    names = [body.name for body in robot.bodies]
    if fext == ALL_LINKS:
        return tuple(range(len(names)))
    fixed, links = dict(robot.fixed_links), (fext,) if isinstance(fext, str) else fext
    for link in links:
        if link in fixed:
            carrier = fixed[link]
            remedy = f"use --fext {link_text(carrier)}" if carrier in names else ""
            reason = f"link '{link}' is fixed to '{carrier}'"
            raise InputError("fext", reason, f"a moving link of {robot.name}", remedy)
        if link not in names:
            known = ", ".join(map(link_text, names))
            raise InputError("fext", f"link '{link}' is unknown", f"none, all or some of {known}")
    return tuple(sorted({names.index(link) for link in links}))


def operation_delay(delays: Delays) -> Callable[[Op], float]:
    """Return the approximate delay of each operation in nanoseconds, before widths and clock are known."""
    turn = delays.table + delays.multiply + delays.add
    known = {
        Op.ADD: delays.add,
        Op.MULTIPLY: delays.multiply,
        Op.SCALE: delays.multiply,
        Op.SIN: turn,
        Op.COS: turn,
        Op.RECIPROCAL: 2.0 * turn,
        Op.SELECT: delays.select,
        Op.ROUND: delays.add,
    }
    return lambda op: known.get(op, 0.0)
