"""signs: subtract the other way round where results negate a difference.

The sign of an output takes an adder of its own, behind the last sum.
"""

from __future__ import annotations

from collections import defaultdict

from rbdhw.graph.graph import Edge, Graph, Op, node_of


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
    turned = frozenset[int]().union(
        *(_turned(graph, edge.node) for _, edge in graph.outputs if negated[edge.node])
    )
    return _rebuilt(graph, turned) if turned else graph


def _turned(graph: Graph, i: int) -> frozenset[int]:
    """Return the sums to turn for the negative of a value; none if it takes more than that."""
    node = graph.nodes[i]
    if node.op is not Op.ADD:
        return frozenset()
    if node.args[1].negative:
        return frozenset({i})
    inner = (_turned(graph, edge.node) for edge in node.args if graph.uses[edge.node] == 1)
    found = next(filter(None, inner), frozenset[int]())
    return found | {i} if found else found


def _rebuilt(graph: Graph, turned: frozenset[int]) -> Graph:
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
