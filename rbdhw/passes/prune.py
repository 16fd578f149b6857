"""prune: leave out what no output reaches."""

from __future__ import annotations

from rbdhw.graph.graph import Edge, Graph, GraphBuilder


def prune(graph: Graph) -> Graph:
    """The graph without its dead nodes; folds and shares anew on the way."""
    alive = [False] * len(graph.nodes)
    for _, edge in graph.outputs:
        alive[edge.node] = True
    for i in reversed(range(len(graph.nodes))):
        if alive[i]:
            for edge in graph.nodes[i].args:
                alive[edge.node] = True
    builder = GraphBuilder()
    moved: dict[int, Edge] = {}
    for i, node in enumerate(graph.nodes):
        if alive[i]:
            moved[i] = builder.copy(node, tuple(edge.applied(moved[edge.node]) for edge in node.args))
    return builder.finish([(name, edge.applied(moved[edge.node])) for name, edge in graph.outputs])
