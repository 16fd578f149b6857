"""Random problems of optimal control: how near the optimum an accelerator's solver ends after its iterations.

Starts are in motion. The optimum is that of double precision, in the same limits of the forces. A solution
costs what its policy costs in double precision: its forces, and its gains times the differences of states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.rows import Row, Rows
from benchmarks.solver_loop import BLOCKS, ROBOT, Solvers, solvers_of
from rbdhw.model.solver_problems import random_problem
from rbdhw.solving import Solved

KNOTS, STEP, STARTS = 64, 0.01, 100

ITERATIONS = (1, 2, 3, 4, 6, 10)
"""The iterations of solutions of accelerators."""

MOST = 60
"""Those of the optimum."""

NEAR, CLOSE = 1e-2, 1e-4
"""Shares by which a cost is above the optimum that are counted."""

TAKEN = ("x_ref", "Q", "R", "tau_min", "tau_max")


def start_rows(name: str = ROBOT, knots: int = KNOTS, starts: int = STARTS) -> Rows:
    """Return a row for each number of iterations: what the costs of all problems are above the optimum.

    The sweeps go through all knots, or back in blocks.
    """
    rows = list[Row]()
    for blocks in (1, BLOCKS):
        solvers = solvers_of(name, knots, blocks)
        trials = [_trial(solvers, knots, seed) for seed in range(starts)]
        rows += [_row(blocks, count, [trial[count] for trial in trials]) for count in ITERATIONS]
    return rows


def _row(blocks: int, iterations: int, excesses: list[float | None]) -> Row:
    solved = np.array([excess for excess in excesses if excess is not None])
    return {
        "blocks": blocks,
        "iterations": iterations,
        "starts": len(excesses),
        "close": int(np.sum(solved <= CLOSE)),
        "near": int(np.sum(solved <= NEAR)),
        "median": float(np.median(solved)),
        "largest": float(solved.max()),
        "unsolved": len(excesses) - len(solved),
    }


def _trial(solvers: Solvers, knots: int, seed: int) -> Mapping[int, float | None]:
    """Return for each number of iterations the share by which a problem costs more than its optimum.

    None stands for a problem that the accelerator reports as unsolved.
    """
    drawn = random_problem(solvers.robot, solvers.domain, knots, STEP, seed)
    state = (drawn["q"], drawn["v"], STEP)
    problem: dict[str, Any] = {name: drawn[name] for name in TAKEN}
    held = drawn["tau"][0]
    best = solvers.exact.solve(*state, **problem, tau=held, iterations=MOST, tolerance=1e-12)

    def excesses() -> Iterator[tuple[int, float | None]]:
        for iterations in ITERATIONS:
            solution = solvers.fixed.solve(*state, **problem, tau=held, iterations=iterations)
            policy = {"tau": solution.tau, "states": solution.states, "K": solution.K}
            again = solvers.exact.solve(*state, **problem, **policy, iterations=0)
            solved = solution.status == Solved.ITERATIONS
            yield iterations, float(again.cost / best.cost - 1.0) if solved else None

    return dict(excesses())


def start_layout(rows: Rows) -> Rows:
    """Return a line for each row."""
    return [
        {
            "blocks": row["blocks"],
            "iterations": row["iterations"],
            "problems": row["starts"],
            f"within {CLOSE:g} of the optimum": row["close"],
            f"within {NEAR:g}": row["near"],
            "median above it": f"{row['median']:.1e}",
            "largest": f"{row['largest']:.1e}",
            "reported unsolved": row["unsolved"],
        }
        for row in rows
    ]
