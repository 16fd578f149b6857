"""Noise gains: the effect of an error at each node of a graph on the error of each part of the results.

Rounding at a node adds an error, whose mean square is what matters. To first order a result changes by the
error times the node's adjoint. One backward pass through the graph, from results multiplied by random signs,
gives the effect of all nodes at once: the mean over the signs of a node's squared adjoint is the sum of the
squares of its derivatives.

Each kind of tasks (stratum) has its own mean, because the errors of each must meet a budget. Over the whole
domain, the few tasks with the largest errors (poses close to singular ones) dominate the mean. A second mean
shows what matters in the others: in it each task has the inverse of its own mean square error as weight,
which comes close to the geometric mean of errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName, is_optional
from rbdhw.graph.graph import Edge, Graph, Node, Op
from rbdhw.graph.interpret import node_values
from rbdhw.protocol import FUNCTIONS, flag_values

Array = NDArray[np.float64]

HUGE = float(np.finfo(np.float32).max)
"""The largest effect that is told apart: no width is enough for a matrix that is singular in some tasks."""

TINY = float(np.finfo(np.float64).tiny)


class Row(NamedTuple):
    """Results that have an error of their own, in tasks of one kind.

    ``part`` is the name of the results, such as ``did.dtau_dq`` or ``dstep.A.q``.
    """

    part: str
    stratum: str

    @property
    def function(self) -> str:
        return self.part.partition(".")[0]

    @property
    def result(self) -> str:
        """The name among the function's results: ``dtau_dq`` or ``A.q``."""
        return self.part.partition(".")[2]

    def __str__(self) -> str:
        return f"{self.result} of {self.function} in {self.stratum} tasks"


@dataclass(frozen=True)
class Gains:
    """Mean squares of relative errors of results, by row, for errors at nodes."""

    rows: tuple[Row, ...]
    """The part of the results and the stratum of each row. Each part has one row for each stratum, with the
    mean over its tasks, and one with the geometric mean of the first stratum. Of a function with optional
    inputs it has these rows twice, with and without them."""
    noise: Array
    """(rows, nodes): the mean square in a row for a mean square of one at a node, in the node's unit."""
    relative: Array
    """(rows, nodes): the same for an error as large as the value, for nodes that scale; it is the effect of a
    relative error of their factor. Zero for other nodes."""


@dataclass(frozen=True)
class Strata:
    """The strata of the tasks from which gains are computed."""

    names: tuple[str, ...]
    """The names of the strata; the first one is over the whole domain."""
    of: NDArray[np.int64]
    """(N,): the index of each task's stratum."""
    floors: Mapping[str, float]
    """By part, the least norm of the results by which an error is divided."""
    measures: Mapping[str, Sequence[Measure]] = field(default_factory=dict)
    """By the name of a word, how errors of its element are measured, and those of elements that follow from
    it; else as they are, with those of its array."""

    def measures_of(self, word: str) -> Sequence[Measure]:
        name = WordName.parse(word)
        return self.measures.get(word) or (Measure(f"{name.function}.{name.array}"),)


@dataclass(frozen=True)
class Measure:
    """How errors of an element are measured that a result word gives."""

    part: str
    """The name of the results that have a common norm with the element."""
    scale: Array | float = 1.0
    origin: Array | float = 0.0
    """The measured quantity is ``scale * (value - origin)``: (N,) each, or one number."""


@dataclass(frozen=True)
class _Term:
    """A result, its weight in the norm, and what is subtracted from it."""

    edge: Edge
    weight: Array | float
    origin: Array | float


@dataclass(frozen=True)
class _Way:
    """Results that have a common norm, and the flags of the tasks that have these results."""

    part: str
    outputs: tuple[_Term, ...]
    flags: tuple[tuple[str, bool], ...]


def gains(graph: Graph, inputs: Mapping[str, Array], strata: Strata, rng: np.random.Generator) -> Gains:
    """Return the gains of every node, as means over the tasks of each stratum.

    ``inputs`` are values (N,) of the graph's inputs except flags.
    """
    tasks = len(next(iter(inputs.values())))
    ways = list(_ways(graph, strata))
    present = np.unique(strata.of).tolist()
    per_way = len(present) + 1
    noise, relative = np.zeros((2, per_way * len(ways), len(graph.nodes)))
    for flags in dict.fromkeys(way.flags for way in ways):
        flag_inputs = {name: np.full(tasks, float(value)) for name, value in flags}
        values = [np.broadcast_to(value, tasks) for value in node_values(graph, {**inputs, **flag_inputs})]
        sizes = np.array([float(np.abs(value).max()) or 1.0 for value in values])
        for k, way in enumerate(ways):
            if way.flags == flags:
                signs = rng.choice((-1.0, 1.0), (len(way.outputs), tasks))
                seeds = _seeds(way, values, signs, strata.floors.get(way.part, 0.0))
                rows = slice(per_way * k, per_way * (k + 1))
                noise[rows], relative[rows] = _means(graph, values, sizes, seeds, strata.of)
    kinds = [strata.names[k] for k in (present[0], *present)]
    return Gains(tuple(Row(way.part, kind) for way in ways for kind in kinds), noise, relative)


