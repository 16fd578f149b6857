"""The scalar dataflow graph, and the builder that creates all of its nodes.

An edge is a node times a sign and a power of two. Both cost nothing in hardware, so negations and shifts are
never nodes. The builder folds constants, zeros and ones, and it returns the existing node for a computation
that it has seen before. Hence no graph contains a duplicate or a trivial node, whichever pass built it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import NamedTuple

from rbdhw.scalar import Region


class Op(StrEnum):
    """The operation of a node on its arguments, and on ``value`` if mentioned."""

    INPUT = "input"
    """A number of the task, called ``name``."""
    CONSTANT = "constant"
    """The constant ``value``."""
    ADD = "add"
    """The sum of two edges; the second may be negative."""
    MULTIPLY = "multiply"
    """The product of two values that are not constant."""
    SCALE = "scale"
    """A value times the constant ``value``, which is between 1 and 2 (1 excluded)."""
    SIN = "sin"
    """The sine of (argument + ``value``) turns."""
    COS = "cos"
    """The cosine of (argument + ``value``) turns."""
    RECIPROCAL = "reciprocal"
    """One over a value that is not constant."""
    SELECT = "select"
    """The second argument if the first, a flag, is 1; the third if it is 0."""
    ROUND = "round"
    """The argument, with a number format of its own: products read it in place of a wider accumulator."""


class Edge(NamedTuple):
    """A node's value times ``2**shift``, negated if ``negative``.

    Edges and nodes are tuples because searches build and compare millions of them.
    """

    node: int
    negative: bool = False
    shift: int = 0

    def negated(self) -> Edge:
        node, negative, shift = self
        return edge_of((node, not negative, shift))

    def shifted(self, shift: int) -> Edge:
        return Edge(self.node, self.negative, self.shift + shift)

    def applied(self, other: Edge) -> Edge:
        """Return ``other`` with this edge's sign and shift applied to it."""
        _, negative, shift = self
        if not (negative or shift):
            return other
        return edge_of((other.node, other.negative != negative, other.shift + shift))


edge_of: Callable[[tuple[int, bool, int]], Edge] = partial(tuple.__new__, Edge)
"""Make an edge of its fields, in half the time that its class takes."""


class Node(NamedTuple):
    """One operation; ``region`` is the step of the algorithm that needed it first."""

    op: Op
    args: tuple[Edge, ...]
    value: float
    name: str
    region: Region


