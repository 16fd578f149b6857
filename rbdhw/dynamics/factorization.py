"""The factorization ``L^T D L`` of the mass matrix in joint space, its inverse, and solves with the factors.

Degrees of freedom are eliminated from the leaves to the root, which fills in nothing outside pairs of
ancestor and descendant (Featherstone, *Rigid Body Dynamics Algorithms*, section 6.5). ``D`` has blocks of up
to three degrees of freedom. Reciprocals are kept off the critical path:

- A block is inverted by its adjugate with one reciprocal. On the longest chains, the products for the next
  pivot are computed while the reciprocal is in progress.
- The last block of a tree above another, ``H - N/d``, is inverted as ``d adj(d H - N) / det(d H - N)``, so
  its reciprocal does not wait for the reciprocal of ``d``. Determinants of such products have a wide range.
  Therefore either ``H`` is one degree of freedom or ``d`` varies little: the linear block of a floating base
  goes before its angular one, because the mass that it starts from is known.
- Pivots that are known numbers (the inertia of a last link about its own axis) go first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rbdhw.dynamics.pivots import ROOT, Group, awaited_bodies, elimination_parents, groups
from rbdhw.scalar import Scalar, inner_product, reciprocal, region

Rows = list[list[Scalar]]

Settle = Callable[[int, Scalar], Scalar]
"""Returns the entry to take at an index, given the one that solves the equations."""

Keep = Callable[[int, Scalar, float], Scalar]
"""Returns a number of the group at an index, or another one in its place: see :func:`factorize_choice`."""

FEW = 6
"""The number of rows of an inverse up to which a root's reciprocal is multiplied last."""


def as_solved(_: int, entry: Scalar) -> Scalar:
    """Return the entry that solves the equations."""
    return entry


@dataclass(frozen=True)
class Ahead:
    """The last block of a tree by numbers that do not wait for the reciprocal of the block below it.

    With the ``determinant`` ``d`` of that block, ``numerators`` are ``d`` times its rows of ``L``.
    ``adjugate`` times the factor of the last block is the inverse of the last block of ``D``, divided by
    ``d``.
    """

    determinant: Scalar
    numerators: Rows
    adjugate: Rows


@dataclass(frozen=True)
class Block:
    """Up to three degrees of freedom eliminated together.

    ``members`` are in order from the leaf, and ``above`` are their common ancestors from the nearest on.
    ``adjugate`` times ``factor`` is the inverse of the block of ``D``. ``rows`` are the members' rows of
    ``L`` at the columns ``above``. ``ahead`` is for a block that is eliminated together with the one before.
    """

    members: Group
    above: tuple[int, ...]
    adjugate: Rows
    factor: Scalar
    rows: Rows
    ahead: Ahead | None = None

    def solve(self, vector: Sequence[Scalar]) -> list[Scalar]:
        """Return the inverse of the block of ``D`` times a vector."""
        return _product(vector, _scale(self.adjugate, self.factor))

    def solve_late(self, vector: Sequence[Scalar]) -> list[Scalar]:
        """Do as :meth:`solve`, with the reciprocal multiplied last: less latency, some products more."""
        return [x * self.factor for x in _product(vector, self.adjugate)]


@dataclass(frozen=True)
class Places:
    """Where the steps of a matrix are computed: those of the mass matrix at the freedom of each row."""

    prefix: str = ""
    """What the names of steps begin with."""
    joints: tuple[int, ...] | None = None
    """The joint of each row, or None for its own number."""

    def region(self, step: str, row: int) -> AbstractContextManager[None]:
        """Return the region of a step at a row."""
        return region(self.prefix + step, row if self.joints is None else self.joints[row])


@dataclass(frozen=True)
class Factors:
    """The blocks of the factors of a matrix of ``size`` rows, in the order of their elimination."""

    size: int
    blocks: tuple[Block, ...]
    places: Places = Places()

    def region(self, step: str, row: int) -> AbstractContextManager[None]:
        """Return the region of a step at a row."""
        return self.places.region(step, row)


