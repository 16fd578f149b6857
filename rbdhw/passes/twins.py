"""twins: find the nodes of symmetric limbs that do the same computation.

The *home* of a node is the limb whose inputs it depends on; values common to all limbs do not count. A
product of values of two limbs, as in inverses that couple limbs through a floating base, has one of them as
its home and the other as its *partner*, which is a *distance* further on in the cycle of limbs.

Nodes get colours that are independent of the limb: inputs by their meaning within the limb, other nodes by
their operation and the colours of their arguments. The values of constants have no effect. A sum is coloured
by all of its terms at once, whatever their order. If several nodes of a limb have one colour, it is split by
the users of the nodes, again and again (colour refinement of graphs), as long as all limbs are split alike.
Twins are nodes of the same colour with different homes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.sums import sum_roots, terms
from rbdhw.graph.twins import Group, Twins, order_twins

Limb = Mapping[str, Hashable]
"""The inputs of one limb by name: the meaning of each, equal for corresponding ones."""


@dataclass(frozen=True)
class _Home:
    """The home of a node: ``limb`` of ``count`` in ``group``, and the distance to its partner."""

    group: int
    limb: int
    count: int
    distance: int = 0

    def to(self, other: _Home) -> tuple[int, int, int]:
        """Return the position of another home relative to this one."""
        return other.group - self.group, (other.limb - self.limb) % self.count, other.distance

    @property
    def partner(self) -> int:
        return (self.limb + self.distance) % self.count


def find_twins(graph: Graph, limbs: Sequence[Sequence[Limb]]) -> Twins:
    """Return the twins of each group of limbs."""
    homes: dict[str, _Home] = {}
    meanings: dict[str, Hashable] = {}
    for g, group in enumerate(limbs):
        for k, limb in enumerate(group):
            homes |= {name: _Home(g, k, len(group)) for name in limb}
            meanings |= {name: (g, meaning) for name, meaning in limb.items()}
    colours = _Colours(graph, homes, meanings)
    colours.refine()
    alike = colours.alike()
    return order_twins(graph, sorted(_match(graph, alike)))


def _match(graph: Graph, alike: Sequence[Sequence[list[int]]]) -> Iterator[Group]:
    """Yield groups of nodes of the same colour, one from each limb; nodes are matched by their arguments."""
    leader: dict[int, int] = {}

    def arguments(i: int) -> tuple[list[int], int]:
        return sorted(leader.get(edge.node, -1) for edge in graph.nodes[i].args), i

    for lists in sorted(alike, key=lambda lists: max(nodes[0] for nodes in lists)):
        for members in zip(*(sorted(nodes, key=arguments) for nodes in lists), strict=True):
            leader.update(dict.fromkeys(members, members[0]))
            yield members


class _Colours:
    """Colours of a graph's nodes, refined round by round.

    The user of a term is the root of its sum, whatever additions lie between. The root is also the user of
    these additions.
    """

    def __init__(self, graph: Graph, homes: Mapping[str, _Home], meanings: Mapping[str, Hashable]) -> None:
        self._nodes = graph.nodes
        self._numbers: dict[Hashable, int] = {}
        self._arguments, self._users = _flatten(graph)
        self.homes: list[_Home | None] = []
        self.of: list[int] = []
        for i, node in enumerate(graph.nodes):
            source = node.op is Op.INPUT
            home = homes.get(node.name) if source else self._home(i)
            self.homes.append(home)
            meaning = meanings.get(node.name, node.name)
            key = meaning if source else (node.op, *self._view(i, home))
            self.of.append(self._number(key))

    def classes(self) -> list[list[list[int]]]:
        """Return the nodes of each colour that have a home, by limb."""
        colours: dict[Hashable, list[list[int]]] = {}
        for i, home in enumerate(self.homes):
            if home is not None:
                key = home.group, home.distance, self.of[i]
                colours.setdefault(key, [[] for _ in range(home.count)])[home.limb].append(i)
        return list(colours.values())

    def alike(self) -> list[list[list[int]]]:
        """Return the nodes of each colour by limb, if all limbs have the same number of them."""
        return [lists for lists in self.classes() if _alike(lists)]

    def refine(self) -> None:
        """Split colours that several nodes of a limb have, as long as all limbs are split alike."""
        waiting = [lists for lists in self.alike() if max(map(len, lists)) > 1]
        split = True
        while split:
            split, again = False, []
            for lists in waiting:
                # Users are what tells such nodes apart. A split that only some limbs have would leave the
                # others without twins, so it is not made.
                parts = self._parts(lists)
                if len(parts) == 1 or not all(map(_alike, parts.values())):
                    again.append(lists)
                    continue
                split = True
                for key, part in parts.items():
                    members = [i for nodes in part for i in nodes]
                    number = self._number((self.of[members[0]], key))
                    for i in members:
                        self.of[i] = number
                    if max(map(len, part)) > 1:
                        again.append(part)
            waiting = again

    def _parts(self, lists: Sequence[Sequence[int]]) -> dict[Hashable, list[list[int]]]:
        """Split the nodes of a colour, by limb, according to their arguments and their users in the limb."""
        parts: dict[Hashable, list[list[int]]] = {}
        for k, nodes in enumerate(lists):
            for i in nodes:
                home = self.homes[i]
                users = sorted(self.of[user] for user in self._users[i] if self.homes[user] == home)
                key = (*self._view(i, home), *users)
                parts.setdefault(key, [[] for _ in lists])[k].append(i)
        return parts

    def _view(self, i: int, home: _Home | None) -> list[tuple[tuple[int, int, int], int]]:
        """Return the arguments of a node as seen from its home."""
        seen = [(self._relation(home, argument), self.of[argument]) for argument in self._arguments[i]]
        return seen if self._nodes[i].op is Op.SELECT else sorted(seen)

    def _relation(self, home: _Home | None, other: int) -> tuple[int, int, int]:
        there = self.homes[other]
        return (0, -1, 0) if home is None or there is None else home.to(there)

    def _home(self, i: int) -> _Home | None:
        """Return the home of a node from the homes of its arguments."""
        homes = {self.homes[argument] for argument in self._arguments[i]} - {None}
        if len(homes) < 2:
            return next(iter(homes), None)
        far = [home for home in homes if home is not None and home.distance]
        if len(far) == 1:
            # A value of two limbs meets values of either of them, and remains at home in the first one.
            (pair,) = far
            near = {home.limb for home in homes if home is not None and not home.distance}
            same = all(home is not None and home.group == pair.group for home in homes)
            return pair if same and near <= {pair.limb, pair.partner} else None
        return self._pair(i) if not far and self._nodes[i].op is Op.MULTIPLY else None

    def _pair(self, i: int) -> _Home | None:
        """Return the home of a product of two limbs' values: that of the factor with the lower colour."""
        first, second = sorted(self._arguments[i], key=self.of.__getitem__)
        a, b = self.homes[first], self.homes[second]
        if a is None or b is None or a.group != b.group or self.of[first] == self.of[second]:
            return None
        return _Home(a.group, a.limb, a.count, (b.limb - a.limb) % a.count)

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _alike(lists: Sequence[Sequence[int]]) -> bool:
    return len(set(map(len, lists))) == 1


def _flatten(graph: Graph) -> tuple[list[list[int]], list[list[int]]]:
    """Return arguments and users of each node; a sum's root has all its terms, and uses all inside it."""
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
    """Yield the additions inside the sum at ``root``, which only other additions of the sum use."""
    waiting = [root]
    while waiting:
        for edge in graph.nodes[waiting.pop()].args:
            if graph.nodes[edge.node].op is Op.ADD and edge.node not in roots:
                yield edge.node
                waiting.append(edge.node)
