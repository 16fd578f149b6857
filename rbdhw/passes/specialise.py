"""specialise: extract the part of a graph that one function needs, with the flags of its tasks fixed."""

from __future__ import annotations

from collections.abc import Mapping

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Op


def specialise(graph: Graph, function: str, flags: Mapping[str, bool]) -> Graph:
    """Return the graph of one function's outputs; inputs named in ``flags`` become constants.

    Nodes that become unnecessary through these constants are not removed.
    """
    outputs = [(name, edge) for name, edge in graph.outputs if name.startswith(f"{function}.")]
    needed = reached_nodes(graph, function, flags)
    decided = {i: flags[name] for name, i in graph.inputs.items() if name in flags}
    builder = GraphBuilder()
    moved: dict[int, Edge] = {}
    for i, node in enumerate(graph.nodes):
        if not needed[i]:
            continue
        if i in decided:
            moved[i] = builder.constant(float(decided[i]), node.region)
        elif node.op is Op.SELECT and node.args[0].node in decided:
            chosen = node.args[1 if decided[node.args[0].node] else 2]
            moved[i] = chosen.applied(moved[chosen.node])
        else:
            moved[i] = builder.copy(node, moved)
    return builder.finish([(name, edge.applied(moved[edge.node])) for name, edge in outputs])


def reached_nodes(graph: Graph, function: str, flags: Mapping[str, bool]) -> list[bool]:
    """Return for each node whether the function's outputs depend on it, with choices by ``flags`` made."""
    decided = {i: flags[name] for name, i in graph.inputs.items() if name in flags}
    reached = [False] * len(graph.nodes)
    for name, edge in graph.outputs:
        reached[edge.node] |= name.startswith(f"{function}.")
    for i in reversed(range(len(graph.nodes))):
        if reached[i]:
            args = graph.nodes[i].args
            if graph.nodes[i].op is Op.SELECT and args[0].node in decided:
                args = args[1:2] if decided[args[0].node] else args[2:]
            for edge in args:
                reached[edge.node] = True
    return reached
