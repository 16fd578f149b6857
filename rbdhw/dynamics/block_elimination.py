"""Symmetric block systems solved in rounds, so that the longest path grows with the logarithm of their size.

Unknowns are grouped in nodes. Two nodes are neighbours if a block of the matrix couples them. *Reduction*
eliminates nodes that are no neighbours of each other in one round: of a chain every second node, which is
cyclic reduction, and of a tree its leaves and the nodes between two others. The unknowns follow in the
opposite order. *Elimination* eliminates all nodes of a chain from each other's rows in every round, which
leaves one node a row, without a way back; it takes more work. Source: Heller, "Some aspects of the cyclic
reduction algorithm for block tridiagonal linear systems" (1976). Blocks are factorized as ``L D L^T``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rbdhw.scalar import Scalar, inner_product, reciprocal, region

Rows = list[list[Scalar]]

Pair = tuple[int, int]


@dataclass(frozen=True)
class NodePivot:
    """An eliminated node: ``L`` (below its diagonal), ``1 / D``, and what they make of the node's row.

    ``blocks`` has for each neighbour ``L^-1 B`` with ``B`` the block that couples it, and ``right`` is
    ``L^-1 b``.
    """

    lower: Rows
    factors: list[Scalar]
    blocks: dict[int, Rows]
    right: list[Scalar]

    def solve(self, known: Mapping[int, Sequence[Scalar]]) -> list[Scalar]:
        """Return the node's unknowns from those of its neighbours."""
        unknowns = list(self.right)
        for neighbour, block in self.blocks.items():
            unknowns = [
                x - inner_product(row, known[neighbour]) for x, row in zip(unknowns, block, strict=True)
            ]
        unknowns = [x * factor for x, factor in zip(unknowns, self.factors, strict=True)]
        for i in reversed(range(len(unknowns))):
            for j in range(i + 1, len(unknowns)):
                unknowns[i] = unknowns[i] - self.lower[j][i] * unknowns[j]
        return unknowns


Eliminated = tuple[int, NodePivot]
"""A node and its pivot."""


