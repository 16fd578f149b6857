"""Widths: the bits of each node of a graph, and what the ports of multipliers demand of them.

A multiplier has two ports, the second of which may be narrower (27x18 in a DSP block). One operand of each
product must then be narrow: the narrow nodes are a vertex cover of the products.
:mod:`rbdhw.fixed.planner` chooses widths by the effect of errors.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.accumulators import MOST_BITS, accumulators
from rbdhw.fixed.format import exponent_above
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Twins, no_twins

Array = NDArray[np.float64]
Bits = NDArray[np.int64]

NARROW_PORT = 18
"""The width of the second operand of a DSP multiplier (DSP48E2: 27x18, MULT18X18D: 18x18)."""

WIDE_PORT = 27
"""The width of the widest operand of a multiplier with a narrow port."""

GUARD_BITS = 4
"""The number of bits beyond the multiplier's width for a signal that is not multiplied."""

MARGIN = 1.25
"""The headroom over the largest sampled magnitude."""


@dataclass(frozen=True)
class Widths:
    """The widths of a program's signals."""

    ports: tuple[int, int]
    """Operand widths of an ordinary multiplier."""
    turn: int
    """The width of sines and cosines."""
    bits: tuple[int, ...]
    """For each node, the most bits that it may have."""
    constants: dict[int, int]
    """For each node that scales, the most bits of its factor, including the sign."""
    spared: frozenset[int] = frozenset()
    """Nodes that are wider than an ordinary multiplier allows for some of their products."""

    def fit_magnitudes(self, before: Sequence[float], after: Sequence[float]) -> Widths:
        """Return the widths for larger magnitudes: nodes keep their steps if the ports allow it."""
        rises = (exponent_above(b) - exponent_above(a) for a, b in zip(before, after, strict=True))
        return replace(self, bits=tuple(map(self.add_bits, self.bits, rises)))

    def add_bits(self, bits: int, by: int) -> int:
        """Return a node's bits plus ``by``, limited by the narrower port."""
        return min(bits + max(by, 0), max(bits, self.ports[1]))


def port_widths(width: int) -> tuple[int, int]:
    """Return a multiplier's operand widths: up to 27 bits the second fits the narrow port of one DSP."""
    return (width, min(width, NARROW_PORT)) if width <= WIDE_PORT else (width, width)


def plain_widths(graph: Graph, width: int) -> Widths:
    """Return widths up to the ports', with few narrow nodes; the effect of errors is not considered."""
    factors = FactorLimits(graph)
    narrow = factors.cover(np.ones(2 * factors.nodes)) if width > NARROW_PORT else frozenset()
    return factors.widths(width, factors.caps(width, narrow if width <= WIDE_PORT else frozenset()))


def cheapest_first(
    members: Iterable[int],
    price: Callable[[int], float],
    cheaper: Callable[[int], Iterable[int]] = lambda _member: (),
) -> Iterator[int]:
    """Yield members, those of the lowest price first, which may change with each that is yielded.

    Prices rise, except for those of the members that are ``cheaper`` after one. A member whose price has
    become infinite is left out.
    """
    queue = [(price(member), member) for member in sorted(members)]
    heapq.heapify(queue)
    while queue:
        known, member = heapq.heappop(queue)
        now = price(member)
        if known < now < np.inf:
            heapq.heappush(queue, (now, member))
        elif now < np.inf:
            yield member
            for other in cheaper(member):
                heapq.heappush(queue, (price(other), other))


