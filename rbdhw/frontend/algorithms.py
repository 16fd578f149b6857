"""The choice of algorithms for a robot: trace each alternative, and take the one of least cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.frontend.alternatives import Algorithms, is_plain, is_too_long, need_factors
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Graph, Op
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.passes.balance import balance
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import Robot

ADDITION_COST = 0.1
"""The cost of an addition, in multiplications."""

NANOSECOND_COST = 3.0
"""The cost of a nanosecond of a function's latency, in multiplications: values that are still needed occupy
registers meanwhile."""

SOONEST_COST = 100.0
"""The same where the soonest answer is asked for."""

SOLVES_WEIGHT = 1.05
"""The factor on the cost of solves, because only dense products can use an inverse supplied with the task."""

NEEDED_BY: dict[str, tuple[str, ...]] = {
    step: tuple(name for name, entry in FUNCTIONS.items() if step in entry.algorithms) for step in ALGORITHMS
}
"""For each step of :data:`rbdhw.options.algorithms.ALGORITHMS`, the functions that contain it."""

TOGETHER = (
    ("axes",),
    ("derivatives",),
    ("inverse", "products"),
    ("forward", "contacts"),
    ("gradient",),
    ("second",),
    ("rates",),
)
"""Groups of steps. Within a group every combination of alternatives is compared; the groups are decided one
after the other."""

MOST_NODES = 1_000_000
"""The limit on the nodes of all graphs traced for one of these groups. Alternatives that would exceed it are
skipped, except for the first. A search for the last per cent takes too long for a large robot."""

FOR_SOONEST = ("triangular",)
"""The algorithms that are compared only where the soonest answer is asked for."""

Delay = Callable[[Op], float]


@dataclass(frozen=True)
class Cost:
    """The cost of a graph: its operations, and the sum over all functions of the longest path to a result."""

    multiplications: int
    additions: int
    nanoseconds: float
    soonest: bool = False

    @property
    def total(self) -> float:
        work = self.multiplications + ADDITION_COST * self.additions
        return work + (SOONEST_COST if self.soonest else NANOSECOND_COST) * self.nanoseconds

    def json(self) -> dict[str, float]:
        """Return operations, nanoseconds and their sum with weights."""
        parts = vars(self) | {"total": self.total}
        return {name: part for name, part in parts.items() if name != "soonest"}


@dataclass(frozen=True)
class AlgorithmChoice:
    """The chosen algorithms, and the cost of every alternative for each step that was compared.

    ``skipped`` names the combinations that were not compared because the robot is large. ``tried`` are the
    entries on the combinations that were tried in number formats, of which the first has the least cost.
    """

    algorithms: Algorithms
    costs: dict[str, dict[str, Cost]]
    skipped: tuple[str, ...] = ()
    tried: tuple[Mapping[str, Any], ...] = ()

    def cost_factor(self, algorithms: Algorithms) -> float:
        """Return how many times as much as the chosen ones other algorithms cost, at least, as compared."""
        factors = [1.0]
        for step, costs in self.costs.items():
            if (cost := costs.get(getattr(algorithms, step))) is not None:
                factors.append(cost.total / costs[getattr(self.algorithms, step)].total)
        return max(factors)

    def json(self) -> dict[str, Any]:
        """Return, for each step, the chosen algorithm and the cost of each alternative."""
        return {
            step: {
                "chosen": getattr(self.algorithms, step),
                "costs": {name: cost.json() for name, cost in costs.items()},
            }
            for step, costs in self.costs.items()
        }


def longest_paths(graph: Graph, delay: Delay) -> dict[str, float]:
    """Return the longest path to a result of each function in nanoseconds, given each operation's delay."""
    ready: list[float] = []
    for node in graph.nodes:
        ready.append(max((ready[edge.node] for edge in node.args), default=0.0) + delay(node.op))
    last: dict[str, float] = {}
    for name, edge in graph.outputs:
        function = str(WordName.parse(name).function)
        last[function] = max(last.get(function, 0.0), ready[edge.node])
    return last


