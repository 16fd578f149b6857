"""The steps of all sweeps in one graph, and all links or stages side by side."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Node, Op
from rbdhw.graph.sweeps import Carried, Constant, Sweeps


@dataclass(frozen=True)
class JoinedSteps:
    """The steps of all sweeps in one graph. Its outputs are the results, if those of the last step are."""

    sweeps: Sweeps
    graph: Graph
    """The nodes of all steps; constants may be shared."""
    places: tuple[tuple[Edge, ...], ...]
    """For each sweep, the node of the graph for each node of its step, as an edge."""

    def output(self, name: str) -> Edge:
        for sweep, places in zip(self.sweeps.sweeps, self.places, strict=True):
            for output, edge in sweep.step.outputs:
                if output == name:
                    return edge.applied(places[edge.node])
        raise KeyError(name)


def join_steps(sweeps: Sweeps) -> JoinedSteps:
    """Return the steps of all sweeps in one graph."""
    build = GraphBuilder()
    places = []
    for sweep in sweeps.sweeps:
        edges: list[Edge] = []
        for node in sweep.step.nodes:
            edges.append(build.copy(node, edges))
        places.append(tuple(edges))
    results = [
        (name, edge.applied(edges[edge.node]))
        for name, edge in sweep.step.outputs
        if not sweeps.each_link and sweeps.is_result(name)
    ]
    return JoinedSteps(sweeps, build.finish(results), tuple(places))


def side_by_side(joined: JoinedSteps) -> Graph:
    """Return a graph of all stages without folding: node i of stage k is node ``k * n + i``."""
    step, n, nodes = joined.graph, len(joined.graph.nodes), list[Node]()
    for stage in range(joined.sweeps.links):
        for i, node in enumerate(step.nodes):
            if node.op is Op.INPUT:
                nodes.append(_read(joined, i, stage))
            else:
                args = tuple(edge._replace(node=edge.node + stage * n) for edge in node.args)
                nodes.append(node._replace(args=args))
    last = (joined.sweeps.links - 1) * n
    return Graph(
        tuple(nodes), tuple((name, edge._replace(node=edge.node + last)) for name, edge in step.outputs)
    )


def _read(joined: JoinedSteps, i: int, stage: int) -> Node:
    """Return the node that is an input of a stage."""
    node, n = joined.graph.nodes[i], len(joined.graph.nodes)
    match joined.sweeps.sources[node.name]:
        case Constant(values):
            return Node(Op.CONSTANT, (), values[stage], "", node.region)
        case Carried(_, first) if stage == 0:
            return Node(Op.CONSTANT, (), first, "", node.region)
        case Carried(output):
            edge = joined.output(output)
            return Node(Op.ROUND, (edge._replace(node=edge.node + (stage - 1) * n),), 0.0, "", node.region)
        case _:
            return node if stage == 0 else Node(Op.ROUND, (Edge(i),), 0.0, "", node.region)