node_of: Callable[[tuple[Op, tuple[Edge, ...], float, str, Region]], Node] = partial(tuple.__new__, Node)
"""Make a node of its fields, as :data:`edge_of` makes an edge."""


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, and the named edges that are the outputs.

    The name of an output of a function starts with the function's (``id.tau[3]``).
    """

    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, Edge], ...]

    @cached_property
    def inputs(self) -> dict[str, int]:
        """The index of each input node by name, in order of appearance."""
        return {node.name: i for i, node in enumerate(self.nodes) if node.op is Op.INPUT}

    @cached_property
    def uses(self) -> tuple[int, ...]:
        """For each node, the number of arguments and outputs that refer to it."""
        count = [0] * len(self.nodes)
        for node in self.nodes:
            for edge in node.args:
                count[edge.node] += 1
        for _, edge in self.outputs:
            count[edge.node] += 1
        return tuple(count)

    def count(self, op: Op) -> int:
        return sum(node.op is op for node in self.nodes)


def mantissa(value: float) -> tuple[float, bool, int]:
    """Return the mantissa in [1, 2), the sign and the power of two of ``value`` (finite, not zero)."""
    fraction, exponent = math.frexp(abs(value))
    return 2.0 * fraction, value < 0.0, exponent - 1


MAX_SHIFT = 16
"""The largest shift of a sum's second edge relative to its first. Above it the edges change places; otherwise
products of such sums would exceed the range of double precision."""


class GraphBuilder:
    """Creates nodes; constants and trivial operations are folded, and existing nodes are reused."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[Op, tuple[Edge, ...], float, str], Edge] = {}
        self._plain: list[Edge] = []  # the edge without sign and shift of each node
        self._constants: dict[int, float] = {}
        self._edges: dict[float, Edge] = {}  # of the constants asked for so far

    def finish(self, outputs: list[tuple[str, Edge]]) -> Graph:
        """Return the graph of all nodes created so far, with these outputs."""
        return Graph(tuple(self.nodes), tuple(outputs))

    def input(self, name: str, region: Region) -> Edge:
        return self._node(Op.INPUT, (), 0.0, name, region)

    def constant(self, value: float, region: Region) -> Edge:
        """Return a constant edge; its node holds only the mantissa, so that 3 and -6 share one."""
        edge = self._edges.get(value)
        if edge is None:
            scale, negative, shift = mantissa(value) if value else (0.0, False, 0)
            node = self._node(Op.CONSTANT, (), scale, "", region).node
            edge = self._edges[value] = Edge(node, negative, shift)
        return edge

    def constant_value(self, edge: Edge) -> float | None:
        """Return the value of a constant edge, or None for any other edge."""
        node, negative, shift = edge
        value = self._constants.get(node)
        if value is None:
            return None
        return math.ldexp(-value if negative else value, shift)

    def add(self, a: Edge, b: Edge, region: Region) -> Edge:
        """Return ``a + b``; two multiples of one node are combined only into zero or a power of two."""
        a_node, a_negative, a_shift = a
        b_node, b_negative, b_shift = b
        if a_node in self._constants or b_node in self._constants:
            known_a, known_b = self.constant_value(a), self.constant_value(b)
            if known_a is not None and known_b is not None:
                return self.constant(known_a + known_b, region)
            if known_a == 0.0 or known_b == 0.0:
                return b if known_a == 0.0 else a
        if a_node == b_node:
            factor = math.ldexp(-1.0 if a_negative else 1.0, a_shift)
            factor += math.ldexp(-1.0 if b_negative else 1.0, b_shift)
            if factor == 0.0 or mantissa(factor)[0] == 1.0:
                return self.scale(self._plain[a_node], factor, region)
        # One order for a + b and b + a, so that equal sums are one node. The sign and the shift of the first
        # edge go to the result, unless the other edge would then be shifted too far.
        swapped = (a_node, a_shift) > (b_node, b_shift)
        if (a_shift - b_shift if swapped else b_shift - a_shift) > MAX_SHIFT:
            swapped = not swapped
        if swapped:
            a_node, a_negative, a_shift, b_node, b_negative, b_shift = b_node, b_negative, b_shift, *a
        rest = edge_of((b_node, b_negative != a_negative, b_shift - a_shift))
        total = self._node(Op.ADD, (self._plain[a_node], rest), 0.0, "", region)
        return edge_of((total.node, a_negative, a_shift)) if a_negative or a_shift else total

    def multiply(self, a: Edge, b: Edge, region: Region) -> Edge:
        a_node, a_negative, a_shift = a
        b_node, b_negative, b_shift = b
        if a_node in self._constants or b_node in self._constants:
            for edge, other in ((a, b), (b, a)):
                known = self.constant_value(edge)
                if known is not None:
                    return self.scale(other, known, region)
        first, second = (a_node, b_node) if a_node <= b_node else (b_node, a_node)
        product = self._node(Op.MULTIPLY, (self._plain[first], self._plain[second]), 0.0, "", region)
        return edge_of((product.node, a_negative != b_negative, a_shift + b_shift))

    def scale(self, a: Edge, factor: float, region: Region) -> Edge:
        """Return ``a`` times a constant; a scale of a scale becomes one scale."""
        if factor == 0.0:
            return self.constant(0.0, region)
        known = self.constant_value(a)
        if known is not None:
            return self.constant(known * factor, region)
        node = self.nodes[a.node]
        if node.op is Op.SCALE:
            return a.applied(self.scale(node.args[0], node.value * factor, region))
        value, negative, shift = mantissa(factor)
        source = self._plain[a.node]
        if value != 1.0:
            source = self._node(Op.SCALE, (source,), value, "", region)
        return edge_of((source.node, a.negative != negative, a.shift + shift))

    def cos(self, a: Edge, offset: float, region: Region) -> Edge:
        """Return ``cos(2 pi (a + offset))``; it is even in ``a``, and half turns become a sign."""
        if a.negative:
            a, offset = a.negated(), -offset
        known = self.constant_value(a)
        offset += known or 0.0
        quarter = round(offset * 4)
        rest = _exact(offset - quarter / 4)
        op = Op.SIN if quarter % 2 else Op.COS
        if known is not None:
            value = (math.sin if op is Op.SIN else math.cos)(2 * math.pi * rest)
            return self.constant(-value if quarter % 4 in (1, 2) else value, region)
        return Edge(self._node(op, (a,), rest, "", region).node, quarter % 4 in (1, 2))

    def sin(self, a: Edge, offset: float, region: Region) -> Edge:
        """Return ``sin(2 pi (a + offset)) = cos(2 pi (a + offset - 1/4))``."""
        return self.cos(a, offset - 0.25, region)

    def reciprocal(self, a: Edge, region: Region) -> Edge:
        """Return ``1 / a``; ZeroDivisionError if ``a`` is the constant zero."""
        known = self.constant_value(a)
        if known is not None:
            return self.constant(1.0 / known, region)
        inverse = self._node(Op.RECIPROCAL, (self._plain[a.node],), 0.0, "", region)
        return Edge(inverse.node, a.negative, -a.shift)

    def select(self, flag: Edge, a: Edge, b: Edge, region: Region) -> Edge:
        """Return ``a`` if ``flag`` is 1, ``b`` if it is 0; a common sign and shift move to the result."""
        known = self.constant_value(flag)
        if known is not None or a == b:
            return b if known == 0.0 else a
        leading = b if self.constant_value(a) == 0.0 else a
        common = Edge(0, leading.negative, leading.shift)
        inside = (Edge(x.node, x.negative != common.negative, x.shift - common.shift) for x in (a, b))
        plain = tuple(Edge(x.node) if self.constant_value(x) == 0.0 else x for x in inside)
        return common.applied(self._node(Op.SELECT, (flag, *plain), 0.0, "", region))

    def round(self, a: Edge, region: Region) -> Edge:
        """Return ``a`` with a number format of its own; a constant has one already.

        The node has the magnitude of ``a``: a shift becomes part of it. Otherwise shifts would add up along
        long chains of products, beyond the range of double precision.
        """
        if self.nodes[a.node].op is Op.CONSTANT or (self.nodes[a.node].op is Op.ROUND and not a.shift):
            return a
        node = self._node(Op.ROUND, (Edge(a.node, shift=a.shift),), 0.0, "", region)
        return Edge(node.node, a.negative)

    def copy(self, node: Node, moved: Mapping[int, Edge] | Sequence[Edge]) -> Edge:
        """Create ``node`` again where its arguments have moved; passes rebuild graphs with this method."""
        args = [edge.applied(moved[edge.node]) for edge in node.args]
        match node.op:
            case Op.INPUT:
                return self.input(node.name, node.region)
            case Op.CONSTANT:
                return self.constant(node.value, node.region)
            case Op.ADD:
                return self.add(args[0], args[1], node.region)
            case Op.MULTIPLY:
                return self.multiply(args[0], args[1], node.region)
            case Op.SCALE:
                return self.scale(args[0], node.value, node.region)
            case Op.SIN:
                return self.sin(args[0], node.value, node.region)
            case Op.COS:
                return self.cos(args[0], node.value, node.region)
            case Op.RECIPROCAL:
                return self.reciprocal(args[0], node.region)
            case Op.SELECT:
                return self.select(args[0], args[1], args[2], node.region)
            case Op.ROUND:
                return self.round(args[0], node.region)

    def _node(self, op: Op, args: tuple[Edge, ...], value: float, name: str, region: Region) -> Edge:
        """Return the edge of a node without sign and shift; the node is created unless it exists."""
        key = (op, args, value, name)
        edge = self._known.get(key)
        if edge is None:
            edge = self._known[key] = edge_of((len(self.nodes), False, 0))
            if op is Op.CONSTANT:
                self._constants[len(self.nodes)] = value
            self._plain.append(edge)
            self.nodes.append(node_of((op, args, value, name, region)))
        return edge


def _exact(offset: float) -> float:
    return 0.0 if abs(offset) < 1e-12 else offset