def cost_of(graph: Graph, delay: Delay, soonest: bool = False) -> Cost:
    """Return the cost of a graph, given the delay of each operation in nanoseconds.

    With ``soonest`` nanoseconds count more.
    """
    last = longest_paths(graph, delay)
    multiplications = graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)
    return Cost(multiplications, graph.count(Op.ADD), round(sum(last.values()), 3), soonest)


def choose(
    robot: Robot,
    functions: Sequence[str],
    fext: Sequence[int],
    delay: Delay,
    forced: Mapping[str, str],
    progress: Progress = silent,
    *,
    soonest: bool = False,
) -> AlgorithmChoice:
    """Return the cheapest algorithms found for ``functions``.

    Parameters
    ----------
    delay
        The delay of each operation in nanoseconds.
    forced
        The algorithms that the user asks for, by step. They are taken whatever they cost.
    progress
        Receives the name of each combination before it is traced.
    soonest
        Whether the soonest answer matters more than operations.

    Raises
    ------
    InputError
        If the forced algorithms cannot be combined or do not support the robot, or its chains are too long.
    """
    forced = without_long_inverse(robot, functions, forced)
    check_used(functions, forced)
    chosen = replace(Algorithms(), **forced)
    costs: dict[str, dict[str, Cost]] = {}
    trials = _Trials(robot, functions, fext, delay, progress, soonest)
    for steps in compared_steps(robot, functions, forced):
        trial_costs = trials.compare(variants(robot, chosen, steps, forced, soonest))
        if not trial_costs:
            asked_for = ", ".join(f"{step}={name}" for step, name in forced.items())
            expected = (
                "algorithms that go together, and columns, articulated, propagated, reduced, eliminated or "
                "symbols only for joints of one freedom on a fixed base, contacts=propagated also on a "
                "floating one, without loops; reduced or eliminated only for bodies with a mass and moments "
                "of inertia about all axes"
            )
            raise InputError("algorithm", f"{asked_for} cannot serve {robot.name}", expected)
        chosen = min(trial_costs, key=lambda candidate: _weight(candidate) * trial_costs[candidate].total)
        for step in steps:
            costs[step] = _alternatives(step, trial_costs)
    return AlgorithmChoice(chosen, costs, tuple(trials.skipped))


