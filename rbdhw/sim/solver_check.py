"""Solutions in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, cycle

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.engines.packets import PacketEngine
from rbdhw.engines.words import Packets
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_codec import Asked, goal_words, group_words, joined, plan_words
from rbdhw.model.solver_problems import random_problem
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.sim.command_check import compare
from rbdhw.solving import Solved

PROBLEMS = 4
"""The least goals of a simulation. For each a problem is solved, and once more a step later."""

ITERATIONS = 2
"""The most iterations of a solution."""


@dataclass(frozen=True)
class SolverReport:
    """The solutions of a simulation, and answers that differ from the model's.

    ``unsolved`` are solutions that ended before their iterations.
    """

    tasks: int
    mismatches: int
    unsolved: int


def check_solutions(design: Design, engine: PacketEngine, seed: int) -> SolverReport:
    """Send random problems, and compare every answer with the model's."""
    packets = _packets(design, seed)
    mismatches = tasks = unsolved = 0
    for command, expected, differing in compare(design, engine, SolverSession(design), packets):
        mismatches += differing
        if command == SOLVE:
            solved = expected[f"{SOLVE}.solved"]
            tasks += len(solved)
            unsolved += int(np.count_nonzero(solved != Solved.ITERATIONS))
    return SolverReport(tasks, mismatches, unsolved)


def _packets(design: Design, seed: int) -> list[Packets]:
    """Return the packets that load goals, solve, and read the solutions; those after the first follow it.

    Problems begin at rest, from where held forces seldom lead a first trajectory out of the domain.
    """
    solver, sweep = FixedSolver(design), design.sweep
    assert sweep is not None
    shape, packets, seeds = solver.shape, list[Packets](), count(seed)
    iterations, shift = min(ITERATIONS, shape.iterations), min(1, shape.knots - 1)
    for size in _group_sizes(shape.problems):
        problems = [
            random_problem(design.robot, design.domain, shape.knots, sweep.h, next(seeds))
            for _ in range(size)
        ]
        for slot, problem in enumerate(problems):
            problem["v"] = np.zeros_like(problem["v"])
            packets.append((GOAL, goal_words(solver, solver.goal(problem), slot)))
        rows = joined([plan_words(solver, slot) for slot in range(size)])
        for follow in (None, shift):
            group = [Asked(problem, iterations, follow) for problem in problems]
            packets += [(SOLVE, group_words(solver, group)), (PLAN, rows)]
    return packets


def _group_sizes(most: int) -> list[int]:
    """Return the numbers of problems of groups: whole ones of ``most`` problems in turn with smaller ones."""
    sizes: list[int] = []
    for size in cycle((most, (most + 1) // 2)):
        if len(sizes) > 1 and sum(sizes) >= PROBLEMS:
            break
        sizes.append(size)
    return sizes
