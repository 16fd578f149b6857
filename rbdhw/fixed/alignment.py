"""Alignment of twins: the powers of two by which their values differ, so that one format serves them all.

The constants of a graph are mantissas, and edges carry the powers of two. If the constant of one limb is just
below a power of two and that of another just above it, values of the first are twice as large and are used
with half the weight. The integers are the same if the binary points differ by one. The *exponent* of a node
is this difference from the first of its twins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from rbdhw.graph.graph import Edge, Graph, Op
from rbdhw.graph.sums import sum_roots, terms
from rbdhw.graph.twins import Group, Twins

SPREAD = 3
"""The most bits by which twins may differ in magnitude. The smallest of them lose these bits, and with more
than three the results err visibly more than without twins."""


def exponents(graph: Graph, twins: Twins) -> list[int]:
    """Return for each node the power of two that makes its value comparable with the first of its group.

    Products and reciprocals have the exponent that follows from their arguments. The exponent of a constant
    factor is free and is chosen so that the sums which use the product are aligned. It is zero for nodes
    without twins.
    """
    shifts, roots = _Shifts(len(graph.nodes)), sum_roots(graph)
    for i in twins.order:
        first = twins.leader.get(i, i)
        if first != i:
            _relate(graph, twins, shifts, i, first, roots)
    return [shifts.value(i) for i in range(len(graph.nodes))]


def comparable(graph: Graph, twins: Twins, magnitudes: Sequence[float]) -> Twins:
    """Return the twins whose magnitudes, aligned, differ by at most :data:`SPREAD` bits."""
    while True:
        shifts = exponents(graph, twins)
        kept = tuple(group for group in twins.groups if _spread(group, magnitudes, shifts) <= SPREAD)
        if len(kept) == len(twins.groups):
            return twins
        twins = Twins(kept, twins.order)


def _spread(group: Group, magnitudes: Sequence[float], shifts: Sequence[int]) -> float:
    """Return the bits between the largest and the smallest of twins, aligned; values of zero do not count."""
    sizes = [math.log2(magnitudes[i]) + shifts[i] for i in group if magnitudes[i]]
    return max(sizes, default=0.0) - min(sizes, default=0.0)


def unify(magnitudes: Sequence[float], twins: Twins, shifts: Sequence[int]) -> list[float]:
    """Return the magnitudes of nodes, with those of twins raised to the largest of their group."""
    unified = list(magnitudes)
    for group in twins.groups:
        largest = max(math.ldexp(magnitudes[i], shifts[i]) for i in group)
        for i in group:
            unified[i] = math.ldexp(largest, -shifts[i])
    return unified


def _relate(graph: Graph, twins: Twins, shifts: _Shifts, i: int, first: int, roots: frozenset[int]) -> None:
    node = graph.nodes[i]
    match node.op:
        case Op.SCALE:
            shifts.free(i)
        case Op.MULTIPLY:
            shifts.pin(i, sum(shifts.value(edge.node) for edge in node.args))
        case Op.RECIPROCAL:
            shifts.pin(i, -shifts.value(node.args[0].node))
        case Op.ADD | Op.SELECT | Op.ROUND:
            shifts.free(i)
            for edge, other in _pairs(graph, twins, i, first, roots):
                shifts.tie(i, edge.node, other.shift - edge.shift)
        case _:
            shifts.pin(i, 0)


def _pairs(
    graph: Graph, twins: Twins, i: int, first: int, roots: frozenset[int]
) -> Iterator[tuple[Edge, Edge]]:
    """Yield the arguments of a twin, except constants, with the corresponding ones of its group's first.

    Sums whose terms are added in different orders may have no arguments that correspond. Their terms do.
    """
    pairs = list(_match(graph, twins, graph.nodes[i].args, graph.nodes[first].args))
    if not pairs and graph.nodes[i].op is Op.ADD:
        pairs = list(_match(graph, twins, terms(graph, i, roots), terms(graph, first, roots)))
    yield from pairs


def _match(
    graph: Graph, twins: Twins, edges: Iterable[Edge], others: Iterable[Edge]
) -> Iterator[tuple[Edge, Edge]]:
    """Yield edges, except those from constants, with others from twins."""
    left = list(others)
    for edge in edges:
        known = twins.leader.get(edge.node, edge.node)
        same = [other for other in left if twins.leader.get(other.node, other.node) == known]
        if same and graph.nodes[edge.node].op is not Op.CONSTANT:
            left.remove(same[0])
            yield edge, same[0]


class _Shifts:
    """Integers of which some are fixed and others have fixed differences: a forest of differences."""

    def __init__(self, size: int) -> None:
        self._parent: list[int | None] = [None] * size
        self._above = [0] * size
        self._free = [False] * size

    def free(self, i: int) -> None:
        self._free[i] = True

    def pin(self, i: int, value: int) -> None:
        self._above[i] = value

    def value(self, i: int) -> int:
        """Return a number; if it is still free, it is fixed to zero."""
        root, above = self._root(i)
        self._free[root] = False
        return self._above[root] + above

    def tie(self, i: int, other: int, difference: int) -> None:
        """Require ``i`` to be ``other`` plus a difference, unless both are fixed already."""
        (root, above), (other_root, other_above) = self._root(i), self._root(other)
        if root == other_root:
            return
        gap = other_above + difference - above
        if self._free[root]:
            self._parent[root], self._above[root] = other_root, gap
        elif self._free[other_root]:
            self._parent[other_root], self._above[other_root] = root, -gap

    def _root(self, i: int) -> tuple[int, int]:
        """Return the number at the root of the tree of ``i``, and how much ``i`` is above it."""
        above = 0
        while (parent := self._parent[i]) is not None:
            above += self._above[i]
            i = parent
        return i, above
