"""merge: compute equal numbers once, and leave out those that never change.

The builder shares nodes that are computed in the same way. Graphs have many more that are equal because of
what they mean: a body that is symmetric about its axis does not change as it turns, and the derivatives of
forces have the symmetries of the mass matrix. Such identities need algebra across many nodes.
Hence they are found by evaluating the graph in random states. Nodes that agree in all of them, but for a sign
and a power of two, become one. A sum whose terms cancel in all of them is zero. A node with the same value in
all of them, such as the sum of the squares of sine and cosine, is a constant.

A quotient times its divisor stays a product, although it equals the dividend. The product contains the
rounding error of the quotient, and so it cancels where the quotient is used a second time. Without this the
factorization of an ill-conditioned mass matrix would lose digits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.graph.graph import MAX_SHIFT, Edge, Graph, GraphBuilder, Op
from rbdhw.graph.interpret import node_values

Array = NDArray[np.float64]

Key = tuple[int, int, int]
"""What equal nodes have in common: the first state in which they are not zero, and two rounded values."""

TOLERANCE = 1e-11
"""The largest relative difference of numbers that count as equal. The rounding of doubles causes smaller
differences, and no number format of an accelerator shows them."""

CONSTANT_BITS = 46
"""The significant bits of a constant that is found. Rounding to them removes the noise of doubles."""

KEPT = (Op.INPUT, Op.CONSTANT, Op.ROUND)
"""Nodes that stay as they are. A rounded copy differs from its argument in its number format alone."""

DIGITS = 24
"""The bits of the rounded values of a key."""


def merge(graph: Graph, states: Mapping[str, Array]) -> Graph:
    """Return the graph with each number computed once.

    ``states`` has the value (S,) of each input in some random states. Each flag has both values among them.
    """
    if not graph.inputs:  # all nodes are constants
        return graph
    values = np.stack(node_values(graph, states))
    exponents, scaled, keys = _normalize(values)
    divided = _divided(graph)
    steady, zeros = _steady(values), _cancelling(graph, values)
    constants = _constants(values)
    builder = GraphBuilder()
    moved: dict[int, Edge] = {}
    first: dict[tuple[bool, Key], int] = {}
    for i, node in enumerate(graph.nodes):
        if zeros[i] or (steady[i] and not divided[i] and node.op not in KEPT):
            moved[i] = builder.constant(0.0 if zeros[i] else constants[i], node.region)
            continue
        # A key only proposes a node: equal nodes may share one with others, and `_agree` decides by all
        # states. With `divided` in the key, a quotient times its divisor never meets the dividend.
        known = i if steady[i] or node.op in KEPT else first.setdefault((divided[i], keys[i]), i)
        shift = int(exponents[i] - exponents[known])
        if known != i and abs(shift) <= MAX_SHIFT and _agree(scaled[known], scaled[i]):
            opposite = bool((values[i] * values[known] < 0.0).any())
            moved[i] = Edge(known, opposite, shift).applied(moved[known])
        else:
            moved[i] = builder.copy(node, moved)
    return builder.finish([(name, edge.applied(moved[edge.node])) for name, edge in graph.outputs])


def _normalize(values: Array) -> tuple[NDArray[np.int32], Array, list[Key]]:
    """Return nodes' values without sign and power of two, the exponents of these powers, and their keys."""
    sizes = np.abs(values)
    lead = (sizes > TOLERANCE * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
    leading = values[np.arange(len(values)), lead]
    fractions, exponents = np.frexp(leading)
    scaled = np.ldexp(values, -exponents[:, None]) * np.where(leading < 0.0, -1.0, 1.0)[:, None]
    largest = np.maximum(np.abs(scaled).max(axis=1), 1.0)
    # Two numbers, because nodes that are equal in the first state by chance hardly are in the last one, too.
    rounded = np.rint(np.ldexp([np.abs(fractions), scaled[:, -1] / largest], DIGITS)).astype(np.int64)
    return exponents, scaled, list(zip(lead.tolist(), *rounded.tolist(), strict=True))


def _agree(one: Array, other: Array) -> bool:
    return bool((np.abs(one - other) <= TOLERANCE * np.maximum(np.abs(one), np.abs(other))).all())


def _divided(graph: Graph) -> list[bool]:
    """Return for each node whether a reciprocal has a part in it; the numbers of a state start anew."""
    divided: list[bool] = []
    for node in graph.nodes:
        known = node.op is not Op.ROUND and any(divided[edge.node] for edge in node.args)
        divided.append(known or node.op is Op.RECIPROCAL)
    return divided


def _steady(values: Array) -> NDArray[np.bool_]:
    """Return which nodes have the same value in all states."""
    steady: NDArray[np.bool_] = np.ptp(values, axis=1) <= TOLERANCE * np.abs(values).max(axis=1)
    return steady


def _constants(values: Array) -> list[float]:
    """Return the mean value of each node, rounded to :data:`CONSTANT_BITS`."""
    fractions, exponents = np.frexp(values.mean(axis=1))
    rounded = np.rint(np.ldexp(fractions, CONSTANT_BITS))
    constants: list[float] = np.ldexp(rounded, exponents - CONSTANT_BITS).tolist()
    return constants


def _cancelling(graph: Graph, values: Array) -> NDArray[np.bool_]:
    """Return for each node whether it is a sum whose terms cancel in all states.

    A term that is itself a sum counts with the size of its own terms, because it has their rounding errors.
    """
    sizes = np.abs(values)
    for i, node in enumerate(graph.nodes):
        if node.op is Op.ADD:
            (one, _, _), (other, _, shift) = node.args  # only the second may have a shift
            size = np.ldexp(sizes[other], shift) if shift else sizes[other]
            np.maximum(sizes[one], size, out=sizes[i])
    sums = np.array([node.op is Op.ADD for node in graph.nodes])
    cancelling: NDArray[np.bool_] = sums & (np.abs(values) <= TOLERANCE * sizes).all(axis=1)
    return cancelling
