"""The invariants of a graph, which can be checked at any point of the pipeline."""

from __future__ import annotations

import math

from rbdhw.graph.graph import Edge, Graph, Node, Op

ARITY = {
    Op.INPUT: 0,
    Op.CONSTANT: 0,
    Op.ADD: 2,
    Op.MULTIPLY: 2,
    Op.SCALE: 1,
    Op.SIN: 1,
    Op.COS: 1,
    Op.RECIPROCAL: 1,
    Op.SELECT: 3,
    Op.ROUND: 1,
}


PLAIN_ARGUMENTS = {Op.ADD: 1, Op.SELECT: 2, Op.ROUND: 0}
"""The number of leading arguments without sign and shift, for operations that allow them on the others."""


class GraphError(Exception):
    """A graph violates an invariant; the message names the node and the rule."""


def check(graph: Graph) -> None:
    """Verify that a graph is well formed; GraphError reports the first violation.

    The rules are:

    - Arguments come before their node, and their number fits the operation.
    - Edges are normalised: the arguments of products, scales and reciprocals have no sign or shift; nor have
      the first argument of a sum, and the flag and the first value of a choice.
    - Constants and factors are finite mantissas.
    - Every input has a name, and other nodes have none. Names of outputs are unique.
    - No two nodes compute the same.
    - Outputs refer to nodes.
    """
    seen: set[tuple[Op, tuple[Edge, ...], float, str]] = set()
    for i, node in enumerate(graph.nodes):
        _check_node(i, node)
        key = (node.op, node.args, node.value, node.name)
        if key in seen:
            raise GraphError(f"node {i}: duplicates an earlier node ({node.op})")
        seen.add(key)
    names = [name for name, _ in graph.outputs]
    if len(set(names)) != len(names):
        raise GraphError("outputs: a name is not unique")
    for name, edge in graph.outputs:
        if not 0 <= edge.node < len(graph.nodes):
            raise GraphError(f"output {name}: node {edge.node} does not exist")


def _check_node(i: int, node: Node) -> None:
    if len(node.args) != ARITY[node.op]:
        raise GraphError(f"node {i}: {node.op} takes {ARITY[node.op]} arguments, not {len(node.args)}")
    if any(not 0 <= edge.node < i for edge in node.args):
        raise GraphError(f"node {i}: an argument does not come before it")
    if (node.op is Op.INPUT) != bool(node.name):
        raise GraphError(f"node {i}: inputs must have a name, and other nodes must not")
    plain = node.args[: PLAIN_ARGUMENTS.get(node.op, len(node.args))]
    if node.op not in (Op.SIN, Op.COS) and any(edge != Edge(edge.node) for edge in plain):
        raise GraphError(f"node {i}: an argument of {node.op} has a sign or shift that belongs on its result")
    if node.op is Op.SCALE and not 1.0 < node.value < 2.0:
        raise GraphError(f"node {i}: factor {node.value!r} is not between 1 and 2")
    if node.op is Op.CONSTANT and node.value != 0.0 and not 1.0 <= node.value < 2.0:
        raise GraphError(f"node {i}: constant {node.value!r} is not a mantissa")
    if not math.isfinite(node.value):
        raise GraphError(f"node {i}: value {node.value!r} is not finite")
