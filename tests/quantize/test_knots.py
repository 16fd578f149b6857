"""Magnitudes of a knot's step over all knots."""

import numpy as np

from rbdhw.frontend.knot_step import REGULARISATION, driven, record_sweep
from rbdhw.golden.riccati import sweep_back
from rbdhw.golden.solver import solve
from rbdhw.model.knot_numbers import knot_numbers
from rbdhw.quantize.knots import knot_magnitudes, solver_numbers, without_noise
from tests.support.knots import random_expansion
from tests.support.optimal_control import STEP, random_problem, toy

KNOTS = 4


def test_magnitudes_are_the_largest_of_all_knots_and_sweeps_with_headroom():
    robot = toy()
    sweeps, expansions = record_sweep(robot, KNOTS), [random_expansion(robot, KNOTS, seed) for seed in (1, 2)]
    step = sweeps.sweeps[0].step
    sampled = [
        knot_numbers(each, STEP, driven(robot)) | {REGULARISATION: np.array(0.5)} for each in expansions
    ]
    sizes = knot_magnitudes(sweeps, sampled, headroom_bits=1)
    assert sizes[step.inputs[REGULARISATION]] == 1.0
    changes = [sweep_back(each, 0.5).changes[:, 0] for each in expansions]
    edge = dict(step.outputs)["knot.k[0]"]
    np.testing.assert_allclose(np.ldexp(sizes[edge.node], edge.shift), 2.0 * np.abs(changes).max(), rtol=1e-9)


def test_every_sweep_of_a_solver_is_observed():
    problems = [random_problem(toy(), KNOTS, seed, rows=0) for seed in (1, 2)]
    numbers = solver_numbers(toy(), problems, (0, 1))
    assert len(numbers) == sum(int(solve(toy(), problem, 8, 6, 1e-9)["iterations"]) for problem in problems)
    assert numbers[0]["g[0]"].shape == (KNOTS + 1,)


def test_the_changes_of_a_trajectory_are_observed_at_the_first_knots_of_blocks():
    """Those of the knot behind; the first sweep of a problem has none."""
    starts, problem = (2, 0), random_problem(toy(), KNOTS, 1, rows=0) | {"v": np.zeros(2)}
    numbers = solver_numbers(toy(), [problem, problem], (0, 1), starts=starts)
    moved = np.array([[each[f"moved[{i}]"] for i in range(4)] for each in numbers])
    half = len(numbers) // 2
    assert half > 1
    assert not moved[[0, half]].any()
    np.testing.assert_array_equal(moved[:half], moved[half:])
    np.testing.assert_array_equal(np.flatnonzero(moved.any(axis=(0, 1))), sorted(starts))
    first = solve(toy(), problem, 0, 6, 1e-9)["states"]
    second = solve(toy(), problem, 1, 6, 1e-9)["states"]
    units = np.array([1.0, 1.0, STEP, STEP])
    for start in starts:
        np.testing.assert_allclose(moved[1][:, start], units * (second - first)[start + 1], atol=1e-12)


def test_a_derivative_that_is_a_rounding_error_in_all_knots_is_zero():
    """One that is small in some of them, and other numbers, stay."""
    first = {
        "D[0,0]": np.array([4.0, -1e-20]),
        "D[0,1]": np.array([1e-18, -1e-17]),
        "g[0]": np.full(2, 1e-20),
    }
    second = {**first, "D[0,1]": np.array([0.0, 2e-17])}
    for numbers, given in zip(without_noise([first, second]), (first, second), strict=True):
        np.testing.assert_array_equal(numbers.pop("D[0,1]"), [0.0, 0.0])
        assert all(numbers[name] is given[name] for name in ("D[0,0]", "g[0]"))
    assert without_noise([{**first, "D[0,1]": np.array([0.0, 1e-9])}])[0]["D[0,1]"][1] == 1e-9
