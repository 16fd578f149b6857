"""A sweep back by states of joints of several degrees of freedom, and by frames, equals dense matrices."""

import numpy as np
import pytest

from rbdhw.frontend.knot_step import driven, record_sweep
from rbdhw.golden.riccati import sweep_back
from rbdhw.golden.solver import Trajectory, difference, expand, solve
from rbdhw.graph.interpret import interpret
from rbdhw.graph.knots import OF_POSITIONS, sweep_knots
from rbdhw.model.knot_numbers import knot_numbers, position_numbers, state_numbers
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.floating_robots import floating, shoulder, two_legs
from tests.support.marks import long
from tests.support.optimal_control import STEP, random_problem
from tests.support.tracking import tracking

KNOTS = 3

BASE = range(6)


def plain_problem(robot, seed):
    """Return a random problem with costs of differences, forces and positions alone."""
    problem = random_problem(robot, KNOTS, seed, rows=0)
    return problem | {name: 0.0 * problem[name] for name in ("limit_weight", "orientation_weight")}


@pytest.mark.parametrize(
    ("make", "held"),
    [
        (shoulder, ()),
        long(two_legs, BASE),
        long(lambda: floating("hyq"), BASE),
        (lambda: tracking(load_urdf(path("toy")), "tip", "forearm@0:0.1:0.2"), ()),
        (lambda: tracking(shoulder(), "b1@0.1:0.2:0.3"), ()),
        long(lambda: tracking(two_legs(), "b1@0.1:0.2:0.3", "b0"), BASE),
        long(lambda: tracking(load_urdf(path("iiwa14")), "iiwa_link_7"), ()),
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
    if robot.tracks:
        numbers |= position_numbers(robot, problem, solved["states"], numbers)
    numbers |= state_numbers(robot, problem, solved["states"])
    positions = 3 * robot.sizes["tracked"]
    sweeps = record_sweep(robot, KNOTS, held, coupled=False, of_states=True, positions=positions)
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


def test_positions_that_nothing_moves_cost_nothing():
    """A row without derivatives has neither a weight nor a slope."""
    robot = load_urdf(path("toy"))
    names = {"P[0,0]", "P[0,1]", "P[2,1]", *(f"D[{i},{j}]" for i in range(2) for j in range(6))}
    sources = record_sweep(robot, KNOTS, coupled=False, derivatives=names, positions=3).sources
    given = {name for name in sources if name.partition("[")[0] in OF_POSITIONS}
    assert given == {"P[0,0]", "P[0,1]", "P[2,1]", "W[0]", "W[2]", "G[0]", "G[2]"}
