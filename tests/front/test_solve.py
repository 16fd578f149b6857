"""`solve` of a folder of software: its arguments, its engines, its refusals, and the command."""

import json
import pickle

import numpy as np
import pytest

import rbdhw as package
from rbdhw.errors import InputError
from rbdhw.fixed.normal import normal_samples
from rbdhw.golden.rollout import Costs, Residuals, cost, rollout
from rbdhw.robots import path
from rbdhw.software import solver_library
from rbdhw.solving import Solved

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


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    made = tmp_path_factory.mktemp("weighed") / "toy"
    functions = "solve,centroidal"
    return package.generate(path("toy"), made, target="c", functions=functions, knots=KNOTS, alphas=3)


def test_momentum_costs_something(weighed, acc):
    """Ten times the momentum's weight leaves less of it; all engines agree, and means of samples, too."""
    slow = {"momentum_weight": np.full(6, 0.1)}
    built, golden = weighed.load(), weighed.load("golden")
    solution = built.solve(*START, **COST, **slow)
    assert solution.tau == pytest.approx(golden.solve(*START, **COST, **slow).tau, abs=1e-9)
    slower = built.solve(*START, **COST, momentum_weight=np.ones(6))
    at = [built.centroidal(each.states[:, :2], each.states[:, 2:]).h_g for each in (solution, slower)]
    assert np.abs(at[1]).max() < 0.8 * np.abs(at[0]).max()
    assert built.solve(*START, **COST).cost == pytest.approx(acc.solve(*START, **COST).cost)
    sampled = {"std": [2.0, 1.0], "samples": 8, "momentum_ref": np.ones(6)} | slow
    means = [engine.mppi(*START, **COST, **sampled) for engine in (built, golden)]
    assert means[0].cost == pytest.approx(means[1].cost)


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


def test_batches_have_any_axes(acc):
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 2, 2))
    flat = acc.solve(q.reshape(6, 2), *START[1:], **COST)
    solution = acc.solve(q, *START[1:], **COST)
    assert solution.K.shape == (3, 2, KNOTS, 2, 4)
    assert np.array_equal(solution.tau.reshape(flat.tau.shape), flat.tau)
    warm = acc.mppi(q, *START[1:], std=[1.0, 1.0], samples=4, **COST, warm=solution, shift=1)
    assert warm.tau.shape == (3, 2, KNOTS, 2)


def test_a_problem_without_numbers_leaves_the_others_alone(acc):
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 2))
    expected = acc.solve(q, *START[1:], **COST)
    q[1, 0] = np.nan
    solution = acc.solve(q, *START[1:], **COST)
    assert solution.status.tolist() == [Solved.CONVERGED, Solved.NOT_FINITE, Solved.CONVERGED]
    assert np.isnan(solution.states[1, 1:]).all()
    assert solution.tau[[0, 2]] == pytest.approx(expected.tau[[0, 2]], abs=1e-9)


def test_arrays_of_one_knot_serve_all(acc):
    constant = acc.solve(*START, **COST)
    full = {"x_ref": np.tile(COST["x_ref"], (KNOTS + 1, 1)), "Q": np.tile(COST["Q"], (KNOTS + 1, 1))}
    repeated = acc.solve(*START, **COST | full)
    assert np.array_equal(constant.tau, repeated.tau)


