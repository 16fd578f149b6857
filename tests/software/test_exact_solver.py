"""The bit-exact solver in C: the bits of the model's answers to packets, whatever becomes of a solution."""

import numpy as np
import pytest

from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.solver_codec import goal_words, task_words
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.robot.model import JointKind
from rbdhw.software.exact import model_files
from rbdhw.software.exact_library import ExactSolver
from rbdhw.software.exact_solver import model_solver_files
from rbdhw.solving import Solved
from tests.support.compilers import COMPILATIONS, C, assert_it_ends, assert_no_warning
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
    solve_arrays,
    solver_of,
)
from tests.support.fixed_solvers import STEP, fixed_solver
from tests.support.marks import long, quick_among
from tests.support.mechanisms import mechanism

REFUSED = -1


@pytest.fixture
def both():
    return Both(fixed())


@pytest.mark.parametrize("seed", [1, *map(long, (0, 2, 3))])
def test_random_problems_cold_and_warm(both, seed):
    check_loop(both, seed, 1 + 2 * seed)


@pytest.mark.verify
def test_three_joints():
    kinds = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE]
    check_loop(Both(solver_of(mechanism(kinds, [-1, 0, 0], 2), 3)), 0, 2)


@pytest.mark.verify(minutes=0.4)
def test_an_arm():
    check_loop(Both(fixed_solver("iiwa14", 3, 2, ii=32)), 0, 2)


@pytest.mark.verify(minutes=2.5)
@pytest.mark.timeout(1800)
def test_a_long_horizon_of_an_arm():
    check_loop(Both(fixed_solver("iiwa14", 64, 8, ii=32)), 0, 4)


@pytest.mark.verify
def test_a_fixed_time_step():
    solver = fixed(time_step=STEP)
    check_loop(Both(solver), 0, 3)
    check_arrays(solver)


def test_every_end_of_a_solution(both):
    check_ends(both)


@pytest.mark.parametrize("seed", [0, 1, *map(long, range(2, 6))])
def test_any_goal_and_any_task(both, seed):
    check_any(both, seed)


def test_malformed_packets(both):
    """They are answered, and change nothing."""
    problem = problem_of(both.solver, 1)
    rows = goal_words(both.solver, both.solver.goal(problem))
    task = task_words(both.solver, problem, 2, None)
    assert both.send(SOLVE, task)[0] == MALFORMED  # before its goal
    assert both.send(PLAN, {"row": np.array([0])})[0] == MALFORMED  # before a solution
    order = np.array([0, 2, 1, 1, 3, 5, 4, KNOTS - 1])
    words = {name: numbers[order] for name, numbers in rows.items()}
    assert both.send(GOAL, words)[0].tolist() == [
        0,
        MALFORMED,
        0,
        0,
        MALFORMED,
        MALFORMED,
        MALFORMED,
        MALFORMED,
    ]
    assert both.send(SOLVE, task)[0] == MALFORMED  # of a part of a goal
    crossing = rows | {"tau_min[0]": np.full(KNOTS, 5), "tau_max[0]": np.full(KNOTS, 4)}
    assert both.send(GOAL, crossing)[0].tolist() == [MALFORMED] * KNOTS
    negative = rows | {"x_weight[0]": np.full(KNOTS, -1)}
    assert both.send(GOAL, negative)[0].tolist() == [OUTSIDE] * KNOTS
    for name, number in {"iterations": -1, "warm": 2, "shift": KNOTS}.items():
        assert both.send(SOLVE, task | {name: np.array([number])})[0] == MALFORMED
    assert both.send(SOLVE, task)[0] == 0


@pytest.mark.parametrize(("number", "time_step"), [("fixed", None), ("float32", STEP), long("float32", None)])
def test_problems_in_arrays(number, time_step):
    check_arrays(fixed(number, time_step))


@pytest.mark.verify
def test_joints_without_limits(tmp_path):
    """Their angles and errors wrap, so the way to a goal behind half a turn is the short one."""
    solver, problem = across_half_a_turn(tmp_path)
    both, q = Both(solver), problem["q"]
    answer = both.solve(problem, 4)
    assert answer["solved"] == Solved.ITERATIONS
    exact = ExactSolver(solver.model)
    costs = [solve_arrays(exact, problem | {"q": q + turn}, 2)[1]["cost"] for turn in (0.0, 2.0 * np.pi)]
    np.testing.assert_allclose(costs[1], costs[0], rtol=1e-5)
    check_any(both, 0)
    check_arrays(solver)


def test_problems_in_arrays_that_are_refused():
    solver = fixed()
    exact, problem = ExactSolver(solver.model), problem_of(solver, 0)
    end, before = solve_arrays(exact, problem, 2)
    assert end == Solved.ITERATIONS
    nan = np.full(2, np.nan)
    assert solve_arrays(exact, problem | {"v": nan}, 2)[0] == Solved.NOT_FINITE
    weights = [np.full_like(problem["Q"], number) for number in (-1.0, np.nan, np.inf)]
    wrong = [
        *({"Q": array} for array in weights),
        {"R": 1e9 * problem["R"]},
        {"x_ref": np.nan * problem["x_ref"]},
        {"x_ref": problem["x_ref"] + [0.0, 0.0, 1e3, 0.0]},
        {"tau_ref": problem["tau_ref"] + 1e3},
        {"tau_min": nan},
        {"tau_min": problem["tau_max"] + 1.0},
    ]
    for arrays in wrong:
        assert solve_arrays(exact, problem | arrays, 2)[0] == REFUSED
    assert solve_arrays(exact, problem, 256)[0] == solve_arrays(exact, problem, 2, KNOTS)[0] == REFUSED
    np.testing.assert_equal(solve_arrays(exact, problem, 2)[1], before)
    far = {"x_ref": problem["x_ref"] + [0.0, 0.0, 1e3, 0.0], "Q": problem["Q"] * [1.0, 1.0, 0.0, 1.0]}
    assert solve_arrays(exact, problem | far, 2)[0] == Solved.ITERATIONS  # a reference that does not count
    del problem["tau_min"]
    wide = problem | {"tau_max": np.full(2, np.inf)}
    np.testing.assert_equal(solve_arrays(exact, wide, 2)[1], before)


@pytest.mark.parametrize(("compiler", "language"), quick_among(COMPILATIONS, ("the host's", C)))
def test_no_compiler_warns(compiler, language, tmp_path):
    for name, text in (model_files(fixed().model) | model_solver_files(fixed().model)).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


SANITIZED = """
from tests.support.exact_solvers import Both, check_any, check_ends, fixed
flags = "-fsanitize=undefined -fno-sanitize-recover=all -O1 -DRBDHW_LANES=1".split()
"""

TOGETHER_IN_BLOCKS = """
check_ends(Both(fixed(together=3, blocks=3), flags))
for seed in range(13, 15):
    check_any(Both(fixed(together=3, blocks=3), flags), seed)
"""

EACH_ALONE = """
check_ends(Both(fixed(), flags))
for seed in range(6, 10):
    check_any(Both(fixed(), flags), seed)
check_any(Both(fixed(together=3), flags), 10)
check_ends(Both(fixed(blocks=3), flags))
for seed in range(10, 13):
    check_any(Both(fixed(blocks=3), flags), seed)
"""


@pytest.mark.parametrize("script", [TOGETHER_IN_BLOCKS, long(EACH_ALONE)])
def test_nothing_is_undefined(script):
    assert_it_ends(SANITIZED + script)
