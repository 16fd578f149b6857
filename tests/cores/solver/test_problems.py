"""Problems that take turns in a solver have the solutions that each has alone, bit for bit."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw.solving import Solved
from tests.support.fixed_solvers import fixed_solver, plan_of, solver_problem
from tests.support.simulation import Simulation
from tests.support.solved import Bench, SolverWithCore, compare, component

KNOTS, ALPHAS, TOGETHER = 3, 2, 3

BUILDS = [(4, 40), (1, 40), (1, 24)]
"""Intervals of the core and of the sweep."""


@cache
def fixed(ii):
    return fixed_solver("toy", KNOTS, ALPHAS, ii=ii, together=TOGETHER)


@cache
def simulation(ii, sweep_ii):
    (core,) = plan_of("toy", ii=ii).cores
    return Simulation(SolverWithCore(component(fixed(ii), core.component(None), sweep_ii)))


def posed(ii, seed):
    """Return the task and the goal of a problem."""
    model = fixed(ii)
    problem = solver_problem(model.model, KNOTS, seed)
    return model.task(problem, problem["tau"][0]), model.goal(problem)


def run(build, steps):
    async def testbench(ctx):
        await steps(Bench(simulation(*build).component, ctx))

    simulation(*build).run(testbench)


@pytest.mark.verify
@pytest.mark.parametrize("build", BUILDS)
def test_each_problem_has_its_solution(build):
    """They take different numbers of iterations; then the first two go on, and the third stays as it is."""
    model, iterations = fixed(build[0]), (2, 1, 3)
    problems = [posed(build[0], seed) for seed in range(TOGETHER)]
    solutions = [model.solve(*each, count) for each, count in zip(problems, iterations, strict=True)]

    async def steps(bench):
        for k, (_, goal) in enumerate(problems):
            await bench.load(goal, k)
        tasks = [(task, count) for (task, _), count in zip(problems, iterations, strict=True)]
        answers, cycles = await bench.solve_together(tasks)
        for answer, solution in zip(answers, solutions, strict=True):
            compare(model, answer, solution)
        assert cycles <= bench.solver.timing.solution(max(iterations))
        last = answers[-1]
        await bench.load(problems[2][1], 1)
        answers, _ = await bench.solve_together([(problems[0][0], 1, True, 1), (problems[1][0], 2, True, 2)])
        goals = problems[0][1], problems[2][1]
        for k, (answer, goal) in enumerate(zip(answers, goals, strict=True)):
            expected = model.solve(problems[k][0], goal, 1 + k, solutions[k].plan, 1 + k)
            compare(model, answer, expected)
        assert await bench.results(2) == last
        compare(model, last, solutions[2])

    run(build, steps)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("build", "iterations", "orders"),
    [((1, 24), (2, 2, 1), [(2, 0, 1)]), ((4, 40), (2, 2, 2), [(0, 1, 2), (2, 0, 1), (1, 2)])],
)
def test_problems_that_fail_leave_the_others_alone(build, iterations, orders):
    """The first has no policy, the second leaves its domain, and a sweep of the third is repeated."""
    model = fixed(build[0])
    (task, goal), (second, other), (third, last) = (posed(build[0], seed) for seed in range(TOGETHER))
    slopes = {each.name: np.full(KNOTS, each.format.highest) for each in model.shape.slopes}
    weights = {f"tau_curvature[{k}]": -(last.rows[f"tau_curvature[{k}]"] >> 3) for k in range(2)}
    goals = [replace(goal, rows=goal.rows | slopes), other, replace(last, rows=last.rows | weights)]
    tasks = [task, second | {"h": model.shape.time_word.highest + 1}, third]
    solutions = [model.solve(*each) for each in zip(tasks, goals, iterations, strict=True)]
    expected = [Solved.INDEFINITE, Solved.NOT_FINITE, Solved.ITERATIONS]
    assert [each.status for each in solutions] == expected
    assert solutions[2].regularisation > 0

    async def steps(bench):
        for order in orders:
            for k, number in enumerate(order):
                await bench.load(goals[number], k)
            answers, _ = await bench.solve_together([(tasks[number], iterations[number]) for number in order])
            for number, answer in zip(order, answers, strict=True):
                compare(model, answer, solutions[number])

    run(build, steps)
