"""Random problems of a solver on words."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rbdhw.domain.bounds import input_domain
from rbdhw.frontend.read import load_mounted
from rbdhw.golden.kinematics import placements
from rbdhw.golden.solver import roll_out
from rbdhw.model.solver_problems import BESIDE, moving_problem, random_problem
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.robots import bundled
from tests.support.fixed_solvers import STEP, plan_of
from tests.support.tracking import tracking

KNOTS = 40


@pytest.mark.parametrize("seed", range(3))
def test_a_trajectory_moves_from_rest_to_a_velocity_of_the_domain(seed):
    model = plan_of("toy").accelerator
    near = {"q": np.array([[-3.0, 3.0], [-0.9, 0.9]])}  # the second coordinate would soon be at its bound
    domain = replace(model.domain, bounds={**model.domain.bounds, **near})
    problem, plain = (
        draw(model.robot, domain, KNOTS, STEP, seed) for draw in (moving_problem, random_problem)
    )
    assert all(np.array_equal(problem[name], plain[name]) for name in plain.keys() - {"tau"})
    states = roll_out(model.robot, {**problem, "v": np.zeros(2)}, np.zeros((KNOTS, 2))).states
    low, high = np.asarray(domain.bounds["q"]).T
    assert np.all((states[:, :2] >= low - 1e-6) & (states[:, :2] <= high + 1e-6))
    v, most = states[:, 2:], np.asarray(domain.bounds["v"])[:, 1]
    np.testing.assert_allclose(v, np.outer(np.arange(KNOTS + 1) / KNOTS, v[-1]), rtol=0.0, atol=1e-6)
    assert np.all(np.abs(v[-1]) <= most)
    assert np.abs(v[-1] / most).max() > 0.2


def test_tracked_frames_have_goals_near_those_of_the_state():
    """And other numbers of a problem are those of a robot without frames."""
    model = plan_of("toy").accelerator
    robot = tracking(model.robot, "tip", "forearm")
    problem, plain = (random_problem(each, model.domain, KNOTS, STEP, 1) for each in (robot, model.robot))
    of_frames = {"placement_ref", "position_weight", "orientation_weight"}
    assert all(np.array_equal(problem[name], plain[name]) for name in plain.keys() - of_frames)
    found = placements(robot, problem["x_ref"][:, :2])[..., :3, 3]
    assert 0.0 < np.abs(problem["placement_ref"][..., :3, 3] - found).max() <= BESIDE
    weights = problem["position_weight"]
    assert weights.shape == (KNOTS + 1, 2, 3)
    assert weights.min() > 0.0
    np.testing.assert_array_equal(weights[-1], 10.0 * weights[0])
    assert not problem["orientation_weight"].any()


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ["toy", "hyq", "iiwa14"])
def test_goals_are_within_the_domain(name, base):
    """A joint of narrow limits may start so near them that its goal would be beyond."""
    robot = load_mounted(bundled()[name], Mounting(base))
    domain = input_domain(robot)
    bounds = np.asarray(domain.bounds["q"])
    tight = replace(domain, bounds={**domain.bounds, "q": np.clip(bounds, -1.0, 1.0)})
    quaternions = [list(joint.quaternion) for joint in wide_joints(robot) if joint.quaternion]
    for seed, each in product(range(10), (domain, tight)):
        goal = random_problem(robot, each, 2, STEP, seed)["x_ref"][0, : robot.nq]
        low, high = np.asarray(each.bounds["q"]).T
        assert np.all((goal >= low) & (goal <= high))
        for quaternion in quaternions:
            assert np.linalg.norm(goal[quaternion]) == pytest.approx(1.0)
