"""Powers of two that float code holds within its values, so that few sums multiply a term by one.

Edges of a graph shift values, which costs hardware nothing. In floating point a shifted term takes a
multiplication, or the fused one that another product of the sum would have had. Most shifts come from
constants, of which nodes hold mantissas. So each value is held with a power of two of its own, which rounds
nothing, such that the terms of most sums have the same one.
"""

from __future__ import annotations

from collections.abc import Collection

from rbdhw.graph.graph import Graph, Op

MOST = 40
"""The largest exponent. With larger ones, products in single precision could leave its range."""


def exponents(graph: Graph, within_sums: Collection[int]) -> list[int]:
    """Return for each node the binary logarithm of what C multiplies its value by.

    Nodes ``within_sums`` are factors in sums, which may have any power of two. Inputs, sines and cosines are
    as they are. Other nodes are bound to their arguments; of contradicting bonds the first counts.
    """
    bonds = _Bonds(len(graph.nodes))
    for i, node in enumerate(graph.nodes):
        args = [edge.node for edge in node.args]
        match node.op:
            case Op.INPUT | Op.SIN | Op.COS | Op.CONSTANT:
                bonds.ground(i, 0)
            case Op.MULTIPLY:
                known, other = args if bonds.is_grounded(args[0]) else reversed(args)
                bonds.bind(i, other, bonds.grounded(known))
            case Op.RECIPROCAL:
                bonds.ground(i, -bonds.grounded(args[0]))
            case Op.ADD | Op.ROUND | Op.SELECT:
                for edge in node.args[node.op is Op.SELECT :]:
                    if graph.nodes[edge.node].op is not Op.CONSTANT and edge.node not in within_sums:
                        bonds.bind(i, edge.node, -edge.shift)
            case Op.SCALE:
                pass
    exponents = [bonds.grounded(i) for i in range(len(graph.nodes))]
    return exponents if max(map(abs, exponents), default=0) <= MOST else [0] * len(graph.nodes)


class _Bonds:
    """Exponents that differ by known numbers: trees, whose roots are free but for one, the ground."""

    def __init__(self, nodes: int) -> None:
        self._ground = nodes
        self._above, self._more = list(range(nodes + 1)), [0] * (nodes + 1)

    def bind(self, one: int, other: int, more: int) -> None:
        """Let the exponent of ``one`` be that of ``other`` and ``more``, unless it is bound otherwise."""
        (root, offset), (other_root, other_offset) = self._find(one), self._find(other)
        difference = other_offset + more - offset
        if root == self._ground:
            root, other_root, difference = other_root, root, -difference
        if root != other_root:
            self._above[root], self._more[root] = other_root, difference

    def ground(self, node: int, exponent: int) -> None:
        self.bind(node, self._ground, exponent)

    def is_grounded(self, node: int) -> bool:
        return self._find(node)[0] == self._ground

    def grounded(self, node: int) -> int:
        """Return an exponent; one that is still free becomes zero."""
        self.ground(node, 0)
        return self._find(node)[1]

    def _find(self, node: int) -> tuple[int, int]:
        """Return the root of a node, and how much more its exponent is; shorten the way there."""
        way = []
        while self._above[node] != node:
            way.append(node)
            node = self._above[node]
        offset = 0
        for passed in reversed(way):
            offset += self._more[passed]
            self._above[passed], self._more[passed] = node, offset
        return node, offset
