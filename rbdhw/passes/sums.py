"""Sums of many terms, as the passes that rearrange additions see them."""

from __future__ import annotations

from collections.abc import Iterator

from rbdhw.graph.graph import Edge, Graph, Op


def sum_roots(graph: Graph) -> frozenset[int]:
    """The additions whose result is used elsewhere than in exactly one other addition."""
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
    """The terms of the sum at ``root``: what its tree of once-used additions adds up."""
    stack = [Edge(root)]
    while stack:
        top = stack.pop()
        node = graph.nodes[top.node]
        if node.op is Op.ADD and (top.node == root or top.node not in roots):
            stack.extend(top.applied(edge) for edge in reversed(node.args))
        else:
            yield top
