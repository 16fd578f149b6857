"""The bit-exact solver: it finds the optimum, starts from earlier plans, and says where it fails."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.arrays import SOLVE_INPUTS
from rbdhw.errors import InputError
from rbdhw.fixed.cost import COST_POINT
from rbdhw.fixed.descent import lowered, raised, with_tolerance
from rbdhw.golden.solver import Trajectory, expand, roll_out, solve
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.knot_numbers import knot_numbers
from rbdhw.model.solver_goal import NOT_TAKEN
from rbdhw.model.solver_words import with_solver
from rbdhw.protocol import FORCE_LIMITS
from rbdhw.robot.model import JointKind
from rbdhw.solving import Solved
from tests.support.fixed_solvers import (
    STEP,
    fixed_solver,
    forces,
    plan_of,
    posed,
    real_states,
    with_close_limits,
)
from tests.support.floating_robots import floating
from tests.support.marks import long
from tests.support.mechanisms import mechanism

KNOTS, ALPHAS = 10, 6


@pytest.fixture(scope="module")
def fixed():
    return fixed_solver("toy", KNOTS, ALPHAS)


def at_rest(fixed, task):
    """Return a task in the same place at rest."""
    return task | {state.word.name: 0 for state in fixed.shape.state[fixed.shape.nv :]}


def with_alphas(model, alphas):
    """Return an accelerator whose solver tries other step lengths."""
    interface = model.interface
    return replace(model, interface=replace(interface, solver=replace(interface.solver, alphas=alphas)))


@pytest.mark.parametrize("seed", [long(0), 3, long(1), long(2)])
def test_it_finds_the_optimum_of_double_precision(fixed, seed):
    problem, task, goal = posed(fixed, seed)
    optimum = solve(fixed.model.robot, problem, 40, 8, 1e-12)
    solution = fixed.solve(task, goal, 10)
    assert solution.status is Solved.ITERATIONS
    again = {**problem, "tau": forces(fixed, solution.plan)}
    cost = roll_out(fixed.model.robot, again, np.zeros((KNOTS, 2))).cost
    assert float(optimum["cost"]) <= cost * (1.0 + 1e-12)
    assert cost == pytest.approx(float(optimum["cost"]), rel=1e-6)


@pytest.mark.verify
@pytest.mark.parametrize("seed", [2, 3])
def test_a_first_trajectory_may_fall_for_long(seed):
    """Half of the forces that would hold the robot: it is far from its goal, and fast."""
    solver = fixed_solver("toy", 40, ALPHAS)
    problem, _, goal = posed(solver, seed)
    problem["v"] = np.zeros(2)
    task = solver.task(problem, 0.5 * problem["tau"][0])
    fallen = real_states(solver, solver.solve(task, goal, 0).plan)
    assert np.abs(fallen[-1, 2:]).max() > 5.0  # rad/s
    solution = solver.solve(task, goal, 10)
    assert solution.status is Solved.ITERATIONS
    optimum = solve(solver.model.robot, problem, 40, 8, 1e-12)
    np.testing.assert_allclose(real_states(solver, solution.plan), optimum["states"], rtol=0.0, atol=2e-3)


def test_forces_cost_their_difference_from_a_reference(fixed):
    """Dear forces stay near a reference that differs from step to step; one beyond the domain is refused."""
    problem, _, _ = posed(fixed, 4)
    problem["R"] = 20.0 * problem["R"]
    problem["tau_ref"] = problem["tau"] * np.linspace(0.9, 1.2, KNOTS)[:, np.newaxis]
    optimum = solve(fixed.model.robot, problem, 40, 8, 1e-12)
    solution = fixed.solve(fixed.task(problem, problem["tau"][0]), fixed.goal(problem), 10)
    np.testing.assert_allclose(forces(fixed, solution.plan), optimum["tau"], rtol=0.0, atol=1e-3)
    none = solve(fixed.model.robot, {**problem, "tau_ref": 0.0 * problem["tau"]}, 40, 8, 1e-12)
    assert np.abs(none["tau"] - optimum["tau"]).max() > 0.1
    problem["tau_ref"] = problem["tau_ref"] + 1e6
    with pytest.raises(InputError, match="array 'tau_ref', row 0, element 0: is outside the domain"):
        fixed.goal(problem)


@pytest.mark.parametrize("seed", [long(0), 3])
def test_forces_keep_to_limits(fixed, seed):
    """Limits are met in the pass forward alone, which finds the last per cent slowly."""
    free, _, _ = posed(fixed, seed)
    problem = with_close_limits(free, 0.05)
    optimum = solve(fixed.model.robot, problem, 40, 8, 1e-12)
    solution = fixed.solve(fixed.task(problem, problem["tau"][0]), fixed.goal(problem), 10)
    tau, step = forces(fixed, solution.plan), np.array([word.format.step for word in fixed.shape.taus])
    assert (tau >= problem["tau_min"] - step).all()
    assert (tau <= problem["tau_max"] + step).all()
    at_limits = np.logical_or(*(np.isclose(tau, problem[name], rtol=0.0, atol=step) for name in FORCE_LIMITS))
    assert 0 < at_limits.sum() < tau.size
    cost = roll_out(fixed.model.robot, {**problem, "tau": tau}, np.zeros((KNOTS, 2))).cost
    without = solve(fixed.model.robot, free, 40, 8, 1e-12)
    assert 1.01 * without["cost"] < optimum["cost"] < cost < 1.015 * optimum["cost"]


def test_limits_beyond_the_domain_are_those_of_the_domain_and_one_step_may_have_its_own(fixed):
    problem, task, goal = posed(fixed, 0)
    wide = fixed.goal(problem | {"tau_min": np.full(2, -np.inf), "tau_max": np.full(2, 1e9)})
    assert all((wide.rows[name] == words).all() for name, words in goal.rows.items())
    least, most = (word.name for word in fixed.shape.limits_of_forces[0])
    rows = {name: words.copy() for name, words in goal.rows.items()}
    rows[least][4] = rows[most][4] = 7
    solution = fixed.solve(task, replace(goal, rows=rows), 4)
    assert np.flatnonzero(solution.plan.forces["tau[0]"] == 7).tolist() == [4]


def test_its_cost_is_twice_that_of_its_trajectory_behind_the_first_state(fixed):
    problem, task, goal = posed(fixed, 0)
    solution = fixed.solve(task, goal, 3)
    again = {**problem, "tau": forces(fixed, solution.plan)}
    again["Q"] = problem["Q"] * (np.arange(KNOTS + 1) > 0)[:, np.newaxis]
    cost = roll_out(fixed.model.robot, again, np.zeros((KNOTS, 2))).cost
    assert 0.5 * solution.cost * 2.0**-COST_POINT * goal.unit == pytest.approx(cost, rel=1e-3)


def test_numbers_of_knots_are_those_of_double_precision(fixed):
    """They are the expansion around a plan, to the words of derivatives and weights."""
    problem, task, goal = posed(fixed, 1)
    plan = fixed.solve(task, goal, 2).plan
    words, fits = fixed.numbers(task, goal, plan)
    around = Trajectory(real_states(fixed, plan), forces(fixed, plan), 0.0)
    exact = knot_numbers(expand(fixed.model.robot, problem, around), STEP, fixed.sweep.forces)
    assert fits
    given = {word.name: word.format for word in fixed.sweep.taken if word.name != "regularisation"}
    for name, format_ in given.items():
        # The first state has no cost here, and the last knot no forces.
        array = name.partition("[")[0]
        knots = {"H": slice(1, None), "g": slice(1, -1), "R": slice(0, -1)}.get(array, slice(None))
        computed, expected = format_.real(words[name])[knots], exact[name][knots]
        np.testing.assert_allclose(computed, expected, rtol=0.0, atol=2e-3 * np.abs(exact[name]).max() + 1e-9)


def test_an_earlier_plan_is_a_better_first_guess(fixed):
    _, task, goal = posed(fixed, 2)
    plan = fixed.solve(task, goal, 10).plan
    later = task | {state.word.name: int(plan.states[state.word.name][1]) for state in fixed.shape.state}
    warm, cold = fixed.solve(later, goal, 0, plan, shift=1), fixed.solve(at_rest(fixed, later), goal, 0)
    assert warm.cost < cold.cost
    for name, words in warm.plan.forces.items():
        np.testing.assert_array_equal(words[:-1], plan.forces[name][1:])


def test_a_first_trajectory_that_leaves_the_domain_ends_the_solution(fixed):
    _, task, goal = posed(fixed, 0)
    beyond = {"h": fixed.shape.time_word.highest + 1}
    solution = fixed.solve(task | beyond, goal, 5)
    assert (solution.status, solution.iterations) == (Solved.NOT_FINITE, 0)


def test_a_first_trajectory_begins_at_rest_and_its_trials_with_the_state(fixed):
    """The trajectory that is kept costs what one from the state does; without one the solution says so."""
    _, task, goal = posed(fixed, 0)
    none, solution = fixed.solve(task, goal, 0), fixed.solve(task, goal, 1)
    rest = fixed.solve(at_rest(fixed, task), goal, 0)
    assert (none.status, rest.status) == (Solved.NOT_FINITE, Solved.ITERATIONS)
    np.testing.assert_equal(none.plan.states, rest.plan.states)
    assert solution.status is Solved.ITERATIONS
    assert all(solution.plan.states[name][0] == task[name] for name in solution.plan.states)
    free = {term.weight: 0 * goal.rows[term.weight] for term in fixed.shape.terms[: fixed.shape.nv]}
    free |= {term.weight: 0 * goal.rows[term.weight] for term in fixed.shape.terms[2 * fixed.shape.nv :]}
    goal = replace(goal, rows=goal.rows | free)  # at rest nothing costs
    assert fixed.solve(task, goal, 1).cost > fixed.solve(at_rest(fixed, task), goal, 0).cost


def test_a_state_from_which_no_trial_stays_in_the_domain_ends_the_solution(fixed):
    _, task, goal = posed(fixed, 0)
    beyond = {"v[0]": next(s.word.highest for s in fixed.shape.state if s.word.name == "v[0]") + 1}
    for iterations, taken in ((5, 5), (20, 9)):
        solution = fixed.solve(task | beyond, goal, iterations)
        assert (solution.status, solution.iterations, solution.usable) == (Solved.NOT_FINITE, taken, True)


def test_numbers_beyond_their_formats_leave_no_policy(fixed):
    _, task, goal = posed(fixed, 0)
    steep = {each.name: np.full(KNOTS, each.format.highest) for each in fixed.shape.slopes}
    solution = fixed.solve(task, replace(goal, rows={**goal.rows, **steep}), 5)
    assert (solution.status, solution.iterations) == (Solved.INDEFINITE, 1)


def test_a_plan_stays_usable_whose_numbers_exceed_their_formats_later(fixed, monkeypatch):
    _, task, goal = posed(fixed, 0)
    calls, numbers = [], FixedSolver.numbers

    def later_beyond(*arguments):
        calls.append(arguments)
        words, fits = numbers(*arguments)
        return words, fits and len(calls) < 3

    before = fixed.solve(task, goal, 2)
    monkeypatch.setattr(FixedSolver, "numbers", later_beyond)
    solution = fixed.solve(task, goal, 5)
    assert (solution.status, solution.iterations, solution.usable) == (Solved.INDEFINITE, 3, True)
    np.testing.assert_equal(solution.plan.gains, before.plan.gains)


def test_a_regularisation_falls_to_zero_from_the_least():
    assert [raised(each) for each in (0, 8, 64)] == [8, 64, 512]
    assert [lowered(each) for each in (512, 64, 8, 0)] == [64, 8, 0, 0]


def test_references_that_do_not_count_are_limited_to_the_domain(fixed):
    problem, _, _ = posed(fixed, 0)
    problem["x_ref"] = problem["x_ref"] + 1e3 * (np.arange(4) == 3)
    with pytest.raises(InputError, match="array 'x_ref', row 1, element 3: is outside the domain"):
        fixed.goal(problem)
    problem["Q"] = problem["Q"] * (np.arange(4) != 3)
    speed = fixed.shape.terms[3]
    assert (fixed.goal(problem).rows[speed.reference] == speed.word.highest).all()


def test_a_solution_without_a_cheaper_trial_stalls(fixed):
    """The slopes lead uphill, and the regularisation rises to its end."""
    _, task, goal = posed(fixed, 0)
    task = at_rest(fixed, task)
    uphill = {each.name: -goal.rows[each.name] for each in fixed.shape.slopes}
    solution = fixed.solve(task, replace(goal, rows={**goal.rows, **uphill}), 40)
    assert solution.status is Solved.STALLED
    assert solution.cost == fixed.solve(task, goal, 0).cost


def test_of_equal_costs_the_longest_step_is_kept(fixed):
    """It costs more than the shortest one, which changes nothing, but within the tolerance."""
    _, task, goal = posed(fixed, 11)
    last = fixed.solve(task, goal, 2)
    solution, longest = (
        FixedSolver(with_alphas(fixed.model, n)).solve(task, goal, 1, last.plan) for n in (ALPHAS, 1)
    )
    assert last.cost < solution.cost <= with_tolerance(last.cost)
    np.testing.assert_equal(solution.plan.forces, longest.plan.forces)


@pytest.mark.parametrize(("weight", "text"), [(-1.0, "negative"), (np.nan, "negative"), (1e9, "too large")])
def test_weights_out_of_bounds_are_refused(fixed, weight, text):
    problem, _, _ = posed(fixed, 0)
    problem["Q"][3, 1] = weight
    with pytest.raises(InputError, match=text):
        fixed.goal(problem)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("W", np.ones((KNOTS + 1, 1))),
        ("limit_weight", np.array([0.0, 0.0, 0.0, 1.0])),
        ("position_weight", np.ones((KNOTS + 1, 1, 3))),
        ("orientation_weight", np.ones((KNOTS + 1, 1))),
        ("momentum_weight", np.ones((KNOTS + 1, 6))),
        ("contact", np.ones((KNOTS, 1))),
    ],
)
def test_other_parts_of_a_problem_are_refused(fixed, name, value):
    problem, _, _ = posed(fixed, 0)
    text = f"problem: a solver on words does not take its {name}; expected costs of Q and R alone,"
    with pytest.raises(InputError, match=text):
        fixed.goal({**problem, name: value})


def test_arrays_of_a_problem_count_or_are_refused_or_mean_nothing_without_others():
    counts, guess = (
        {"q", "v", "h", "x_ref", "tau_ref", "Q", "R", "tau_min", "tau_max"},
        {"states", "tau", "K"},
    )
    with_others = {"C", "y", "W", "position_weight", "x_min", "x_max", "placement_ref", "momentum_ref"}
    assert set(SOLVE_INPUTS) == {*counts, *guess, *with_others, *NOT_TAKEN}


def test_a_problem_of_the_costs_alone_is_taken(fixed):
    problem, _, goal = posed(fixed, 0)
    alone = fixed.goal({name: problem[name] for name in ("h", "x_ref", "Q", "R")})
    np.testing.assert_equal(alone.rows, goal.rows)


def test_robots_that_a_solver_does_not_take_are_refused(fixed):
    cart = mechanism([JointKind.PLANAR, JointKind.REVOLUTE], [-1, 0], 2)
    for robot, blocks, refusal in (
        (cart, 1, "joint 'j0': is planar; expected joints of one degree of freedom, spherical or floating"),
        (floating("toy"), 2, "blocks: joint 'root_joint' has several degrees of freedom; expected 1"),
    ):
        model = replace(plan_of("toy").accelerator, robot=robot)
        with pytest.raises(InputError, match=refusal):
            with_solver(model, fixed.sweep, ALPHAS, 1, blocks=blocks)


@pytest.mark.verify
def test_a_fixed_time_step_is_no_word(fixed):
    solver = fixed_solver("toy", KNOTS, ALPHAS, time_step=STEP)
    problem, task, goal = posed(solver, 0)
    optimum = solve(solver.model.robot, problem, 40, 8, 1e-12)
    solution = solver.solve(task, goal, 10)
    assert "h" not in task
    assert solver.shape.time_step.constant is not None
    assert fixed.shape.time_word.name in posed(fixed, 0)[1]
    np.testing.assert_allclose(forces(solver, solution.plan), optimum["tau"], rtol=1e-3, atol=1e-2)
