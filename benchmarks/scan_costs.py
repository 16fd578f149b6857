"""Products of a sweep back in sequence, in blocks, and by a scan over knots, and their longest chains.

A scan joins elements of several knots: how these change a state, and what they cost. It needs as many steps
one after the other as the logarithm of the number of knots. The elements, matrices A, C and J (n, n) and
vectors b and eta (n,), and how they join are those of S. Särkkä and A. F. García-Fernández, "Temporal
parallelization of dynamic programming and linear quadratic control", IEEE Transactions on Automatic Control,
2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.builds import robot_of
from benchmarks.rows import Row, Rows, robot_label
from rbdhw.frontend.build_graph import multiplications
from rbdhw.frontend.knot_step import driven, record_sweep
from rbdhw.graph.knots import block_length

STEPS, BLOCKS = 64, 4
"""The steps of the horizon, and the blocks of the sweep in blocks."""


@dataclass(frozen=True)
class Join:
    """Two groups of knots that a scan joins: ``to_end`` if the later one ends with the horizon."""

    first: int
    """The first knot of the earlier group."""
    second: int
    """The first knot of the later group."""
    to_end: bool


def scan_levels(steps: int) -> Iterator[list[Join]]:
    """Yield the joins of each level for a number of steps that is a power of two (J. Sklansky, 1960).

    Before a level, knots of a group of a power of two have an element from each knot to the end of the
    group; afterwards those of groups of twice the size do. Elements of the last group have the cost of the
    last knot from the beginning, so they are value functions: J and eta alone.
    """
    size = 1
    while size < steps:
        yield [
            Join(k, middle, middle + size == steps)
            for middle in range(size, steps, 2 * size)
            for k in range(middle - size, middle)
        ]
        size *= 2


def scan_products(steps: int, n: int, m: int) -> int:
    """Return the products of the policies of all steps by a scan, for ``n`` states and ``m`` forces.

    They are those of dense matrices. Of a symmetric result only one triangle counts; quotients count as
    products by reciprocals, and these do not count.
    """
    joins = [join for level in scan_levels(steps) for join in level]
    values = sum(join.to_end for join in joins) + 1  # the last step with the last cost
    between = len(joins) + 1 - values
    return steps * (_element(n, m) + _policy(n, m)) + values * _value(n) + between * _between(n)


def scan_pivots(steps: int, n: int, m: int) -> int:
    """Return the pivots that follow one another: those of all levels, and those of a policy."""
    return (1 + len(list(scan_levels(steps)))) * n + m


def _element(n: int, m: int) -> int:
    """C = B R⁻¹ Bᵀ, and b = -B R⁻¹ r, of a step; its A, J and eta are numbers of the knot."""
    return n * m + _triangle(n) * m + n * m


def _value(n: int) -> int:
    """J and eta of two joined elements of which the later one is a value function.

    I + C J, its factors, X = (I + C J)⁻¹ A, and Aᵀ J X and Xᵀ (eta - J b).
    """
    return 3 * n**3 + _factors(n) + _triangle(n) * n + 2 * n**2


def _between(n: int) -> int:
    """The same, and A X, A (I + C J)⁻¹ C Aᵀ and A (I + C J)⁻¹ (b + C eta), with A of the later one."""
    return _value(n) + 3 * n**3 + _triangle(n) * n + 3 * n**2


def _policy(n: int, m: int) -> int:
    """The policy from the value function behind a step: Bᵀ J, Bᵀ J B + R, Bᵀ J A, factors, solutions."""
    hessian = m * n * n + _triangle(m) * n
    return hessian + m * n * n + m * n + (m**3 - m) // 6 + _triangle(m - 1) + (n + 1) * m**2


def _factors(n: int) -> int:
    """L U of a matrix (n, n)."""
    return (n**3 - n) // 3


def _triangle(n: int) -> int:
    return n * (n + 1) // 2


def scan_rows(robots: Iterable[str] = ("iiwa14",), steps: int = STEPS, blocks: int = BLOCKS) -> Rows:
    """Return the products of an iteration's sweep, and its longest chain in steps and in pivots.

    A step of the chain is a knot's step or, of a scan, a join. Each pivot waits for the one before.
    """
    rows = []
    for name in robots:
        robot = robot_of(name)
        n, m = 2 * robot.nv, len(driven(robot))
        plain, moving = (
            multiplications(record_sweep(robot, steps, coupled=False, moves=moves).sweeps[0].step)
            for moves in (False, True)
        )
        chain, levels = block_length(steps, blocks), len(list(scan_levels(steps)))
        for way, products, chained, pivots in (
            ("in sequence", steps * plain, steps, steps * m),
            (f"in {blocks} blocks", steps * moving, chain, chain * m),
            ("by a scan", scan_products(steps, n, m), levels + 2, scan_pivots(steps, n, m)),
        ):
            row = {"robot": name, "steps": steps, "way": way, "products": products}
            rows.append(row | {"chain": chained, "pivots": pivots})
    return rows


def scan_layout(rows: Rows) -> Rows:
    """Return a line for each way."""
    return [_line(row) for row in rows]


def _line(row: Row) -> Row:
    return {
        "": f"{robot_label(row)}, {row['steps']} steps, {row['way']}",
        "products of an iteration's sweep": f"{row['products']:,}",
        "longest chain of dependent steps": f"{row['chain']}",
        "pivots in turn": f"{row['pivots']}",
    }
