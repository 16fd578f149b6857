"""Twins: corresponding nodes of symmetric limbs, or of the stages of a method, which do the same computation.

Limbs do not depend on each other. A stage depends on the one before it through its state alone, so the nodes
of that state (:mod:`rbdhw.graph.stages`) are where one stage is cut from the next.

Some limbs or stages may lack a node that the others have: the first stage of Runge-Kutta has no products of
sensitivities. Their turn then stays empty.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, overload

from rbdhw.graph.graph import Graph


@dataclass(frozen=True, order=True)
class Group(Sequence[int]):
    """Twins, at most one from each limb or stage, as a sequence.

    Parameters
    ----------
    members
        The twins, in the order of the limbs or stages.
    places
        The limb or stage of each, ascending; they count from 0.
    turns
        The number of limbs or stages that take turns.
    """

    members: tuple[int, ...]
    places: tuple[int, ...]
    turns: int

    @classmethod
    def whole(cls, *members: int) -> Self:
        """Return a group with a twin from each limb or stage."""
        return cls(members, tuple(range(len(members))), len(members))

    @overload
    def __getitem__(self, k: int) -> int: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[int, ...]: ...
    def __getitem__(self, k: int | slice) -> int | tuple[int, ...]:
        return self.members[k]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[int]:
        return iter(self.members)

    def with_members(self, members: Iterable[int]) -> Group:
        """Return a group of other nodes from the same limbs or stages."""
        return replace(self, members=tuple(members))

    def delays(self, ii: int) -> tuple[int, ...]:
        """Return by how many cycles each twin follows the first, up to whole intervals of ``ii``."""
        return tuple((turn - self.places[0]) * (ii // self.turns) for turn in self.places)

    @property
    def taken(self) -> int:
        """The turns of a shared unit that the group takes, of :attr:`turns`.

        Two groups of neighbours among four fit in one unit, half an interval apart. Every other group takes
        all turns, also those of missing members.
        """
        neighbours = len(self) == 2 and self.places[1] - self.places[0] == 1
        return 2 if neighbours and self.turns == 4 else self.turns


@dataclass(frozen=True)
class Twins:
    """Groups of nodes that one piece of hardware may compute in turn; a node is in one group at most.

    ``order`` contains all nodes of the graph: arguments come before their users, and the members of a group
    are consecutive. The exception are ``states``, the nodes of the stages' states, which come before their
    arguments.
    """

    groups: tuple[Group, ...]
    order: tuple[int, ...]
    states: frozenset[int] = frozenset()

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


def order_twins(graph: Graph, groups: Sequence[Group], states: frozenset[int] = frozenset()) -> Twins:
    """Return groups as twins, without those that make an order impossible.

    The members of a group are computed at fixed times relative to each other, so the groups must not depend
    on each other in a cycle. As few groups as possible are removed to break cycles.
    """
    kept = {group[0]: group for group in groups}
    while True:
        order, stuck = _order(graph, kept, states)
        if not stuck:
            return Twins(tuple(kept.values()), tuple(order), states)
        del kept[stuck[0]]


def _order(graph: Graph, groups: dict[int, Group], states: frozenset[int]) -> tuple[list[int], list[int]]:
    """Return nodes in order as far as possible, and the leaders of groups to remove from a cycle."""
    leader = {i: first for first, group in groups.items() for i in group}
    before = [
        set() if i in states else {edge.node for edge in node.args} for i, node in enumerate(graph.nodes)
    ]
    waiting = [len(arguments) for arguments in before]
    left = {first: sum(waiting[i] for i in group) for first, group in groups.items()}
    users: list[list[int]] = [[] for _ in graph.nodes]
    for i, arguments in enumerate(before):
        for argument in arguments:
            users[argument].append(i)
            if leader.get(argument, argument) == leader.get(i, i):
                return [], [leader[i]]
    ready = [first for first, count in left.items() if count == 0]
    ready += [i for i, count in enumerate(waiting) if count == 0 and i not in leader]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        first = heapq.heappop(ready)
        members: Sequence[int] = groups.get(first, (first,))
        order.extend(members)
        for user in (user for i in members for user in users[i]):
            unit = leader.get(user, user)
            count = left if unit in groups else waiting
            count[unit] -= 1
            if count[unit] == 0:
                heapq.heappush(ready, unit)
    begun = [first for first, count in left.items() if 0 < count < sum(waiting[i] for i in groups[first])]
    stuck = [first for first, count in left.items() if count > 0]
    return order, sorted(begun) or sorted(stuck)
