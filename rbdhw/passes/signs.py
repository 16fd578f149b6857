"""signs: subtract the other way round where results negate a difference.

The sign of an output takes an adder of its own, behind the last sum.
"""

from __future__ import annotations

from rbdhw.graph.graph import MAX_SHIFT, Edge, Graph, Op, node_of


def turn_differences(graph: Graph) -> Graph:
    """Return the graph with ``b - a`` in place of ``a - b`` where only results read it, as ``-(a - b)``.

    A sum ``a + b`` is turned, too, if one of the two is a sum that only it reads and that can be turned: then
    it becomes their difference. Nodes stay at their places.
    """
    kept = {edge.node for node in graph.nodes for edge in node.args}
    kept |= {edge.node for _, edge in graph.outputs if not edge.negative}
    roots = {edge.node for _, edge in graph.outputs} - kept
    turned = set[int]().union(*(_turned(graph, root)[0] for root in roots))
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
