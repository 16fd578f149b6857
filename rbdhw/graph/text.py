"""Convert graphs to text with one line per node, and back, without losing a bit.

::

    n0 = input q[0] @ trigonometry 0
    n1 = cos n0 0x1.0000000000000p-2 @ trigonometry 0
    n2 = add n0 -n1<<3 @ rnea_forward 0
    out id.tau[0] -n2
"""

from __future__ import annotations

import re

from rbdhw.graph.graph import Edge, Graph, Node, Op
from rbdhw.scalar import Region

_VALUED = (Op.CONSTANT, Op.SCALE, Op.SIN, Op.COS)
_EDGE = re.compile(r"(-?)n(\d+)(?:<<(-?\d+))?")


class GraphTextError(Exception):
    """A line is not graph text; the message names the line."""


def dumps(graph: Graph) -> str:
    """Return the graph as text."""
    lines = [f"n{i} = {_node_text(node)}" for i, node in enumerate(graph.nodes)]
    lines += [f"out {name} {_edge_text(edge)}" for name, edge in graph.outputs]
    return "\n".join(lines) + "\n"


def loads(text: str) -> Graph:
    """Return the graph that a text describes; GraphTextError if a line cannot be parsed."""
    nodes: list[Node] = []
    outputs: list[tuple[str, Edge]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.startswith("out "):
                _, name, edge = line.split(" ")
                outputs.append((name, _edge(edge)))
            else:
                nodes.append(_node(line, len(nodes)))
        except (ValueError, IndexError) as error:
            raise GraphTextError(f"line {number}: not a node or an output: {line!r}") from error
    return Graph(tuple(nodes), tuple(outputs))


def _node_text(node: Node) -> str:
    words = [node.op.value, *(_edge_text(edge) for edge in node.args)]
    if node.name:
        words.append(node.name)
    if node.op in _VALUED:
        words.append(node.value.hex())
    joint = "" if node.region.joint is None else f" {node.region.joint}"
    return " ".join(words) + f" @ {node.region.step}{joint}"


def _edge_text(edge: Edge) -> str:
    shift = f"<<{edge.shift}" if edge.shift else ""
    return f"{'-' if edge.negative else ''}n{edge.node}{shift}"


def _edge(text: str) -> Edge:
    match = _EDGE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, node, shift = match.groups()
    return Edge(int(node), bool(sign), int(shift or 0))


def _node(line: str, index: int) -> Node:
    head, region_text = line.split(" @ ")
    label, equals, op_text, *words = head.split(" ")
    if label != f"n{index}" or equals != "=":
        raise ValueError(label)
    op = Op(op_text)
    value = float.fromhex(words.pop()) if op in _VALUED else 0.0
    name = words.pop() if op is Op.INPUT else ""
    step, *joint = region_text.split(" ")
    region = Region(step, int(joint[0]) if joint else None)
    return Node(op, tuple(_edge(word) for word in words), value, name, region)
