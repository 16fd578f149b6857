"""The bit-exact solver in C: the bits of the model's answers to packets, whatever becomes of a solution."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.solver_codec import goal_words, task_words
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.software.exact import model_files
from rbdhw.software.exact_solver import model_solver_files
from rbdhw.solving import Solved
from tests.support.compilers import COMPILERS, assert_no_warning
from tests.support.exact_solvers import KNOTS, Both, check_any, check_ends, fixed, problem_of
from tests.support.fixed_solvers import fixed_solver


@pytest.fixture
def both():
    return Both(fixed())


def check_loop(both, seed, iterations):
    """Compare solutions that follow one another by several shifts, with the same goal and another one."""
    first, second = (problem_of(both.solver, 10 * seed + k) for k in range(2))
    answer = both.solve(first, iterations)
    assert (answer["solved"], answer["iterations"]) == (Solved.ITERATIONS, iterations)
    assert answer["K[0,0]"] != 0
    both.solve_last(first, 2, follow=seed)
    followed = both.solve(second, 1, follow=both.knots - 1)
    assert followed["tau[0]"] != both.solve_last(second, 1)["tau[0]"]


@pytest.mark.parametrize("seed", range(4))
def test_random_problems_cold_and_warm(both, seed):
    check_loop(both, seed, 1 + 2 * seed)


def test_an_arm():
    check_loop(Both(fixed_solver("iiwa14", 3, 2, ii=32)), 0, 2)


@pytest.mark.verify(minutes=5)
@pytest.mark.timeout(1800)
def test_a_long_horizon_of_an_arm():
    both = Both(fixed_solver("iiwa14", 64, 8, ii=32))
    for seed in range(2):
        check_loop(both, seed, 4)


def test_every_end_of_a_solution(both):
    check_ends(both)


@pytest.mark.parametrize("seed", range(6))
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
    negative = rows | {"x_weight[0]": np.full(KNOTS, -1)}
    assert both.send(GOAL, negative)[0].tolist() == [OUTSIDE] * KNOTS
    for name, number in {"iterations": -1, "warm": 2, "shift": KNOTS}.items():
        assert both.send(SOLVE, task | {name: np.array([number])})[0] == MALFORMED
    assert both.send(SOLVE, task)[0] == 0


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("language", [("-xc++", "-std=c++17"), ("-std=c11",)])
def test_no_compiler_warns(compiler, language, tmp_path):
    for name, text in (model_files(fixed().model) | model_solver_files(fixed().model)).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


SANITIZED = """
from tests.support.exact_solvers import Both, check_any, check_ends, fixed
flags = "-fsanitize=undefined -fno-sanitize-recover=all -O1 -DRBDHW_LANES=1".split()
check_ends(Both(fixed(), flags))
for seed in range(6, 10):
    check_any(Both(fixed(), flags), seed)
"""


def test_nothing_is_undefined():
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root}
    command = [sys.executable, "-c", SANITIZED]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
