"""Random dataflow graphs, and their exact values in rational numbers."""

import math
from collections.abc import Mapping
from fractions import Fraction

from hypothesis import strategies as st

from rbdhw.graph.graph import Edge, Graph, GraphBuilder, Node, Op
from rbdhw.protocol import FLAGS
from rbdhw.scalar import Region

REGION = Region("accelerator")
INPUTS = tuple(f"x[{i}]" for i in range(4))
_CONSTANTS = (0.0, 1.0, -1.0, 2.0, -0.25, 1.5, -3.0, 0.625, 1.75)
_MOST_PRODUCTS = 4
_KINDS = ("add", "subtract", "scale", "multiply", "double")


@st.composite
def graphs(
    draw: st.DrawFn, trigonometry: bool = False, max_operations: int = 24, choices: bool = False
) -> Graph:
    """Draw graphs of random sums, products and scales of four inputs.

    Constants have few bits and products are few, so that rational arithmetic stays small. Some nodes are
    dead, some are used often. ``trigonometry`` adds sines and cosines of inputs. ``choices`` adds
    reciprocals, choices by a flag, and outputs of a function that supports the option EXTENDED.
    """
    builder = GraphBuilder()
    edges = [builder.input(name, REGION) for name in INPUTS]
    if trigonometry:
        for edge in edges[:2]:
            offset = draw(st.sampled_from((0.0, 0.25, -0.5, 0.1)))
            edges += [builder.cos(edge, offset, REGION), builder.sin(edge, offset, REGION)]
    flags = [builder.input(name, REGION) for name in FLAGS] if choices else []
    kinds = (*_KINDS, "choose", "choose", "invert") if choices else _KINDS
    products = 0
    for number in range(draw(st.integers(1, max_operations))):
        region = Region("rnea_forward", number // 4)
        a = draw(st.sampled_from(edges))
        b = draw(st.sampled_from(edges))
        kind = draw(st.sampled_from(kinds))
        if kind == "multiply" and products < _MOST_PRODUCTS:
            products += 1
            edges.append(builder.multiply(a, b, region))
        elif kind == "scale":
            edges.append(builder.scale(a, draw(st.sampled_from(_CONSTANTS)), region))
        elif kind == "choose":
            edges.append(builder.select(draw(st.sampled_from(flags)), a, _or_zero(draw, builder, b), region))
        elif kind == "invert":
            if builder.constant_value(a) is None:
                edges.append(builder.reciprocal(a, region))
        elif kind == "double":
            edges.append(builder.add(a.shifted(1), b, region))
        else:
            edges.append(builder.add(a, b.negated() if kind == "subtract" else b, region))
    last = [(f"id.tau[{k}]", edge) for k, edge in enumerate(reversed(edges[-3:]))]
    more = [(f"difd.da_dq[{k},0]", edge) for k, edge in enumerate(edges[-2:])] if choices else []
    return builder.finish(last + more)


def _or_zero(draw: st.DrawFn, builder: GraphBuilder, edge: Edge) -> Edge:
    return edge if draw(st.booleans()) else builder.constant(0.0, REGION)


def rationals() -> st.SearchStrategy[dict[str, Fraction]]:
    """Draw a value for each input of :func:`graphs`."""
    number = st.fractions(min_value=-4, max_value=4, max_denominator=8)
    return st.fixed_dictionaries(dict.fromkeys(INPUTS, number))


def exact(graph: Graph, inputs: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return the outputs of a graph of sums, products, scales and reciprocals, without rounding."""
    values: list[Fraction] = []
    for node in graph.nodes:
        values.append(_exact_node(node, [_exact_edge(values, edge) for edge in node.args], inputs))
    return {name: _exact_edge(values, edge) for name, edge in graph.outputs}


def _exact_edge(values: list[Fraction], edge: Edge) -> Fraction:
    value = values[edge.node] * Fraction(2) ** edge.shift
    return -value if edge.negative else value


def _exact_node(node: Node, args: list[Fraction], inputs: Mapping[str, Fraction]) -> Fraction:
    match node.op:
        case Op.INPUT:
            return inputs[node.name]
        case Op.CONSTANT:
            return Fraction(node.value)
        case Op.RECIPROCAL:
            return 1 / args[0]
        case Op.SCALE:
            return args[0] * Fraction(node.value)
        case _:
            return sum(args, Fraction(0)) if node.op is Op.ADD else math.prod(args, start=Fraction(1))


def depth(graph: Graph, op: Op) -> int:
    """Return the most nodes of this kind on one path."""
    depths: list[int] = []
    for node in graph.nodes:
        before = max((depths[edge.node] for edge in node.args), default=0)
        depths.append(before + (node.op is op))
    return max((depths[edge.node] for _, edge in graph.outputs), default=0)


def counts(graph: Graph) -> dict[Op, int]:
    """Return the number of nodes of each kind."""
    return {op: graph.count(op) for op in Op}
