"""factor: ``c a + c b`` becomes ``c (a + b)``, and so for variable factors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Node, Op, mantissa
from rbdhw.passes.prune import prune
from rbdhw.passes.sums import sum_roots, terms
from rbdhw.scalar import Region

Factor = tuple[str, Hashable]
"""``("constant", mantissa)`` or ``("node", index)``."""


def factor(graph: Graph) -> Graph:
    """Draw out of each sum the factor that most of its products share, again and again.

    A product counts only where this sum is its single use, so each factor drawn out of k products
    saves k - 1 multiplications and costs no addition.
    """
    roots = sum_roots(graph)
    builder = GraphBuilder()
    moved: dict[int, Edge] = {}
    for i, node in enumerate(graph.nodes):
        if node.op is not Op.ADD:
            moved[i] = builder.copy(node, tuple(edge.applied(moved[edge.node]) for edge in node.args))
        elif i in roots:
            own = [edge.applied(moved[edge.node]) for edge in terms(graph, i, roots)]
            once = {moved[edge.node].node for edge in terms(graph, i, roots) if graph.uses[edge.node] == 1}
            moved[i] = _Sum(builder, once, node.region).factored(own)
    return prune(builder.finish([(name, edge.applied(moved[edge.node])) for name, edge in graph.outputs]))


class _Sum:
    """One sum being rebuilt; ``once`` holds the products that nothing else uses."""

    def __init__(self, builder: GraphBuilder, once: set[int], region: Region) -> None:
        self._builder = builder
        self._once = once
        self._region = region

    def factored(self, edges: list[Edge]) -> Edge:
        """The sum of the edges with like terms gathered and common factors drawn out."""
        edges = self._gathered(edges)
        shared = self._most_shared(edges)
        if shared is None:
            return self._total(edges)
        inside = [edge for edge in edges if shared in self._factors(edge)]
        outside = [edge for edge in edges if shared not in self._factors(edge)]
        rest = [self.factored(outside)] if outside else []
        cofactor = self.factored([self._without(edge, shared) for edge in inside])
        return self._total([*rest, self._times(cofactor, shared)])

    def _gathered(self, edges: list[Edge]) -> list[Edge]:
        """The terms with those of the same variable added up: ``c a + d a`` is one product.

        Multiples by powers of two, which cost nothing, stay apart where their sum is none.
        """
        coefficients: dict[int, list[tuple[Edge, float]]] = {}
        for edge in edges:
            base, coefficient = self._term(edge)
            coefficients.setdefault(base, []).append((edge, coefficient))
        gathered: list[Edge] = []
        for base, own in coefficients.items():
            total = sum(coefficient for _, coefficient in own)
            trivial = total == 0.0 or mantissa(total)[0] == 1.0
            if len(own) > 1 and (trivial or any(edge.node != base for edge, _ in own)):
                gathered.append(self._builder.scale(Edge(base), total, self._region))
            else:
                gathered.extend(edge for edge, _ in own)
        return gathered

    def _term(self, edge: Edge) -> tuple[int, float]:
        """An edge as a node and the constant it is multiplied by."""
        coefficient = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
        node = self._node(edge)
        if node.op is Op.SCALE and edge.node in self._once:
            return node.args[0].node, coefficient * node.value
        return edge.node, coefficient

    def _most_shared(self, edges: list[Edge]) -> Factor | None:
        count = Counter(key for edge in edges for key in self._factors(edge))
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
