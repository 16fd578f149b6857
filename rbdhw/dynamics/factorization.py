"""The mass matrix as ``L^T D L`` in joint space, its inverse, and solves with the factors.

Degrees of freedom are eliminated from the leaves to the root, which fills in nothing outside pairs of
ancestor and descendant (Featherstone, *Rigid Body Dynamics Algorithms*, section 6.5). ``D`` has blocks of
one or of two degrees of freedom. A block of two is inverted by its adjugate with one reciprocal, so that
pairing a degree of freedom with its parent halves the chain of reciprocals from leaf to root, and what the
next pivot needs is multiplied out while the reciprocal is on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.scalar import Scalar, reciprocal, region

Rows = list[list[Scalar]]

ROOT = -1


@dataclass(frozen=True)
class Block:
    """Degrees of freedom eliminated together.

    ``members`` from the leaf on, ``above`` their common ancestors from the nearest on, ``inverse`` the
    inverse of the block of ``D``, and ``rows`` the members' rows of ``L`` at the columns ``above``.
    """

    members: tuple[int, ...]
    above: tuple[int, ...]
    inverse: Rows
    rows: Rows


@dataclass(frozen=True)
class Factors:
    """The blocks of a matrix of ``size`` rows, in the order of their elimination."""

    size: int
    blocks: tuple[Block, ...]


def factorize(parents: Sequence[int], matrix: Rows, paired: bool) -> Factors:
    """The factors of a symmetric positive definite matrix.

    Parameters
    ----------
    parents
        For each degree of freedom the one before it toward the root, a smaller number, or -1.
    matrix
        Rows; entries [i][j] with j <= i are read, where j is i or an ancestor of i.
    paired
        Whether degrees of freedom are eliminated in pairs where that shortens a chain of reciprocals.
    """
    lower = [list(row) for row in matrix]
    partner = _partners(parents) if paired else {}
    blocks = [_block(parents, top, partner) for top in _tops(parents, partner)]
    next_members = {members[-1]: members for members, _ in blocks}
    next_members |= {members[0]: members for members, _ in blocks}
    done = []
    for members, above in blocks:
        with region("factorization", members[-1]):
            following = next_members[above[0]] if paired and above else ()
            done.append(_eliminate(lower, members, above, following))
    return Factors(len(parents), tuple(done))


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
                scaled = _scaled([accumulated[i][member] for member in block.members], block.inverse)
                for j in (j for j in rows if j <= i):
                    for share, member in zip(scaled, block.members, strict=True):
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
            own = _scaled([x[member] for member in block.members], block.inverse)
            for value, row, member in zip(own, block.rows, block.members, strict=True):
                for entry, ancestor in zip(row, block.above, strict=True):
                    value = value - entry * x[ancestor]
                x[member] = value
    return x


def _scaled(vector: Sequence[Scalar], matrix: Rows) -> list[Scalar]:
    """A row vector times a symmetric matrix."""
    return [sum((x * y for x, y in zip(vector, column, strict=True)), 0.0) for column in matrix]


def _eliminate(
    lower: Rows, members: tuple[int, ...], above: tuple[int, ...], following: Sequence[int]
) -> Block:
    """Take a block out of the matrix; entries among ``following`` do not wait for the rows of L."""
    coupling = [[lower[max(k, i)][min(k, i)] for i in above] for k in members]
    adjugate, scale = _adjugate(lower, members)
    unscaled = [_scaled(row, adjugate) for row in zip(*coupling, strict=True)]
    factor = reciprocal(scale)
    rows = [[entry[place] * factor for entry in unscaled] for place in range(len(members))]
    for a, i in enumerate(above):
        for b, j in enumerate(above):
            if j > i:
                continue
            if i in following and j in following:
                product = sum((x * row[b] for x, row in zip(unscaled[a], coupling, strict=True)), 0.0)
                change = product * factor
            else:
                change = sum((left[a] * right[b] for left, right in zip(rows, coupling, strict=True)), 0.0)
            lower[i][j] = lower[i][j] - change
    return Block(members, above, [[entry * factor for entry in row] for row in adjugate], rows)


def _adjugate(lower: Rows, members: tuple[int, ...]) -> tuple[Rows, Scalar]:
    """Adjugate and determinant of a block of the matrix."""
    if len(members) == 1:
        return [[1.0]], lower[members[0]][members[0]]
    leaf, top = members
    a, b, c = lower[leaf][leaf], lower[leaf][top], lower[top][top]
    return [[c, -1.0 * b], [-1.0 * b, a]], a * c - b * b


def _block(
    parents: Sequence[int], top: int, partner: dict[int, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The members of the block with this degree of freedom nearest the root, and their ancestors."""
    above = []
    ancestor = parents[top]
    while ancestor != ROOT:
        above.append(ancestor)
        ancestor = parents[ancestor]
    return ((partner[top], top) if top in partner else (top,)), tuple(above)


def _tops(parents: Sequence[int], partner: dict[int, int]) -> list[int]:
    """The degree of freedom nearest the root of every block, leaves first."""
    leaves = set(partner.values())
    return [i for i in reversed(range(len(parents))) if i not in leaves]


def _partners(parents: Sequence[int]) -> dict[int, int]:
    """The child with which a degree of freedom is eliminated, where that shortens the chain above it.

    ``finished`` is the number of reciprocals in the longest chain up to and with a degree of freedom. A pair
    can go once all else that hangs from either is done.
    """
    children: dict[int, list[int]] = {i: [] for i in range(len(parents))}
    for i, parent in enumerate(parents):
        if parent != ROOT:
            children[parent].append(i)
    finished = [0] * len(parents)
    best: dict[int, int] = {}
    for i in reversed(range(len(parents))):
        below = [finished[child] for child in children[i]]
        finished[i] = 1 + max(below, default=0)
        for child in children[i]:
            waits = [finished[x] for x in (*children[child], *children[i]) if x != child]
            if 1 + max(waits, default=0) < finished[i]:
                finished[i], best[i] = 1 + max(waits, default=0), child
    return _consistent(parents, best)


def _consistent(parents: Sequence[int], best: dict[int, int]) -> dict[int, int]:
    """The pairs that hold from the root on: a child paired with its parent has no partner below."""
    taken: set[int] = set()
    partner = {}
    for i in range(len(parents)):
        if i in best and i not in taken:
            partner[i] = best[i]
            taken.add(best[i])
    return partner
