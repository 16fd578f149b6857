"""Twins: corresponding nodes of symmetric limbs, which do the same computation with other numbers."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdhw.graph.graph import Graph

Group = tuple[int, ...]
"""Twins, one from each limb, in the order of the limbs."""


def delays(limbs: int, ii: int) -> range:
    """Return by how many cycles each of so many twins follows the first, up to whole intervals of ``ii``."""
    return range(0, ii, ii // limbs)


@dataclass(frozen=True)
class Twins:
    """Groups of nodes that one piece of hardware may compute in turn; a node is in one group at most.

    ``order`` contains all nodes of the graph: arguments come before their users, and the members of a group
    are consecutive.
    """

    groups: tuple[Group, ...]
    order: tuple[int, ...]

    @cached_property
    def leader(self) -> dict[int, int]:
        """For each twin, the first node of its group."""
        return {i: group[0] for group in self.groups for i in group}

    @cached_property
    def group_of(self) -> dict[int, Group]:
        """The groups by their first node."""
        return {group[0]: group for group in self.groups}


def no_twins(graph: Graph) -> Twins:
    """Return the twins of a graph in which no limb is shared: none."""
    return Twins((), tuple(range(len(graph.nodes))))


def order_twins(graph: Graph, groups: Sequence[Group]) -> Twins:
    """Return groups as twins, without those that make an order impossible.

    The members of a group are computed at fixed times relative to each other, so the groups must not depend
    on each other in a cycle. As few groups as possible are removed to break cycles.
    """
    kept = {group[0]: group for group in groups}
    while True:
        order, stuck = _order(graph, kept)
        if not stuck:
            return Twins(tuple(kept.values()), tuple(order))
        del kept[stuck[0]]


def _order(graph: Graph, groups: dict[int, Group]) -> tuple[list[int], list[int]]:
    """Return nodes in order as far as possible, and the leaders of groups to remove from a cycle."""
    leader = {i: first for first, group in groups.items() for i in group}
    before = [{edge.node for edge in node.args} for node in graph.nodes]
    waiting = [len(arguments) for arguments in before]
    left = {first: sum(waiting[i] for i in group) for first, group in groups.items()}
    users: list[list[int]] = [[] for _ in graph.nodes]
    for i, arguments in enumerate(before):
        for argument in arguments:
            users[argument].append(i)
            # Twins are computed at fixed times of each other, so one must not need another.
            if leader.get(argument, argument) == leader.get(i, i):
                return [], [leader[i]]
    ready = [first for first, count in left.items() if count == 0]
    ready += [i for i, count in enumerate(waiting) if count == 0 and i not in leader]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        first = heapq.heappop(ready)
        members = groups.get(first, (first,))
        order.extend(members)
        for user in (user for i in members for user in users[i]):
            unit = leader.get(user, user)
            count = left if unit in groups else waiting
            count[unit] -= 1
            if count[unit] == 0:
                heapq.heappush(ready, unit)
    # A group of which some arguments are in order is at the front of what is stuck. Those behind it may only
    # wait for it, and removing them would be in vain.
    begun = [first for first, count in left.items() if 0 < count < sum(waiting[i] for i in groups[first])]
    stuck = [first for first, count in left.items() if count > 0]
    return order, sorted(begun) or sorted(stuck)
