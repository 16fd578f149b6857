"""The mass matrix as ``L^T D L`` in joint space, its inverse, and solves with the factors.

Degrees of freedom are eliminated from the leaves to the root, which fills in nothing outside pairs of
ancestor and descendant (Featherstone, *Rigid Body Dynamics Algorithms*, section 6.5). ``D`` has blocks of
one or of two degrees of freedom. Reciprocals are kept off the critical path:

- A block of two is inverted by its adjugate with one reciprocal, and what the next pivot needs is multiplied
  out while the reciprocal is on its way.
- A root that is left alone above a block of two, ``h - n/d``, is inverted as ``d (1 / (h d - n))``, whose
  reciprocal does not wait for that of ``d``.
- Pivots that are known numbers (the inertia of a last link about its own axis) go first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.pivots import ROOT, Group, groups
from rbdhw.scalar import Scalar, reciprocal, region

Rows = list[list[Scalar]]


@dataclass(frozen=True)
class Block:
    """One or two degrees of freedom eliminated together.

    ``members`` from the leaf on, ``above`` their common ancestors from the nearest on, ``adjugate`` times
    ``factor`` the inverse of the block of ``D``, and ``rows`` the members' rows of ``L`` at the columns
    ``above``.
    """

    members: Group
    above: tuple[int, ...]
    adjugate: Rows
    factor: Scalar
    rows: Rows

    def solved(self, vector: Sequence[Scalar]) -> list[Scalar]:
        """The inverse of the block of ``D`` times a vector; at a root the reciprocal comes last."""
        if len(self.members) == 2 and not self.above:
            return [x * self.factor for x in _product(vector, self.adjugate)]
        return _product(vector, _scaled(self.adjugate, self.factor))


@dataclass(frozen=True)
class Factors:
    """The blocks of a matrix of ``size`` rows, in the order of their elimination."""

    size: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Pivot:
    """A block of ``D``, as its inverse is found: adjugate, and determinant."""

    adjugate: Rows
    determinant: Scalar


def factorize(parents: Sequence[int], matrix: Rows, paired: bool) -> Factors:
    """The factors of a symmetric positive definite matrix.

    Parameters
    ----------
    parents
        For each degree of freedom the one before it toward the root, a smaller number, or -1.
    matrix
        Rows; entries [i][j] with j <= i are read, where j is i or an ancestor of i.
    paired
        Whether degrees of freedom are eliminated together where that shortens the longest chain of
        reciprocals (:mod:`rbdhw.dynamics.pivots`). A pivot that is a float is known, and its reciprocal free.
    """
    work = _Elimination(parents, matrix)
    if not paired:
        for i in reversed(range(len(parents))):
            work.eliminate((i,))
        return work.factors
    known = work.eliminate_known()
    order = groups(parents, known)
    group_of = {i: group for group in order for i in group}
    for group in order:
        above = parents[group[-1]]
        following = () if above == ROOT else group_of[above]
        if len(group) == 3:
            work.eliminate_root(group)
        else:
            work.eliminate(group, following)
    return work.factors


def inverse(factors: Factors) -> Rows:
    """Rows of the lower triangle of the inverse.

    ``L^-1`` is accumulated from the leaves on (``P - (P e_k) l_k^T``), and so follows the elimination.
    """
    n = factors.size
    accumulated: Rows = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    result: Rows = [[0.0] * (i + 1) for i in range(n)]
    below: dict[int, list[int]] = {i: [i] for i in range(n)}
    for block in factors.blocks:
        rows = sorted({i for member in block.members for i in below[member]})
        for ancestor in block.above:
            below[ancestor] += block.members
        for i in rows:
            with region("inverse", i):
                for place, member in enumerate(block.members):
                    for column, ancestor in enumerate(block.above):
                        known = accumulated[i][member] * block.rows[place][column]
                        accumulated[i][ancestor] = accumulated[i][ancestor] - known
        for i in rows:
            with region("inverse", i):
                shares = block.solved([accumulated[i][member] for member in block.members])
                for j in (j for j in rows if j <= i):
                    for share, member in zip(shares, block.members, strict=True):
                        result[i][j] = result[i][j] + share * accumulated[j][member]
    return result


def solve(factors: Factors, right: Sequence[Scalar]) -> list[Scalar]:
    """``x`` with ``matrix x = right``."""
    x = list(right)
    for block in factors.blocks:
        with region("solve", block.members[-1]):
            for row, member in zip(block.rows, block.members, strict=True):
                for entry, ancestor in zip(row, block.above, strict=True):
                    x[ancestor] = x[ancestor] - entry * x[member]
    for block in reversed(factors.blocks):
        with region("solve", block.members[-1]):
            own = block.solved([x[member] for member in block.members])
            for value, row, member in zip(own, block.rows, block.members, strict=True):
                for entry, ancestor in zip(row, block.above, strict=True):
                    value = value - entry * x[ancestor]
                x[member] = value
    return x


class _Elimination:
    """A matrix from which block after block is taken out."""

    def __init__(self, parents: Sequence[int], matrix: Rows) -> None:
        self._parents = parents
        self._lower = [list(row) for row in matrix]
        self._blocks: list[Block] = []

    @property
    def factors(self) -> Factors:
        """The blocks taken out."""
        return Factors(len(self._parents), tuple(self._blocks))

    def eliminate_known(self) -> set[int]:
        """Take out the degrees of freedom whose pivots are floats, and say which they are."""
        waiting = set(range(len(self._parents)))
        for i in reversed(range(len(self._parents))):
            free = all(self._parents[child] != i for child in waiting)
            if free and isinstance(self._lower[i][i], float):
                self.eliminate((i,))
                waiting.remove(i)
        return set(range(len(self._parents))) - waiting

    def eliminate(self, members: Group, following: Sequence[int] = ()) -> None:
        """Take out one degree of freedom, or a child and its parent."""
        with region("factorization", members[-1]):
            self._take(members, self._pivot(members), following)

    def eliminate_root(self, members: Group) -> None:
        """Take out a root with a child and a grandchild: two blocks, whose reciprocals do not wait."""
        root = members[2]
        with region("factorization", root):
            lowest = self._pivot(members[:2])
            coupling = [self._entry(k, root) for k in members[:2]]
            change = _dot(_product(coupling, lowest.adjugate), coupling)
            last = Pivot([[lowest.determinant]], self._entry(root, root) * lowest.determinant - change)
            self._take(members[:2], lowest, (root,))
            self._take((root,), last, ())

    def _take(self, members: Group, pivot: Pivot, following: Sequence[int]) -> None:
        """Take out a block; entries among ``following`` do not wait for the rows of L."""
        above = self._ancestors(members[-1])
        coupling = {i: [self._entry(k, i) for k in members] for i in above}
        factor = reciprocal(pivot.determinant)
        whole = _scaled(pivot.adjugate, factor)
        early = {i: _product(coupling[i], pivot.adjugate) for i in above if i in following}
        rows = {
            i: [x * factor for x in early[i]] if i in early else _product(coupling[i], whole) for i in above
        }
        for a, i in enumerate(above):
            for j in above[a:]:
                if i in early and j in early:
                    change = _dot(early[i], coupling[j]) * factor
                else:
                    change = _dot(rows[i], coupling[j])
                self._lower[i][j] = self._lower[i][j] - change
        by_member = [[rows[i][place] for i in above] for place in range(len(members))]
        self._blocks.append(Block(members, above, pivot.adjugate, factor, by_member))

    def _pivot(self, members: Group) -> Pivot:
        if len(members) == 1:
            return Pivot([[1.0]], self._entry(members[0], members[0]))
        leaf, top = members
        a, b, c = self._entry(leaf, leaf), self._entry(leaf, top), self._entry(top, top)
        return Pivot([[c, -1.0 * b], [-1.0 * b, a]], a * c - b * b)

    def _entry(self, i: int, j: int) -> Scalar:
        return self._lower[max(i, j)][min(i, j)]

    def _ancestors(self, i: int) -> tuple[int, ...]:
        """From the parent to the root."""
        line = []
        while (i := self._parents[i]) != ROOT:
            line.append(i)
        return tuple(line)


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    return sum((a * b for a, b in zip(x, y, strict=True)), 0.0)


def _product(vector: Sequence[Scalar], matrix: Rows) -> list[Scalar]:
    """A row vector times a symmetric matrix."""
    return [_dot(vector, column) for column in matrix]


def _scaled(matrix: Rows, factor: Scalar) -> Rows:
    return [[entry * factor for entry in row] for row in matrix]