class FactorLimits:
    """The factors of the products of a graph, as pairs of members.

    A node is a member by its index; the constant factor of a scaling node ``i`` is the member ``nodes + i``.
    Sines and cosines, which one kind of unit computes, have equal widths, and so have twins: the first one
    represents all (``first``, for each member). Nodes that are not multiplied may be wider by ``guard`` bits.
    """

    def __init__(self, graph: Graph, twins: Twins | None = None, guard: int = GUARD_BITS) -> None:
        twins = twins or no_twins(graph)
        self.graph = graph
        self._guard = guard
        self.nodes = len(graph.nodes)
        self.turns = [i for i, node in enumerate(graph.nodes) if node.op in (Op.SIN, Op.COS)]
        self.first = np.arange(2 * self.nodes)
        for i, leader in twins.leader.items():
            self.first[[i, self.nodes + i]] = leader, self.nodes + leader
        self.first[self.turns] = self.turns[:1]
        self.followers = np.flatnonzero(self.first != np.arange(2 * self.nodes))
        self.accumulators = sorted(accumulators(graph))
        self.reciprocals = [i for i, node in enumerate(graph.nodes) if node.op is Op.RECIPROCAL]
        self.pairs = [
            self._pair(i) for i, node in enumerate(graph.nodes) if node.op in (Op.MULTIPLY, Op.SCALE)
        ]
        self.partners: dict[int, list[int]] = defaultdict(list)
        for a, b in self.pairs:
            self.partners[a].append(b)
            self.partners[b].append(a)

    def _pair(self, i: int) -> tuple[int, int]:
        node = self.graph.nodes[i]
        first = node.args[0].node
        second = node.args[1].node if node.op is Op.MULTIPLY else self.nodes + i
        return int(self.first[first]), int(self.first[second])

    @cached_property
    def forced(self) -> frozenset[int]:
        """The members of every cover: nodes that are squared, and sines and cosines."""
        return frozenset(a for a, b in self.pairs if a == b).union(self.turns[:1])

    def cover(self, costs: Array) -> frozenset[int]:
        """Return members that cover every pair at low total cost; ``costs`` has shape (members,).

        The members cheapest for each pair that they cover are chosen first. At the end, members that others
        make unnecessary are removed, the most expensive first.
        """
        chosen = set(self.forced)
        left = {a: sum(b not in chosen for b in others) for a, others in self.partners.items()}
        for a in cheapest_first(left.keys() - chosen, lambda a: costs[a] / left[a] if left[a] else np.inf):
            chosen.add(a)
            for b in self.partners[a]:
                left[b] -= 1
        for a in sorted(chosen - self.forced, key=lambda a: (-costs[a], a)):
            if all(b in chosen for b in self.partners[a]):
                chosen.remove(a)
        return frozenset(chosen)

    def caps(
        self,
        width: int,
        narrow: frozenset[int],
        spared: frozenset[int] = frozenset(),
        widest: int = 0,
        long: frozenset[int] | None = None,
    ) -> Bits:
        """Return the most bits of every member.

        ``narrow`` ones fit the port. ``spared`` ones may have ``widest`` bits; with ``long`` only these may,
        and the others fit the wide port.
        """
        wide = max(width, widest) if spared else width
        caps = np.full(2 * self.nodes, wide + self._guard)
        caps[self.nodes :] = width
        caps[self.reciprocals] = wide
        caps[self.accumulators] = MOST_BITS
        caps[list(self.partners)] = width
        caps[[*narrow, *self.turns[:1]]] = port_widths(width)[1]
        caps[list(spared)] = wide if long is None else min(wide, WIDE_PORT)
        caps[list(long or ())] = wide
        limits: Bits = caps[self.first]
        return limits

    def widths(self, width: int, bits: Bits, spared: frozenset[int] = frozenset()) -> Widths:
        """Return bits of members as widths; factors fill the wide port if the node they scale is narrow."""
        ports = port_widths(width)
        wide = [member for member in spared if bits[member] > ports[1]]
        wider = np.flatnonzero(np.isin(self.first, wide)).tolist()
        constants: dict[int, int] = {}
        for i, node in enumerate(self.graph.nodes):
            if node.op is Op.SCALE:
                fills = bits[node.args[0].node] <= ports[1]
                constants[i] = ports[0] if fills else int(bits[self.nodes + i])
        return Widths(
            ports,
            int(bits[self.turns[0]]) if self.turns else ports[1],
            tuple(bits[: self.nodes].tolist()),
            constants,
            frozenset(member % self.nodes for member in wider),
        )

    def bits(self, widths: Widths) -> Bits:
        """Return the bits of members (members,) in widths."""
        factors = [widths.constants.get(i, 2) for i in range(self.nodes)]
        return np.array([*widths.bits, *factors])
