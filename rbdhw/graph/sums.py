"""Sums of many terms, whatever the order of their additions."""

from __future__ import annotations

from collections.abc import Iterator

from rbdhw.graph.graph import Edge, Graph, Op


def sum_roots(graph: Graph) -> frozenset[int]:
    """Return the additions whose result is used elsewhere than in exactly one other addition."""
    users: dict[int, int] = {}
    for node in graph.nodes:
        if node.op is Op.ADD:
            for edge in node.args:
                users[edge.node] = users.get(edge.node, 0) + 1
    return frozenset(
        i
        for i, node in enumerate(graph.nodes)
        if node.op is Op.ADD and not (graph.uses[i] == 1 and users.get(i, 0) == 1)
    )


def terms(graph: Graph, root: int, roots: frozenset[int]) -> Iterator[Edge]:
    """Yield the terms of the sum at ``root``: the leaves of its tree of additions that are used once."""
    stack = [Edge(root)]
    while stack:
        top = stack.pop()
        node = graph.nodes[top.node]
        if node.op is Op.ADD and (top.node == root or top.node not in roots):
            stack.extend(top.applied(edge) for edge in reversed(node.args))
        else:
            yield top