def test_a_hessian_that_is_not_positive_is_regularised_and_told(folder, acc):
    """Forces cost nothing, and nothing behind them does."""
    weights = np.zeros((KNOTS + 1, 4))
    weights[0] = 1.0
    for solver in (acc, package.load(folder, "golden")):
        solved = solver.solve(*START, x_ref=COST["x_ref"], Q=weights)
        assert solved.status == Solved.CONVERGED
        assert solved.regularisation == 1e-8
        assert repr(solved).endswith(", regularised by 1e-08")
    assert acc.solve(*START, **COST).regularisation == 0.0


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
    assert (cold.followed, warm.followed) == (False, True)
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
        ({"tau_max": [1.0, -20.0]}, "array 'tau_min'", "above tau_max"),
        ({"x_min": np.full(4, 9.0)}, "array 'x_min'", "above x_max"),
        ({"C": np.ones((1, 4))}, "array 'W'", "missing"),
        ({"W": np.ones(1)}, "array 'C'", "missing"),
        ({"C": np.ones(4), "W": np.ones(1)}, "array 'C'", "shape (4,)"),
        ({"position_weight": np.ones((1, 3))}, "array 'placement_ref'", "missing"),
        ({"momentum_weight": np.ones(6)}, "array 'momentum_weight'", "this build has no costs of momentum"),
        ({"K": np.ones((2, 4))}, "array 'states'", "missing"),
        ({"x_ref": np.ones((3, KNOTS + 1, 4)), "R": np.ones((2, KNOTS, 2))}, "arrays", "2 and 3 problems"),
        (
            {"x_ref": np.ones((2, 2, KNOTS + 1, 4)), "R": np.ones((4, KNOTS, 2))},
            "arrays",
            "2x2 and 4 problems",
        ),
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


def test_a_goal_outside_the_limits_is_a_cost_or_refused(folder, acc):
    goal = {"x_ref": [0.5, -0.3, 0.0, 99.0], "iterations": 1}
    assert acc.solve(*START, **COST | goal).status == Solved.ITERATIONS
    strict = package.load(folder, outside="refuse")
    with pytest.raises(InputError) as refusal:
        strict.solve(*START, **COST | goal)
    assert refusal.value.where == "array 'x_ref', problem 0, knot 0, element 3"
    assert refusal.value.reason == "99 is a goal outside the limits"
    assert strict.solve(*START, **COST | goal, x_max=np.full(4, 100.0)).status == Solved.ITERATIONS


ROLLOUT = {
    "std": [2.0, 1.0],
    "x_ref": COST["x_ref"],
    "Q": COST["Q"],
    "R": [0.01, 0.02],
    "x_nominal": np.full(4, 0.1),
    "K": -np.arange(8.0).reshape(2, 4),
    "C": np.array([[1.0, -1.0, 0.0, 0.1], [0.0, 2.0, 0.5, 0.0], [0.3, 0.0, 0.0, 0.0]]),
    "y": np.array([0.1, -0.2, 0.0]),
    "W": np.linspace(0.0, 4.0, 21).reshape(7, 3),
}


