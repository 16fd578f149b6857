"""The bit-exact solver with costs of frames' positions."""

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.fixed.cost import COST_POINT
from rbdhw.golden.kinematics import placements
from rbdhw.golden.solver import Trajectory, expand, roll_out, solve
from rbdhw.model.knot_numbers import knot_numbers, position_numbers
from rbdhw.model.responses import respond
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import GOAL, SOLVE
from rbdhw.solving import Solved
from tests.support.fixed_solvers import STEP, fixed_solver, forces, posed, real_states
from tests.support.marks import long
from tests.support.tracking import arm, ball, legs, two_frames

KNOTS, ALPHAS = 10, 6

POSITIONS = ("placement_ref", "position_weight")


@pytest.fixture(scope="module")
def fixed():
    return fixed_solver(two_frames, KNOTS, ALPHAS)


def cost_of(fixed, problem, solution):
    """Return the cost of a solution's forces in double precision."""
    again = {**problem, "tau": forces(fixed, solution.plan)}
    return roll_out(fixed.model.robot, again, np.zeros((KNOTS, fixed.shape.nv))).cost


@pytest.mark.parametrize(
    ("make", "seed"),
    [(two_frames, 0), long(two_frames, 2), long(arm, 0), long(ball, 0), long(arm, 1), long(legs, 1)],
)
def test_it_finds_the_optimum_of_double_precision(make, seed):
    fixed = fixed_solver(make, KNOTS, ALPHAS, ii=4 if make is two_frames else 16)
    problem, task, goal = posed(fixed, seed)
    optimum = solve(fixed.model.robot, problem, 40, 8, 1e-12)
    solution = fixed.solve(task, goal, 12)
    assert cost_of(fixed, problem, solution) == pytest.approx(float(optimum["cost"]), rel=1e-4)
    none = solve(fixed.model.robot, without(problem), 8, 8, 1e-12)
    assert np.abs(none["tau"] - optimum["tau"]).max() > 0.5


@pytest.mark.verify
@pytest.mark.parametrize("variant", [{"blocks": 3}, {"time_step": STEP}, {"number": "float32"}])
def test_other_solvers_find_it_too(variant):
    fixed = fixed_solver(two_frames, KNOTS, ALPHAS, **variant)
    problem, task, goal = posed(fixed, 0)
    optimum = solve(fixed.model.robot, problem, 40, 8, 1e-12)
    solution = fixed.solve(task, goal, 12)
    assert cost_of(fixed, problem, solution) == pytest.approx(float(optimum["cost"]), rel=1e-4)


def without(problem):
    """Return a problem in which positions cost nothing."""
    return problem | {"position_weight": 0.0 * problem["position_weight"]}


def without_a_weight(problem):
    """Return a problem in which positions cost nothing: their references may be anywhere."""
    return without(problem) | {"placement_ref": problem["placement_ref"] + 1e6}


@pytest.mark.verify
def test_positions_without_a_weight_cost_nothing(fixed):
    problem, task, _ = posed(fixed, 1)
    free = without_a_weight(problem)
    optimum = solve(fixed.model.robot, free, 40, 8, 1e-12)
    goal = fixed.goal(free)
    assert cost_of(fixed, free, fixed.solve(task, goal, 12)) == pytest.approx(
        float(optimum["cost"]), rel=1e-6
    )


def test_a_goal_without_positions_has_the_words_of_one_in_which_they_cost_nothing(fixed):
    problem, _, _ = posed(fixed, 1)
    others = {name: array for name, array in problem.items() if name not in POSITIONS}
    np.testing.assert_equal(fixed.goal(others).rows, fixed.goal(without_a_weight(problem)).rows)


def test_a_goal_has_the_weights_and_references_of_each_coordinate(fixed):
    """Each as the index says; what nothing moves has neither a slope nor a curvature."""
    problem, _, goal = posed(fixed, 0)
    words = {word.name: word for word in fixed.model.interface.inputs(GOAL)}
    for f, axis in np.ndindex(2, 3):
        reference, weight = (words[f"{name}[{f},{axis}]"] for name in ("p_ref", "p_weight"))
        expected = problem["placement_ref"][1:, f, axis, 3]
        found = reference.format.real(goal.rows[reference.name])
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=reference.format.step)
        expected = problem["position_weight"][1:, f, axis]
        found = goal.unit * weight.format.real(goal.rows[weight.name]) ** 2
        np.testing.assert_allclose(found, expected, rtol=1e-2)
        for name in ("p_slope", "p_curvature"):
            assert (f"{name}[{f},{axis}]" in words) == (axis != 1)


