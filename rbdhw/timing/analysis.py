"""Longest paths of a netlist from register to register.

The ports of a design count as registers: what they drive starts at a clock, and what drives them ends at one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.timing.cells import Family
from rbdhw.timing.edges import CLOCK, PORT, Edges
from rbdhw.timing.netlist import Netlist
from rbdhw.timing.wires import Wires

Numbers = NDArray[np.int64]
Delays = NDArray[np.float32]


@dataclass(frozen=True)
class Path:
    """A longest path, with what it takes in all, in cells and in wires (ps)."""

    period: float
    cells: float
    wires: float
    logic: int
    """The cells between the registers that take time."""
    nets: tuple[int, ...]
    """Its nets that have signals, from its start on."""


class Graph:
    """The timing graph of a netlist.

    Raises
    ------
    InputError
        If the family has no such cell, or if combinational logic closes a loop.
    """

    def __init__(self, netlist: Netlist, family: Family) -> None:
        edges = Edges(netlist, family)
        self.netlist = netlist
        self.side = sqrt(family.tiles(Counter(cell.kind for cell in netlist.cells)))
        """The side of the square that the design occupies, in tiles."""
        self.source: Numbers = np.array(edges.sources, np.int64)
        self.target: Numbers = np.array(edges.targets, np.int64)
        self.delay: Delays = np.array(edges.delays, np.float32)
        self.counts: Delays = np.array(edges.counts, np.float32).reshape(-1, 3)
        self.ends: Numbers = np.array(edges.ends, np.int64)
        """The nodes at which paths end, and the numbers of the cells."""
        self.owners: Numbers = np.full(edges.nodes, PORT)
        """The number of the cell that drives each node, or in which it is."""
        self.owners[list(edges.owners)] = list(edges.owners.values())
        self._nodes = edges.nodes
        self.levels = self._sort()
        """The edges by level: those of a level start at nodes that earlier levels have reached."""

    def _sort(self) -> list[Numbers]:
        """Return the edges by level."""
        by_source, first = _grouped(self.source, self._nodes)
        waiting = np.bincount(self.target, minlength=self._nodes)
        nodes, levels = np.flatnonzero(waiting == 0), []
        while len(nodes):
            lengths = first[nodes + 1] - first[nodes]
            before = np.cumsum(lengths) - lengths
            edges = by_source[np.repeat(first[nodes] - before, lengths) + np.arange(lengths.sum())]
            levels.append(edges)
            targets, counts = np.unique(self.target[edges], return_counts=True)
            waiting[targets] -= counts
            nodes = targets[waiting[targets] == 0]
        if waiting.any():
            signals = (self.netlist.signals.get(int(node)) for node in np.flatnonzero(waiting))
            signal = next(filter(None, signals), "unnamed nets")
            raise InputError(signal, "combinational logic closes a loop", "registers in every loop")
        return levels

    def times(self, wires: Wires, slower: float = 1.0) -> Times:
        """Return the arrival times with these wires, all delays longer by a factor."""
        return Times(self, wires, slower)

    def propagate(self, delays: Delays) -> Delays:
        """Return the latest arrival at each node if the edges have these delays; -inf where none arrives."""
        arrivals = np.full(self._nodes, -np.inf, np.float32)
        arrivals[CLOCK] = 0.0
        for edges in self.levels:
            np.maximum.at(arrivals, self.target[edges], arrivals[self.source[edges]] + delays[edges])
        return arrivals

    @cached_property
    def entering(self) -> tuple[Numbers, Numbers]:
        """The edges in the order of the nodes that they lead to, and the first edge to each node."""
        return _grouped(self.target, self._nodes)


class Times:
    """The latest arrivals (ps) at the nodes of a graph."""

    def __init__(self, graph: Graph, wires: Wires, slower: float) -> None:
        self._graph, self._slower = graph, slower
        self._wires = wires.delays(graph.counts, graph.side)
        self._delays = (graph.delay + self._wires) * np.float32(slower)
        self._arrivals = graph.propagate(self._delays)

    @property
    def period(self) -> float:
        """The longest path (ps)."""
        return float(self.at_ends.max(initial=0.0))

    def slowest_ends(self) -> Iterator[tuple[int, int]]:
        """Yield the nodes and cells of the ends that paths reach, the slowest first."""
        arrivals = self.at_ends
        for k in np.argsort(-arrivals, kind="stable"):
            if np.isfinite(arrivals[k]):
                node, cell = self._graph.ends[k]
                yield int(node), int(cell)

    def shares(self) -> Delays:
        """Return what the longest path to each end has: the time in cells (ps), and the counts of its wires.

        They are those of :class:`rbdhw.timing.edges.Edges`, added up.
        """
        graph = self._graph
        edges = np.column_stack([graph.delay, graph.counts])
        totals = np.zeros((len(self._arrivals), edges.shape[1]), np.float32)
        for level in graph.levels:
            last = self._arrivals[graph.source[level]] + self._delays[level]
            longest = level[last == self._arrivals[graph.target[level]]]
            totals[graph.target[longest]] = totals[graph.source[longest]] + edges[longest]
        return totals[graph.ends[:, 0]]

    @property
    def at_ends(self) -> Delays:
        """The latest arrivals at the ends; -inf where none arrives."""
        return self._arrivals[self._graph.ends[:, 0]]

    def path_to(self, node: int) -> Path:
        """Return the longest path to a node."""
        graph, edges = self._graph, list[int]()
        by_target, first = graph.entering
        while node != CLOCK:
            candidates = by_target[first[node] : first[node + 1]]
            latest = self._arrivals[graph.source[candidates]] + self._delays[candidates]
            edges.append(int(candidates[np.argmax(latest)]))
            node = int(graph.source[edges[-1]])
        chosen = np.array(edges[::-1], np.int64)
        wires = float(self._wires[chosen].sum()) * self._slower
        cells = float(graph.delay[chosen].sum()) * self._slower
        logic = int((graph.delay[chosen[1:-1]] > 0).sum())
        nets = tuple(int(net) for net in graph.source[chosen[1:]] if int(net) in graph.netlist.signals)
        return Path(cells + wires, cells, wires, logic, nets)


def _grouped(nodes: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return the edges in the order of one of their nodes, and the first edge of each node."""
    order = np.argsort(nodes, kind="stable")
    return order, np.searchsorted(nodes[order], np.arange(count + 1))
