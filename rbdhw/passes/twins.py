"""twins: find the nodes of symmetric limbs that compute the same thing.

Nodes get colours that do not tell limbs apart: inputs by what they are of their limb, all others by their
operation and the colours of what they take and of what takes them, again and again, until no colour splits
(colour refinement of graphs). Constants count for nothing, and a sum for all its terms at once, in whatever
order they are added. Twins are the nodes of one colour that belong to different limbs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Group, Twins, in_order
from rbdhw.passes.sums import sum_roots, terms

Limb = Mapping[str, Hashable]
"""The inputs of one limb, by name: what each is of its limb, which corresponding inputs share."""


def find_twins(graph: Graph, limbs: Sequence[Sequence[Limb]]) -> Twins:
    """The twins of each group of limbs.

    A node belongs to a limb if it depends on inputs of that limb, directly or by nodes that belong to it, and
    takes nothing that belongs to another.
    """
    known = {
        name: (g, meaning)
        for g, group in enumerate(limbs)
        for limb in group
        for name, meaning in limb.items()
    }
    owners = {name: (g, k) for g, group in enumerate(limbs) for k, limb in enumerate(group) for name in limb}
    owner = _owners(graph, owners)
    colours = _Colours(graph, known).refined()
    members: dict[tuple[int, int], list[list[int]]] = {}
    for i, own in enumerate(owner):
        if own is not None:
            g, k = own
            members.setdefault((g, colours[i]), [[] for _ in limbs[g]])[k].append(i)
    alike = [lists for lists in members.values() if len({len(own) for own in lists}) == 1]
    return in_order(graph, sorted(_matched(graph, alike)))


def _owners(graph: Graph, inputs: Mapping[str, tuple[int, int]]) -> list[tuple[int, int] | None]:
    """The limb to which each node belongs, if it does to one."""
    owner: list[tuple[int, int] | None] = []
    for node in graph.nodes:
        found = {owner[edge.node] for edge in node.args} - {None}
        if node.op is Op.INPUT:
            found = {inputs.get(node.name)}
        owner.append(next(iter(found)) if len(found) == 1 else None)
    return owner


def _matched(graph: Graph, alike: Sequence[Sequence[list[int]]]) -> Iterator[Group]:
    """Groups of nodes of the same colour, one of each limb; of several in a limb those that take twins."""
    leader: dict[int, int] = {}

    def arguments(i: int) -> tuple[list[int], int]:
        return sorted(leader.get(edge.node, -1) for edge in graph.nodes[i].args), i

    for lists in sorted(alike, key=lambda lists: max(own[0] for own in lists)):
        for group in zip(*(sorted(own, key=arguments) for own in lists), strict=True):
            leader.update(dict.fromkeys(group, group[0]))
            yield group


class _Colours:
    """Colours of a graph's nodes, refined round by round.

    A term of a sum is taken by the sum's root, whatever additions lie between; these are taken by it too.
    """

    def __init__(self, graph: Graph, inputs: Mapping[str, Hashable]) -> None:
        self._nodes = graph.nodes
        self._numbers: dict[Hashable, int] = {}
        roots = sum_roots(graph)
        self._arguments = [[edge.node for edge in node.args] for node in graph.nodes]
        self._users: list[list[int]] = [[] for _ in graph.nodes]
        self._varies = [False] * len(graph.nodes)
        for i, node in enumerate(graph.nodes):
            varies = (self._varies[edge.node] for edge in node.args)
            self._varies[i] = node.name in inputs if node.op is Op.INPUT else any(varies)
            whole = node.op is not Op.ADD or i in roots
            if node.op is Op.ADD and whole:
                self._arguments[i] = [edge.node for edge in terms(graph, i, roots)]
                for inner in _inside(graph, i, roots):
                    self._users[inner].append(i)
            for argument in self._arguments[i] if whole else ():
                self._users[argument].append(i)
        self._colours = [self._number(self._first(i, inputs)) for i in range(len(graph.nodes))]

    def refined(self) -> list[int]:
        """A colour for each node; another round would split none."""
        count = 0
        while len(set(self._colours)) > count:
            count = len(set(self._colours))
            moving = [i for i, varies in enumerate(self._varies) if varies]
            for i in moving:
                arguments = [self._colours[argument] for argument in self._arguments[i]]
                if self._nodes[i].op is not Op.SELECT:
                    arguments.sort()
                self._colours[i] = self._number((self._colours[i], *arguments))
            for i in reversed(moving):
                users = sorted(self._colours[user] for user in self._users[i])
                self._colours[i] = self._number((self._colours[i], "in", *users))
        return self._colours

    def _first(self, i: int, inputs: Mapping[str, Hashable]) -> Hashable:
        node = self._nodes[i]
        if node.op is Op.CONSTANT:
            return node.op
        if not self._varies[i]:
            return i
        return inputs[node.name] if node.op is Op.INPUT else node.op

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _inside(graph: Graph, root: int, roots: frozenset[int]) -> Iterator[int]:
    """The additions of the sum at ``root`` whose results only other additions of it take."""
    waiting = [root]
    while waiting:
        for edge in graph.nodes[waiting.pop()].args:
            if graph.nodes[edge.node].op is Op.ADD and edge.node not in roots:
                yield edge.node
                waiting.append(edge.node)