def _ways(graph: Graph, strata: Strata) -> Iterator[_Way]:
    """Yield the kinds of answer of every function that the graph has results of, part by part."""
    parts: dict[tuple[WordName, str], list[_Term]] = {}
    for text, edge in graph.outputs:
        word = WordName.parse(text)
        for measure in strata.measures_of(text):
            term = _Term(edge, measure.scale * _weight(word), measure.origin)
            parts.setdefault((replace(word, index=()), measure.part), []).append(term)
    for (array, part), terms in parts.items():
        function = str(array.function)
        both = bool(FUNCTIONS[function].optional_inputs)
        for extended in (False, True) if both else (is_optional(str(array)),):
            yield _Way(part, tuple(terms), tuple(flag_values(function, extended).items()))


def _weight(word: WordName) -> float:
    """Return the weight of a word in the result's norm: sqrt(2) if another element mirrors it."""
    return 1.0 if word.mirror == word else 2.0**0.5


def _seeds(way: _Way, values: list[Array], signs: Array, floor: float) -> dict[int, Array]:
    """Return the adjoints (N,) at the start of the backward pass: random signs over the results' norms."""
    results = [
        term.weight * (factor(term.edge) * values[term.edge.node] - term.origin) for term in way.outputs
    ]
    norm = np.sqrt(sum(np.square(result) for result in results))
    size = np.maximum(norm, floor)
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    seeds: dict[int, Array] = {}
    for term, sign in zip(way.outputs, signs, strict=True):
        node = term.edge.node
        seeds[node] = seeds.get(node, 0.0) + term.weight * factor(term.edge) * sign * scale
    return seeds


def _means(
    graph: Graph, values: list[Array], sizes: Array, seeds: dict[int, Array], stratum: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return mean squares of adjoints, and of adjoints times values for nodes that scale: (rows, nodes) each.

    In the mean of the first row, each task's weight is the inverse of its mean square error if all nodes were
    equally precise, which approximates the geometric mean; it is over the first stratum. Then follows one row
    with the mean over each stratum. ``sizes`` are the largest magnitudes of the values.
    """
    effects = np.zeros((len(graph.nodes), len(values[0])), np.float32)
    for i, adjoint in _backward(graph, values, seeds):
        effects[i] = np.minimum(np.square(adjoint * sizes[i]), HUGE)
    weights = _weights(np.maximum(effects.sum(axis=0, dtype=np.float64), TINY), stratum)
    noise = weights @ effects.T.astype(np.float64) / np.square(sizes)
    relative = np.zeros_like(noise)
    for i, node in enumerate(graph.nodes):
        if node.op is Op.SCALE:
            relative[:, i] = weights @ (effects[i] * np.square(values[i] / sizes[i]))
    return noise, relative


def _weights(errors: Array, stratum: NDArray[np.int64]) -> Array:
    """Return the weight of each task in each row (rows, N); ``errors`` are the tasks' mean squares."""
    members = stratum == np.unique(stratum)[:, np.newaxis]
    means = members / members.sum(axis=1, keepdims=True)
    geometric = means[0] * np.exp(means[0] @ np.log(errors)) / errors
    return np.vstack([geometric, means])


def _backward(graph: Graph, values: list[Array], adjoints: dict[int, Array]) -> Iterator[tuple[int, Array]]:
    """Yield the adjoint (N,) of every node on which the results depend, the last node first."""
    for i in reversed(range(len(graph.nodes))):
        adjoint = adjoints.pop(i, None)
        if adjoint is None:
            continue
        yield i, adjoint
        node = graph.nodes[i]
        for edge, slope in zip(node.args, _slopes(node, values, values[i]), strict=True):
            if slope is not None:
                part = adjoint * (slope * factor(edge))
                known = adjoints.get(edge.node)
                adjoints[edge.node] = part if known is None else known + part


def _slopes(node: Node, values: list[Array], value: Array) -> tuple[Array | float | None, ...]:
    """Return the derivatives of a node's value by its arguments; None for no derivative."""
    args = [values[edge.node] for edge in node.args]
    turn = 2.0 * np.pi
    match node.op:
        case Op.ADD:
            return (1.0, 1.0)
        case Op.ROUND:
            return (1.0,)
        case Op.MULTIPLY:
            return (args[1], args[0])
        case Op.SCALE:
            return (node.value,)
        case Op.SIN:
            return (turn * np.cos(turn * (factor(node.args[0]) * args[0] + node.value)),)
        case Op.COS:
            return (-turn * np.sin(turn * (factor(node.args[0]) * args[0] + node.value)),)
        case Op.RECIPROCAL:
            return (-np.square(value),)
        case Op.SELECT:
            flag = (args[0] != 0.0).astype(np.float64)
            return (None, flag if flag.any() else None, None if flag.all() else 1.0 - flag)
        case _:
            return ()


def factor(edge: Edge) -> float:
    """Return the sign and power of two of an edge as a factor."""
    return math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
