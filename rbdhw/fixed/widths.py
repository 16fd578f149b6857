"""Widths: how many bits each node of a graph may have.

A multiplier has two ports, of which the second may be narrower (a DSP block's: 27x18). One operand of each
product must then be narrow. Which, is decided by least harm: narrow nodes are a vertex cover of the products,
weighed by what their rounding does to the results (:mod:`rbdhw.fixed.gains`). Where an error budget asks for
more, narrow nodes are spared: those first that matter most for each product that becomes wider than an
ordinary multiplier. At last every node loses the bits that matter little: all get the same share in the
errors, for a bit moved from one to another would then cost more than it gains.
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
"""The second operand of a DSP multiplier (DSP48E2: 27x18, MULT18X18D: 18x18)."""

WIDE_PORT = 27
"""The widest operand of a multiplier with a narrow port."""

WIDEST = (27, 32)
"""The widest operands of products made wider: the least where these will do."""

GUARD_BITS = 4
"""Bits that a signal which no multiplier reads may have beyond the multiplier's width."""

LEAST_BITS = 6
"""The fewest bits that a signal is cut to: the errors it inherits then stay within its margin."""

LEAST_TURN = 8
"""The fewest bits that sines and cosines are cut to."""

MARGIN = 1.25
"""Headroom over the largest magnitude seen while sampling."""

SLACK = 1.01
"""How far the cutting of bits may take mean squares above the least that a width allows."""

REACH = 0.5
"""The share of mean squares allowed that sparing, if any, has to reach, to let bits be cut elsewhere."""

TAKEN = 0.9
"""The share of mean squares allowed up to which others are made narrow in place of those that are spared."""

FREE = 0.25
"""What sparing a node counts where it makes no product wider, as a share of one."""

HALVINGS = 20
"""Steps of the search for the largest share in the errors."""

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
        For each node that scales, the most bits of its factor, the sign included.
    spared
        Nodes that are wider than an ordinary multiplier allows with all that they are multiplied by.
    """

    ports: tuple[int, int]
    turn: int
    bits: tuple[int, ...]
    constants: dict[int, int]
    spared: frozenset[int] = frozenset()

    def raised(self, before: Sequence[float], after: Sequence[float]) -> Widths:
        """The same where magnitudes turned out to be larger: nodes keep their steps where ports allow it."""
        rises = (exponent_above(b) - exponent_above(a) for a, b in zip(before, after, strict=True))
        return replace(self, bits=tuple(map(self.widened, self.bits, rises)))

    def widened(self, bits: int, by: int) -> int:
        """A node's bits and some more, as far as both ports have room for them."""
        return min(bits + max(by, 0), max(bits, self.ports[1]))


def port_widths(width: int) -> tuple[int, int]:
    """A multiplier's operand widths: up to 27 bits the second fits one DSP's narrow port."""
    return (width, min(width, NARROW_PORT)) if width <= WIDE_PORT else (width, width)


def plain_widths(graph: Graph, width: int) -> Widths:
    """As wide as the ports allow, with few narrow nodes; what errors do to the results is not looked at."""
    factors = FactorLimits(graph)
    narrow = factors.cover(np.ones(2 * factors.nodes)) if width > NARROW_PORT else frozenset()
    return factors.widths(width, factors.caps(width, narrow if width <= WIDE_PORT else frozenset()))


class FactorLimits:
    """What the products of a graph multiply, in pairs of members.

    Nodes are members by their index; the factor of the scaling node ``i`` is the member ``nodes + i``. Sines
    and cosines, which come out of one kind of unit, are as wide as each other, and so are twins: the first
    stands for all (``first``, for each member). Nodes that no product takes may be wider by ``guard`` bits.
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
        """The members of every cover: what is squared, and sines and cosines."""
        return frozenset(a for a, b in self.pairs if a == b).union(self.turns[:1])

    def cover(self, costs: Array) -> frozenset[int]:
        """Members of every pair that together cost little (members,).

        The cheapest for each pair that they cover are chosen first; in the end those are left out, the
        dearest first, that others make superfluous.
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
        """The most bits of every member: some are narrow, and some are spared and may be the widest."""
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
        """The widths that bits of members are; factors fill the wide port where what they scale is narrow."""
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
        """The bits of members (members,) that widths say."""
        factors = [widths.constants.get(i, 2) for i in range(self.nodes)]
        return np.array([*widths.bits, *factors])