@dataclass(frozen=True)
class Pivot:
    """The adjugate and the determinant of a block of ``D``."""

    adjugate: Rows
    determinant: Scalar


def factorize(matrix: Rows, largest: int, apart: Collection[int] = ()) -> Factors:
    """Factorize a symmetric positive definite matrix.

    Degrees of freedom go from the last to the first along the matrix's elimination tree. Entries that are the
    float 0.0 are not coupled; uncoupled parts stay separate. Entries [i][j] of ``matrix`` with j <= i are
    read. ``largest`` is the most degrees of freedom to eliminate together: one, two or three. They are
    eliminated together if that shortens the longest chain of reciprocals
    (:func:`rbdhw.dynamics.pivots.groups`). A pivot that is a float is known, and its reciprocal costs
    nothing. ``apart`` are the degrees of freedom that are in no block with others than these.
    """
    parents = elimination_parents(matrix)
    work = _Elimination(parents, matrix)
    known = work.eliminate_known()
    steady = [i for i, row in enumerate(matrix) if isinstance(row[i], float)]
    order = groups(parents, known, largest, steady, apart)
    awaited = awaited_bodies(parents, order) if largest > 1 else [()] * len(order)
    for step, following in zip(order, awaited, strict=True):
        if len(step) == 1:
            work.eliminate(step[0], following)
        else:
            work.eliminate_both(*step)
    return work.factors


def factorize_choice(matrix: Rows, order: Sequence[Group], keep: Keep, places: Places) -> Factors:
    """Factorize a matrix of which some rows and columns count as those of the unit matrix.

    ``order`` has the groups in the order of elimination, from the last row to the first. ``keep`` returns a
    number of the group whose first row it is given if the group counts, and else the other number. An inverse
    of zero leaves all other rows as they are, and solves have zeros there.
    """
    work = _Elimination(range(-1, len(matrix) - 1), matrix, keep, places)
    for group in order:
        work.eliminate(group)
    return work.factors


def inverse(factors: Factors) -> Rows:
    """Return the rows of the lower triangle of the inverse."""
    result: Rows = [[0.0] * (i + 1) for i in range(factors.size)]
    for block, rows, _, entries in accumulate(factors):
        # The reciprocal of a root is the last number to be known. In few rows, the products with the adjugate
        # need not wait for it.
        few = len(rows) <= FEW and not block.above
        for i in rows:
            with factors.region("inverse", i):
                right = [entries[i][member] for member in block.members]
                shares = block.solve_late(right) if few else block.solve(right)
                for j in (j for j in rows if j <= i):
                    for share, member in zip(shares, block.members, strict=True):
                        result[i][j] = result[i][j] + share * entries[j][member]
    return result


def accumulate(factors: Factors) -> Iterator[tuple[Block, list[int], Rows, Rows]]:
    """Yield each block, the rows of ``L^-1`` in which it has columns, and ``L^-1`` before and after it.

    ``L^-1`` is accumulated from the leaves on (``P - (P e_k) l_k^T``), in step with the elimination.
    """
    n = range(factors.size)
    entries: Rows = [[1.0 if i == j else 0.0 for j in n] for i in n]
    below: dict[int, list[int]] = {i: [i] for i in n}
    for block in factors.blocks:
        rows = sorted({i for member in block.members for i in below[member]})
        for ancestor in block.above:
            below[ancestor] += block.members
        before, entries = entries, reduce_columns(factors, entries, block, block.rows)
        yield block, rows, before, entries


