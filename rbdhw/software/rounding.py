"""Bounds, before anything is computed, of the rounding errors of a graph in double precision.

A node's value is ``f + g``, where f does not depend on accelerations, which lie in an interval, and g is
linear in them. Both, and the node's error, are bounded from the bounds of its arguments, for accelerations
whose largest element is A: ``|g| <= slope A`` and ``|error| <= still + moving A``. Fused operations only
round less often.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rbdhw.arrays import WordName
from rbdhw.fixed.lower import InputRange
from rbdhw.graph.graph import Edge, Graph, Node, Op

UNIT = 2.0**-52
"""Twice the largest relative error of a rounding to double precision, which covers that of these bounds."""

TURN = 2.0 * math.pi

LIBRARY = 8.0 * UNIT
"""The largest error of a sine or a cosine of an exact angle."""


@dataclass(frozen=True)
class Rounding:
    """Bounds of a function's results by array, in the unit of each element: the largest of the elements."""

    still: dict[str, float]
    """The rounding errors without acceleration."""
    by_acceleration: dict[str, float]
    """What an acceleration whose largest element is one adds to them."""
    change: dict[str, float]
    """The most by which such an acceleration changes the results, if they are linear in it."""


def rounding_of(graph: Graph, ranges: Mapping[str, InputRange]) -> Rounding:
    """Return bounds of the rounding errors of the graph of one function.

    ``ranges`` are those of all inputs but the accelerations ``a``. A graph that divides, or is not linear in
    accelerations, is a ValueError.
    """
    bounds: list[_Bounds] = []
    for node in graph.nodes:
        bounds.append(_bounds_of(node, [bounds[edge.node].times(edge) for edge in node.args], ranges))
    rounding = Rounding({}, {}, {})
    for text, edge in graph.outputs:
        array, word = WordName.parse(text).array, bounds[edge.node].times(edge)
        for largest, value in (
            (rounding.still, word.still),
            (rounding.by_acceleration, word.moving),
            (rounding.change, word.slope),
        ):
            largest[array] = max(largest.get(array, 0.0), value)
    return rounding


@dataclass(frozen=True)
class _Bounds:
    lowest: float
    highest: float
    slope: float = 0.0
    still: float = 0.0
    moving: float = 0.0

    @property
    def size(self) -> float:
        return max(abs(self.lowest), abs(self.highest))

    def times(self, edge: Edge) -> _Bounds:
        factor = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
        ends = sorted((factor * self.lowest, factor * self.highest))
        return _Bounds(*ends, *(abs(factor) * part for part in (self.slope, self.still, self.moving)))

    def rounded(self) -> _Bounds:
        """Return the bounds after one more rounding."""
        still = self.still + UNIT * (self.size + self.still)
        return _Bounds(
            self.lowest, self.highest, self.slope, still, self.moving + UNIT * (self.slope + self.moving)
        )


def _bounds_of(node: Node, args: list[_Bounds], ranges: Mapping[str, InputRange]) -> _Bounds:
    match node.op:
        case Op.INPUT if node.name.startswith("a["):
            return _Bounds(0.0, 0.0, 1.0)
        case Op.INPUT:
            return _Bounds(float(ranges[node.name].lower), float(ranges[node.name].upper))
        case Op.CONSTANT:
            return _Bounds(node.value, node.value).rounded()
        case Op.ADD:
            x, y = args
            parts = (x.slope + y.slope, x.still + y.still, x.moving + y.moving)
            return _Bounds(x.lowest + y.lowest, x.highest + y.highest, *parts).rounded()
        case Op.MULTIPLY:
            x, y = args
            return _product(x, y, alike=node.args[0].node == node.args[1].node)
        case Op.SCALE:
            return _product(args[0], _Bounds(node.value, node.value).rounded())
        case Op.SIN | Op.COS:
            return _Bounds(-1.0, 1.0, 0.0, TURN * args[0].still + LIBRARY)
        case _:
            raise ValueError(f"{node.op}: its rounding has no bound in advance")


def _product(x: _Bounds, y: _Bounds, alike: bool = False) -> _Bounds:
    corners = [a * b for a in (x.lowest, x.highest) for b in (y.lowest, y.highest)]
    lowest = max(0.0, min(corners)) if alike else min(corners)
    if x.slope and y.slope:
        raise ValueError("products of accelerations have no bound in advance")
    still = x.size * y.still + y.size * x.still + x.still * y.still
    moving = (x.size + x.still) * y.moving + (y.size + y.still) * x.moving
    moving += x.slope * y.still + y.slope * x.still
    return _Bounds(lowest, max(corners), x.size * y.slope + y.size * x.slope, still, moving).rounded()
