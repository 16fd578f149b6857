"""Products with the inverse of a matrix by the inverse of its triangular factor.

``M^-1 b = L^-1 D^-1 L^-T b`` takes about as many products as with the inverse itself, and is there sooner:
the columns of ``L^-1`` do not wait for the last reciprocal, which is followed by two products and a sum.
Where the last two blocks are eliminated together, ``L^-T b`` of the last one is scaled by the determinant of
the other, so that it waits for neither reciprocal (:class:`rbdhw.dynamics.factorization.Ahead`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.factorization import Block, Factors, Places, Rows, accumulate, reduce_columns
from rbdhw.scalar import Scalar, inner_product


@dataclass(frozen=True)
class Columns:
    """The columns of ``L^-1`` of a block's ``members``, which have an entry for each of ``rows``.

    ``scaled`` are the columns times a number, and ``adjugate`` times ``factor`` is the inverse of the block
    of ``D`` divided by it.
    """

    members: tuple[int, ...]
    rows: list[int]
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
    """Return the inverse of the triangular factor."""
    blocks: list[Columns] = []
    lower: tuple[Rows, Block] | None = None
    for block, rows, before, entries in accumulate(factors):
        ahead, columns = block.ahead, [[entries[i][member] for i in rows] for member in block.members]
        if ahead is None or lower is None:
            blocks.append(Columns(block.members, rows, columns, columns, block.adjugate, block.factor))
        else:
            times = reduce_columns(factors, *lower, ahead.numerators, ahead.determinant)
            scaled = [[times[i][member] for i in rows] for member in block.members]
            blocks.append(Columns(block.members, rows, columns, scaled, ahead.adjugate, block.factor))
        lower = before, block
    return TriangularInverse(tuple(blocks), factors.places)