def reduce_columns(factors: Factors, entries: Rows, block: Block, shares: Rows, factor: Scalar = 1.0) -> Rows:
    """Return the rows of a matrix whose columns above a block lose ``shares`` of the block's columns.

    They are multiplied by a ``factor`` before.
    """
    result = [list(row) for row in entries]
    for i, row in enumerate(result):
        with factors.region("inverse", i):
            for ancestor in block.above:
                row[ancestor] = row[ancestor] * factor
            for member, share in zip(block.members, shares, strict=True):
                for ancestor, part in zip(block.above, share, strict=True):
                    row[ancestor] = row[ancestor] - row[member] * part
    return result


def solve(factors: Factors, right: Sequence[Scalar], settle: Settle = as_solved) -> list[Scalar]:
    """Return ``x`` with ``matrix x = right``.

    ``settle`` may give some of the first entries of ``x`` other values, in place of their equations: those of
    whole blocks. The others then solve the rest of the equations.
    """
    return ascend(factors, divide(factors, descend(factors, right)), settle)


def descend(factors: Factors, right: Sequence[Scalar]) -> list[Scalar]:
    """Return ``L^-T right``, from the leaves to the roots; zeros stay where no entry reaches them."""
    x = list(right)
    for block in factors.blocks:
        with factors.region("solve", block.members[-1]):
            for row, member in zip(block.rows, block.members, strict=True):
                for entry, ancestor in zip(row, block.above, strict=True):
                    x[ancestor] = x[ancestor] - entry * x[member]
    return x


def divide(factors: Factors, right: Sequence[Scalar]) -> list[Scalar]:
    """Return ``D^-1 right``."""
    x = list(right)
    for block in reversed(factors.blocks):
        with factors.region("solve", block.members[-1]):
            solved = block.solve([x[member] for member in block.members])
            for member, value in zip(block.members, solved, strict=True):
                x[member] = value
    return x


def ascend(factors: Factors, right: Sequence[Scalar], settle: Settle = as_solved) -> list[Scalar]:
    """Return ``L^-1 right``, from the roots to the leaves; ``settle`` as in :func:`solve`."""
    x = list(right)
    for block in reversed(factors.blocks):
        with factors.region("solve", block.members[-1]):
            for row, member in zip(block.rows, block.members, strict=True):
                value = x[member]
                for entry, ancestor in zip(row, block.above, strict=True):
                    value = value - entry * x[ancestor]
                x[member] = settle(member, value)
    return x


