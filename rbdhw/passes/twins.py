"""twins: find the nodes of symmetric limbs that compute the same thing.

A node's *home* is the limb whose inputs it depends on, apart from what all limbs together have made. What one
limb's values make of another's, as in inverses that couple limbs through a floating base, is at home in one
of them and looks at the other: a *distance* further on in the circle of limbs.

Nodes get colours that do not tell limbs apart: inputs by what they are of their limb, others by their
operation and by the colours of what they take. Constants count for nothing, and a sum for all its terms at
once, in whatever order they are added. Where several nodes of a limb have one colour, what takes them splits
it, again and again (colour refinement of graphs), as long as all limbs are split alike. Twins are nodes of
one colour in different homes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Group, Twins, in_order
from rbdhw.passes.sums import sum_roots, terms

Limb = Mapping[str, Hashable]
"""The inputs of one limb, by name: what each is of its limb, which corresponding inputs share."""


@dataclass(frozen=True)
class _Home:
    """The limb of a group at which a node is at home, of so many, and how far on is the one it looks at."""

    group: int
    limb: int
    count: int
    distance: int = 0

    def to(self, other: _Home) -> tuple[int, int, int]:
        """Where another is, seen from here."""
        return other.group - self.group, (other.limb - self.limb) % self.count, other.distance

    @property
    def looked_at(self) -> int:
        return (self.limb + self.distance) % self.count


def find_twins(graph: Graph, limbs: Sequence[Sequence[Limb]]) -> Twins:
    """The twins of each group of limbs."""
    homes: dict[str, _Home] = {}
    meanings: dict[str, Hashable] = {}
    for g, group in enumerate(limbs):
        for k, limb in enumerate(group):
            homes |= {name: _Home(g, k, len(group)) for name in limb}
            meanings |= {name: (g, meaning) for name, meaning in limb.items()}
    colours = _Colours(graph, homes, meanings)
    colours.refine()
    alike = [lists for lists in colours.classes() if _balance(lists)]
    return in_order(graph, sorted(_match(graph, alike)))


def _balance(lists: Sequence[Sequence[int]]) -> bool:
    """Whether as many nodes of a colour are at home in each limb."""
    return len({len(own) for own in lists}) == 1


def _match(graph: Graph, alike: Sequence[Sequence[list[int]]]) -> Iterator[Group]:
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

    def __init__(self, graph: Graph, homes: Mapping[str, _Home], meanings: Mapping[str, Hashable]) -> None:
        self._nodes = graph.nodes
        self._numbers: dict[Hashable, int] = {}
        self._arguments, self._users = _flatten(graph)
        self.homes: list[_Home | None] = []
        self.of: list[int] = []
        for i, node in enumerate(graph.nodes):
            home = homes.get(node.name) if node.op is Op.INPUT else self._home(i)
            self.homes.append(home)
            meaning = meanings.get(node.name, node.name)
            key = meaning if node.op is Op.INPUT else (node.op, *self._seen(i, home))
            self.of.append(self._number(key))

    def classes(self) -> list[list[list[int]]]:
        """The nodes of each colour that are at home in limbs, by limb."""
        found: dict[Hashable, list[list[int]]] = {}
        for i, home in enumerate(self.homes):
            if home is not None:
                key = home.group, home.distance, self.of[i]
                found.setdefault(key, [[] for _ in range(home.count)])[home.limb].append(i)
        return list(found.values())

    def refine(self) -> None:
        """Split colours that several nodes of a limb have, as long as the limbs stay in balance."""
        waiting = [lists for lists in self.classes() if len(lists[0]) > 1 and _balance(lists)]
        split = True
        while split:
            split, again = False, []
            for lists in waiting:
                parts = self._parts(lists)
                if len(parts) == 1 or not all(map(_balance, parts.values())):
                    again.append(lists)
                    continue
                split = True
                for key, part in parts.items():
                    number = self._number((self.of[lists[0][0]], key))
                    for i in (i for own in part for i in own):
                        self.of[i] = number
                    if len(part[0]) > 1:
                        again.append(part)
            waiting = again

    def _parts(self, lists: Sequence[Sequence[int]]) -> dict[Hashable, list[list[int]]]:
        """The nodes of a colour, by limb, told apart by what they take and what in their limb takes them."""
        parts: dict[Hashable, list[list[int]]] = {}
        for k, own in enumerate(lists):
            for i in own:
                home = self.homes[i]
                users = sorted(self.of[user] for user in self._users[i] if self.homes[user] == home)
                key = (*self._seen(i, home), *users)
                parts.setdefault(key, [[] for _ in lists])[k].append(i)
        return parts

    def _seen(self, i: int, home: _Home | None) -> list[tuple[tuple[int, int, int], int]]:
        """What a node takes, seen from its home."""
        seen = [(self._relation(home, argument), self.of[argument]) for argument in self._arguments[i]]
        return seen if self._nodes[i].op is Op.SELECT else sorted(seen)

    def _relation(self, home: _Home | None, other: int) -> tuple[int, int, int]:
        there = self.homes[other]
        return (0, -1, 0) if home is None or there is None else home.to(there)

    def _home(self, i: int) -> _Home | None:
        """The home of a node that takes nodes of known homes."""
        found = {self.homes[argument] for argument in self._arguments[i]} - {None}
        if len(found) < 2:
            return next(iter(found), None)
        far = [home for home in found if home is not None and home.distance]
        if len(far) == 1:
            (pair,) = far
            near = {home.limb for home in found if home is not None and not home.distance}
            same = all(home is not None and home.group == pair.group for home in found)
            return pair if same and near <= {pair.limb, pair.looked_at} else None
        return self._pair(i) if not far and self._nodes[i].op is Op.MULTIPLY else None

    def _pair(self, i: int) -> _Home | None:
        """The home of a product of two limbs' values: that of the factor whose colour comes first."""
        first, second = sorted(self._arguments[i], key=self.of.__getitem__)
        a, b = self.homes[first], self.homes[second]
        if a is None or b is None or a.group != b.group or self.of[first] == self.of[second]:
            return None
        return _Home(a.group, a.limb, a.count, (b.limb - a.limb) % a.count)

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _flatten(graph: Graph) -> tuple[list[list[int]], list[list[int]]]:
    """What each node takes, a sum's root all its terms; and what takes each, a sum's root all inside."""
    roots = sum_roots(graph)
    arguments = [[edge.node for edge in node.args] for node in graph.nodes]
    users: list[list[int]] = [[] for _ in graph.nodes]
    for i, node in enumerate(graph.nodes):
        if node.op is Op.ADD and i not in roots:
            continue
        if node.op is Op.ADD:
            arguments[i] = [edge.node for edge in terms(graph, i, roots)]
            for inner in _inside(graph, i, roots):
                users[inner].append(i)
        for argument in arguments[i]:
            users[argument].append(i)
    return arguments, users


def _inside(graph: Graph, root: int, roots: frozenset[int]) -> Iterator[int]:
    """The additions of the sum at ``root`` whose results only other additions of it take."""
    waiting = [root]
    while waiting:
        for edge in graph.nodes[waiting.pop()].args:
            if graph.nodes[edge.node].op is Op.ADD and edge.node not in roots:
                yield edge.node
                waiting.append(edge.node)
