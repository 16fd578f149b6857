"""factor: replace ``c a + c b`` by ``c (a + b)``, for constant and variable factors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Node, Op, mantissa
from rbdhw.graph.sums import sum_roots, terms
from rbdhw.passes.prune import prune
from rbdhw.scalar import Region

Factor = tuple[str, Hashable]
"""``("constant", mantissa)`` or ``("node", index)``."""


def factor(graph: Graph) -> Graph:
    """Factor out of each sum, repeatedly, the factor that most of its products share.

    A product counts only if this sum is its only use. Therefore each factor shared by k products saves k - 1
    multiplications and costs no addition.
    """
    roots = sum_roots(graph)
    builder = GraphBuilder()
    moved: dict[int, Edge] = {}
    for i, node in enumerate(graph.nodes):
        if node.op is not Op.ADD:
            moved[i] = builder.copy(node, moved)
        elif i in roots:
            summands = [edge.applied(moved[edge.node]) for edge in terms(graph, i, roots)]
            once = {moved[edge.node].node for edge in terms(graph, i, roots) if graph.uses[edge.node] == 1}
            moved[i] = _Sum(builder, once, node.region).build(summands)
    return prune(builder.finish([(name, edge.applied(moved[edge.node])) for name, edge in graph.outputs]))


class _Sum:
    """One sum to rebuild; ``once`` holds the products that have no other use."""

    def __init__(self, builder: GraphBuilder, once: set[int], region: Region) -> None:
        self._builder = builder
        self._once = once
        self._region = region

    def build(self, edges: list[Edge]) -> Edge:
        """Return the sum of the edges, with like terms collected and common factors factored out."""
        edges = self._collect(edges)
        shared = self._most_shared(edges)
        if shared is None:
            return self._total(edges)
        # The factor that most products share goes first. This may prevent a better split, but every split
        # saves products, and the search for the best one is exponential.
        inside = [edge for edge in edges if shared in self._factors(edge)]
        outside = [edge for edge in edges if shared not in self._factors(edge)]
        rest = [self.build(outside)] if outside else []
        cofactor = self.build([self._without(edge, shared) for edge in inside])
        return self._total([*rest, self._times(cofactor, shared)])

    def _collect(self, edges: list[Edge]) -> list[Edge]:
        """Add up the terms of one variable: ``c a + d a`` becomes one product.

        Multiples by powers of two cost nothing, so they stay separate unless their sum is one, too.
        """
        coefficients: dict[int, list[tuple[Edge, float]]] = {}
        for edge in edges:
            base, coefficient = self._term(edge)
            coefficients.setdefault(base, []).append((edge, coefficient))
        collected: list[Edge] = []
        for base, pairs in coefficients.items():
            total = sum(coefficient for _, coefficient in pairs)
            trivial = total == 0.0 or mantissa(total)[0] == 1.0
            if len(pairs) > 1 and (trivial or any(edge.node != base for edge, _ in pairs)):
                collected.append(self._builder.scale(Edge(base), total, self._region))
            else:
                collected.extend(edge for edge, _ in pairs)
        return collected

    def _term(self, edge: Edge) -> tuple[int, float]:
        coefficient = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
        node = self._node(edge)
        if node.op is Op.SCALE and edge.node in self._once:
            return node.args[0].node, coefficient * node.value
        return edge.node, coefficient

    def _most_shared(self, edges: list[Edge]) -> Factor | None:
        count = Counter(key for edge in edges for key in self._factors(edge))
        # Among equals the text decides, so that the same graph always gives the same sum.
        best = max(count.items(), key=lambda item: (item[1], repr(item[0])), default=None)
        return best[0] if best is not None and best[1] > 1 else None

    def _factors(self, edge: Edge) -> tuple[Factor, ...]:
        node = self._node(edge)
        if node.op is Op.SCALE and edge.node in self._once:
            return (("constant", node.value),)
        if node.op is Op.MULTIPLY and edge.node in self._once:
            return tuple(("node", arg.node) for arg in dict.fromkeys(node.args))
        return ()

    def _without(self, edge: Edge, shared: Factor) -> Edge:
        args = self._node(edge).args
        other = args[1] if len(args) == 2 and shared == ("node", args[0].node) else args[0]
        return edge.applied(other)

    def _times(self, cofactor: Edge, shared: Factor) -> Edge:
        kind, key = shared
        if kind == "constant":
            assert isinstance(key, float)
            return self._builder.scale(cofactor, key, self._region)
        assert isinstance(key, int)
        return self._builder.multiply(cofactor, Edge(key), self._region)

    def _total(self, edges: list[Edge]) -> Edge:
        total = edges[0]
        for edge in edges[1:]:
            total = self._builder.add(total, edge, self._region)
        return total

    def _node(self, edge: Edge) -> Node:
        return self._builder.nodes[edge.node]
