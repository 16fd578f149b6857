"""Twins: nodes of symmetric limbs that compute the same thing, each with its own limb's numbers."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rbdhw.graph.graph import Graph

Group = tuple[int, ...]
"""Twins, one of each limb, in the order of the limbs."""


@dataclass(frozen=True)
class Twins:
    """Groups of nodes that one piece of hardware may compute in turn; no node is in two of them.

    ``order`` holds all nodes of the graph, arguments before what takes them, and the members of each group in
    a row.
    """

    groups: tuple[Group, ...]
    order: tuple[int, ...]

    @cached_property
    def leader(self) -> dict[int, int]:
        """For each twin the first of its group."""
        return {i: group[0] for group in self.groups for i in group}

    @cached_property
    def group_of(self) -> dict[int, Group]:
        """The groups by their leaders."""
        return {group[0]: group for group in self.groups}


def no_twins(graph: Graph) -> Twins:
    """The twins of a graph of which no limb is shared."""
    return Twins((), tuple(range(len(graph.nodes))))


def in_order(graph: Graph, groups: Sequence[Group]) -> Twins:
    """Groups as twins, but of those that wait for each other in a circle as few as need be.

    Members of a group are computed at times that are fixed to each other, so a group must not need what
    another computes from one of its own members.
    """
    kept = {group[0]: group for group in groups}
    while True:
        order, stuck = _order(graph, kept)
        if not stuck:
            return Twins(tuple(kept.values()), tuple(order))
        del kept[stuck[0]]


def _order(graph: Graph, groups: dict[int, Group]) -> tuple[list[int], list[int]]:
    """Nodes in order as far as groups let them, and the leaders of groups that wait in a circle."""
    leader = {i: first for first, group in groups.items() for i in group}
    waiting = [len({edge.node for edge in node.args}) for node in graph.nodes]
    left = {first: sum(waiting[i] for i in group) for first, group in groups.items()}
    users: list[list[int]] = [[] for _ in graph.nodes]
    for i, node in enumerate(graph.nodes):
        for argument in {edge.node for edge in node.args}:
            users[argument].append(i)
            if leader.get(argument, argument) == leader.get(i, i):
                return [], [leader[i]]
    ready = [first for first, count in left.items() if count == 0]
    ready += [i for i, count in enumerate(waiting) if count == 0 and i not in leader]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        first = heapq.heappop(ready)
        own = groups.get(first, (first,))
        order.extend(own)
        for user in (user for i in own for user in users[i]):
            unit = leader.get(user, user)
            count = left if unit in groups else waiting
            count[unit] -= 1
            if count[unit] == 0:
                heapq.heappush(ready, unit)
    begun = [first for first, count in left.items() if 0 < count < sum(waiting[i] for i in groups[first])]
    stuck = [first for first, count in left.items() if count > 0]
    return order, sorted(begun) or sorted(stuck)
