"""The largest magnitudes of the nodes of a graph, from samples and from the rounding errors of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.evaluate import largest_values
from rbdhw.fixed.gains import TINY
from rbdhw.fixed.program import Program
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.model.packets import quantise
from rbdhw.passes.specialise import reached_nodes
from rbdhw.protocol import FUNCTIONS, flag_values

Array = NDArray[np.float64]

CHUNK = 512
"""Tasks for which the values of all nodes are in memory together."""

TAIL_POWER, TAIL_MARGIN = 3.0, 4.0
"""The margin for tails that were not drawn: min((largest / median of the group maxima) ** POWER, MARGIN)."""

ROWS = 256
"""Nodes whose values are processed together."""

NOISY = 1.3
"""A value that exceeds its sampled magnitude by this factor consists mainly of rounding errors."""

NOISE_MARGIN = 4.0
"""The headroom of such a value over the largest observed."""


def largest_magnitudes(
    graph: Graph, functions: Sequence[str], chunks: Iterable[Mapping[str, Array]], group: int = CHUNK
) -> list[float]:
    """Return the largest magnitude of each node in tasks of the functions that depend on it.

    It is the largest of the samples times a margin for tails that were not drawn. The more the maxima of
    groups of tasks differ, the larger the margin (:data:`TAIL_POWER`, :data:`TAIL_MARGIN`).
    """
    largest: list[Array] = []
    used = _used_by_flags(graph, functions)
    for inputs in chunks:
        tasks = len(next(iter(inputs.values())))
        starts = range(0, tasks, group)
        seen = np.zeros((len(starts), len(graph.nodes)))
        for decided, use in used.items():
            flags = {name: np.asarray(float(value)) for name, value in decided}
            values = node_values(graph, {**inputs, **flags})
            nodes = np.flatnonzero(use)
            for some in np.array_split(nodes, len(nodes) // ROWS + 1):
                sizes = np.abs(np.stack([np.broadcast_to(values[i], tasks) for i in some]))
                seen[:, some] = np.maximum(seen[:, some], np.maximum.reduceat(sizes, starts, axis=1).T)
        largest.extend(seen)
    most: Array = np.max(largest, axis=0)
    usual = np.maximum(np.median(largest, axis=0), most / TAIL_MARGIN)
    tails = np.minimum((most / np.maximum(usual, TINY)) ** TAIL_POWER, TAIL_MARGIN)
    return [float(size) for size in most * tails]


def _used_by_flags(
    graph: Graph, functions: Sequence[str]
) -> dict[tuple[tuple[str, bool], ...], NDArray[np.bool_]]:
    """Return, for each setting of the flags in tasks of the functions, the nodes that the results need."""
    used: dict[tuple[tuple[str, bool], ...], NDArray[np.bool_]] = {}
    for function in functions:
        for extended in (False, True) if FUNCTIONS[function].optional_inputs else (False,):
            flags = flag_values(function, extended)
            reached = np.array(reached_nodes(graph, function, flags))
            key = tuple(flags.items())
            used[key] = used[key] | reached if key in used else reached
    return used


def raise_to_noise(
    magnitudes: Sequence[float],
    program: Program,
    functions: Sequence[str],
    reals: Mapping[str, Array],
    headroom: float = 1.0,
) -> list[float]:
    """Return the magnitudes of nodes, raised where values consist mainly of rounding errors.

    If terms cancel except for rounding errors, samples in double precision do not show the size of their sum.
    The program shows it. ``magnitudes`` already include ``headroom``.
    """
    raised = list(magnitudes)
    words = {word.name: quantise(word, reals[word.name]) for word in program.inputs}
    for function in functions:
        flags = {name: np.asarray(value, np.int64) for name, value in flag_values(function, False).items()}
        sizes: dict[int, float] = {}
        for i, largest in largest_values(program, words | flags, function).items():
            node = program.origin(i)
            if node is not None and node < len(raised):
                sizes[node] = max(largest, sizes.get(node, 0.0))
        for node, largest in sizes.items():
            if headroom * largest > NOISY * raised[node]:
                raised[node] = max(raised[node], NOISE_MARGIN * largest)
    return raised