class BlockSystem:
    """A symmetric positive definite system.

    ``diagonal`` is the block of each node; only its lower triangle is read. ``coupling`` is the block of each
    pair of neighbours ``(i, j)`` with ``i > j``: rows of ``i``, columns of ``j``. ``right`` is the right side
    of each node.
    """

    def __init__(
        self, diagonal: Sequence[Rows], coupling: Mapping[Pair, Rows], right: Sequence[list[Scalar]]
    ):
        self._diagonal = [[list(row) for row in block] for block in diagonal]
        self._right = [list(rows) for rows in right]
        self._coupling = dict(coupling)
        self._neighbours: list[set[int]] = [set() for _ in diagonal]
        for i, j in coupling:
            self._neighbours[i].add(j)
            self._neighbours[j].add(i)

    def reduce(self) -> list[list[Scalar]]:
        """Return the unknowns of each node by reduction."""
        order = self._reduce(set(range(len(self._right))), until_chains=False)
        return self._back(order, {})

    def eliminate(self) -> list[list[Scalar]]:
        """Return the unknowns of each node by elimination, after a reduction of branches to chains."""
        left = set(range(len(self._right)))
        order = self._reduce(left, until_chains=True)
        while any(self._neighbours[i] for i in left):
            self._eliminate_all(sorted(left))
        known = {i: self._pivot(i).solve({}) for i in sorted(left)}
        return self._back(order, known)

    def _reduce(self, left: set[int], until_chains: bool) -> list[Eliminated]:
        """Eliminate nodes round by round, and remove them from ``left``; return them in order."""
        order: list[Eliminated] = []
        while left and not (until_chains and all(self._on_chain(i) for i in left)):
            for i in self._independent(left):
                pivot = self._pivot(i)
                with region("reduction", i):
                    self._update(pivot)
                self._disconnect(i)
                left.remove(i)
                order.append((i, pivot))
        return order

    def _back(self, order: list[Eliminated], known: dict[int, list[Scalar]]) -> list[list[Scalar]]:
        """Find the unknowns of eliminated nodes, the last one first."""
        for i, pivot in reversed(order):
            with region("substitution", i):
                known[i] = pivot.solve(known)
        return [known[i] for i in range(len(self._right))]

    def _independent(self, left: set[int]) -> list[int]:
        """Return nodes that are no neighbours of each other, those with the fewest neighbours first."""
        count = {i: len(self._neighbours[i]) for i in left}
        # An elimination couples all neighbours of a node with each other. Of two of them
        # neither gains one.
        most = max(2, min(count.values()))
        chosen: list[int] = []
        # Fewest neighbours first: leaves go before what they hang from, which then has fewer neighbours, too.
        for i in sorted(left, key=lambda i: (count[i], i)):
            if count[i] <= most and not self._neighbours[i].intersection(chosen):
                chosen.append(i)
        return chosen

    def _on_chain(self, i: int) -> bool:
        """Return whether a node has up to two neighbours, which are no neighbours of each other."""
        match sorted(self._neighbours[i]):
            case [] | [_]:
                return True
            case [one, other]:
                return other not in self._neighbours[one]
            case _:
                return False

    def _pivot(self, i: int) -> NodePivot:
        """Factorize a node's block and apply its factor to the node's row."""
        with region("pivot", i):
            lower, factors = _factorize(self._diagonal[i])
            blocks = {}
            for j in sorted(self._neighbours[i]):
                columns = zip(*self._block(i, j), strict=True)
                solved = [_forward(lower, list(column)) for column in columns]
                blocks[j] = [list(row) for row in zip(*solved, strict=True)]
            return NodePivot(lower, factors, blocks, _forward(lower, self._right[i]))

    def _update(self, pivot: NodePivot) -> None:
        """Subtract from the rows of a node's neighbours what its elimination takes from them."""
        for j, block in pivot.blocks.items():
            scaled = [[x * factor for x in row] for row, factor in zip(block, pivot.factors, strict=True)]
            columns = [list(column) for column in zip(*scaled, strict=True)]
            for a, column in enumerate(columns):
                self._right[j][a] = self._right[j][a] - inner_product(column, pivot.right)
            for k, other in pivot.blocks.items():
                if k > j:
                    continue
                rows = list(zip(*other, strict=True))
                change = [
                    [inner_product(column, row) for row in (rows[: a + 1] if k == j else rows)]
                    for a, column in enumerate(columns)
                ]
                if k == j:
                    self._diagonal[j] = _minus(self._diagonal[j], change)
                else:
                    self._couple(j, k, change)

    def _eliminate_all(self, nodes: list[int]) -> None:
        """Eliminate every node of some chains from the rows of its neighbours."""
        # All pivots come before the first update, so that none of their reciprocals waits for another one.
        pivots = [self._pivot(i) for i in nodes]
        for i in nodes:
            self._disconnect(i)
        self._coupling.clear()
        for i, pivot in zip(nodes, pivots, strict=True):
            with region("elimination", i):
                self._update(pivot)

    def _couple(self, i: int, j: int, change: Rows) -> None:
        """Subtract from the block of two nodes, which become neighbours if they are not."""
        nothing = [[0.0] * len(row) for row in change]
        self._coupling[i, j] = _minus(self._coupling.get((i, j), nothing), change)
        self._neighbours[i].add(j)
        self._neighbours[j].add(i)

    def _block(self, i: int, j: int) -> Rows:
        """Return the block with the rows of ``i`` and the columns of ``j``."""
        if i > j:
            return self._coupling[i, j]
        return [list(row) for row in zip(*self._coupling[j, i], strict=True)]

    def _disconnect(self, i: int) -> None:
        for j in self._neighbours[i]:
            self._neighbours[j].remove(i)
        self._neighbours[i] = set()


def _factorize(block: Rows) -> tuple[Rows, list[Scalar]]:
    """Return ``L`` and ``1 / D`` with ``L D L^T`` a block, from its lower triangle."""
    rest = [list(row) for row in block]
    factors: list[Scalar] = []
    lower: Rows = [[0.0] * len(rest) for _ in rest]
    for k in range(len(rest)):
        factors.append(reciprocal(rest[k][k]))
        for i in range(k + 1, len(rest)):
            lower[i][k] = rest[i][k] * factors[k]
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - lower[i][k] * rest[j][k]
    return lower, factors


def _forward(lower: Rows, right: list[Scalar]) -> list[Scalar]:
    """Return ``L^-1 b``."""
    solution = list(right)
    for i in range(len(solution)):
        for j in range(i):
            solution[i] = solution[i] - lower[i][j] * solution[j]
    return solution


def _minus(block: Rows, change: Rows) -> Rows:
    """Return a block less a change, which may have its lower triangle only."""
    return [
        [x - less[j] if j < len(less) else x for j, x in enumerate(row)]
        for row, less in zip(block, change, strict=True)
    ]
