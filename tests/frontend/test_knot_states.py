"""A sweep back by the states of joints of several degrees of freedom equals that of dense matrices."""

import numpy as np
import pytest

from rbdhw.frontend.knot_step import driven, record_sweep
from rbdhw.golden.riccati import sweep_back
from rbdhw.golden.solver import Trajectory, difference, expand, solve
from rbdhw.graph.interpret import interpret
from rbdhw.graph.knots import sweep_knots
from rbdhw.model.knot_numbers import knot_numbers, state_numbers
from rbdhw.robot.model import JointKind
from tests.support.floating_robots import floating, two_legs
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.optimal_control import STEP, random_problem

KNOTS = 3

BASE = range(6)


def plain_problem(robot, seed):
    """Return a random problem with costs of differences and forces alone."""
    problem = random_problem(robot, KNOTS, seed, rows=0)
    return problem | {"limit_weight": np.zeros(2 * robot.nv)}


@pytest.mark.parametrize(
    ("make", "held"),
    [
        (lambda: mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL], [-1, 0], 4), ()),
        (two_legs, BASE),
        long(lambda: floating("hyq"), BASE),
    ],
)
def test_a_sweep_by_states_equals_dense_matrices(make, held):
    robot = make()
    problem = plain_problem(robot, 3)
    problem["tau_min"][list(held)] = problem["tau_max"][list(held)] = 0.0
    solved = solve(robot, problem, 1, 1, 1e-9)
    expansion = expand(robot, problem, Trajectory(solved["states"], solved["tau"], 0.0))
    forces = driven(robot, held)
    numbers = knot_numbers(expansion, STEP, forces) | {"regularisation": np.array(1e-3)}
    numbers |= state_numbers(robot, problem, solved["states"])
    sweeps = record_sweep(robot, KNOTS, held, coupled=False, of_states=True)
    (sweep,) = sweeps.sweeps

    def step(_knot, inputs):
        return {name.partition(".")[2]: value for name, value in interpret(sweep.step, inputs).items()}

    results = sweep_knots(sweeps, numbers, step)
    policy = sweep_back(expansion, 1e-3)
    units = np.append(np.ones(robot.nq), np.full(robot.nv, STEP))
    rng = np.random.default_rng(4)
    other = random_problem(robot, KNOTS, 5)["x_ref"]
    other[:, robot.nq :] = rng.normal(size=(KNOTS + 1, robot.nv))
    for k in range(KNOTS):
        state = solved["states"][k]
        gains = np.array([[results[f"K[{i},{j}]"][k] for j in range(len(state))] for i in range(len(forces))])
        feedback = gains @ (units * (other[k] - state))
        expected = (policy.gains[k] @ difference(robot, state, other[k]))[forces]
        np.testing.assert_allclose(feedback, expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())
        changes = [results[f"k[{i}]"][k] for i in range(len(forces))]
        np.testing.assert_allclose(changes, policy.changes[k][forces], rtol=1e-6, atol=1e-10)