class Planner:
    """Chooses widths by what errors at the nodes of a graph do to its results.

    Parameters
    ----------
    magnitudes
        The largest magnitude of each node over the sampled domain.
    gains
        Of the same graph.
    twins
        Nodes that have equal widths; their magnitudes are those of :func:`rbdhw.fixed.alignment.unify`.
    guard
        Bits that a signal which no multiplier reads may have beyond the multiplier's width.
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

    def predicted(self, widths: Widths) -> dict[Row, float]:
        """The root mean square error of each function's results, by stratum: the worst of its rows."""
        totals = np.sqrt(self._gains @ self._errors(self._factors.bits(widths))).tolist()
        found: dict[Row, float] = {}
        for row, total in zip(self.rows, totals, strict=True):
            found[row] = max(found.get(row, 0.0), total)
        return found

    def worst_node(self, widths: Widths, row: Row) -> tuple[int, float]:
        """The node whose rounding adds most to the errors of a function's results in a stratum.

        With it, how many times as large as those results its largest value counts in them.
        """
        nodes, errors = self._factors.nodes, self._errors(self._factors.bits(widths))
        own = np.array([self._gains[k] for k, name in enumerate(self.rows) if name == row])
        parts = (own * errors)[:, :nodes] + (own * errors)[:, nodes:]
        k, node = np.unravel_index(parts.argmax(), parts.shape)
        largest = np.exp2(float(self._exponents[node])) / MARGIN
        return int(node), float(np.sqrt(own[k, node]) * largest)

    def products(self, widths: Widths) -> Bits:
        """(products, 2): operand widths of every product, the wider first."""
        pairs = np.array(self._factors.pairs, dtype=np.int64).reshape(-1, 2)
        return -np.sort(-self._factors.bits(widths)[pairs], axis=1)

    def widths(
        self, width: int, allowed: Mapping[Row, float] | None = None, widest: int = WIDEST[0]
    ) -> Widths:
        """The widths of signals for ordinary multipliers of this width.

        Parameters
        ----------
        allowed
            The root mean square error of each function and stratum that may be predicted; where an ordinary
            multiplier does not reach it, nodes are spared. Without it none is, and errors are nearly the
            least that the width allows.
        widest
            The most bits of a node that is spared.
        """
        if allowed is None:
            squares = self._gains @ self._errors(self._factors.caps(width, self._factors.forced))
        else:
            squares = np.array([allowed[row] ** 2 for row in self.rows])
        gains = self._gains / np.maximum(squares, TINY)[:, np.newaxis]
        narrow = self._narrow(width, gains)
        spared = frozenset() if allowed is None else self._spared(width, narrow, gains, widest)
        tight = self._taken_back(width, narrow - spared, spared, gains, widest) if spared else narrow
        caps = self._factors.caps(width, tight, spared - tight, widest)
        reached = SLACK * gains @ self._errors(caps)
        limits = np.maximum(reached, TINY if allowed is None else 1.0)
        return self._factors.widths(width, self._trimmed(caps, gains / limits[:, np.newaxis]), spared - tight)

    def _errors(self, bits: Bits) -> Array:
        """Mean squares of the rounding errors of members with these bits; of factors as shares of them."""
        nodes, turns = self._factors.nodes, self._factors.turns
        points = bits - 1 - self._exponents
        if turns:
            points[self._angles] = trigonometry_spec(int(bits[turns[0]])).phase_bits
        scale = np.exp2(np.clip(points[nodes:], 0, 52))
        shares = np.round(self._values * scale) / (scale * self._values) - 1.0
        return np.concatenate([np.exp2(-2.0 * points[:nodes]) / 12.0, np.square(shares)])

    def _harm(self, fewer: Bits, more: Bits, gains: Array) -> Array:
        """(rows, members): what fewer bits than more add to the mean squares, at the first of those alike."""
        harm: Array = gains * (self._errors(fewer) - self._errors(more))
        factors, own = self._factors, harm.copy()
        np.add.at(harm.T, factors.first[factors.followers], own.T[factors.followers])
        if factors.turns:
            harm[:, factors.turns[0]] += own[:, self._angles].sum(axis=1)
        return harm

    def _narrow(self, width: int, gains: Array) -> frozenset[int]:
        """The members that are as narrow as the second port."""
        if width > WIDE_PORT:
            return frozenset()
        everything = frozenset(self._factors.partners)
        if width <= NARROW_PORT:
            return everything
        fewer, more = self._factors.caps(width, everything), self._factors.caps(width, frozenset())
        return self._factors.cover(self._harm(fewer, more, gains).sum(axis=0))

    def _spared(self, width: int, narrow: frozenset[int], gains: Array, widest: int) -> frozenset[int]:
        """The members to spare, so that errors fall to their share of the mean squares allowed.

        Those narrow ones go first that take away most for each product that becomes wider; where all of them
        are not enough, every member is spared.
        """
        fewer = self._factors.caps(width, narrow)
        more = self._factors.caps(width, frozenset(), narrow, widest)
        harm = self._harm(fewer, more, gains)
        totals = gains @ self._errors(fewer)
        spared: set[int] = set()
        before = -1 if (totals > 1.0).any() else 0
        while (totals > REACH).any() and len(spared) > before:
            above, before = totals > REACH, len(spared)
            for member in self._by_worth(narrow, spared, harm[above].sum(axis=0), width <= NARROW_PORT):
                spared.add(member)
                totals = totals - harm[:, member]
                if (totals[above] <= REACH).any():
                    break
        return frozenset(self._factors.partners if (totals > 1.0).any() else spared)

    def _by_worth(self, narrow: frozenset[int], spared: set[int], worth: Array, equal: bool) -> Iterator[int]:
        """Narrow members by what sparing them is worth for each product that becomes wider.

        A product is wider than an ordinary multiplier where neither operand is narrow, or, with ``equal``
        ports, where one is not.
        """
        partners = self._factors.partners

        def price(member: int) -> float:
            others = partners[member]
            wider = sum(o == member or (o in narrow and o not in spared) == equal for o in others)
            return (wider + FREE) / float(worth[member]) if worth[member] > 0.0 else np.inf

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

    def _taken_back(
        self, width: int, tight: frozenset[int], spared: frozenset[int], gains: Array, widest: int
    ) -> frozenset[int]:
        """The narrow members, and those that make up for the spared ones: harmless where these do harm.

        Those go first whose narrowing costs least for each product that is wide no more.
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
            if member in narrow or not left or (totals + harm[:, member] > TAKEN).any():
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

    def _trimmed(self, caps: Bits, gains: Array) -> Bits:
        """The fewest bits below the caps with mean squares below one, each node having the same share."""
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
    """The inputs that sines and cosines are of."""
    found = [False] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        if found[i] or node.op in (Op.SIN, Op.COS):
            for edge in node.args:
                found[edge.node] = True
    return [i for i, node in enumerate(graph.nodes) if found[i] and node.op is Op.INPUT]
