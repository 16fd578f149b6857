"""balance: add the terms of a sum in the order in which they become ready.

A rounded copy of a state counts as ready at once. So the stages of a method, which evaluate the dynamics at
one state after another, are balanced alike.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Op
from rbdhw.graph.sums import sum_roots, terms
from rbdhw.scalar import Region

Delay = Callable[[Op], float]
"""The time from a node's last argument to its result, in any unit."""


def balance(graph: Graph, delay: Delay) -> Graph:
    """Reassociate sums so that each is ready as early as its terms allow (Huffman's rule).

    Only additions whose result is used once are reassociated, so none is computed twice.
    """
    roots = sum_roots(graph)
    balancer = _Balancer(delay)
    for i, node in enumerate(graph.nodes):
        if node.op is Op.ADD:
            if i in roots:
                balancer.moved[i] = balancer.sum(list(terms(graph, i, roots)), node.region)
        else:
            balancer.moved[i] = balancer.builder.copy(node, balancer.moved)
    outputs = [(name, edge.applied(balancer.moved[edge.node])) for name, edge in graph.outputs]
    return balancer.builder.finish(outputs)


class _Balancer:
    def __init__(self, delay: Delay) -> None:
        self.builder = GraphBuilder()
        self.moved: dict[int, Edge] = {}
        self._delay = delay
        self._ready: list[float] = []

    def sum(self, edges: list[Edge], region: Region) -> Edge:
        """Add the two terms that are ready first, until one is left."""
        moved = [edge.applied(self.moved[edge.node]) for edge in edges]
        # `k` keeps terms that are ready at once in their order.
        queue = [(self._arrival(edge.node), k, edge) for k, edge in enumerate(moved)]
        heapq.heapify(queue)
        for k in range(len(queue), 2 * len(queue) - 1):
            _, _, first = heapq.heappop(queue)
            _, _, second = heapq.heappop(queue)
            total = self.builder.add(first, second, region)
            heapq.heappush(queue, (self._arrival(total.node), k, total))
        return queue[0][2]

    def _arrival(self, node: int) -> float:
        # The builder adds no node for a sum that it knows, so numbers do not tell which nodes are new.
        for new in self.builder.nodes[len(self._ready) :]:
            arguments = () if new.op is Op.ROUND else (self._ready[edge.node] for edge in new.args)
            self._ready.append(max(arguments, default=0.0) + self._delay(new.op))
        return self._ready[node]