def test_a_trajectory_has_the_positions_behind_steps(fixed):
    _, task, goal = posed(fixed, 0)
    plan = fixed.solve(task, goal, 3).plan
    exact = placements(fixed.model.robot, real_states(fixed, plan)[:, :2])[..., :3, 3].reshape(KNOTS + 1, -1)
    names = [word.name for word in fixed.shape.trajectory]
    assert names[4:10] == [each.word.name for each in fixed.shape.tracked]
    for each, expected in zip(fixed.shape.tracked, exact.T, strict=True):
        words = plan.states[each.word.name]
        assert words[0] == 0
        np.testing.assert_allclose(each.word.format.real(words)[1:], expected[1:], rtol=0.0, atol=1e-5)


def test_its_cost_is_twice_that_of_its_trajectory_behind_the_first_state(fixed):
    problem, task, goal = posed(fixed, 0)
    solution = fixed.solve(task, goal, 3)
    behind = {name: problem[name].copy() for name in ("Q", "position_weight")}
    for weights in behind.values():
        weights[0] = 0.0
    cost = cost_of(fixed, problem | behind, solution)
    assert 0.5 * solution.cost * 2.0**-COST_POINT * goal.unit == pytest.approx(cost, rel=1e-3)


def test_numbers_of_knots_are_those_of_double_precision(fixed):
    """Those of positions belong to the knot behind a step: the first one has none."""
    problem, task, goal = posed(fixed, 1)
    plan = fixed.solve(task, goal, 2).plan
    words, fits = fixed.numbers(task, goal, plan)
    states = real_states(fixed, plan)
    around = Trajectory(states, forces(fixed, plan), 0.0)
    whole = knot_numbers(expand(fixed.model.robot, problem, around), STEP, fixed.sweep.forces)
    exact = whole | position_numbers(fixed.model.robot, problem, states, whole)
    assert fits
    given = {word.name: word.format for word in fixed.sweep.taken if word.name != "regularisation"}
    assert {name[0] for name in given} == set("DHgRPWG")
    for name, format_ in given.items():
        array = name.partition("[")[0]
        knots = {"g": slice(1, -1), "R": slice(0, -1), "D": slice(None)}.get(array, slice(1, None))
        computed, expected = format_.real(words[name])[knots], exact[name][knots]
        np.testing.assert_allclose(computed, expected, rtol=0.0, atol=2e-3 * np.abs(exact[name]).max() + 1e-9)
        if array in "PWG":
            assert words[name][0] == 0


def test_a_position_beyond_its_format_flags_a_step(fixed, monkeypatch):
    """The positions of the toy fit all formats, so here a result of a step is made larger."""
    _, task, goal = posed(fixed, 0)
    word = fixed.shape.step.outputs[fixed.shape.tracked[2].place]

    def far(model, function, words):
        status, results = respond(model, function, words)
        if function == "step":
            results[word.name] = np.full_like(results[word.name], 1 << 40)
        return status, results

    monkeypatch.setattr("rbdhw.model.fixed_solver.respond", far)
    solution = fixed.solve(task, goal, 3)
    assert (solution.status, solution.iterations) == (Solved.NOT_FINITE, 0)


def test_an_earlier_plan_is_a_better_first_guess(fixed):
    _, task, goal = posed(fixed, 2)
    plan = fixed.solve(task, goal, 10).plan
    later = task | {state.word.name: int(plan.states[state.word.name][1]) for state in fixed.shape.state}
    rest = later | {rate.word.name: 0 for rate in fixed.shape.rates}
    assert fixed.solve(later, goal, 0, plan, shift=1).cost < fixed.solve(rest, goal, 0).cost


def test_a_session_solves_the_loaded_goal(fixed):
    _, task, goal = posed(fixed, 0)
    session, direct = SolverSession(fixed.model), fixed.solve(task, goal, 3)
    session.respond(GOAL, {**goal.rows, "row": np.arange(KNOTS)})
    asked = task | {"iterations": 3, "warm": 0, "shift": 0}
    status, answer = session.respond(SOLVE, {name: np.array([number]) for name, number in asked.items()})
    assert status.tolist() == [0]
    assert answer["solve.cost"].tolist() == [direct.cost]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"placement_ref": np.full((KNOTS + 1, 2, 4, 4), 9.0)},
            "'placement_ref', step 1, x of frame 'tip': 9 m",
        ),
        ({"position_weight": np.full((KNOTS + 1, 2, 3), 1e9)}, r"weights: p_slope\[0,0\]: .* is too large"),
        ({"position_weight": np.full((KNOTS + 1, 2, 3), -1.0)}, "weights: one is negative"),
        (
            {"orientation_weight": np.ones((KNOTS + 1, 2))},
            "take its orientation_weight; expected costs of Q, R and",
        ),
    ],
)
def test_unusable_problems_are_refused(fixed, change, text):
    problem, _, _ = posed(fixed, 0)
    with pytest.raises(InputError, match=text):
        fixed.goal(problem | change)
