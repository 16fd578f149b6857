"""Widths: choose the number of bits of each node of a graph.

A multiplier has two ports, the second of which may be narrower (27x18 in a DSP block). One operand of each
product must then be narrow. The choice minimises harm: narrow nodes are a vertex cover of the products, with
the effect of their rounding on the results as weights (:mod:`rbdhw.fixed.gains`). If an error budget requires
more bits, narrow nodes are spared, which makes some products wider than an ordinary multiplier. Nodes with
the largest effect for each such product are spared first. Finally every node loses bits that matter little,
until all nodes have the same share in the errors: moving a bit from one to another would then cost more than
it gains.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import exponent_above
from rbdhw.fixed.gains import Gains, Row
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Twins, no_twins

Array = NDArray[np.float64]
Bits = NDArray[np.int64]

NARROW_PORT = 18
"""The width of the second operand of a DSP multiplier (DSP48E2: 27x18, MULT18X18D: 18x18)."""

WIDE_PORT = 27
"""The width of the widest operand of a multiplier with a narrow port."""

WIDEST = (27, 32)
"""Widths of the widest operands of wide products; the first one that meets the budget is used."""

GUARD_BITS = 4
"""The number of bits beyond the multiplier's width for a signal that is not multiplied."""

LEAST_BITS = 6
"""The least width of a signal; errors from its operands then stay within its margin."""

LEAST_TURN = 8
"""The least width of sines and cosines."""

MARGIN = 1.25
"""The headroom over the largest sampled magnitude."""

SLACK = 1.01
"""The factor by which cutting bits may raise mean squares above the least that a width allows."""

SPARING_TARGET = 0.5
"""The share of the allowed mean squares that sparing must reach, so that bits can be cut elsewhere."""

NARROWING_LIMIT = 0.9
"""The share of the allowed mean squares up to which other nodes are narrowed in place of spared ones."""

SPARING_COST = 0.25
"""The cost of sparing a node that makes no product wider, as a share of one product."""

HALVINGS = 20
"""The number of bisection steps for the largest share in the errors."""

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Widths:
    """The widths of a program's signals.

    Parameters
    ----------
    ports
        Operand widths of an ordinary multiplier.
    turn
        The width of sines and cosines.
    bits
        For each node, the most bits that it may have.
    constants
        For each node that scales, the most bits of its factor, including the sign.
    spared
        Nodes that are wider than an ordinary multiplier allows for some of their products.
    """

    ports: tuple[int, int]
    turn: int
    bits: tuple[int, ...]
    constants: dict[int, int]
    spared: frozenset[int] = frozenset()

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
        queue = [(costs[a] / n, a) for a, n in left.items() if n and a not in chosen]
        heapq.heapify(queue)
        while queue:
            price, a = heapq.heappop(queue)
            if not left[a]:
                continue
            if price < costs[a] / left[a]:
                heapq.heappush(queue, (costs[a] / left[a], a))
                continue
            chosen.add(a)
            for b in self.partners[a]:
                left[b] -= 1
        for a in sorted(chosen - self.forced, key=lambda a: (-costs[a], a)):
            if all(b in chosen for b in self.partners[a]):
                chosen.remove(a)
        return frozenset(chosen)

    def caps(
        self, width: int, narrow: frozenset[int], spared: frozenset[int] = frozenset(), widest: int = 0
    ) -> Bits:
        """Return the most bits of every member; ``narrow`` ones fit the port, ``spared`` ones may be wide."""
        wide = max(width, widest) if spared else width
        caps = np.full(2 * self.nodes, wide + self._guard)
        caps[self.nodes :] = width
        caps[self.reciprocals] = wide
        caps[list(self.partners)] = width
        caps[[*narrow, *self.turns[:1]]] = port_widths(width)[1]
        caps[list(spared)] = wide
        found: Bits = caps[self.first]
        return found

    def widths(self, width: int, bits: Bits, spared: frozenset[int] = frozenset()) -> Widths:
        """Return bits of members as widths; factors fill the wide port if the node they scale is narrow."""
        ports = port_widths(width)
        wide = [member for member in spared if bits[member] > ports[1]]
        wider = np.flatnonzero(np.isin(self.first, wide)).tolist()
        constants: dict[int, int] = {}
        for i, node in enumerate(self.graph.nodes):
            if node.op is Op.SCALE:
                own = ports[0] if bits[node.args[0].node] <= ports[1] else int(bits[self.nodes + i])
                constants[i] = own
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


