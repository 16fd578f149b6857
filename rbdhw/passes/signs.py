"""signs: subtract the other way round where results negate a difference.

The sign of an output takes an adder of its own, behind the last sum.
"""

from __future__ import annotations

from collections import defaultdict

from rbdhw.graph.graph import MAX_SHIFT, Edge, Graph, Op, node_of


def turn_differences(graph: Graph) -> Graph:
    """Return the graph with ``b - a`` in place of ``a - b`` where results and sums read only ``-(a - b)``.

    A sum ``a + b`` is turned, too, if one of the two is a sum that only it reads and that can be turned: then
    it becomes their difference. Nodes stay at their places.
    """
    negated: dict[int, bool] = defaultdict(lambda: True)
    for node in graph.nodes:
        for edge in node.args:
            negated[edge.node] &= edge.negative and node.op is Op.ADD
    for _, edge in graph.outputs:
        negated[edge.node] &= edge.negative
    turned: set[int] = set()
    for _, edge in graph.outputs:
        if negated[edge.node]:
            turned |= _turned(graph, edge.node)[0]
    return _rebuilt(graph, turned) if turned else graph


def _turned(graph: Graph, i: int) -> tuple[set[int], int]:
    """Return the sums to turn for the negative of a value, and its shift; no sums if it takes more."""
    node = graph.nodes[i]
    if node.op is not Op.ADD:
        return set(), 0
    first, second = node.args
    pairs = [(second, first)] if second.negative else [(second, first), (first, second)]
    for subtracted, added in pairs:
        sums, shift = set[int](), subtracted.shift
        if not subtracted.negative and graph.uses[subtracted.node] == 1:
            sums, inner = _turned(graph, subtracted.node)
            shift += inner
        if (sums or subtracted.negative) and added.shift - shift <= MAX_SHIFT:
            return sums | {i}, shift
    return set(), 0


def _rebuilt(graph: Graph, turned: set[int]) -> Graph:
    moved = [Edge(i) for i in range(len(graph.nodes))]
    nodes = list(graph.nodes)
    for i, node in enumerate(nodes):
        args = tuple(edge.applied(moved[edge.node]) for edge in node.args)
        if i in turned:
            added, subtracted = sorted(args, key=lambda edge: edge.negative)
            args = Edge(subtracted.node), Edge(added.node, True, added.shift - subtracted.shift)
            moved[i] = Edge(i, True, subtracted.shift)
        nodes[i] = node_of((node.op, args, node.value, node.name, node.region))
    outputs = tuple((name, edge.applied(moved[edge.node])) for name, edge in graph.outputs)
    return Graph(tuple(nodes), outputs)
