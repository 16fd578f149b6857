"""The limbs of a robot that share hardware at an initiation interval, and their inputs of the graph."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from rbdhw.cores.prepared import Sharing
from rbdhw.errors import InputError
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Twins, no_twins
from rbdhw.passes.twins import find_twins
from rbdhw.robot.model import Robot
from rbdhw.robot.symmetry import Limb, LimbGroup, limb_groups

Meaning = tuple[str, tuple[int, ...]]
"""The role of an input in its limb: its array, and its index among the limb's entries of the array."""


def choose_sharing(robot: Robot, graph: Graph, share: str, ii: int) -> Sharing:
    """Return the limbs that share hardware (:func:`find_shared_limbs`), and their twins.

    Raises InputError if sharing is required but impossible.
    """
    limbs = find_shared_limbs(robot, share, ii)
    return Sharing(find_twins(graph, limb_inputs(robot, limbs)) if limbs else no_twins(graph), limbs)


def find_shared_limbs(
    robot: Robot,
    share: str,  # `off` for none; `auto` for the groups that the interval allows; `on` for all, or an error
    ii: int,
) -> tuple[LimbGroup, ...]:
    """Return the groups of limbs that share one limb's hardware; their sizes divide ``ii``.

    Raises InputError with ``on`` if no limbs are alike, or the interval does not allow a group to
    share.
    """
    if share == "off":
        return ()
    groups = limb_groups(robot)
    if share == "on" and not groups:
        raise InputError("share-limbs", f"no limbs of {robot.name} are alike", "auto or off")
    shared: list[LimbGroup] = []
    for group in groups:
        parts = _take_turns(group, ii)
        if not parts and share == "on":
            raise _interval_refusal(robot, group, ii)
        shared += parts
    return tuple(shared)


def can_share(groups: Sequence[LimbGroup], ii: int) -> bool:
    """Return whether some limbs of every group can share one limb's hardware at an interval."""
    return all(any(ii % size == 0 for size in range(2, len(group) + 1)) for group in groups)


def _take_turns(group: LimbGroup, ii: int) -> list[LimbGroup]:
    """Return the parts of a group whose limbs take turns; what then remains is least."""
    sizes = [size for size in range(2, len(group) + 1) if ii % size == 0]
    if not sizes:
        return []
    size = min(sizes, key=lambda size: len(group) // size + len(group) % size)
    return [group[k : k + size] for k in range(0, len(group) - size + 1, size)]


def _interval_refusal(robot: Robot, group: LimbGroup, ii: int) -> InputError:
    names = ", ".join(robot.bodies[limb[0]].name for limb in group)
    reason = f"the limbs at {names} cannot share at an ii of {ii}"
    primes = [k for k in range(2, len(group) + 1) if all(k % j for j in range(2, k))]
    expected = f"a multiple of {' or '.join(map(str, primes))}"
    next_ii = next(k for k in count(ii) if can_share(limb_groups(robot), k))
    return InputError("share-limbs", reason, expected, f"use --ii {next_ii}")


def limb_names(robot: Robot, groups: Sequence[LimbGroup]) -> list[list[str]]:
    """Return the name of the first link of each limb of each group."""
    return [[robot.bodies[limb[0]].name for limb in group] for group in groups]


def least_interval(groups: Sequence[LimbGroup]) -> int:
    """Return the shortest initiation interval at which the limbs of each group share one limb's hardware."""
    return math.lcm(*(len(group) for group in groups))


def hardware(graph: Graph, twins: Twins, ii: int) -> dict[str, dict[str, int]]:
    """Return the multipliers and adders of a graph at an interval with limb sharing ``on`` and ``off``."""
    kinds = {"multipliers": (Op.MULTIPLY, Op.SCALE), "adders": (Op.ADD, Op.SELECT)}
    units: dict[str, dict[str, int]] = {"on": {}, "off": {}}
    for name, ops in kinds.items():
        sizes = Counter(len(group) for group in twins.groups if graph.nodes[group[0]].op in ops)
        total = sum(graph.count(op) for op in ops)
        alone = total - sum(size * count for size, count in sizes.items())
        turns = ii if name == "multipliers" else 1
        units["off"][name] = math.ceil(total / turns)
        units["on"][name] = math.ceil(alone / turns) + sum(
            math.ceil(size * count / ii) if turns > 1 else count for size, count in sizes.items()
        )
    return units


def limb_inputs(robot: Robot, groups: Sequence[LimbGroup]) -> list[list[dict[str, Meaning]]]:
    """Return the inputs of each limb of each group by their names (:mod:`rbdhw.frontend.inputs`)."""
    return [[dict(_inputs(robot, limb)) for limb in group] for group in groups]


def _inputs(robot: Robot, limb: Limb) -> Iterator[tuple[str, Meaning]]:
    moving = [body for body in limb if robot.bodies[body].joint.mimic is None]
    q = [k for body in moving for k in range(*robot.q_of[body].indices(robot.nq))]
    v = [k for body in moving for k in range(*robot.v_of[body].indices(robot.nv))]
    for index, k in enumerate(q):
        yield f"q[{k}]", ("q", (index,))
    for array in ("v", "a", "tau"):
        for index, k in enumerate(v):
            yield f"{array}[{k}]", (array, (index,))
    for row, i in enumerate(v):
        for column, j in enumerate(v):
            if j <= i:
                yield f"Minv[{i},{j}]", ("Minv", (row, column))
    links = [robot.links.index(body) for body in limb if body in robot.links]
    for index, link in enumerate(links):
        for k in range(6):
            yield f"fext[{link},{k}]", ("fext", (index, k))