def compared_steps(
    robot: Robot, functions: Sequence[str], forced: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield the steps of each group of :data:`TOGETHER` whose algorithms are worth a comparison."""
    for steps in TOGETHER:
        asked = tuple(step for step in steps if _is_asked(step, functions, forced))
        if asked and not (is_too_long(robot) and "inverse" in steps):
            yield asked


def variants(
    robot: Robot,
    chosen: Algorithms,
    steps: Sequence[str],
    forced: Mapping[str, str],
    soonest: bool,
) -> dict[Algorithms, str]:
    """Return the names of all combinations of the algorithms of some steps that support a robot.

    Other steps keep their algorithms. Those of :data:`FOR_SOONEST` are left out without ``soonest``.
    """
    compared = {
        step: [name for name in ALGORITHMS[step] if soonest or name not in FOR_SOONEST] for step in steps
    }
    names = [(forced[step],) if step in forced else compared[step] for step in steps]
    combinations = {
        replace(chosen, **dict(zip(steps, combination, strict=True))): ", ".join(combination)
        for combination in product(*names)
    }
    return {algorithms: name for algorithms, name in combinations.items() if algorithms.possible_for(robot)}


def check_used(functions: Sequence[str], forced: Mapping[str, str]) -> None:
    """Refuse an algorithm of a step that the functions do not contain, because it would have no effect."""
    contained = [step for step in ALGORITHMS if _is_contained(step, functions, forced)]
    for step, name in forced.items():
        if step not in contained:
            reason = f"{step}={name} has no effect: {', '.join(functions)} do not contain this step"
            expected = f"a step of {', '.join(contained)}" if contained else "no algorithm"
            raise InputError("algorithm", reason, expected, f"leave out --algorithm {step}={name}")


def _is_contained(step: str, functions: Sequence[str], forced: Mapping[str, str]) -> bool:
    """Return whether a build contains a step; forward dynamics may be forced to do without the inverse.

    Rows of contacts are eliminated in blocks as large as those of the mass matrix even then.
    """
    needing = set(functions).intersection(NEEDED_BY[step])
    if step in ("inverse", "products") and forced.get("forward", "inverse") != "inverse":
        needing -= set(NEEDED_BY["forward"]).difference(NEEDED_BY["contacts"] if step == "inverse" else ())
    return bool(needing) and not (step == "contacts" and need_factors(functions))


def without_long_inverse(
    robot: Robot, functions: Sequence[str], forced: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the forced algorithms; those of long chains propagate forward dynamics if none is named for it.

    InputError if the functions need the inverse of the mass matrix, or it is asked for.
    """
    if not (is_too_long(robot) and set(functions).intersection(NEEDED_BY["inverse"])):
        return forced
    steps = [step for step in ("forward", "contacts") if set(functions).intersection(NEEDED_BY[step])]
    others = set(NEEDED_BY["inverse"]).difference(*(NEEDED_BY[step] for step in steps))
    others.intersection_update(functions)
    chosen = dict.fromkeys(steps, "propagated") | dict(forced)
    if others or {"inverse", "factored"}.intersection(chosen.values()) or not is_plain(robot):
        needing = [name for name in functions if name in (others or NEEDED_BY["inverse"])]
        raise InputError(
            "functions",
            f"{robot.name} has {robot.nv} degrees of freedom, too many in a row for the inverse of the mass "
            f"matrix, which {', '.join(needing)} would need",
            f"chains of up to some 80 joints, or functions without the inverse: "
            f"{', '.join(name for name in FUNCTIONS if name not in NEEDED_BY['inverse'])}; and fd, cfd, "
            "impulse and cinertia of joints with one freedom each on a fixed base",
            "use --functions fd, with --core chain or --algorithm forward=propagated",
        )
    return chosen


def _is_asked(step: str, functions: Sequence[str], forced: Mapping[str, str]) -> bool:
    """Return whether a build contains a step, and its alternatives are worth a comparison.

    Those of forward dynamics are not if another function needs the inverse, and so computes it anyway.
    """
    if not set(functions).intersection(NEEDED_BY[step]):
        return False
    if step == "contacts":
        return not need_factors(functions)
    others = set(NEEDED_BY["inverse"]).difference(NEEDED_BY["forward"])
    return step != "forward" or step in forced or not others.intersection(functions)


class _Trials:
    """The costs of the algorithms tried so far, and the combinations with too many nodes."""

    def __init__(
        self,
        robot: Robot,
        functions: Sequence[str],
        fext: Sequence[int],
        delay: Delay,
        progress: Progress,
        soonest: bool,
    ) -> None:
        self._task = robot, functions, fext
        self._delay, self._soonest = delay, soonest
        self._progress = progress
        self._known: dict[Algorithms, Cost] = {}
        self._nodes = 0
        self.skipped: list[str] = []

    def compare(self, candidates: Mapping[Algorithms, str]) -> dict[Algorithms, Cost]:
        """Return the costs of candidates, given with their names, as far as :data:`MOST_NODES` allows."""
        traced = 0
        for candidate, name in candidates.items():
            if candidate in self._known:
                continue
            # The size of the last graph stands for that of the next one, which is not known before it is
            # traced.
            if traced and traced + self._nodes > MOST_NODES:
                self.skipped.append(name)
                continue
            self._progress(name)
            graph = trace(*self._task, candidate)
            if self._soonest:
                graph = balance(graph, self._delay)
            self._known[candidate] = cost_of(graph, self._delay, self._soonest)
            self._nodes = len(graph.nodes)
            traced += self._nodes
        return {candidate: self._known[candidate] for candidate in candidates if candidate in self._known}


def _weight(algorithms: Algorithms) -> float:
    return SOLVES_WEIGHT if algorithms.products == "solves" else 1.0


def _alternatives(step: str, trial_costs: Mapping[Algorithms, Cost]) -> dict[str, Cost]:
    """Return the least cost found with each algorithm of one step."""
    costs: dict[str, Cost] = {}
    for candidate, cost in trial_costs.items():
        name = getattr(candidate, step)
        if name not in costs or cost.total < costs[name].total:
            costs[name] = cost
    return costs