class _Elimination:
    """A matrix from which one block after another is eliminated."""

    def __init__(
        self, parents: Sequence[int], matrix: Rows, keep: Keep | None = None, places: Places = Places()
    ) -> None:
        self._parents, self._keep = parents, keep or (lambda _, entry, other: entry)  # noqa: ARG005
        self._places = places
        self._lower = [list(row) for row in matrix]
        self._blocks: list[Block] = []

    @property
    def factors(self) -> Factors:
        """The blocks eliminated so far."""
        return Factors(len(self._parents), tuple(self._blocks), self._places)

    def eliminate_known(self) -> set[int]:
        """Eliminate the degrees of freedom whose pivots are floats, and return them."""
        waiting = set(range(len(self._parents)))
        for i in reversed(range(len(self._parents))):
            free = all(self._parents[child] != i for child in waiting)
            if free and isinstance(self._lower[i][i], float):
                self.eliminate((i,))
                waiting.remove(i)
        return set(range(len(self._parents))) - waiting

    def eliminate(self, members: Group, following: Sequence[int] = ()) -> None:
        """Eliminate a group; updates of entries among ``following`` do not wait for the rows of L."""
        with self._places.region("factorization", members[-1]):
            above = self._ancestors(members[-1])
            coupling = self._coupling(members, above)
            pivot = _pivot(self._within(members))
            factor = reciprocal(self._keep(members[-1], pivot.determinant, 1.0))
            factor = self._keep(members[-1], factor, 0.0)
            whole = _scale(pivot.adjugate, factor)
            # The next pivots wait for these entries: their products go on while the reciprocal is in
            # progress, and a single one follows it.
            early = {i: _product(coupling[i], pivot.adjugate) for i in above if i in following}
            rows = {
                i: [x * factor for x in early[i]] if i in early else _product(coupling[i], whole)
                for i in above
            }
            for a, i in enumerate(above):
                for j in above[a:]:
                    if i in early and j in early:
                        change = inner_product(early[i], coupling[j]) * factor
                    else:
                        change = inner_product(rows[i], coupling[j])
                    self._set(i, j, self._entry(i, j) - change)
            self._blocks.append(Block(members, above, pivot.adjugate, factor, _by_member(members, rows)))

    def eliminate_both(self, first: Group, last: Group) -> None:
        """Eliminate the last two groups of a tree; their reciprocals do not wait for each other."""
        with self._places.region("factorization", last[-1]):
            coupling = self._coupling(first, last)
            pivot = _pivot(self._within(first))
            early = {i: _product(coupling[i], pivot.adjugate) for i in last}
            # d H - N in place of H - N / d: its determinant does not wait for the reciprocal of d.
            rest = [
                [
                    self._entry(i, j) * pivot.determinant - inner_product(early[i], coupling[j])
                    for j in last[: k + 1]
                ]
                for k, i in enumerate(last)
            ]
            scaled = _pivot(rest)
            factor = reciprocal(pivot.determinant)
            rows = {i: [x * factor for x in early[i]] for i in last}
            self._blocks.append(Block(first, last, pivot.adjugate, factor, _by_member(first, rows)))
            adjugate = _scale(scaled.adjugate, pivot.determinant)
            factor = reciprocal(scaled.determinant)
            ahead = Ahead(pivot.determinant, _by_member(first, early), scaled.adjugate)
            self._blocks.append(Block(last, (), adjugate, factor, _by_member(last, {}), ahead))

    def _coupling(self, members: Group, above: Sequence[int]) -> dict[int, list[Scalar]]:
        """Return for each ancestor its entries with the members."""
        return {i: [self._entry(k, i) for k in members] for i in above}

    def _within(self, members: Group) -> Rows:
        """Return the lower triangle of a group's block."""
        return [[self._entry(i, j) for j in members[: a + 1]] for a, i in enumerate(members)]

    def _set(self, i: int, j: int, entry: Scalar) -> None:
        self._lower[max(i, j)][min(i, j)] = entry

    def _entry(self, i: int, j: int) -> Scalar:
        return self._lower[max(i, j)][min(i, j)]

    def _ancestors(self, i: int) -> tuple[int, ...]:
        """Return the ancestors of ``i`` from the parent to the root."""
        line = []
        while (i := self._parents[i]) != ROOT:
            line.append(i)
        return tuple(line)


def _pivot(lower: Rows) -> Pivot:
    """Return adjugate and determinant of a block of up to three rows, from its lower triangle."""
    match lower:
        case [[a]]:
            return Pivot([[1.0]], a)
        case [[a], [b, c]]:
            return Pivot([[c, -1.0 * b], [-1.0 * b, a]], a * c - b * b)
        case [[a], [b, d], [c, e, f]]:
            x, y, z = d * f - e * e, c * e - b * f, b * e - c * d
            adjugate = [[x, y, z], [y, a * f - c * c, b * c - a * e], [z, b * c - a * e, a * d - b * b]]
            return Pivot(adjugate, a * x + b * y + c * z)
        case _:
            raise ValueError(f"block: has {len(lower)} rows; expected one to three")


def _product(vector: Sequence[Scalar], matrix: Rows) -> list[Scalar]:
    """Return a row vector times a symmetric matrix."""
    return [inner_product(vector, column) for column in matrix]


def _by_member(members: Group, rows: Mapping[int, list[Scalar]]) -> Rows:
    """Transpose rows of L by ancestor to rows by member."""
    return [[row[k] for row in rows.values()] for k in range(len(members))]


def _scale(matrix: Rows, factor: Scalar) -> Rows:
    return [[entry * factor for entry in row] for row in matrix]
