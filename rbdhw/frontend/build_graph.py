"""From a robot to its graph: root, frames and inertias rewritten, algorithms chosen, passes applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType

from rbdhw.config import ALL_LINKS, CHEAPEST_ROOT, NO_LINKS, BuildOptions, Links, link_text
from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import ADDITION_COST, AlgorithmChoice, choose, cost_of
from rbdhw.frontend.functions import Algorithms, trace
from rbdhw.graph.check import check
from rbdhw.graph.graph import Graph, Op
from rbdhw.passes.balance import balance
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import prune
from rbdhw.progress import Progress, silent, within
from rbdhw.protocol import FUNCTIONS
from rbdhw.remarks import subject, warn
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import RootTrial, best_root, reroot
from rbdhw.robot.rewrite import best_rewrite
from rbdhw.runtime.garbage_collector import seldom_collect
from rbdhw.target import Delays, target

DEFAULT_DELAYS = target(BuildOptions().target).delays

ROOT_ALGORITHMS = Algorithms(inverse="block_pivots", products="solves", gradient="repeated")
"""What roots are compared with."""

ROOT_EVALUATIONS = 6
"""Roots compared, the present one included."""

ROOT_STAGE = "choosing the root"
REWRITE_STAGE = "rewriting frames and inertias"
CHOICE_STAGE = "choosing algorithms"


@dataclass(frozen=True)
class Model:
    """A robot prepared for tracing: rewritten, with the names of the rewrites that were kept.

    ``remarks`` says what was not tried, as the robot is large.
    """

    source: Robot
    robot: Robot
    rewrites: tuple[str, ...]
    fext: tuple[int, ...]
    choice: AlgorithmChoice
    remarks: tuple[str, ...] = ()

    @property
    def pushed(self) -> tuple[int, ...]:
        """The bodies of ``robot`` that take an external force, of which ``fext`` tells the source's."""
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
    """The robot from the root asked for, and what was tried, if the cheapest was asked for.

    The cost is that by which algorithms are chosen: operations, and the longest paths to the results. The
    robot's remarks, and the error stream, say which roots of a large robot were not compared.

    Raises
    ------
    InputError
        For a link that is none or cannot be the root, or a robot that does not float.
    """

    def cost(robot: Robot) -> float:
        plain = regroup_inertias(align_axes(elementary(robot)))
        graph = trace(
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
        remark = f"{_large(source)}: not compared as roots: {subject('link', skipped)}; --root LINK takes one"
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
) -> Model:
    """A robot with its frames and inertias rewritten, and the algorithms chosen, so that operations fall.

    Algorithms named in ``forced`` are taken whatever they cost.
    """
    bodies = external_bodies(source, fext)
    judged = tuple({FUNCTIONS[function].cost_like or function: None for function in functions})

    pushed = {source.bodies[i].name for i in bodies}

    def cost(robot: Robot) -> float:
        """Of a rewritten robot, or of a part of one."""
        own = [i for i in robot.links if robot.bodies[i].name in pushed]
        graph = factor(trace(robot, judged, own))
        return multiplications(graph) + ADDITION_COST * graph.count(Op.ADD)

    progress(REWRITE_STAGE)
    robot, names, skipped = best_rewrite(
        elementary(source), count_evaluations(cost, within(REWRITE_STAGE, progress))
    )
    progress(CHOICE_STAGE)
    watched = within(CHOICE_STAGE, progress)
    choice = choose(
        robot, functions, externally_loaded_bodies(robot, bodies), operation_delay(delays), forced, watched
    )
    remarks = _remarks(source, skipped, choice)
    return Model(source, robot, tuple(names), bodies, choice, remarks)


def _remarks(robot: Robot, skipped: str, choice: AlgorithmChoice) -> tuple[str, ...]:
    """What was not tried for a large robot, a line for each search."""
    found = [f"{_large(robot)}: {skipped}"] if skipped else []
    if choice.skipped:
        left_out = subject("algorithm", choice.skipped)
        found.append(f"{_large(robot)}: not compared: {left_out}; --algorithm STEP=NAME takes one")
    return tuple(found)


def _large(robot: Robot) -> str:
    """What remarks on searches that are cut short begin with."""
    return f"robot {robot.name!r} is large ({robot.nv} degrees of freedom)"


def count_evaluations(cost: Callable[[Robot], float], progress: Progress) -> Callable[[Robot], float]:
    """A cost that reports how often it was evaluated."""
    numbers = count(1)

    def evaluated(robot: Robot) -> float:
        found = cost(robot)
        progress(f"{next(numbers)} tried")
        return found

    return evaluated


@seldom_collect()
def trace_model(model: Model, functions: Sequence[str]) -> Graph:
    """The graph of some functions of a prepared robot."""
    return trace(model.robot, functions, model.pushed, model.choice.algorithms)


@seldom_collect()
def optimise(graph: Graph, delays: Delays) -> Graph:
    """The graph after the passes: common factors drawn out, sums balanced by arrival."""
    graph = prune(balance(factor(graph), operation_delay(delays)))
    check(graph)
    return graph


def multiplications(graph: Graph) -> int:
    """Products of a graph, by variables and by constants."""
    return graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)


def externally_loaded_bodies(robot: Robot, links: Sequence[int]) -> tuple[int, ...]:
    """The bodies of an elementary robot that are the links of these numbers."""
    return tuple(robot.links[link] for link in links)


def external_bodies(robot: Robot, fext: Links) -> tuple[int, ...]:
    """The indices of the bodies that take an external force.

    Raises
    ------
    InputError
        For a link that is unknown, or that does not move by itself.
    """
    if fext == NO_LINKS:
        return ()
    names = [body.name for body in robot.bodies]
    if fext == ALL_LINKS:
        return tuple(range(len(names)))
    fixed, links = dict(robot.fixed_links), (fext,) if isinstance(fext, str) else fext
    for link in links:
        if link in fixed:
            raise InputError(
                f"fext: link '{link}' is fixed to '{fixed[link]}'; a moving link of {robot.name} was expected"
            )
        if link not in names:
            known = ", ".join(map(link_text, names))
            raise InputError(f"fext: link '{link}' is unknown; expected none, all or some of {known}")
    return tuple(sorted({names.index(link) for link in links}))


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
