"""Which algorithms are cheapest for a robot: each alternative is traced and its cost compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from rbdhw.errors import InputError
from rbdhw.frontend.functions import ALGORITHMS, Algorithms, trace
from rbdhw.graph.graph import Graph, Op
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS, WordName
from rbdhw.robot.model import Robot

ADDITION_COST = 0.1
"""What an addition weighs beside a multiplication."""

NANOSECOND_COST = 3.0
"""What a nanosecond of a function's latency weighs beside a multiplication: all that is alive waits in
registers."""

SOLVES_WEIGHT = 1.05
"""Solves must be this much cheaper: only dense products can take an inverse that comes with the task."""

NEEDED_BY: dict[str, tuple[str, ...]] = {
    step: tuple(name for name, own in FUNCTIONS.items() if step in own.algorithms) for step in ALGORITHMS
}
"""The functions that take each of the steps of :data:`rbdhw.frontend.functions.ALGORITHMS`."""

TOGETHER = (("derivatives",), ("inverse", "products"), ("gradient",))
"""Steps whose alternatives are compared in every combination, one group after the other."""

MOST_NODES = 1_000_000
"""Nodes that the graphs of one of these groups may have together.

Beyond, alternatives are left out, but for the first: the larger a robot, the less its last per cent is worth.
"""

Delay = Callable[[Op], float]


@dataclass(frozen=True)
class Cost:
    """Operations of all functions together, and the longest paths to each function's results, summed."""

    multiplications: int
    additions: int
    nanoseconds: float

    @property
    def total(self) -> float:
        """The weighted sum that decides."""
        work = self.multiplications + ADDITION_COST * self.additions
        return work + NANOSECOND_COST * self.nanoseconds


@dataclass(frozen=True)
class AlgorithmChoice:
    """The algorithms taken, and for each step compared the cost of every alternative.

    ``skipped`` are the combinations of a large robot that were not compared.
    """

    algorithms: Algorithms
    costs: dict[str, dict[str, Cost]]
    skipped: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """For each step the algorithm chosen, and what each alternative would have cost."""
        return {
            step: {
                "chosen": getattr(self.algorithms, step),
                "costs": {name: vars(cost) | {"total": cost.total} for name, cost in costs.items()},
            }
            for step, costs in self.costs.items()
        }


def longest_paths(graph: Graph, delay: Delay) -> dict[str, float]:
    """Nanoseconds to each function's last result; ``delay`` gives those of each operation."""
    ready: list[float] = []
    for node in graph.nodes:
        ready.append(max((ready[edge.node] for edge in node.args), default=0.0) + delay(node.op))
    last: dict[str, float] = {}
    for name, edge in graph.outputs:
        function = str(WordName.parse(name).function)
        last[function] = max(last.get(function, 0.0), ready[edge.node])
    return last


def cost_of(graph: Graph, delay: Delay) -> Cost:
    """The cost of a graph; ``delay`` gives the nanoseconds of each operation."""
    last = longest_paths(graph, delay)
    multiplications = graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)
    return Cost(multiplications, graph.count(Op.ADD), round(sum(last.values()), 3))


def choose(
    robot: Robot,
    functions: Sequence[str],
    fext: Sequence[int],
    delay: Delay,
    forced: Mapping[str, str],
    progress: Progress = silent,
) -> AlgorithmChoice:
    """The cheapest algorithms found for ``functions``; ``forced`` names those that are asked for.

    ``progress`` receives each combination before it is traced.

    Raises
    ------
    InputError
        Where those cannot serve the robot, or not together.
    """
    chosen = replace(Algorithms(), **forced)
    costs: dict[str, dict[str, Cost]] = {}
    trials = _Trials(robot, functions, fext, delay, progress)
    for steps in TOGETHER:
        asked = [step for step in steps if set(functions).intersection(NEEDED_BY[step])]
        if not asked:
            continue
        names = [(forced[step],) if step in forced else ALGORITHMS[step] for step in asked]
        combinations = {
            replace(chosen, **dict(zip(asked, combination, strict=True))): ", ".join(combination)
            for combination in product(*names)
        }
        found = trials.compared({own: name for own, name in combinations.items() if own.possible_for(robot)})
        if not found:
            asked_for = ", ".join(f"{step}={name}" for step, name in forced.items())
            raise InputError(
                f"algorithm: {asked_for} cannot serve {robot.name}; expected algorithms that go together, "
                "and columns or articulated only for joints of one freedom on a fixed base"
            )
        chosen = min(found, key=lambda candidate: _weight(candidate) * found[candidate].total)
        for step in asked:
            costs[step] = _alternatives(step, found)
    return AlgorithmChoice(chosen, costs, tuple(trials.skipped))


class _Trials:
    """The costs of algorithms, each found once.

    Members
    -------
    skipped : list of str
        The names of those that were left out, as a large robot's graphs would have been too many nodes.
    """

    def __init__(
        self,
        robot: Robot,
        functions: Sequence[str],
        fext: Sequence[int],
        delay: Delay,
        progress: Progress,
    ) -> None:
        self._task = robot, functions, fext
        self._delay = delay
        self._progress = progress
        self._known: dict[Algorithms, Cost] = {}
        self._nodes = 0
        self.skipped: list[str] = []

    def compared(self, candidates: Mapping[Algorithms, str]) -> dict[Algorithms, Cost]:
        """The costs of candidates, which have names, as far as :data:`MOST_NODES` allows."""
        traced = 0
        for candidate, name in candidates.items():
            if candidate in self._known:
                continue
            if traced and traced + self._nodes > MOST_NODES:
                self.skipped.append(name)
                continue
            self._progress(name)
            graph = trace(*self._task, candidate)
            self._known[candidate] = cost_of(graph, self._delay)
            self._nodes = len(graph.nodes)
            traced += self._nodes
        return {candidate: self._known[candidate] for candidate in candidates if candidate in self._known}


def _weight(algorithms: Algorithms) -> float:
    return SOLVES_WEIGHT if algorithms.products == "solves" else 1.0


def _alternatives(step: str, found: Mapping[Algorithms, Cost]) -> dict[str, Cost]:
    """The cheapest cost found with each algorithm of one step."""
    costs: dict[str, Cost] = {}
    for candidate, cost in found.items():
        name = getattr(candidate, step)
        if name not in costs or cost.total < costs[name].total:
            costs[name] = cost
    return costs


def parse_algorithms(texts: Sequence[str]) -> dict[str, str]:
    """``step=algorithm`` texts as a mapping.

    Raises
    ------
    InputError
        For an unknown step or algorithm, or two for one step.
    """
    forced: dict[str, str] = {}
    for text in texts:
        step, _, name = text.partition("=")
        if step not in ALGORITHMS:
            raise InputError(f"algorithm: '{step}' is no step; expected one of {', '.join(ALGORITHMS)}")
        if name not in ALGORITHMS[step]:
            known = ", ".join(ALGORITHMS[step])
            raise InputError(f"algorithm: '{name}' is unknown for {step}; expected one of {known}")
        if forced.setdefault(step, name) != name:
            raise InputError(f"algorithm: {step} is given twice; expected one algorithm a step")
    return forced
