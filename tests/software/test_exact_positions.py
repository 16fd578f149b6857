"""Costs of frames' positions: the bit-exact solver in C equals its model in every bit."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.fixed.format import Format
from rbdhw.fixed.rollout import tracked_words
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
from tests.support.marks import long, quick_among
from tests.support.tracking import arm, ball, legs, two_frames

REFUSED = -1


def solver(make=two_frames, **sizes):
    return fixed_solver(make, 4, 3, **sizes)


@pytest.fixture
def both():
    return Both(solver())


@pytest.mark.parametrize("make", [two_frames, long(ball), long(arm), long(legs)])
def test_random_problems_cold_and_warm(make):
    both = Both(solver(make))
    for seed in range(3):
        check_loop(both, seed, 1 + seed)


@pytest.mark.verify
def test_a_sweep_in_blocks():
    check_loop(Both(solver(blocks=2)), 0, 3)


@pytest.mark.verify
def test_every_end_of_a_solution(both):
    check_ends(both)


@pytest.mark.parametrize("seed", [0, *map(long, range(1, 4))])
def test_any_goal_and_any_task(both, seed):
    check_any(both, seed)


def test_a_position_beyond_its_format_flags_a_step(both, monkeypatch):
    """The positions of the toy fit all formats, so here these are smaller."""

    def narrow(step, shape):
        return tuple(replace(each, word=narrower(each.word)) for each in tracked_words(step, shape))

    def narrower(word):
        format_ = Format(word.format.width, word.format.binary_point + 3)
        return replace(word, format=format_, lowest=format_.lowest, highest=format_.highest)

    problem = problem_of(both.solver, 0)
    problem["position_weight"] = 0.0 * problem["position_weight"]
    assert both.solve(problem, 2)["solved"] == Solved.ITERATIONS
    for module in ("rollout", "solver"):
        monkeypatch.setattr(f"rbdhw.fixed.{module}.tracked_words", narrow)
    narrowed = Both(fixed_solver.__wrapped__(two_frames, 4, 3))
    assert narrowed.solve(problem, 2)["solved"] == Solved.NOT_FINITE


VARIANTS = [{}, *map(long, ({"number": "float32"}, {"time_step": STEP}, {"together": 2}, {"blocks": 2}))]


@pytest.mark.parametrize("sizes", VARIANTS, ids=str)
def test_problems_in_arrays(sizes):
    check_arrays(solver(**sizes))


@pytest.mark.parametrize("make", [long(ball), long(arm), long(legs)])
def test_problems_of_other_robots_in_arrays(make):
    check_arrays(solver(make))


def test_problems_without_positions_in_arrays():
    """Their costs are zero, and so are references alone."""
    exact, problem = ExactSolver(solver().model), problem_of(solver(), 0)
    weights, poses = problem.pop("position_weight"), problem.pop("placement_ref")
    end, before = solve_arrays(exact, problem, 2)
    assert end == Solved.ITERATIONS
    for others in ({"placement_ref": poses}, {"position_weight": 0.0 * weights}):
        np.testing.assert_equal(solve_arrays(exact, problem | others, 2)[1], before)
    near = problem | {"position_weight": weights}
    from_zero = near | {"placement_ref": 0.0 * poses}
    np.testing.assert_equal(solve_arrays(exact, near, 2)[1], solve_arrays(exact, from_zero, 2)[1])
    assert np.abs(solve_arrays(exact, near, 2)[1]["tau"] - before["tau"]).max() > 0.1


def test_the_cost_of_the_first_positions_is_added_if_they_are_given():
    made = solver()
    exact, problem = ExactSolver(made.model), problem_of(made, 0)
    without = solve_arrays(exact, problem, 2)[1].pop("cost")
    beside = problem["placement_ref"][0, :, :3, 3] + 0.1
    cost = solve_arrays(exact, problem | {"position": beside}, 2)[1]["cost"]
    assert cost - without == pytest.approx(0.005 * np.sum(problem["position_weight"][0]), rel=1e-9)


def test_problems_in_arrays_that_are_refused():
    made = solver()
    exact, problem = ExactSolver(made.model), problem_of(made, 0)
    end, before = solve_arrays(exact, problem, 2)
    assert end == Solved.ITERATIONS
    wrong = [
        *({"position_weight": number} for number in (-1.0, np.nan, np.inf, 1e9)),
        *({"placement_ref": number} for number in (9.0, -9.0, np.nan)),
    ]
    for arrays in wrong:
        ((name, number),) = arrays.items()
        changed = problem[name].copy()
        changed[-1, -1, 2] = number
        assert solve_arrays(exact, problem | {name: changed}, 2)[0] == REFUSED
    np.testing.assert_equal(solve_arrays(exact, problem, 2)[1], before)


@pytest.mark.parametrize(("compiler", "language"), quick_among(COMPILATIONS, ("clang", C)))
@pytest.mark.parametrize("make", [two_frames, long(ball)])
def test_no_compiler_warns(make, compiler, language, tmp_path):
    model = solver(make).model
    header = {"model.h": model_files(model)["model.h"]}
    for name, text in (header | model_solver_files(model)).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


SANITIZED = """
from tests.support.exact_solvers import Both, check_any, check_loop
from tests.support.fixed_solvers import fixed_solver
from tests.support.tracking import two_frames
solver = fixed_solver(two_frames, 4, 3, blocks=2)
flags = "-fsanitize=undefined -fno-sanitize-recover=all -O1 -DRBDHW_LANES=1".split()
check_loop(Both(solver, flags), 0, 2)
for seed in range(6, 10):
    check_any(Both(solver, flags), seed)
"""


@pytest.mark.verify
def test_nothing_is_undefined():
    assert_it_ends(SANITIZED)


def test_the_c_of_other_costs_has_no_word_of_them():
    for text in model_solver_files(fixed().model).values():
        assert not any(name in text for name in ("POSITIONS", "BEHIND", "position_weight"))
