"""The golden solver, compared with optima that are found in other ways."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdhw import golden
from rbdhw.golden.solver import difference, solve
from rbdhw.robot.model import JointKind
from rbdhw.solving import Solved
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.optimal_control import STEP, random_problem, toy
from tests.support.oracle import pinocchio_model, to_pinocchio_q
from tests.support.strategies import random_states

KNOTS = 6


def masses():
    """Return two masses that slide on each other: their dynamics are linear."""
    robot = mechanism([JointKind.PRISMATIC] * 2, [-1, 0], 3)
    return replace(robot, gravity=(0.0, 0.0, -9.81))


def without_limits(problem):
    """Return a problem without what makes the cost of linear dynamics more than quadratic."""
    return problem | {"limit_weight": np.zeros_like(problem["limit_weight"])}


def rollout(robot, problem, tau):
    """Return the states of forces."""
    x = [np.hstack([problem["q"], problem["v"]])]
    for force in tau:
        task = {"q": x[-1][: robot.nq], "v": x[-1][robot.nq :], "tau": force, "h": np.array(STEP)}
        step = golden.evaluate(robot, "step", {name: array[np.newaxis] for name, array in task.items()})
        x.append(step["x_next"][0])
    return np.array(x)


def total_cost(robot, problem, tau):
    """Return the cost of forces of a robot whose coordinates are its tangent space."""
    x = rollout(robot, problem, tau)
    error = x - problem["x_ref"]
    rows = error @ problem["C"].T - problem["y"]
    excess = np.maximum(0.0, x - problem["x_max"]) - np.maximum(0.0, problem["x_min"] - x)
    total = (problem["Q"] * error**2).sum() + (problem["W"] * rows**2).sum()
    total += (problem["limit_weight"] * excess**2).sum()
    total += (problem["R"] * (tau - problem["tau_ref"]) ** 2).sum()
    if robot.frames:
        nothing = np.zeros((len(x), robot.nv))
        states = {"q": x[:, : robot.nq], "v": nothing, "a": nothing}
        error = golden.evaluate(robot, "kin", states)["placement"] - problem["placement_ref"]
        total += (problem["position_weight"] * error[..., :3, 3] ** 2).sum()
        turned = (error[..., :3, :3] ** 2).sum(axis=(-2, -1))
        total += (0.5 * problem["orientation_weight"] * turned).sum()
    if "momentum_weight" in problem:
        error = np.array([momentum(robot, state) for state in x]) - problem["momentum_ref"]
        total += (problem["momentum_weight"] * error**2).sum()
    return 0.5 * total


def momentum(robot, state):
    """Return Pinocchio's momentum about the centre of mass."""
    model = pinocchio_model(robot)
    q, v = to_pinocchio_q(robot, state[: robot.nq]), state[robot.nq :]
    return pin.computeCentroidalMomentum(model, model.createData(), q, v).vector


def gradient(function, point, step=1e-4):
    """Return central differences of a function of an array."""
    slopes = np.empty(point.size)
    for k in range(point.size):
        ends = [point.copy(), point.copy()]
        ends[0].flat[k] -= step
        ends[1].flat[k] += step
        slopes[k] = (function(ends[1]) - function(ends[0])) / (2.0 * step)
    return slopes


def test_a_linear_problem_is_solved_by_one_iteration():
    robot = masses()
    problem = without_limits(random_problem(robot, KNOTS, 1))

    def residuals(tau):
        x = rollout(robot, problem, tau)
        error = x - problem["x_ref"]
        parts = [
            np.sqrt(problem["Q"]) * error,
            np.sqrt(problem["W"]) * (error @ problem["C"].T - problem["y"]),
            np.sqrt(problem["R"]) * (tau - problem["tau_ref"]),
        ]
        return np.concatenate([part.ravel() for part in parts])

    zero = np.zeros((KNOTS, 2))
    at_zero = residuals(zero)
    units = np.eye(zero.size).reshape(-1, *zero.shape)
    jacobian = np.stack([residuals(unit) - at_zero for unit in units], axis=1)
    optimum = -np.linalg.lstsq(jacobian, at_zero, rcond=None)[0].reshape(zero.shape)

    result = solve(robot, problem, 1, 1, 0.0)
    np.testing.assert_allclose(result["tau"], optimum, rtol=1e-8, atol=1e-8)
    assert result["status"] == Solved.ITERATIONS
    before = total_cost(robot, problem, problem["tau"])
    np.testing.assert_allclose(before - result["decrease"], result["cost"], rtol=1e-9)


