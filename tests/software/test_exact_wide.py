"""Joints of several degrees of freedom: the bit-exact solver in C equals its model in every bit."""

import numpy as np
import pytest

from rbdhw.software.exact import model_files
from rbdhw.software.exact_library import ExactSolver
from rbdhw.software.exact_solver import model_solver_files
from rbdhw.solving import Solved
from tests.support.compilers import COMPILATIONS, C, assert_it_ends, assert_no_warning
from tests.support.exact_solvers import (
    Both,
    check_any,
    check_arrays,
    check_ends,
    check_loop,
    fixed,
    problem_of,
    solve_arrays,
)
from tests.support.fixed_solvers import STEP, fixed_solver
from tests.support.floating_robots import floating, shoulder, two_legs
from tests.support.marks import long

REFUSED = -1


def hyq():
    return floating("hyq")


def solver(make=shoulder, **sizes):
    return fixed_solver(make, 4, 3, **sizes)


@pytest.fixture(params=[shoulder, long(two_legs)])
def both(request):
    return Both(solver(request.param))


def turned(both, problem):
    """Return a problem that begins with the other quaternions of the same orientations."""
    q = problem["q"].copy()
    for joint in both.solver.shape.joints:
        q[list(joint.quaternion)] *= -1.0
    return problem | {"q": q}


@pytest.mark.parametrize("seed", [1, long(0), long(2)])
def test_random_problems_cold_and_warm(both, seed):
    check_loop(both, seed, 1 + seed)


@pytest.mark.parametrize(("follow", "iterations"), [(2, 2), long(None, 2), long(0, 1), long(3, 0)])
def test_a_warm_solution_has_the_signs_of_the_last_one(both, follow, iterations):
    problem = problem_of(both.solver, 0)
    both.solve(problem, 2)
    other = both.solve_last(turned(both, problem), iterations, follow)
    both.solve(problem, 2)
    answer = both.solve_last(problem, iterations, follow)
    assert (answer == other) == (follow is not None)
    assert answer["cost"] == pytest.approx(other["cost"], rel=1e-4)


@pytest.mark.verify
def test_a_sign_changes_from_one_solution_to_the_next(both):
    """Each follows a plan with other signs, or with the same ones."""
    problem = problem_of(both.solver, 0)
    for begin in (problem, turned(both, problem)):
        first = both.solve(begin, 2)
        costs = [
            both.solve_last(each, 1, follow=1)["cost"] for each in (turned(both, problem), problem, problem)
        ]
        assert max(costs) < 1.1 * first["cost"]


@pytest.mark.verify
def test_every_end_of_a_solution(both):
    check_ends(both)


@pytest.mark.parametrize("seed", [0, *map(long, range(1, 4))])
def test_any_goal_and_any_task(both, seed):
    check_any(both, seed)


@pytest.mark.parametrize(
    "sizes", [{}, long({"number": "float32"}), long({"time_step": STEP}), long({"together": 2})], ids=str
)
def test_problems_in_arrays(sizes):
    check_arrays(solver(**sizes))


@pytest.mark.verify
def test_problems_of_a_floating_robot_in_arrays():
    check_arrays(solver(two_legs))


def test_problems_in_arrays_that_are_refused():
    made = solver()
    exact, problem = ExactSolver(made.model), problem_of(made, 0)
    end, before = solve_arrays(exact, problem, 2)
    assert end == Solved.ITERATIONS
    (joint,) = made.shape.joints
    for knot in (0, 2, made.shape.knots):
        for factor in (0.0, 0.99, 1.01, np.nan):
            x_ref = problem["x_ref"].copy()
            x_ref[knot, joint.quaternion] *= factor
            assert solve_arrays(exact, problem | {"x_ref": x_ref}, 2)[0] == REFUSED
    for name, coordinate in (("Q", joint.coordinates[0]), ("Q", 2 * made.shape.nv - 1), ("R", 0)):
        for weight in (-1.0, np.nan, 1e12):
            weights = problem[name].copy()
            weights[-1, coordinate] = weight
            assert solve_arrays(exact, problem | {name: weights}, 2)[0] == REFUSED
    np.testing.assert_equal(solve_arrays(exact, problem, 2)[1], before)


@pytest.mark.verify(minutes=4)
@pytest.mark.timeout(3600)
def test_a_quadruped():
    check_loop(Both(fixed_solver(hyq, 3, 2, ii=32, problems=2)), 0, 2)


@pytest.mark.parametrize(
    ("compiler", "language", "parts"),
    [
        ("the host's", C, ["model.h"]),
        *(long(compiler, language, ["model.h", "model.c"]) for compiler, language in COMPILATIONS),
    ],
)
def test_no_compiler_warns(compiler, language, parts, tmp_path):
    model = solver().model
    files = model_files(model)
    for name, text in ({name: files[name] for name in parts} | model_solver_files(model)).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


SANITIZED = """
from tests.support.exact_solvers import Both, check_any, check_loop
from tests.support.fixed_solvers import fixed_solver
from tests.support.floating_robots import shoulder
solver = fixed_solver(shoulder, 4, 3)
flags = "-fsanitize=undefined -fno-sanitize-recover=all -O1 -DRBDHW_LANES=1".split()
check_loop(Both(solver, flags), 0, 2)
for seed in range(6, 10):
    check_any(Both(solver, flags), seed)
"""


@pytest.mark.verify
def test_nothing_is_undefined():
    assert_it_ends(SANITIZED)


def test_the_c_of_other_joints_has_no_word_of_them():
    for text in model_solver_files(fixed().model).values():
        assert not any(name in text for name in ("TANGENT", "difference differences", "quaternion"))
