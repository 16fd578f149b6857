"""differentiate: add the derivatives of a graph to it, forward along a direction or in reverse from a value.

Forward differentiation takes one pass for each direction, and reverse differentiation one for each value.
Both add nodes with the builder of the graph, which may still be under construction. Derivatives that are
zero whatever the inputs add no nodes. A new node belongs to the step of the node that it differentiates,
with ``_tangent`` or ``_adjoint`` appended.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from rbdhw.graph.graph import Edge, GraphBuilder, Node, Op
from rbdhw.scalar import Region, current_region

TURN = 2.0 * math.pi
"""The derivative of an angle in radians by the same angle in turns."""


def derivatives(builder: GraphBuilder, values: Sequence[Edge], seeds: Mapping[int, Edge]) -> list[Edge]:
    """Return the derivative of each value along one direction (forward differentiation).

    ``seeds`` are the derivatives of some nodes along the direction. What these nodes are computed from has no
    effect. All other inputs are constant.
    """
    tangents: dict[int, Edge] = {}
    for i in _nodes_between(builder, [value.node for value in values], seeds):
        change = seeds[i] if i in seeds else _tangent(builder, i, tangents)
        if builder.constant_value(change) != 0.0:
            tangents[i] = change
    zero = builder.constant(0.0, current_region())
    return [value.applied(tangents.get(value.node, zero)) for value in values]


def gradient(
    builder: GraphBuilder, value: Edge, directions: Sequence[Mapping[int, Edge]], fixed: Collection[int] = ()
) -> list[Edge]:
    """Return the derivative of a value along each of several directions (reverse differentiation).

    Along a direction, few nodes change before their changes meet those of others: products with a seed, and
    sums of these. Such nodes are differentiated forward, and all that is computed from them in reverse.

    Each direction has seeds as in :func:`derivatives`. What a seeded node is computed from has no effect
    along any direction, and the nodes ``fixed`` are constant along all.
    """
    ends = {i for seeds in directions for i in seeds} | set(fixed)
    between = _nodes_between(builder, [value.node], ends)
    flows = _flows(builder, value, between, ends)
    return [_slope(builder, flows, _first_changes(builder, between, ends, seeds)) for seeds in directions]


Flow = tuple[int | None, Edge]
"""A node's user, None for the value itself, and what it contributes to the node's adjoint."""


def _flows(
    builder: GraphBuilder, value: Edge, between: Collection[int], ends: Collection[int]
) -> dict[int, list[Flow]]:
    """Return the contributions of its users to the adjoint of each node, from the value down to ``ends``."""
    one = builder.constant(1.0, current_region())
    flows: dict[int, list[Flow]] = {value.node: [(None, value.applied(one))]}
    for i in reversed(list(between)):
        if i not in ends:
            node = builder.nodes[i]
            region = _step_after(node.region, "adjoint")
            # Backwards, all users of a node come before it, and all that they contribute is there.
            adjoint = _sum(builder, [flow for _, flow in flows[i]], region)
            for k, edge in enumerate(node.args):
                if edge.node in between:
                    contribution = _times_partial(builder, i, k, edge.applied(adjoint), region)
                    flows.setdefault(edge.node, []).append((i, contribution))
    return flows


def _first_changes(
    builder: GraphBuilder, between: Iterable[int], ends: Collection[int], seeds: Mapping[int, Edge]
) -> dict[int, Edge]:
    """Return the derivatives, along one direction, of the seeds, products with them, and sums of these."""
    changes: dict[int, Edge] = {}
    for i in between:
        args = {edge.node for edge in builder.nodes[i].args}
        match builder.nodes[i].op:
            case _ if i in ends:
                if i in seeds:
                    changes[i] = seeds[i]
            case Op.MULTIPLY if not args.isdisjoint(seeds):
                changes[i] = _tangent(builder, i, changes)
            case Op.ADD if args <= changes.keys():
                changes[i] = _tangent(builder, i, changes)
    return changes


def _slope(builder: GraphBuilder, flows: Mapping[int, Sequence[Flow]], changes: Mapping[int, Edge]) -> Edge:
    """Return the sum of the changes of nodes, each times what users that are not among them contribute."""
    total = builder.constant(0.0, current_region())
    for i, change in changes.items():
        region = _step_after(builder.nodes[i].region, "adjoint")
        # A user that changes itself passes the change on: its contribution is in its own product.
        outside = [flow for user, flow in flows.get(i, ()) if user not in changes]
        product = builder.multiply(_sum(builder, outside, region), change, region)
        total = builder.add(total, product, region)
    return total


def _sum(builder: GraphBuilder, edges: Sequence[Edge], region: Region) -> Edge:
    total = builder.constant(0.0, region)
    for edge in edges:
        total = builder.add(total, edge, region)
    return total


def _tangent(builder: GraphBuilder, i: int, known: Mapping[int, Edge]) -> Edge:
    """Return the derivative of node ``i``, given those of its arguments that are not zero."""
    node = builder.nodes[i]
    region = _step_after(node.region, "tangent")
    if node.op is Op.SELECT:
        return _select_tangent(builder, node, known, region)
    total = builder.constant(0.0, region)
    for k, edge in enumerate(node.args):
        if edge.node in known:
            change = _times_partial(builder, i, k, edge.applied(known[edge.node]), region)
            total = builder.add(total, change, region)
    return total


def _select_tangent(builder: GraphBuilder, node: Node, known: Mapping[int, Edge], region: Region) -> Edge:
    """Return the derivative of a choice: the same choice of two derivatives, as the flag is constant."""
    zero = builder.constant(0.0, region)
    a, b = (edge.applied(known.get(edge.node, zero)) for edge in node.args[1:])
    return builder.select(node.args[0], a, b, region)


def _times_partial(builder: GraphBuilder, i: int, k: int, factor: Edge, region: Region) -> Edge:
    """Return a factor times the derivative of node ``i`` by its argument ``k``."""
    node = builder.nodes[i]
    match node.op:
        case Op.ADD | Op.ROUND:
            return factor
        case Op.MULTIPLY:
            return builder.multiply(node.args[1 - k], factor, region)
        case Op.SCALE:
            return builder.scale(factor, node.value, region)
        case Op.SIN:
            cos = builder.cos(node.args[0], node.value, region)
            return builder.multiply(cos, builder.scale(factor, TURN, region), region)
        case Op.COS:
            sin = builder.sin(node.args[0], node.value, region)
            return builder.multiply(sin, builder.scale(factor, -TURN, region), region)
        case Op.RECIPROCAL:
            # The node itself is 1 / x, so its derivative -1 / x^2 takes no second reciprocal.
            square = builder.multiply(Edge(i), Edge(i), region)
            return builder.multiply(square, factor.negated(), region)
        case Op.SELECT:
            zero = builder.constant(0.0, region)
            pair = (factor, zero) if k == 1 else (zero, factor)
            return zero if k == 0 else builder.select(node.args[0], *pair, region)
        case Op.INPUT | Op.CONSTANT:
            raise AssertionError(f"{node.op} has no arguments")


def _step_after(region: Region, what: str) -> Region:
    return Region(f"{region.step}_{what}", region.joint)


def _nodes_between(builder: GraphBuilder, above: Sequence[int], below: Collection[int]) -> dict[int, None]:
    """Return the nodes on paths from ``above`` down to the first of ``below``, as keys, arguments first."""
    reached: set[int] = set()
    stack = list(above)
    while stack:
        i = stack.pop()
        if i not in reached:
            reached.add(i)
            if i not in below:
                stack += [edge.node for edge in builder.nodes[i].args]
    between: dict[int, None] = {}
    for i in sorted(reached):
        if i in below or any(edge.node in between for edge in builder.nodes[i].args):
            between[i] = None
    return between
