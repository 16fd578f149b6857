"""prune: remove nodes that no output depends on."""

from __future__ import annotations

from itertools import accumulate

from rbdhw.graph.graph import Edge, Graph, edge_of, node_of


def prune(graph: Graph) -> Graph:
    """Return the graph without dead nodes; the others stay as they are, in the same order."""
    kept = alive(graph)
    if all(kept):
        return graph
    positions = [count - 1 for count in accumulate(kept)]
    plain = [Edge(position) for position in positions]

    def move(edge: Edge) -> Edge:
        node, negative, shift = edge
        return edge_of((positions[node], negative, shift)) if negative or shift else plain[node]

    nodes = [
        node_of((op, tuple([move(edge) for edge in args]), value, name, region))
        for (op, args, value, name, region), stays in zip(graph.nodes, kept, strict=True)
        if stays
    ]
    return Graph(tuple(nodes), tuple((name, move(edge)) for name, edge in graph.outputs))


def alive(graph: Graph) -> list[bool]:
    """Return for each node whether an output depends on it."""
    needed = [False] * len(graph.nodes)
    for _, edge in graph.outputs:
        needed[edge.node] = True
    for i in reversed(range(len(graph.nodes))):
        if needed[i]:
            for edge in graph.nodes[i].args:
                needed[edge.node] = True
    return needed
