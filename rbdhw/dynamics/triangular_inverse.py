"""Products with the inverse of a matrix by the inverse of its triangular factor.

``M^-1 b = L^-1 D^-1 L^-T b`` takes about as many products as with the inverse itself, and is there sooner:
the columns of ``L^-1`` do not wait for the last reciprocal, which is followed by two products and a sum.
Where the last two blocks are eliminated together, ``L^-T b`` of the last one is scaled by the determinant of
the other, so that it waits for neither reciprocal (:class:`rbdhw.dynamics.factorization.Ahead`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rbdhw.dynamics.factorization import Ahead, Block, Factors, Places, Rows
from rbdhw.scalar import Scalar, inner_product


@dataclass(frozen=True)
class Columns:
    """The columns of ``L^-1`` of a block's ``members``, which have an entry for each of ``rows``.

    ``scaled`` are the columns times a number, and ``adjugate`` times ``factor`` is the inverse of the block
    of ``D`` divided by it.
    """

    members: tuple[int, ...]
    rows: tuple[int, ...]
    entries: Rows
    scaled: Rows
    adjugate: Rows
    factor: Scalar

    def shares(self, right: Sequence[Scalar]) -> list[Scalar]:
        """Return the entries of ``D^-1 L^-T right`` of the members."""
        sums = [inner_product(column, [right[i] for i in self.rows]) for column in self.scaled]
        return [inner_product(sums, row) * self.factor for row in self.adjugate]


@dataclass(frozen=True)
class TriangularInverse:
    """The columns of ``L^-1`` for each block of the factors of a matrix."""

    blocks: tuple[Columns, ...]
    places: Places

    def times(self, right: Sequence[Scalar]) -> list[Scalar]:
        """Return the inverse of the matrix times a vector."""
        terms: list[list[tuple[Scalar, Scalar]]] = [[] for _ in right]
        for block in self.blocks:
            with self.places.region("solve", block.members[-1]):
                shares = block.shares(right)
            for k, i in enumerate(block.rows):
                terms[i] += [(column[k], share) for column, share in zip(block.entries, shares, strict=True)]
        result = []
        for i, products in enumerate(terms):
            with self.places.region("inverse_product", i):
                result.append(inner_product(*zip(*products, strict=True)))
        return result


def triangular_inverse(factors: Factors) -> TriangularInverse:
    """Return the inverse of the triangular factor, accumulated from the leaves on."""
    n = range(factors.size)
    entries: Rows = [[1.0 if i == j else 0.0 for j in n] for i in n]
    reached = [{i} for i in n]
    blocks = []
    before: Rows | None = None
    for block, following in zip_longest(factors.blocks, factors.blocks[1:]):
        rows = tuple(sorted(set().union(*(reached[member] for member in block.members))))
        columns = _columns(entries, rows, block)
        if before is None or block.ahead is None:
            blocks.append(Columns(block.members, rows, columns, columns, block.adjugate, block.factor))
        else:
            scaled = _columns(before, rows, block)
            blocks.append(Columns(block.members, rows, columns, scaled, block.ahead.adjugate, block.factor))
        ahead = None if following is None else following.ahead
        before = None if ahead is None else _reduced(factors, entries, block, ahead)
        entries = _reduced(factors, entries, block)
        for ancestor in block.above:
            reached[ancestor].update(rows)
    return TriangularInverse(tuple(blocks), factors.places)


def _columns(entries: Rows, rows: Sequence[int], block: Block) -> Rows:
    return [[entries[i][member] for i in rows] for member in block.members]


def _reduced(factors: Factors, entries: Rows, block: Block, ahead: Ahead | None = None) -> Rows:
    """Return entries less a block's share of those above it; with ``ahead`` times its determinant."""
    result = [list(row) for row in entries]
    factor, shares = (1.0, block.rows) if ahead is None else (ahead.determinant, ahead.numerators)
    for i, row in enumerate(result):
        with factors.region("inverse", i):
            for column, ancestor in enumerate(block.above):
                row[ancestor] = row[ancestor] * factor
                for member, share in zip(block.members, shares, strict=True):
                    row[ancestor] = row[ancestor] - row[member] * share[column]
    return result