@pytest.mark.parametrize("engine", ["float64", "float32", "golden"])
def test_rollouts_are_steps_one_after_the_other(folder, engine):
    """Their samples are those of accelerators, and their cost is of the states behind the steps."""
    acc, rng = package.load(folder, engine), np.random.default_rng(2)
    q, v, tau, seeds = *rng.uniform(-0.4, 0.4, (2, 9, 2)), rng.uniform(-3, 3, (7, 2)), np.arange(9) + 40
    rollouts = acc.rollout(q, v, tau, 0.02, every=3, seed=seeds, hold=2, **ROLLOUT)
    drawn = normal_samples(seeds, np.arange(7) // 2, 2)

    def commands(k, state):
        feedback = (state - ROLLOUT["x_nominal"]) @ ROLLOUT["K"].T
        return tau[k] + ROLLOUT["std"] * drawn[:, k] + feedback

    robot, efforts = acc.robot, np.array([[-40.0, 40.0], [-15.0, 15.0]])
    first = {"q": q, "v": v, "h": np.full(9, 0.02)}
    after, forces = rollout(robot, "step", first, [{}] * 7, commands, efforts)
    weights = (np.array(ROLLOUT[name]) for name in ("x_ref", "Q", "R"))
    costs = Costs(*weights, Residuals(*(ROLLOUT[name] for name in ("C", "y", "W"))))
    near = dict.fromkeys(("rel", "abs"), 1e-3 if engine == "float32" else 1e-10)
    assert rollouts.states == pytest.approx(after[:, [2, 5, 6]], **near)
    assert rollouts.cost == pytest.approx(cost(after, forces, costs, np.zeros(2, bool)), **near)
    assert not rollouts.status.any()
    alone = acc.rollout(q[4], v[4], tau, 0.02, seed=44, hold=2, states=False, **ROLLOUT)
    forces = np.clip(tau + ROLLOUT["std"] * drawn, *efforts.T)
    assert acc.rollout_forces(tau, ROLLOUT["std"], seeds, hold=2) == pytest.approx(forces, abs=1e-12)
    assert alone._fields == ("cost", "first_flagged", "status")
    assert alone.cost == pytest.approx(rollouts.cost[4], **near)


def test_a_rollout_without_numbers_leaves_the_others_alone(acc):
    q, tau = np.array([[0.1, 0.2], [np.nan, 0.0]]), np.ones((KNOTS, 2))
    rollouts = acc.rollout(q, np.zeros(2), tau, 0.02)
    assert (rollouts.status.tolist(), rollouts.first_flagged.tolist()) == ([0, 8], [0, 1])
    assert np.isnan(rollouts.states[1]).all()
    assert np.array_equal(rollouts.states[0], acc.rollout(q[0], np.zeros(2), tau, 0.02).states)


@pytest.mark.parametrize("engine", ["float64", "golden"])
def test_a_mean_of_samples(folder, acc, engine):
    """Each sample is solved with no iteration, which gives its cost."""
    settings = {"std": [3.0, 2.0], "samples": 21, "seed": 3, "hold": 5, "temperature": 0.3}
    mean = package.load(folder, engine).mppi(*START, **settings, **COST, tau=np.ones(2))
    drawn = normal_samples(3 + np.arange(21), np.arange(KNOTS) // 5, 2)
    forces = np.clip(1.0 + np.array([3.0, 2.0]) * drawn, [-40.0, -15.0], [40.0, 15.0])
    costs = acc.solve(*START, **COST, tau=forces, iterations=0).cost
    weights = np.exp((costs.min() - costs) / 0.3)
    expected = np.tensordot(weights, forces, axes=1) / weights.sum()
    assert mean.tau == pytest.approx(expected, rel=1e-9)
    assert mean.least == pytest.approx(costs.min(), rel=1e-9)
    assert mean.effective == pytest.approx(weights.sum() ** 2 / np.sum(weights**2), rel=1e-9)
    followed = acc.solve(*START, **COST, tau=expected, iterations=0)
    assert mean.states == pytest.approx(followed.states, rel=1e-9)
    assert mean.cost == pytest.approx(followed.cost, rel=1e-9)
    assert repr(mean).startswith(f"{KNOTS} steps of 2 forces: cost ")


@pytest.mark.parametrize("engine", ["float64", "golden"])
def test_seeds_wrap(folder, engine):
    """Behind the last seed of a sample, and of a problem, come the first ones, as on accelerators."""
    acc, settings = package.load(folder, engine), {"std": [3.0, 2.0], "samples": 4, "temperature": 0.3}
    means = acc.mppi(np.tile(START[0], (2, 1)), *START[1:], **settings, **COST, seed=2**31 - 3)
    forces = acc.rollout_forces(np.zeros((KNOTS, 2)), settings["std"], [2**31 - 3, 2**31 - 2, 2**31 - 1, 0])
    weights = np.exp(-acc.solve(*START, **COST, tau=forces, iterations=0).cost / 0.3)
    assert means.tau[0] == pytest.approx(np.tensordot(weights, forces, axes=1) / weights.sum(), rel=1e-9)
    assert np.array_equal(means.tau[1], acc.mppi(*START, **settings, **COST, seed=1).tau)


def test_means_of_several_problems_approach_the_optimum(acc):
    """Warm means come near the solution's cost, and one problem is that of a batch."""
    starts, mean = np.array([[0.1, 0.2], [-0.2, 0.3]]), None
    for turn in range(8):
        settings = {"std": [2.0, 1.0], "samples": 256, "seed": 512 * turn, "hold": 2, "temperature": 0.02}
        mean = acc.mppi(starts, *START[1:], **settings, **COST, warm=mean)
    assert mean.cost == pytest.approx(acc.solve(starts, *START[1:], **COST).cost, rel=0.15)
    first = acc.mppi(starts, *START[1:], **settings, **COST)
    assert first.tau[0] == pytest.approx(acc.mppi(starts[0], *START[1:], **settings, **COST).tau, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda acc: acc.mppi(*START, std=[1.0, -1.0]), "array 'std'"),
        (lambda acc: acc.mppi(*START, std=[1.0]), "array 'std'"),
        (lambda acc: acc.mppi(*START, std=np.ones((3, KNOTS, 2))), "array 'std'"),
        (lambda acc: acc.mppi(*START, std=[1.0, 1.0], seed=-1), "seed"),
        (lambda acc: acc.mppi(*START, std=[1.0, 1.0], hold=KNOTS + 1), "hold"),
        (lambda acc: acc.mppi(*START, std=[1.0, 1.0], samples=0), "samples"),
        (lambda acc: acc.mppi(*START, std=[1.0, 1.0], correlation=1.0), "correlation"),
        (lambda acc: acc.mppi(*START, std=[1.0, 1.0], temperature=0.0), "temperature"),
        (lambda acc: acc.mppi(*START, std=[1.0, 1.0], wieght=1.0), "array"),
        (lambda acc: acc.rollout(*START[:2], np.ones((KNOTS + 1, 2)), 0.02), "array 'tau'"),
        (lambda acc: acc.rollout(*START[:2], np.ones((2, 2)), [0.01, 0.02]), "array 'h'"),
        (lambda acc: acc.rollout(np.zeros((0, 2)), START[1], np.ones((2, 2)), 0.02), "array 'q'"),
        (lambda acc: acc.rollout(*START[:2], np.ones((2, 2)), 0.02, std=[1.0, 1.0]), "array 'seed'"),
        (lambda acc: acc.rollout(*START[:2], np.ones((2, 2)), 0.02, Q=np.ones(4)), "array 'x_ref'"),
        (lambda acc: acc.rollout(*START[:2], np.ones((2, 2)), 0.02, every=-1), "every"),
        (lambda acc: acc.rollout(*START[:2], np.ones((2, 2)), 0.02, hold=0), "hold"),
    ],
)
def test_refusals_of_samples(acc, call, where):
    with pytest.raises(InputError) as refusal:
        call(acc)
    assert refusal.value.where == where


def test_the_commands_of_samples(folder, acc, tmp_path, rbdhw):
    settings = {
        "std": [2.0, 1.0],
        "samples": 16,
        "seed": 1,
        "hold": 3,
        "correlation": 0.5,
        "temperature": 0.5,
    }
    np.savez(tmp_path / "mppi.npz", q=START[0], v=START[1], h=START[2], **settings, **COST)
    tau = np.ones((4, 2))
    np.savez(tmp_path / "rollout.npz", q=START[0], v=START[1], h=START[2], tau=tau, every=2)
    wanted = acc.mppi(*START, **settings, **COST).tau, acc.rollout(*START[:2], tau, START[2], every=2).states
    for name, array, expected in zip(("mppi", "rollout"), ("tau", "states"), wanted, strict=True):
        files = ("--input", tmp_path / f"{name}.npz", "--output", tmp_path / "out.npz")
        assert rbdhw("run", folder, name, *files)[0] == 0
        with np.load(tmp_path / "out.npz") as archive:
            assert np.array_equal(archive[array], expected)


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
