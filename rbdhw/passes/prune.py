"""prune: remove nodes that no output depends on."""

from __future__ import annotations

from itertools import accumulate

from rbdhw.graph.graph import Edge, Graph, edge_of, node_of


def prune(graph: Graph) -> Graph:
    """Return the graph without dead nodes; the others stay as they are, in the same order."""
    kept = alive(graph)
    if all(kept):
        return graph
    places = [count - 1 for count in accumulate(kept)]
    plain = [Edge(place) for place in places]

    def move(edge: Edge) -> Edge:
        node, negative, shift = edge
        return edge_of((places[node], negative, shift)) if negative or shift else plain[node]

    nodes = [
        node_of((op, tuple([move(edge) for edge in args]), value, name, region))
        for (op, args, value, name, region), own in zip(graph.nodes, kept, strict=True)
        if own
    ]
    return Graph(tuple(nodes), tuple((name, move(edge)) for name, edge in graph.outputs))


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
