"""Knots of problems of optimal control."""

import numpy as np

from rbdhw.frontend.knot_step import driven
from rbdhw.golden.solver import Trajectory, expand, solve
from rbdhw.graph.interpret import interpret
from rbdhw.graph.knots import sweep_knots
from rbdhw.model.knot_numbers import knot_numbers, policy_of
from tests.support.optimal_control import STEP, random_problem


def random_expansion(robot, knots, seed, held=()):
    """Return the expansion of a random problem around a trajectory of the solver."""
    problem = random_problem(robot, knots, seed, rows=0)
    problem["tau_min"][list(held)] = problem["tau_max"][list(held)] = 0.0
    solved = solve(robot, problem, 1, 1, 1e-9)
    return expand(robot, problem, Trajectory(solved["states"], solved["tau"], 0.0))


def policy_of_graph(robot, sweeps, expansion, regularisation, held=()):
    """Return the policy that the graph of a knot's step computes."""
    forces = driven(robot, held)
    numbers = knot_numbers(expansion, STEP, forces) | {"regularisation": np.array(regularisation)}

    def step(_knot, inputs):
        outputs = interpret(sweeps.sweeps[0].step, inputs)
        return {name.partition(".")[2]: value for name, value in outputs.items()}

    results = sweep_knots(sweeps, numbers, step)
    return policy_of(results, float(results["decrease"]), STEP, forces, robot.nv)