@pytest.mark.parametrize(("seed", "momentum"), [long(0, False), (1, False), long(2, False), long(3, True)])
def test_the_optimum_of_an_arm_is_stationary(seed, momentum):
    robot = toy()
    problem = random_problem(robot, KNOTS, seed, momentum=momentum)
    result = solve(robot, problem, 100, 8, 1e-14)

    def cost(tau):
        return total_cost(robot, problem, tau)

    np.testing.assert_allclose(result["cost"], cost(result["tau"]), rtol=1e-12)
    assert result["cost"] < 0.9 * cost(problem["tau"])
    slopes = np.abs(gradient(cost, result["tau"])).max()
    assert slopes < 1e-5 * np.abs(gradient(cost, problem["tau"])).max()


@pytest.mark.verify
def test_forces_keep_to_their_limits():
    robot, bound = toy(), 1.5
    problem = random_problem(robot, KNOTS, 1)
    free = solve(robot, problem, 20, 8, 1e-12)
    limited = problem | {"tau_min": np.full(2, -bound), "tau_max": np.full(2, bound)}
    result = solve(robot, limited, 20, 8, 1e-12)
    assert np.abs(free["tau"]).max() > bound
    assert np.abs(result["tau"]).max() == bound
    np.testing.assert_allclose(result["cost"], total_cost(robot, problem, result["tau"]), rtol=1e-12)


def test_a_force_without_a_choice_leaves_the_best_of_the_others():
    robot = toy()
    problem = random_problem(robot, KNOTS, 1)
    problem |= {"tau_min": np.array([2.0, -1e3]), "tau_max": np.array([2.0, 1e3])}
    result = solve(robot, problem, 100, 8, 1e-14)
    assert (result["tau"][:, 0] == 2.0).all()

    def cost(second):
        return total_cost(robot, problem, np.stack([np.full(KNOTS, 2.0), second], axis=1))

    slopes = np.abs(gradient(cost, result["tau"][:, 1])).max()
    assert slopes < 1e-5 * np.abs(gradient(cost, problem["tau"][:, 1])).max()


def test_feedback_of_the_first_trajectory():
    robot = toy()
    problem = random_problem(robot, KNOTS, 2)
    result = solve(robot, problem, 100, 8, 1e-14)
    warm = problem | {name: result[name] for name in ("states", "tau", "K")}
    warm["q"] = problem["q"] + 0.01
    again = solve(robot, warm, 0, 8, 1e-14)
    applied = result["tau"][0] + result["K"][0] @ np.array([0.01, 0.01, 0.0, 0.0])
    np.testing.assert_allclose(again["tau"][0], applied, rtol=1e-12)
    assert again["iterations"] == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"R": np.full((KNOTS, 2), -1e9)}, Solved.INDEFINITE),
        ({"v": np.full(2, 1e200)}, Solved.NOT_FINITE),
    ],
)
def test_a_problem_without_a_solution_says_so(change, status):
    robot = toy()
    problem = random_problem(robot, KNOTS, 0) | change
    with np.errstate(all="ignore"):
        assert solve(robot, problem, 5, 4, 1e-9)["status"] == status


def test_an_optimum_that_is_found_already_is_kept():
    robot = toy()
    problem = random_problem(robot, KNOTS, 0)
    first = solve(robot, problem, 100, 8, 1e-12)
    assert first["status"] == Solved.CONVERGED
    again = solve(robot, problem | {"tau": first["tau"]}, 100, 8, 1e-12)
    assert again["iterations"] == 1
    assert again["cost"] == first["cost"]


@pytest.mark.parametrize("kind", [JointKind.FLOATING, JointKind.SPHERICAL, JointKind.PLANAR])
def test_differences_are_motions_for_small_steps(kind):
    robot = mechanism([kind, JointKind.REVOLUTE], [-1, 0], 2)
    tasks = random_states(robot, 1, 4)
    motion = 1e-4 * np.random.default_rng(0).normal(size=robot.nv)
    moved = golden.integrators.integrate(robot, tasks["q"], motion[np.newaxis])[0]
    states = [np.append(q, np.zeros(robot.nv)) for q in (tasks["q"][0], moved)]
    np.testing.assert_allclose(difference(robot, *states)[: robot.nv], motion, atol=1e-8)


def test_a_floating_robot_returns_to_its_reference():
    robot = mechanism([JointKind.FLOATING, JointKind.REVOLUTE], [-1, 0], 2)
    problem = random_problem(robot, KNOTS, 3)
    problem |= {"y": np.zeros_like(problem["y"]), "v": problem["x_ref"][0, robot.nq :]}
    result = solve(robot, problem, 60, 8, 1e-10)
    first = solve(robot, problem, 0, 8, 1e-10)
    assert result["status"] == Solved.CONVERGED
    assert result["cost"] < first["cost"]
