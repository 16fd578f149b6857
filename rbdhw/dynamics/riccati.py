"""A step of Riccati's recursion through a step in time by semi-implicit Euler.

The step's derivatives have a structure. With ``dv'`` the change of the next velocity and ``D`` the rows
``[v'_q | v'_v | v'_tau]``, the next state changes by

``dq' = T dq + J dv'``,  ``dv' = D [dq; dv; dtau]``

where ``T`` and ``J`` are block-diagonal: one and the step ``h``, but for joints of several degrees of
freedom (:func:`rbdhw.dynamics.integration.displacement_derivatives`). If velocities are counted in steps, as
``h v``, then ``J`` is one, too. So the value function is first written in ``dq`` and ``dv'``, which takes few
products, and only then in the state and the forces. Where ``T`` and ``J`` are one, ``dq' - dv'`` is ``dq``. A
value function of ``dq - dv`` and ``dv`` is one of ``dq`` and ``dv'`` before the step, as it is. The recursion
itself eliminates the forces from the Hessian by ``L D L^T``.

Source: Tassa, Mansard and Todorov, "Control-limited differential dynamic programming" (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from rbdhw.scalar import Scalar, inner_product, reciprocal, region

LATE = 2
"""The rows of an elimination that are subtracted from the rest at the end, after all others."""

Matrix = list[list[Scalar]]
Vector = list[Scalar]


@dataclass(frozen=True)
class Quadratic:
    """A quadratic function: half its Hessian, which is symmetric, and its gradient."""

    hessian: Matrix
    gradient: Vector


@dataclass(frozen=True)
class StepChange:
    """The derivatives of a step: ``T`` and ``J`` (nv, nv), and the rows ``D`` (nv, 2 nv + m) for m forces.

    ``summed`` are coordinates for which ``T`` and ``J`` are one, ``dq' = dq + dv'``.
    """

    transport: Matrix
    jacobian: Matrix
    rows: Matrix
    summed: Collection[int] = ()


@dataclass(frozen=True)
class Policy:
    """Gains (m, 2 nv) and changes (m,) of the forces.

    ``pivots`` (m,) are positive if the Hessian by the forces is; otherwise the rest is not to be used.
    """

    gains: Matrix
    changes: Vector
    pivots: Vector


def moved_value(value: Quadratic, change: Vector) -> Quadratic:
    """Return a quadratic function of the distance from another point, which is ``change`` away."""
    with region("value_moved"):
        slope = _product(value.hessian, [[x] for x in change])
        return replace(value, gradient=[x + y[0] for x, y in zip(value.gradient, slope, strict=True)])


def riccati_step(value: Quadratic, step: StepChange, cost: Quadratic) -> tuple[Quadratic, Policy]:
    """Return the value function (2 nv) before a step from that behind it, and the policy of the step.

    ``cost`` (2 nv + m) is that of the knot by the state and the forces, with what regularises it. Both value
    functions have ``dq - dv`` in place of ``dq`` for the coordinates ``step.summed``.
    """
    n = len(step.rows)
    J = [
        [entry - float(i == j and i in step.summed) for j, entry in enumerate(row)]
        for i, row in enumerate(step.jacobian)
    ]
    total = _before(value, replace(step, jacobian=J), cost)
    value, policy = _eliminate(_sum_up(total, n, step.summed), 2 * n)
    gains = [
        [*row[:n], *(x - row[i] if i in step.summed else x for i, x in enumerate(row[n:]))]
        for row in policy.gains
    ]
    return value, replace(policy, gains=gains)


def _sum_up(total: Quadratic, n: int, summed: Collection[int]) -> Quadratic:
    """Return a function of ``dq`` and ``dv`` as one of ``dq - dv`` and ``dv`` for some coordinates."""
    hessian, gradient = [list(row) for row in total.hessian], list(total.gradient)
    with region("value_by_force"):
        for i in summed:
            gradient[n + i] = gradient[n + i] + gradient[i]
            hessian[n + i] = [x + y for x, y in zip(hessian[n + i], hessian[i], strict=True)]
        for i in summed:
            for row in hessian:
                row[n + i] = row[n + i] + row[i]
    return Quadratic(hessian, gradient)


def _before(value: Quadratic, step: StepChange, cost: Quadratic) -> Quadratic:
    """Return the cost of a knot and of all behind it, by state and forces."""
    n, T, J, D = len(step.rows), step.transport, step.jacobian, step.rows
    by_state, by_rate = value.hessian[:n], value.hessian[n:]
    with region("value_by_rate"):
        forward = _sum(_product(_transpose(J), by_state), by_rate)  # rows of dv', columns of the state
        mixed = _product([row[:n] for row in forward], T)
        square = _symmetric(n, lambda i, j: forward[i][n + j] + inner_product(forward[i][:n], _column(J, j)))
        transported = _product([row[:n] for row in by_state], T)
        still = _symmetric(n, lambda i, j: inner_product(_column(T, i), _column(transported, j)))
        slope = _product(_transpose(T), [[x] for x in value.gradient[:n]])
        dual = _product(_transpose(J), [[x] for x in value.gradient[:n]])
        force = [x + y[0] for x, y in zip(value.gradient[n:], dual, strict=True)]
    size = len(D[0])
    with region("value_by_force"):
        weighted = _product(square, D)
        # Half of the square term beside the whole mixed one: with its transpose this is all of a block.
        shared = [
            [0.5 * x + y for x, y in zip(row, other, strict=False)]
            for row, other in zip(weighted, mixed, strict=True)
        ]
        columns = _transpose(D)
        block = [[inner_product(columns[i], _column(shared, j)) for j in range(n)] for i in range(n)]
        together = [
            [x + (mixed[k][j] if j < n else 0.0) for j, x in enumerate(row)] for k, row in enumerate(weighted)
        ]

    def element(i: int, j: int) -> Scalar:
        with region("value_by_force"):
            if i < n:
                return (block[i][j] + block[j][i]) + (still[i][j] + cost.hessian[i][j])
            return inner_product(columns[i], _column(together, j)) + cost.hessian[i][j]

    gradient = [
        cost.gradient[i] + inner_product(columns[i], force) + (slope[i][0] if i < n else 0.0)
        for i in range(size)
    ]
    return Quadratic(_symmetric(size, element), gradient)


def _eliminate(total: Quadratic, first: int) -> tuple[Quadratic, Policy]:
    """Return the least value by the forces, which are ``first`` and those behind it, and the forces.

    Only pivots and what leads to them are in a hurry: there a product of two entries is divided by the pivot.
    It is ready when the reciprocal is, whereas a share has to wait for it.
    """
    rows = [[*row, slope] for row, slope in zip(total.hessian[first:], total.gradient[first:], strict=True)]
    size = first + len(rows)
    pivots, inverses = [], []
    for j in range(len(rows)):  # afterwards each row is without the forces before it
        with region("eliminate", j):
            pivots.append(rows[j][first + j])
            inverses.append(reciprocal(pivots[j]))
            for i in range(j + 1, len(rows)):
                entry = rows[j][first + i]
                share = entry * inverses[j]
                for c in (*range(first), size):
                    rows[i][c] = rows[i][c] - share * rows[j][c]
                for c in range(first + i, size):
                    rows[i][c] = rows[i][c] - (entry * rows[j][c]) * inverses[j]
                    rows[c - first][first + i] = rows[i][c]
    shares = [[entry * inverse for entry in row] for row, inverse in zip(rows, inverses, strict=True)]

    def remaining(i: int, j: int) -> Scalar:
        with region("value"):
            column = -1 if i == first else i
            start = total.gradient[j] if i == first else total.hessian[i][j]
            left, right = _column(shares, column), _column(rows, j)
            early = max(len(rows) - LATE, 0)  # summed before the last rows are there
            soon = start - inner_product(left[:early], right[:early]) if early else start
            return soon - inner_product(left[early:], right[early:])

    hessian = _symmetric(first, remaining)
    gradient = [remaining(first, j) for j in range(first)]
    gains = _substitute(rows, shares, first)
    policy = Policy([row[:-1] for row in gains], [row[-1] for row in gains], pivots)
    return Quadratic(hessian, gradient), policy


def _substitute(rows: Matrix, shares: Matrix, first: int) -> Matrix:
    """Return gains and changes (m, 2 nv + 1) from rows that have no forces before their own."""
    n = len(rows)
    solved: Matrix = []
    for j in reversed(range(n)):
        with region("gains", j):
            right = [*shares[j][:first], shares[j][-1]]
            for i, row in zip(range(j + 1, n), solved, strict=True):
                right = [x + shares[j][first + i] * y for x, y in zip(right, row, strict=True)]
            solved.insert(0, [-x for x in right])
    return solved


def _symmetric(n: int, element: Callable[[int, int], Scalar]) -> Matrix:
    """Return a symmetric matrix of the elements of its lower triangle."""
    matrix: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            matrix[i][j] = matrix[j][i] = element(i, j)
    return matrix


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = _transpose(right)
    return [[inner_product(row, column) for column in columns] for row in left]


def _sum(left: Matrix, right: Matrix) -> Matrix:
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def _transpose(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def _column(matrix: Sequence[Vector], j: int) -> Vector:
    return [row[j] for row in matrix]
