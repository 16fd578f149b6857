"""The float interpreter: evaluate a graph for many tasks at once, in double precision or a longer one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.graph.graph import Edge, Graph, Node, Op

Array = NDArray[np.float64]


def interpret(
    graph: Graph, inputs: Mapping[str, Array], real: type[np.floating[Any]] = np.float64
) -> dict[str, Array]:
    """Return every output of the graph; each input holds one value per task (shape (N,)).

    ``real`` is the type of NumPy in which all values but constants are computed.
    """
    values = node_values(graph, inputs, real)
    return {name: edge_value(values, edge) for name, edge in graph.outputs}


def node_values(
    graph: Graph,
    inputs: Mapping[str, Array],
    real: type[np.floating[Any]] = np.float64,
    changed: Mapping[int, Array] | None = None,
) -> list[Array]:
    """Return the value of every node, in the graph's order and in the shape of the inputs.

    Nodes that are ``changed`` have other values (N,), with which those after them are computed.
    """
    arrays = {name: np.asarray(inputs[name], dtype=real) for name in graph.inputs}
    full_turn = 8.0 * np.arctan(np.asarray(1.0, real))
    shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    values: list[Array] = []
    for i, node in enumerate(graph.nodes):
        args = [edge_value(values, edge) for edge in node.args]
        value = _evaluate(node, args, arrays, full_turn)
        value = value if changed is None else changed.get(i, value)
        values.append(value if value.shape == shape else np.full(shape, value))
    return values


def edge_value(values: list[Array], edge: Edge) -> Array:
    """Return the value of an edge from those of all nodes."""
    if edge.shift == 0:
        return -values[edge.node] if edge.negative else values[edge.node]
    return values[edge.node] * math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)


def _evaluate(node: Node, args: list[Array], inputs: Mapping[str, Array], full_turn: Array) -> Array:
    match node.op:
        case Op.INPUT:
            return inputs[node.name]
        case Op.CONSTANT:
            return np.asarray(node.value)
        case Op.ADD:
            return args[0] + args[1]
        case Op.MULTIPLY:
            return args[0] * args[1]
        case Op.SCALE:
            return args[0] * node.value
        case Op.SIN:
            return np.sin(full_turn * (args[0] + node.value))
        case Op.COS:
            return np.cos(full_turn * (args[0] + node.value))
        case Op.RECIPROCAL:
            return 1.0 / args[0]
        case Op.SELECT:
            return np.where(args[0] != 0.0, args[1], args[2])
        case Op.ROUND:
            return args[0]
