"""Solutions in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.engines.packets import PacketEngine
from rbdhw.engines.words import Packets
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_codec import goal_words, task_words
from rbdhw.model.solver_problems import random_problem
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.sim.command_check import compare
from rbdhw.solving import Solved

PROBLEMS = 4
"""The goals of a simulation. For each a problem is solved, and once more a step later."""

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
            tasks += 1
            unsolved += int(expected[f"{SOLVE}.solved"][0] != Solved.ITERATIONS)
    return SolverReport(tasks, mismatches, unsolved)


def _packets(design: Design, seed: int) -> list[Packets]:
    """Return the packets that load goals, solve, and read the solutions; those after the first follow it.

    Problems begin at rest, from where held forces seldom lead a first trajectory out of the domain.
    """
    solver, shape, sweep = FixedSolver(design), design.interface.solver, design.sweep
    assert shape is not None
    assert sweep is not None
    rows = {"row": np.arange(shape.knots + 1)}
    packets: list[Packets] = []
    for k in range(PROBLEMS):
        problem = random_problem(design.robot, design.domain, shape.knots, sweep.h, seed + k)
        problem["v"] = np.zeros_like(problem["v"])
        iterations = min(ITERATIONS, shape.iterations)
        first = task_words(solver, problem, iterations, None)
        later = task_words(solver, problem, iterations, min(1, shape.knots - 1))
        packets += [(GOAL, goal_words(solver, solver.goal(problem)))]
        packets += [(SOLVE, first), (PLAN, rows), (SOLVE, later), (PLAN, rows)]
    return packets
