"""A solver that sweeps back in blocks of knots equals its model bit for bit."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw.solving import Solved
from tests.support.fixed_solvers import fixed_solver, plan_of, solver_problem
from tests.support.marks import long
from tests.support.simulation import Simulation
from tests.support.solved import Bench, SolverWithCore, compare, component

ALPHAS = 2

BUILDS = [(3, 2, 4, 64), long((7, 2, 1, 40)), long((8, 3, 1, 40)), long((11, 4, 4, 34))]
"""Steps, blocks, and the intervals of the core and of the sweep. The last block may be shorter or as long."""

LOOP = ((3, None, 0), (1, 1, 1), (2, 1, 1), (1, 2, 2), (2, None, 3))
"""Iterations, the steps by which a solution follows the last one, and the seed of its goal."""


@cache
def fixed(knots, blocks, ii):
    return fixed_solver("toy", knots, ALPHAS, ii=ii, blocks=blocks)


@cache
def simulation(knots, blocks, ii, sweep_ii):
    (core,) = plan_of("toy", ii=ii).cores
    return Simulation(SolverWithCore(component(fixed(knots, blocks, ii), core.component(None), sweep_ii)))


def posed(model, seed):
    problem = solver_problem(model.model, model.shape.knots, seed)
    return model.task(problem, problem["tau"][0]), model.goal(problem)


def run(build, steps):
    async def testbench(ctx):
        await steps(Bench(simulation(*build).component, ctx))

    simulation(*build).run(testbench)


def following(model, task, plan):
    """Return a task in the second state of a plan."""
    return task | {state.word.name: int(plan.states[state.word.name][1]) for state in model.shape.state}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("solutions", [LOOP[-1:] + LOOP[1:2], long(LOOP)], ids=len)
def test_solutions_in_a_loop_are_those_of_the_model(build, solutions):
    """The first sweep knows no values of blocks; later ones, and those of warm solutions, move them."""
    model = fixed(*build[:3])

    async def steps(bench):
        timing, solution = bench.solver.timing, None
        task, goal = posed(model, 1)
        for iterations, shift, seed in solutions:
            _, goal = posed(model, seed)
            await bench.load(goal)
            warm = shift is not None
            task = following(model, task, solution.plan) if warm else posed(model, seed)[0]
            before = solution.plan if warm else None
            solution = model.solve(task, goal, iterations, before, shift or 0)
            assert solution.status is Solved.ITERATIONS
            answer, cycles = await bench.solve(task, iterations, warm, shift or 0)
            compare(model, answer, solution)
            most = timing.solution(iterations) - (timing.without_values if warm else 0)
            assert cycles <= most

    run(build, steps)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.verify
def test_a_sweep_without_a_policy_is_repeated_with_the_same_values(warm):
    build = BUILDS[0]
    model = fixed(*build[:3])
    (task, goal), none = posed(model, 0), None
    weights = {f"tau_curvature[{k}]": -8 * goal.rows[f"tau_curvature[{k}]"] for k in range(2)}
    other = replace(goal, rows=goal.rows | weights)
    before = model.solve(task, goal, 1).plan if warm else none
    solution = model.solve(task, other, 2, before, 0)
    assert solution.regularisation > 0

    async def steps(bench):
        if warm:
            await bench.load(goal)
            await bench.solve(task, 1)
        await bench.load(other)
        answer, _ = await bench.solve(task, 2, warm)
        compare(model, answer, solution)

    run(build, steps)


@pytest.mark.verify
def test_values_are_forgotten_if_the_state_has_changed_too_far():
    build = BUILDS[0]
    model = fixed(*build[:3])
    task, goal = posed(model, 0)
    word = next(state.word for state in model.shape.state if state.word.name == "q[0]")
    away = task | {"q[0]": word.highest}
    before = model.solve(task, goal, 1).plan
    solution = model.solve(away, goal, 2, before)
    blind = model.solve(away, goal, 2, replace(before, values=None))
    assert (solution.status, solution.cost) == (Solved.ITERATIONS, blind.cost)

    async def steps(bench):
        await bench.load(goal)
        await bench.solve(task, 1)
        answer, _ = await bench.solve(away, 2, warm=True)
        compare(model, answer, solution)

    run(build, steps)


@pytest.mark.verify
@pytest.mark.parametrize("status", [Solved.INDEFINITE, Solved.NOT_FINITE])
def test_a_solution_that_fails_leaves_no_values(status):
    build = BUILDS[0]
    model = fixed(*build[:3])
    task, goal = posed(model, 0)
    slopes = {each.name: np.full(model.shape.knots, each.format.highest) for each in model.shape.slopes}
    bad = replace(goal, rows=goal.rows | slopes) if status is Solved.INDEFINITE else goal
    failing = task if status is Solved.INDEFINITE else task | {"h": model.shape.time_word.highest + 1}
    first = model.solve(task, goal, 2)
    second = model.solve(failing, bad, 2, first.plan)
    assert second.status is status
    assert not second.usable

    async def steps(bench):
        for asked, rows, expected in ((task, goal, first), (failing, bad, second), (task, goal, first)):
            await bench.load(rows)
            answer, _ = await bench.solve(asked, 2, warm=True)
            compare(model, answer, expected)

    run(build, steps)