class Planner:
    """Chooses widths by the effect of errors at the nodes of a graph on its results.

    Parameters
    ----------
    magnitudes
        The largest magnitude of each node over the sampled domain.
    gains
        The gains of the same graph.
    twins
        Nodes with equal widths and with magnitudes from :func:`rbdhw.fixed.alignment.unify`.
    guard
        The number of bits beyond the multiplier's width for a signal that is not multiplied.
    """

    def __init__(
        self,
        graph: Graph,
        magnitudes: Sequence[float],
        gains: Gains,
        twins: Twins | None = None,
        guard: int = GUARD_BITS,
    ) -> None:
        self.rows = gains.rows
        self._factors = FactorLimits(graph, twins, guard)
        self._gains = np.hstack([gains.noise, gains.relative])
        exponents = [exponent_above(MARGIN * magnitude) for magnitude in magnitudes]
        self._exponents = np.array(exponents + [1] * len(exponents))
        self._exponents[self._factors.turns] = 0
        self._values = np.array([node.value if node.op is Op.SCALE else 1.0 for node in graph.nodes])
        self._angles = _angles(graph)

    def predict(self, widths: Widths) -> dict[Row, float]:
        """Return the root mean square error of each function by stratum: the worst of its rows."""
        totals = np.sqrt(self._gains @ self._errors(self._factors.bits(widths))).tolist()
        found: dict[Row, float] = {}
        for row, total in zip(self.rows, totals, strict=True):
            found[row] = max(found.get(row, 0.0), total)
        return found

    def worst_node(self, widths: Widths, row: Row) -> tuple[int, float]:
        """Return the node whose rounding adds most to the errors of a function in a stratum.

        The second result is the effect of the node's largest value, relative to the function's results.
        """
        nodes, errors = self._factors.nodes, self._errors(self._factors.bits(widths))
        own = np.array([self._gains[k] for k, name in enumerate(self.rows) if name == row])
        parts = (own * errors)[:, :nodes] + (own * errors)[:, nodes:]
        k, node = np.unravel_index(parts.argmax(), parts.shape)
        largest = np.exp2(float(self._exponents[node])) / MARGIN
        return int(node), float(np.sqrt(own[k, node]) * largest)

    def products(self, widths: Widths) -> Bits:
        """Return the operand widths of every product (products, 2), the wider first."""
        pairs = np.array(self._factors.pairs, dtype=np.int64).reshape(-1, 2)
        return -np.sort(-self._factors.bits(widths)[pairs], axis=1)

    def widths(
        self, width: int, allowed: Mapping[Row, float] | None = None, widest: int = WIDEST[0]
    ) -> Widths:
        """Return the widths of signals for ordinary multipliers of this width.

        Parameters
        ----------
        allowed
            The largest predicted root mean square error for each function and stratum. If an ordinary
            multiplier does not reach it, nodes are spared. Without it no node is spared, and errors are
            nearly the least that the width allows.
        widest
            The most bits of a spared node.
        """
        if allowed is None:
            squares = self._gains @ self._errors(self._factors.caps(width, self._factors.forced))
        else:
            squares = np.array([allowed[row] ** 2 for row in self.rows])
        gains = self._gains / np.maximum(squares, TINY)[:, np.newaxis]
        narrow = self._narrow(width, gains)
        spared = frozenset() if allowed is None else self._choose_spared(width, narrow, gains, widest)
        tight = self._narrow_more(width, narrow - spared, spared, gains, widest) if spared else narrow
        caps = self._factors.caps(width, tight, spared - tight, widest)
        reached = SLACK * gains @ self._errors(caps)
        limits = np.maximum(reached, TINY if allowed is None else 1.0)
        return self._factors.widths(width, self._trim(caps, gains / limits[:, np.newaxis]), spared - tight)

    def _errors(self, bits: Bits) -> Array:
        """Return mean squares of the rounding errors of members with these bits; relative for factors."""
        nodes, turns = self._factors.nodes, self._factors.turns
        points = bits - 1 - self._exponents
        if turns:
            points[self._angles] = trigonometry_spec(int(bits[turns[0]])).phase_bits
        scale = np.exp2(np.clip(points[nodes:], 0, 52))
        shares = np.round(self._values * scale) / (scale * self._values) - 1.0
        return np.concatenate([np.exp2(-2.0 * points[:nodes]) / 12.0, np.square(shares)])

    def _harm(self, fewer: Bits, more: Bits, gains: Array) -> Array:
        """Return the increase of mean squares from ``more`` to ``fewer`` bits (rows, members).

        The increase of followers is added to that of their first member.
        """
        harm: Array = gains * (self._errors(fewer) - self._errors(more))
        factors, own = self._factors, harm.copy()
        np.add.at(harm.T, factors.first[factors.followers], own.T[factors.followers])
        if factors.turns:
            harm[:, factors.turns[0]] += own[:, self._angles].sum(axis=1)
        return harm

    def _narrow(self, width: int, gains: Array) -> frozenset[int]:
        """Return the members that are as narrow as the second port."""
        if width > WIDE_PORT:
            return frozenset()
        everything = frozenset(self._factors.partners)
        if width <= NARROW_PORT:
            return everything
        fewer, more = self._factors.caps(width, everything), self._factors.caps(width, frozenset())
        return self._factors.cover(self._harm(fewer, more, gains).sum(axis=0))

    def _choose_spared(self, width: int, narrow: frozenset[int], gains: Array, widest: int) -> frozenset[int]:
        """Return the members to spare, so that errors fall to their share of the allowed mean squares.

        Narrow members with the largest effect for each product that becomes wider are spared first. If
        sparing all of them is not enough, every member is spared.
        """
        fewer = self._factors.caps(width, narrow)
        more = self._factors.caps(width, frozenset(), narrow, widest)
        harm = self._harm(fewer, more, gains)
        totals = gains @ self._errors(fewer)
        spared: set[int] = set()
        before = -1 if (totals > 1.0).any() else 0
        while (totals > SPARING_TARGET).any() and len(spared) > before:
            above, before = totals > SPARING_TARGET, len(spared)
            for member in self._by_worth(narrow, spared, harm[above].sum(axis=0), width <= NARROW_PORT):
                spared.add(member)
                totals = totals - harm[:, member]
                if (totals[above] <= SPARING_TARGET).any():
                    break
        return frozenset(self._factors.partners if (totals > 1.0).any() else spared)

    def _by_worth(self, narrow: frozenset[int], spared: set[int], worth: Array, equal: bool) -> Iterator[int]:
        """Yield narrow members, those with the largest worth for each product that becomes wider first.

        A product is wider than an ordinary multiplier if neither operand is narrow, or, with ``equal`` ports,
        if one operand is not.
        """
        partners = self._factors.partners

        def price(member: int) -> float:
            others = partners[member]
            wider = sum(o == member or (o in narrow and o not in spared) == equal for o in others)
            return (wider + SPARING_COST) / float(worth[member]) if worth[member] > 0.0 else np.inf

        queue = [(price(member), member) for member in sorted(narrow - spared)]
        heapq.heapify(queue)
        while queue:
            known, member = heapq.heappop(queue)
            now = price(member)
            if member in spared or now == np.inf:
                continue
            if now > known:
                heapq.heappush(queue, (now, member))
                continue
            yield member
            if equal:
                for other in narrow.intersection(partners[member]) - spared:
                    heapq.heappush(queue, (price(other), other))

    def _narrow_more(
        self, width: int, tight: frozenset[int], spared: frozenset[int], gains: Array, widest: int
    ) -> frozenset[int]:
        """Return the narrow members with harmless ones added, which compensate for the spared ones.

        Members whose narrowing costs least for each product that is no longer wide are added first.
        """
        factors, equal = self._factors, width <= NARROW_PORT
        wide = factors.caps(width, tight, spared, widest)
        harm = self._harm(factors.caps(width, frozenset(factors.partners)), wide, gains)
        totals = gains @ self._errors(wide)
        price, narrow = harm.max(axis=0), set(tight)

        def saved(member: int) -> int:
            return sum(o != member and (o in narrow) == equal for o in factors.partners[member])

        queue = [(price[a] / n, a) for a in sorted(factors.partners) if a not in tight and (n := saved(a))]
        heapq.heapify(queue)
        while queue:
            known, member = heapq.heappop(queue)
            left = saved(member)
            if member in narrow or not left or (totals + harm[:, member] > NARROWING_LIMIT).any():
                continue
            if price[member] / left > known:
                heapq.heappush(queue, (price[member] / left, member))
                continue
            narrow.add(member)
            totals = totals + harm[:, member]
            if equal:
                for other in set(factors.partners[member]) - narrow:
                    heapq.heappush(queue, (price[other] / saved(other), other))
        return frozenset(narrow)

    def _trim(self, caps: Bits, gains: Array) -> Bits:
        """Return the fewest bits below the caps with mean squares below one and equal shares of nodes."""
        turns, nodes = self._factors.turns, self._factors.nodes
        with np.errstate(divide="ignore"):
            points = 0.5 * np.log2(gains.max(axis=0))
        wanted = points + 1.0 + self._exponents
        wanted[nodes:] = np.inf
        np.maximum.at(wanted, self._factors.first, wanted.copy())
        wanted = wanted[self._factors.first]
        least = np.minimum(caps, LEAST_BITS)
        if turns:
            phase_guard = trigonometry_spec(NARROW_PORT).phase_bits - NARROW_PORT
            wanted[turns] = max(wanted[turns].max(), points[self._angles].max(initial=-np.inf) - phase_guard)
            least[turns] = np.minimum(caps[turns], LEAST_TURN)

        def bits(level: float) -> Bits:
            clipped: Array = np.clip(np.ceil(wanted + level), least, caps)
            return clipped.astype(np.int64)

        low, high = -64.0, 64.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            enough = (gains @ self._errors(bits(middle)) <= 1.0).all()
            low, high = (low, middle) if enough else (middle, high)
        return bits(high)


def _angles(graph: Graph) -> list[int]:
    """Return the inputs whose sines and cosines the graph computes."""
    found = [False] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        if found[i] or node.op in (Op.SIN, Op.COS):
            for edge in node.args:
                found[edge.node] = True
    return [i for i, node in enumerate(graph.nodes) if found[i] and node.op is Op.INPUT]
