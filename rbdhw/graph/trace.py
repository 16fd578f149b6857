"""The recording scalar: arithmetic with it creates nodes of a graph."""

from __future__ import annotations

from dataclasses import replace

from rbdhw.graph.graph import Edge, GraphBuilder
from rbdhw.scalar import current_region


class Signal:
    """A recorded number: an edge of the graph under construction.

    Signals mix with floats. A product with 0.0 is the float 0.0, and a result that is constant is a float
    again, so zeros and ones are folded wherever the algorithm uses them.
    """

    __slots__ = ("builder", "edge")
    __array_ufunc__ = None

    def __init__(self, builder: GraphBuilder, edge: Edge) -> None:
        self.builder = builder
        self.edge = edge

    def __add__(self, other: Signal | float) -> Signal | float:
        if other.__class__ is float and other == 0.0:
            self.builder.constant(other, current_region())
            return self
        return self._wrap(self.builder.add(self.edge, self._edge(other), current_region()))

    __radd__ = __add__

    def __neg__(self) -> Signal:
        return Signal(self.builder, self.edge.negated())

    def __sub__(self, other: Signal | float) -> Signal | float:
        return self._wrap(self.builder.add(self.edge, self._edge(other).negated(), current_region()))

    def __rsub__(self, other: float) -> Signal | float:
        return -self + other

    def __mul__(self, other: Signal | float) -> Signal | float:
        # Most factors of transforms are structural zeros and ones. They keep their nodes, for the same order.
        if other.__class__ is float and (other == 0.0 or other == 1.0):
            self.builder.constant(other, current_region())
            return self if other else 0.0
        return self._wrap(self.builder.multiply(self.edge, self._edge(other), current_region()))

    __rmul__ = __mul__

    def reciprocal(self) -> Signal | float:
        return self._wrap(self.builder.reciprocal(self.edge, current_region()))

    def label(self, quantity: str) -> None:
        """Name the quantity of this number, if the current region computes it and it has no name yet."""
        node = self.builder.nodes[self.edge.node]
        if (
            node.args
            and not self.edge.negative
            and node.region == current_region()
            and not node.region.quantity
        ):
            region = replace(node.region, quantity=quantity)
            self.builder.nodes[self.edge.node] = node._replace(region=region)

    def _edge(self, other: Signal | float) -> Edge:
        if isinstance(other, Signal):
            return other.edge
        return self.builder.constant(float(other), current_region())

    def _wrap(self, edge: Edge) -> Signal | float:
        known = self.builder.constant_value(edge)
        return Signal(self.builder, edge) if known is None else known


def equal(one: Signal | float, other: Signal | float) -> bool:
    """Return whether two scalars are the same edge of a graph, or the same number."""
    if isinstance(one, Signal) and isinstance(other, Signal):
        return one.edge == other.edge
    return not (isinstance(one, Signal) or isinstance(other, Signal)) and one == other


class Recorder:
    """Creates the inputs and outputs of a graph that is being traced."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.outputs: list[tuple[str, Edge]] = []

    def input(self, name: str) -> Signal:
        return Signal(self.builder, self.builder.input(name, current_region()))

    def cos_sin(self, turns: Signal | float, offset: float) -> tuple[Signal | float, Signal | float]:
        """Return cosine and sine of an angle in turns plus a constant offset in turns."""
        make = self.builder
        # The angle is constant if a joint mimics another with the factor zero.
        if isinstance(turns, Signal):
            angle = turns
        else:
            angle = Signal(make, make.constant(turns, current_region()))
        return (
            angle._wrap(make.cos(angle.edge, offset, current_region())),
            angle._wrap(make.sin(angle.edge, offset, current_region())),
        )

    def select(self, flag: Signal | bool, a: Signal | float, b: Signal | float) -> Signal | float:
        """Return ``a`` if ``flag`` is 1 and ``b`` if it is 0; a flag that is a bool selects at once."""
        if isinstance(flag, bool):
            return a if flag else b
        x, y = (flag._edge(value) for value in (a, b))
        return flag._wrap(self.builder.select(flag.edge, x, y, current_region()))

    def rounded(self, value: Signal | float) -> Signal | float:
        """Return a number with a format of its own, which products may read."""
        if not isinstance(value, Signal):
            return value
        return value._wrap(self.builder.round(value.edge, current_region()))

    def output(self, name: str, value: Signal | float) -> None:
        edge = value.edge if isinstance(value, Signal) else self.builder.constant(value, current_region())
        self.outputs.append((name, edge))
