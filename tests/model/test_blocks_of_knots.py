"""The bit-exact solver with a sweep in blocks of knots: first iterations, later ones, warm solutions."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.golden.solver import roll_out, solve
from rbdhw.graph.knots import block_starts
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_words import with_solver
from rbdhw.solving import Solved
from tests.support.fixed_solvers import STEP, fixed_solver, solver_problem
from tests.support.marks import long

KNOTS, ALPHAS = 10, 6
SEEDS = range(2)


@pytest.fixture(scope="module", params=[long(2), 3])
def blocked(request):
    return fixed_solver("toy", KNOTS, ALPHAS, blocks=request.param)


@pytest.fixture(scope="module")
def whole(blocked):
    """Return the solver of the same program that sweeps back through all knots."""
    interface = blocked.model.interface
    shape = replace(interface.solver, blocks=1)
    return FixedSolver(replace(blocked.model, interface=replace(interface, solver=shape)))


def posed(solver, seed):
    """Return a problem, its task, and the words of its goal."""
    problem = solver_problem(solver.model, KNOTS, seed)
    return problem, solver.task(problem, problem["tau"][0]), solver.goal(problem)


def real_cost(solver, problem, plan):
    """Return the cost of a plan's forces in double precision."""
    forces = [word.format.real(plan.forces[word.name]) for word in solver.shape.taus]
    around = {**problem, "tau": np.stack(forces, axis=1)}
    return roll_out(solver.model.robot, around, np.zeros((KNOTS, solver.shape.nv))).cost


def assert_same(one, other):
    """Compare solutions, but for the values with which blocks begin."""
    np.testing.assert_equal(
        vars(one) | {"plan": vars(replace(one.plan, values=None))},
        vars(other) | {"plan": vars(replace(other.plan, values=None))},
    )


@pytest.mark.parametrize("seed", [long(0), 1, long(2), long(3)])
def test_the_first_iteration_is_that_of_one_block(blocked, whole, seed):
    _, task, goal = posed(blocked, seed)
    assert_same(blocked.solve(task, goal, 1), whole.solve(task, goal, 1))


def test_later_iterations_are_others(blocked, whole):
    for seed in SEEDS:
        plans = [solver.solve(*posed(solver, seed)[1:], 3).plan for solver in (blocked, whole)]
        one, other = (np.stack(list(plan.gains.values())) for plan in plans)
        assert (one != other).any()


@pytest.mark.parametrize("seed", [0, long(1), long(2), long(3)])
def test_it_finds_the_optimum_of_double_precision(blocked, seed):
    problem, task, goal = posed(blocked, seed)
    optimum = solve(blocked.model.robot, problem, 40, 8, 1e-12)
    solution = blocked.solve(task, goal, 10)
    assert solution.status is Solved.ITERATIONS
    cost = real_cost(blocked, problem, solution.plan)
    assert cost == pytest.approx(float(optimum["cost"]), rel=2e-6)


def test_values_are_those_of_the_last_sweep_and_its_trajectory(blocked):
    """Also if no trial was kept after it."""
    _, task, goal = posed(blocked, 0)
    first, second = (blocked.solve(task, goal, count).plan for count in (1, 2))
    np.testing.assert_equal(second.values.states, first.states)
    assert (
        list(second.values.words) == blocked.shape.block_starts == block_starts(KNOTS, blocked.shape.blocks)
    )
    task = task | {state.word.name: 0 for state in blocked.shape.state[blocked.shape.nv :]}
    uphill = {each.name: -goal.rows[each.name] for each in blocked.shape.slopes}
    around = blocked.solve(task, replace(goal, rows={**goal.rows, **uphill}), 40)
    assert around.status is Solved.STALLED
    np.testing.assert_equal(around.plan.values.states, around.plan.states)


