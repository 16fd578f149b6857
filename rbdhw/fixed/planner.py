"""The choice of widths by the effect of rounding errors on the results.

The choice minimises harm: narrow nodes are a cover of the products (:mod:`rbdhw.fixed.widths`), with the
effect of their rounding on the results as weights (:mod:`rbdhw.fixed.gains`). If an error budget requires
more bits, narrow nodes are spared, which makes some products wider than an ordinary multiplier. Nodes with
the largest effect for each such product are spared first. Finally every node loses bits that matter little,
until all nodes have the same share in the errors: moving a bit from one to another would then cost more than
it gains.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.accumulators import accumulators
from rbdhw.fixed.format import exponent_above
from rbdhw.fixed.gains import Gains, Row
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.fixed.widths import (
    GUARD_BITS,
    MARGIN,
    NARROW_PORT,
    WIDE_PORT,
    FactorLimits,
    Widths,
    cheapest_first,
)
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.twins import Twins

Array = NDArray[np.float64]
Bits = NDArray[np.int64]

WIDEST = (27, 32)
"""Widths of the widest operands of wide products; the cheaper in the budget is used."""

LEAST_BITS = 6
"""The least width of a signal; errors from its operands then stay within its margin."""

LEAST_TURN = 8
"""The least width of sines and cosines."""

SLACK = 1.01
"""The factor by which cutting bits may raise mean squares above the least that a width allows."""

SPARING_TARGET = 0.5
"""The share of the allowed mean squares that sparing must reach, so that bits can be cut elsewhere."""

NARROWING_LIMIT = 0.9
"""The share of the allowed mean squares up to which other nodes are narrowed in place of spared ones."""

SPARING_COST = 0.25
"""The cost of sparing a node that makes no product wider, as a share of one product."""

TRAVELLING = 2.0
"""The bits by which numbers in packets are coarser than equal shares in a budget would make them."""

HALVINGS = 20
"""The number of bisection steps for the largest share in the errors."""

TINY = float(np.finfo(np.float64).tiny)


class Planner:
    """Chooses widths by the effect of errors at the nodes of a graph on its results.

    Twins have magnitudes from :func:`rbdhw.fixed.alignment.unify`, and get equal widths. A signal that is not
    multiplied has ``guard`` bits beyond the multiplier's width.
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
        self._travelling = _travelling(graph, self._angles)

    def predict(self, widths: Widths) -> dict[Row, float]:
        """Return the root mean square error of each part of the results by stratum: the worst of its rows."""
        totals = np.sqrt(self._gains @ self._errors(self._factors.bits(widths))).tolist()
        errors: dict[Row, float] = {}
        for row, total in zip(self.rows, totals, strict=True):
            errors[row] = max(errors.get(row, 0.0), total)
        return errors

    def worst_node(self, widths: Widths, row: Row) -> tuple[int, float]:
        """Return the node whose rounding adds most to the errors of some results in a stratum.

        The second result is the effect of the node's largest value, relative to these results.
        """
        nodes, errors = self._factors.nodes, self._errors(self._factors.bits(widths))
        gains = np.array([self._gains[k] for k, name in enumerate(self.rows) if name == row])
        parts = (gains * errors)[:, :nodes] + (gains * errors)[:, nodes:]
        k, node = np.unravel_index(parts.argmax(), parts.shape)
        largest = np.exp2(float(self._exponents[node])) / MARGIN
        return int(node), float(np.sqrt(gains[k, node]) * largest)

    def uniform(self, width: int) -> Widths:
        """Return widths with as many bits at every node as ordinary multipliers of this width allow."""
        return self._factors.widths(width, self._factors.caps(width, self._factors.forced))

    def products(self, widths: Widths) -> Bits:
        """Return the operand widths of every product (products, 2), the wider first."""
        pairs = np.array(self._factors.pairs, dtype=np.int64).reshape(-1, 2)
        return -np.sort(-self._factors.bits(widths)[pairs], axis=1)

    def widths(
        self, width: int, allowed: Mapping[Row, float] | None = None, widest: int = WIDEST[0]
    ) -> Widths:
        """Return the widths of signals for ordinary multipliers of this width.

        ``allowed`` has the largest predicted root mean square error for each part and stratum. If an ordinary
        multiplier does not reach it, nodes are spared, with at most ``widest`` bits. Without it no node is
        spared, and errors are nearly the least that the width allows.
        """
        if allowed is None:
            squares = self._gains @ self._errors(self._factors.caps(width, self._factors.forced))
        else:
            squares = np.array([allowed[row] ** 2 for row in self.rows])
        gains = self._gains / np.maximum(squares, TINY)[:, np.newaxis]
        narrow = self._narrow(width, gains)
        spared = frozenset() if allowed is None else self._choose_spared(width, narrow, gains, widest)
        long = self._choose_long(width, narrow - spared, spared, gains, widest)
        tight = self._narrow_more(width, narrow - spared, spared, gains, widest, long) if spared else narrow
        caps = self._factors.caps(width, tight, spared - tight, widest, long and long - tight)
        reached = SLACK * gains @ self._errors(caps)
        limits = np.maximum(reached, TINY if allowed is None else 1.0)
        coarser = 0.0 if allowed is None else TRAVELLING
        trimmed = self._trim(caps, gains / limits[:, np.newaxis], coarser)
        return self._factors.widths(width, trimmed, spared - tight)

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
        factors, single = self._factors, harm.copy()
        np.add.at(harm.T, factors.first[factors.followers], single.T[factors.followers])
        if factors.turns:
            harm[:, factors.turns[0]] += single[:, self._angles].sum(axis=1)
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

    def _choose_long(
        self, width: int, narrow: frozenset[int], spared: frozenset[int], gains: Array, widest: int
    ) -> frozenset[int] | None:
        """Return the spared members that need more bits than the wide port has; None if all may have more.

        Members with the largest effect for each block that their products take more are chosen first: one for
        a narrow partner, two for one that is long, too.
        """
        if not width <= WIDE_PORT < widest or not spared:
            return None
        fewer = self._factors.caps(width, narrow, spared, widest, frozenset())
        harm = self._harm(fewer, self._factors.caps(width, narrow, spared, widest), gains)
        totals = gains @ self._errors(fewer)
        worth = harm.sum(axis=0)
        long: set[int] = set()

        def price(member: int) -> float:
            blocks = sum(1 if o in narrow else 2 * (o in long) for o in self._factors.partners[member])
            return float((blocks + SPARING_COST) / worth[member]) if worth[member] > 0.0 else np.inf

        for member in cheapest_first(spared, price):
            if not (totals > SPARING_TARGET).any():
                break
            long.add(member)
            totals = totals - harm[:, member]
        return frozenset(long)

    def _by_worth(self, narrow: frozenset[int], spared: set[int], worth: Array, equal: bool) -> Iterator[int]:
        """Yield narrow members, those with the largest worth for each product that becomes wider first.

        A product is wider than an ordinary multiplier if neither operand is narrow, or, with ``equal`` ports,
        if one operand is not.
        """
        partners = self._factors.partners

        def price(member: int) -> float:
            if member in spared or worth[member] <= 0.0:
                return np.inf
            others = partners[member]
            wider = sum(o == member or (o in narrow and o not in spared) == equal for o in others)
            return (wider + SPARING_COST) / float(worth[member])

        def cheaper(member: int) -> Collection[int]:
            return narrow.intersection(partners[member]) - spared if equal else ()

        return cheapest_first(narrow - spared, price, cheaper)

    def _narrow_more(
        self,
        width: int,
        tight: frozenset[int],
        spared: frozenset[int],
        gains: Array,
        widest: int,
        long: frozenset[int] | None,
    ) -> frozenset[int]:
        """Return the narrow members with harmless ones added, which compensate for the spared ones.

        Members whose narrowing costs least for each product that is no longer wide are added first.
        """
        factors, equal = self._factors, width <= NARROW_PORT
        wide = factors.caps(width, tight, spared, widest, long)
        harm = self._harm(factors.caps(width, frozenset(factors.partners)), wide, gains)
        totals = gains @ self._errors(wide)
        narrow = set(tight)

        def price(member: int) -> float:
            saved = sum(o != member and (o in narrow) == equal for o in factors.partners[member])
            if member in narrow or not saved or (totals + harm[:, member] > NARROWING_LIMIT).any():
                return np.inf
            return float(harm[:, member].max() / saved)

        def cheaper(member: int) -> Collection[int]:
            return set(factors.partners[member]) - narrow if equal else ()

        for member in cheapest_first(factors.partners, price, cheaper):
            narrow.add(member)
            totals = totals + harm[:, member]
        return frozenset(narrow)

    def _trim(self, caps: Bits, gains: Array, coarser: float) -> Bits:
        """Return the fewest bits below the caps with mean squares below one and equal shares of nodes.

        Numbers in packets are coarser by some bits: there are few of them, so that the others hardly pay for
        it, and packets become shorter.
        """
        turns, nodes = self._factors.turns, self._factors.nodes
        with np.errstate(divide="ignore"):
            points = 0.5 * np.log2(gains.max(axis=0))
        needed = points + 1.0 + self._exponents
        needed[nodes:] = np.inf
        needed[self._travelling] -= coarser
        np.maximum.at(needed, self._factors.first, needed.copy())
        needed = needed[self._factors.first]
        least = np.minimum(caps, LEAST_BITS)
        if turns:
            phase_guard = trigonometry_spec(NARROW_PORT).phase_bits - NARROW_PORT
            needed[turns] = max(needed[turns].max(), points[self._angles].max(initial=-np.inf) - phase_guard)
            least[turns] = np.minimum(caps[turns], LEAST_TURN)

        def bits(level: float) -> Bits:
            clipped: Array = np.clip(np.ceil(needed + level), least, caps)
            return clipped.astype(np.int64)

        low, high = -64.0, 64.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            enough = (gains @ self._errors(bits(middle)) <= 1.0).all()
            low, high = (low, middle) if enough else (middle, high)
        return bits(high)


def _angles(graph: Graph) -> list[int]:
    """Return the inputs whose sines and cosines the graph computes, except accumulators."""
    angles = [False] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        if node.op in (Op.SIN, Op.COS) or (angles[i] and node.op in (Op.SCALE, Op.ROUND)):
            for edge in node.args:
                angles[edge.node] = True
    state = accumulators(graph)
    return [i for i, node in enumerate(graph.nodes) if angles[i] and node.op is Op.INPUT and i not in state]


def _travelling(graph: Graph, angles: Sequence[int]) -> list[int]:
    """Return the inputs and outputs, except angles and accumulators: a bit of them is one of each packet."""
    ends = {i for i, node in enumerate(graph.nodes) if node.op is Op.INPUT}
    ends.update(edge.node for _, edge in graph.outputs)
    return sorted(ends.difference(angles, accumulators(graph)))
