"""`solve` of a folder of software: its arguments, its engines, its refusals, and the command."""

import json
import pickle

import numpy as np
import pytest

import rbdhw as package
from rbdhw.errors import InputError
from rbdhw.protocol import Solved
from rbdhw.robots import path
from rbdhw.software import solver_library

KNOTS = 12
COST = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-3, 1e-3]}
START = (np.array([0.1, 0.2]), np.zeros(2), 0.02)


@pytest.fixture(scope="module", autouse=True)
def quick_compilation():
    """Compile with less optimisation: the tests here solve few problems."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver_library, "OPTIMISED", ("-O1",))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("solve") / "toy"
    return package.generate(
        path("toy"), made, target="c", functions="solve", knots=KNOTS, alphas=3, frames="tip"
    ).folder


@pytest.fixture(scope="module")
def acc(folder):
    return package.load(folder)


def test_engines_agree(folder, acc):
    solved = acc.solve(*START, **COST)
    golden = package.load(folder, "golden").solve(*START, **COST)
    single = package.load(folder, "float32").solve(*START, **COST)
    assert solved.status == Solved.CONVERGED
    assert solved.tau == pytest.approx(golden.tau, abs=1e-9)
    assert single.tau == pytest.approx(golden.tau, abs=0.02)
    assert single.cost == pytest.approx(golden.cost, rel=1e-5)
    assert solved.states.shape == (KNOTS + 1, 4)
    assert solved.K.shape == (KNOTS, 2, 4)


def test_a_solution_prints_its_end(acc):
    assert repr(acc.solve(*START, **COST)).startswith(f"{KNOTS} steps of 2 forces: converged after 4 iterat")
    several = acc.solve(np.zeros((10, 2)), *START[1:], **COST, iterations=1)
    assert repr(several).splitlines()[-1] == "  ... 10 problems"
    assert "iterations after 1 iterations, cost" in repr(several)


def test_a_batch_is_the_problems_alone(acc):
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (5, 2))
    weights = np.tile(COST["R"], (5, KNOTS, 1)) * np.arange(1, 6)[:, np.newaxis, np.newaxis]
    together = acc.solve(q, *START[1:], **COST | {"R": weights})
    for k in range(5):
        alone = acc.solve(q[k], *START[1:], **COST | {"R": weights[k]})
        assert together.tau[k] == pytest.approx(alone.tau, abs=1e-8)


def test_arrays_of_one_knot_serve_all(acc):
    constant = acc.solve(*START, **COST)
    full = {"x_ref": np.tile(COST["x_ref"], (KNOTS + 1, 1)), "Q": np.tile(COST["Q"], (KNOTS + 1, 1))}
    repeated = acc.solve(*START, **COST | full)
    assert np.array_equal(constant.tau, repeated.tau)


def test_a_terminal_weight(acc):
    weights = np.zeros((KNOTS + 1, 4))
    weights[-1] = 1e4
    solved = acc.solve(*START, x_ref=COST["x_ref"], Q=weights, R=1e-3 * np.ones(2), iterations=50)
    assert solved.states[-1] == pytest.approx(COST["x_ref"], abs=1e-2)


def test_a_frame_reaches_its_goal(acc):
    goal = np.eye(4)
    goal[:3, 3] = [0.3, 0.0, 0.8]
    weights = np.zeros((KNOTS + 1, 1, 3))
    weights[-1] = 1e5
    solved = acc.solve(
        *START, placement_ref=goal[np.newaxis], position_weight=weights, R=1e-4 * np.ones(2), iterations=50
    )
    q = solved.states[-1, :2]
    tip = 0.5 * np.array([np.cos(q[0]), -np.sin(q[0])]) + 0.4 * np.array([np.cos(q.sum()), -np.sin(q.sum())])
    assert tip + np.array([0.0, 1.0]) == pytest.approx([0.3, 0.8], abs=1e-2)


def test_efforts_of_the_urdf_are_limits(acc):
    solved = acc.solve(*START, **COST | {"Q": [1e5, 1e5, 0.0, 0.0]}, iterations=5)
    assert np.abs(solved.tau).max(axis=0).tolist() == [40.0, 15.0]


def test_a_warm_start_is_shifted(acc):
    first = acc.solve(*START, **COST)
    state = first.states[1, :2], first.states[1, 2:], 0.02
    cold, warm = acc.solve(*state, **COST), acc.solve(*state, **COST, warm=first, shift=1)
    assert warm.iterations < cold.iterations
    assert warm.cost == pytest.approx(cold.cost, rel=1e-7)
    kept = acc.solve(*state, **COST, warm=first, shift=1, iterations=0)
    assert kept.tau[:-1] == pytest.approx(first.tau[1:], abs=1e-9)
    assert kept.tau[-1] == pytest.approx(first.tau[-1], abs=1.0)


def test_a_pickled_folder_solves(acc):
    again = pickle.loads(pickle.dumps(acc))
    assert np.array_equal(again.solve(*START, **COST).tau, acc.solve(*START, **COST).tau)


@pytest.mark.parametrize(
    ("changes", "where", "reason"),
    [
        ({"Q": [1.0, 1.0, -1.0, 1.0]}, "array 'Q'", "-1 is a negative weight"),
        ({"Q": np.ones(3)}, "array 'Q'", "shape (3,)"),
        ({"R": np.ones((KNOTS + 1, 2))}, "array 'R'", f"shape ({KNOTS + 1}, 2)"),
        ({"x_ref": [np.nan] * 4}, "array 'x_ref', row 0, column 0, 0", None),
        ({"tau_max": [np.nan] * 2}, "array 'tau_max'", "is not a number"),
        ({"C": np.ones((1, 4))}, "array 'W'", "missing"),
        ({"W": np.ones(1)}, "array 'C'", "missing"),
        ({"C": np.ones(4), "W": np.ones(1)}, "array 'C'", "shape (4,)"),
        ({"position_weight": np.ones((1, 3))}, "array 'placement_ref'", "missing"),
        ({"K": np.ones((2, 4))}, "array 'states'", "missing"),
        ({"x_ref": np.ones((3, KNOTS + 1, 4)), "R": np.ones((2, KNOTS, 2))}, "arrays", "2 and 3 problems"),
        ({"iterations": -1}, "iterations, shift, tolerance", "negative"),
        ({"tolerance": float("nan")}, "iterations, shift, tolerance", "negative"),
        ({"iterations": 1.5}, "iterations", "1.5"),
        ({"horizon": 3}, "function 'solve'", None),
    ],
)
def test_refusals(acc, changes, where, reason):
    with pytest.raises(InputError) as refusal:
        acc.solve(*START, **COST | changes)
    assert refusal.value.where == where
    assert reason in (None, refusal.value.reason)


def test_a_folder_without_a_solver(tmp_path):
    made = package.generate(path("toy"), tmp_path / "toy", target="c", functions="step")
    with pytest.raises(InputError, match="has no solver"):
        made.load().solve(*START)


def test_the_command(folder, tmp_path, rbdhw):
    q = np.random.default_rng(1).uniform(-0.5, 0.5, (3, 2))
    arrays = {"q": q, "v": np.zeros((3, 2)), "h": np.full(3, 0.02), "iterations": 20, "spare": 1.0, **COST}
    np.savez(tmp_path / "in.npz", **arrays)
    status, out, errors = rbdhw(
        "run", folder, "solve", "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz"
    )
    assert (status, out.split(" -> ")[0]) == (0, "3 tasks, 0 flagged")
    assert "spare" in errors
    with np.load(tmp_path / "out.npz") as archive:
        results = dict(archive)
    solved = package.load(folder).solve(q, *START[1:], **COST, iterations=20)
    assert np.array_equal(results["tau"], solved.tau)
    assert results["status"].tolist() == [Solved.CONVERGED] * 3


def test_the_command_tells_what_was_not_solved(folder, tmp_path, rbdhw):
    arrays = {"q": np.zeros((2, 2)), "v": np.array([[0.0, 0.0], [1e90, 0.0]]), "h": np.full(2, 0.02), **COST}
    np.savez(tmp_path / "in.npz", **arrays)
    status, out, _ = rbdhw(
        "run", folder, "solve", "--input", tmp_path / "in.npz", "--output", tmp_path / "o.npz", "--json"
    )
    assert status in (0, 2)
    if status == 0:
        assert json.loads(out)["flagged"] == 1
