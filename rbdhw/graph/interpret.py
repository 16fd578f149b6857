"""The float interpreter: evaluate a graph in double precision for many tasks at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.graph.graph import Edge, Graph, Node, Op

Array = NDArray[np.float64]


def interpret(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return every output of the graph; each input holds one value per task (shape (N,)).

    Raises
    ------
    KeyError
        An input of the graph is missing.
    """
    values = node_values(graph, inputs)
    return {name: _edge_value(values, edge) for name, edge in graph.outputs}


def node_values(graph: Graph, inputs: Mapping[str, Array]) -> list[Array]:
    """Return the value of every node, in the graph's order and in the shape of the inputs."""
    shape = np.broadcast_shapes(*(np.shape(inputs[name]) for name in graph.inputs))
    values: list[Array] = []
    for node in graph.nodes:
        args = [_edge_value(values, edge) for edge in node.args]
        value = _evaluate(node, args, inputs)
        values.append(value if value.shape == shape else np.full(shape, value))
    return values


def _edge_value(values: list[Array], edge: Edge) -> Array:
    if edge.shift == 0:
        return -values[edge.node] if edge.negative else values[edge.node]
    return values[edge.node] * math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)


def _evaluate(node: Node, args: list[Array], inputs: Mapping[str, Array]) -> Array:
    match node.op:
        case Op.INPUT:
            return np.asarray(inputs[node.name], dtype=np.float64)
        case Op.CONSTANT:
            return np.asarray(node.value)
        case Op.ADD:
            return args[0] + args[1]
        case Op.MULTIPLY:
            return args[0] * args[1]
        case Op.SCALE:
            return args[0] * node.value
        case Op.SIN:
            return np.sin(2.0 * np.pi * (args[0] + node.value))
        case Op.COS:
            return np.cos(2.0 * np.pi * (args[0] + node.value))
        case Op.RECIPROCAL:
            return 1.0 / args[0]
        case Op.SELECT:
            return np.where(args[0] != 0.0, args[1], args[2])
        case Op.ROUND:
            return args[0]
