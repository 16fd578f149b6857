"""prune: remove nodes that no output depends on."""

from __future__ import annotations

from rbdhw.graph.graph import Edge, Graph, GraphBuilder


def prune(graph: Graph) -> Graph:
    """Return the graph without dead nodes; rebuilding it folds and shares nodes again."""
    builder = GraphBuilder()
    moved: dict[int, Edge] = {}
    for i, (node, kept) in enumerate(zip(graph.nodes, alive(graph), strict=True)):
        if kept:
            moved[i] = builder.copy(node, tuple(edge.applied(moved[edge.node]) for edge in node.args))
    return builder.finish([(name, edge.applied(moved[edge.node])) for name, edge in graph.outputs])


def alive(graph: Graph) -> list[bool]:
    """Return for each node whether an output depends on it."""
    found = [False] * len(graph.nodes)
    for _, edge in graph.outputs:
        found[edge.node] = True
    for i in reversed(range(len(graph.nodes))):
        if found[i]:
            for edge in graph.nodes[i].args:
                found[edge.node] = True
    return found