def test_first_knots_know_how_far_the_knot_behind_has_moved(blocked):
    _, task, goal = posed(blocked, 1)
    plan = blocked.solve(task, goal, 2).plan
    words, fits = blocked.numbers(task, goal, plan)
    assert fits
    starts, inputs = blocked.shape.block_starts, blocked.shape.inputs
    others = np.delete(np.arange(KNOTS + 1), starts)
    formats = [state.word.format for state in blocked.shape.state]
    for k, (state, format_) in enumerate(zip(blocked.shape.state, formats, strict=True)):
        name, word = state.word.name, inputs[f"moved[{k}]"]
        moved = format_.real(plan.states[name]) - format_.real(plan.values.states[name])
        unit = 2.0 * np.pi if k < blocked.shape.nv else STEP
        np.testing.assert_allclose(
            word.format.real(words[word.name][starts]),
            unit * moved[np.array(starts) + 1],
            rtol=1e-4,
            atol=word.format.step + unit * blocked.shape.changes_of_state[k].format.step,
        )
        assert words[word.name][starts].all()
        assert not words[word.name][others].any()
    none, _ = blocked.numbers(task, goal, replace(plan, values=None))
    assert not any(none[f"moved[{k}]"].any() for k in range(len(formats)))


def test_a_warm_solution_begins_with_the_values_of_the_last_one(blocked, monkeypatch):
    _, task, goal = posed(blocked, 0)
    last = blocked.solve(task, goal, 3).plan
    taken = []
    sweep = type(blocked.sweep).sweep

    def seen(self, words, values):
        taken.append(dict(values))
        return sweep(self, words, values)

    monkeypatch.setattr(type(blocked.sweep), "sweep", seen)
    blocked.solve(task, goal, 1, last, shift=2)
    blocked.solve(task, goal, 1)
    np.testing.assert_equal(taken[0], last.values.words)
    assert taken[-1] == dict.fromkeys(blocked.shape.block_starts)


def test_a_loop_of_warm_solutions_stays_at_the_optimum(blocked):
    """One iteration a step, as the state leads on."""
    problem, task, goal = posed(blocked, 2)
    solution = blocked.solve(task, goal, 6)
    for _ in range(6):
        states = solution.plan.states
        task = task | {name: int(words[1]) for name, words in states.items()}
        solution = blocked.solve(task, goal, 1, solution.plan, shift=1)
        assert solution.status is Solved.ITERATIONS
    words = [state.word for state in blocked.shape.state]
    q, v = np.split(np.array([task[word.name] * word.format.step for word in words]), 2)
    problem = problem | {"q": 2.0 * np.pi * q, "v": v}
    optimum = solve(blocked.model.robot, problem, 40, 8, 1e-12)
    assert real_cost(blocked, problem, solution.plan) == pytest.approx(float(optimum["cost"]), rel=1e-3)


def test_sweeps_that_fail_leave_the_values(blocked, monkeypatch):
    _, task, goal = posed(blocked, 0)
    last, taken = blocked.solve(task, goal, 2).plan, []
    expected = blocked.solve(task, goal, 1, last)
    sweep = type(blocked.sweep).sweep

    def failing(self, words, values):
        taken.append(dict(values))
        swept = sweep(self, {**words, "regularisation": np.array(0)}, values)
        return replace(swept, indefinite=np.array(len(taken) < 3))

    monkeypatch.setattr(type(blocked.sweep), "sweep", failing)
    solution = blocked.solve(task, goal, 1, last)
    assert solution.regularisation == 64
    np.testing.assert_equal(taken, [last.values.words] * 3)
    np.testing.assert_equal(solution.plan.values.words, expected.plan.values.words)


def test_numbers_of_blocks_that_are_not_possible_are_refused(blocked):
    model = fixed_solver("toy", KNOTS, ALPHAS).model
    with pytest.raises(InputError, match=r"^blocks: 10 steps do not make 5 blocks"):
        with_solver(model, blocked.sweep, ALPHAS, 1, blocks=5)
    with pytest.raises(InputError, match=r"^blocks: the sweep takes no values of an earlier one; expected 1"):
        with_solver(model, model.sweep, ALPHAS, 1, blocks=2)
