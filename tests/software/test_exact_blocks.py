"""Sweeps in blocks of knots: the bit-exact solver in C equals its model in every bit."""

import numpy as np
import pytest

from rbdhw.model.solver_codec import goal_words, plan_words
from rbdhw.protocol import GOAL, PLAN
from rbdhw.software.exact import model_files
from rbdhw.software.exact_solver import model_solver_files
from rbdhw.solving import Solved
from tests.support.compilers import COMPILATIONS, CPP, assert_no_warning
from tests.support.exact_solvers import (
    KNOTS,
    Both,
    across_half_a_turn,
    check_any,
    check_arrays,
    check_ends,
    check_loop,
    fixed,
    problem_of,
)
from tests.support.fixed_solvers import STEP, fixed_solver
from tests.support.marks import long, quick_among


@pytest.fixture(params=[3, long(2), long(KNOTS + 1)])
def both(request):
    return Both(fixed(blocks=request.param))


def costless_from(solver, problem, step):
    """Return the rows of a problem's goal, without curvatures and slopes from a step on."""
    shape, rows = solver.shape, goal_words(solver, solver.goal(problem))
    for name in (each.word.name for each in shape.curvatures):
        rows[name][step:] = 0
    for name in (each.name for each in shape.slopes):
        rows[name][step:] = 0
    return rows


@pytest.mark.parametrize("seed", [1, long(0), long(2)])
def test_random_problems_cold_and_warm(both, seed):
    check_loop(both, seed, 1 + 2 * seed)


@pytest.mark.verify
def test_every_end_of_a_solution(both):
    check_ends(both)


@pytest.mark.parametrize("seed", [0, *map(long, range(1, 4))])
def test_any_goal_and_any_task(both, seed):
    check_any(both, seed)


@pytest.mark.parametrize("step", [4, long(2), long(5)])
def test_sweeps_that_fail_leave_the_values_of_the_last_one(both, step):
    """Where nothing costs, the first sweeps fail, and a larger regularisation helps."""
    problem = problem_of(both.solver, 0)
    assert both.solve(problem, 4)["regularisation"] == 0
    rows = costless_from(both.solver, problem, step)
    for follow in (None, 0, 2):
        both.send(GOAL, rows)
        answer = both.solve_last(problem, 1, follow)
        assert answer["regularisation"] > 0 or follow is not None  # values may be those of a goal that costs
        both.solve_last(problem, 3, follow=0)
        both.solve(problem, 3, follow=1)


def test_a_solution_without_a_policy_leaves_no_values(both):
    """What follows it begins as one from rest."""
    problem, shape = problem_of(both.solver, 0), both.solver.shape
    first = both.solve(problem, 3)
    both.solve_last(problem, 2, follow=0)
    steep = {each.name: each.format.highest for each in shape.slopes}
    assert both.solve(problem, 4, follow=0, goal=steep)["solved"] == Solved.INDEFINITE
    assert both.solve(problem, 3, follow=0) == first
    both.solve_last(problem, 0, follow=0)
    assert both.solve_last(problem, 3, follow=0) == first


def test_values_are_forgotten_if_a_change_exceeds_its_format(both):
    """A warm solution far from the last one begins without values."""
    problem = problem_of(both.solver, 0)
    both.solve(problem, 3)
    far = next(word.highest for word in both.solver.shape.step.inputs if word.name == "q[0]")
    answer = both.solve_last(problem, 2, follow=0, task={"q[0]": far})
    assert (answer["solved"], answer["iterations"]) == (Solved.ITERATIONS, 2)


@pytest.mark.parametrize("number", ["fixed", long("float32")])
def test_problems_in_arrays(number):
    check_arrays(fixed(number, blocks=3))


def test_joints_without_limits(tmp_path):
    """The change of an angle that passes half a turn between two iterations is the short one."""
    solver, problem = across_half_a_turn(tmp_path, blocks=3, before=0.001)
    both = Both(solver)
    both.solve(problem, 1)
    _, knots = both.send(PLAN, plan_words(solver))
    behind = np.array(solver.shape.block_starts) + 1
    assert (np.sign(knots["plan.x[0]"][[0, *behind]]) == [1, -1, -1]).all()
    for iterations in (2, 3):
        assert both.solve_last(problem, iterations)["solved"] == Solved.ITERATIONS
    both.solve_last(problem, 2, follow=1)
    check_any(both, 0)
    check_arrays(solver)


@pytest.mark.verify
def test_a_fixed_time_step():
    check_arrays(fixed(time_step=STEP, blocks=2))


@pytest.mark.verify(minutes=0.4)
def test_an_arm():
    check_loop(Both(fixed_solver("iiwa14", 8, 2, ii=32, blocks=3)), 0, 3)


@pytest.mark.parametrize(("compiler", "language"), quick_among(COMPILATIONS, ("the host's", CPP)))
def test_no_compiler_warns(compiler, language, tmp_path):
    model = fixed(blocks=3).model
    header = {"model.h": model_files(model)["model.h"]}  # the rest is that of one block
    for name, text in (header | model_solver_files(model)).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


def test_the_c_of_one_block_has_no_word_of_others():
    for text in model_solver_files(fixed().model).values():
        assert not any(name in text for name in ("BLOCK_KNOTS", "moved", "has_values", "swept_states"))
