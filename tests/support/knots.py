"""Knots of problems of optimal control."""

import numpy as np

from rbdhw.fixed.knots import knot_program
from rbdhw.frontend.knot_step import REGULARISATION, driven, record_sweep
from rbdhw.golden.solver import Trajectory, expand, solve
from rbdhw.graph.interpret import interpret
from rbdhw.graph.knots import sweep_knots
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.knot_numbers import knot_numbers, moved_numbers, policy_of
from rbdhw.quantize.knots import knot_magnitudes, solver_numbers
from tests.support.optimal_control import STEP, random_problem

MOST = 1e-2
"""A regularisation that bit-exact sweeps take."""


def random_expansion(robot, knots, seed, held=()):
    """Return the expansion of a random problem around a trajectory of the solver."""
    problem = random_problem(robot, knots, seed, rows=0)
    problem["tau_min"][list(held)] = problem["tau_max"][list(held)] = 0.0
    solved = solve(robot, problem, 1, 1, 1e-9)
    return expand(robot, problem, Trajectory(solved["states"], solved["tau"], 0.0))


def policy_of_graph(robot, sweeps, expansion, regularisation, held=(), values=None, changes=None):
    """Return the policy that the graph of a knot's step computes.

    Blocks begin with ``values``, moved by the ``changes`` (N + 1, 2 nv) of states behind their first knots.
    """
    forces = driven(robot, held)
    numbers = knot_numbers(expansion, STEP, forces) | {"regularisation": np.array(regularisation)}
    changes = np.zeros_like(expansion.gradient) if changes is None else changes
    numbers |= moved_numbers(changes, STEP, () if values is None else values)

    def step(_knot, inputs):
        outputs = interpret(sweeps.sweeps[0].step, inputs)
        return {name.partition(".")[2]: value for name, value in outputs.items()}

    results = sweep_knots(sweeps, numbers, step, values)
    return policy_of(results, expansion, regularisation, STEP, forces)


def fixed_sweep(robot, knots, width, seeds=range(4)):
    """Return the bit-exact sweep of random problems."""
    sweeps, forces = record_sweep(robot, knots), driven(robot)
    problems = [random_problem(robot, knots, seed, rows=0) for seed in seeds]
    numbers = solver_numbers(robot, problems, forces)
    numbers[0] |= {REGULARISATION: np.array(MOST)}
    program = knot_program(sweeps, knot_magnitudes(sweeps, numbers), width)
    return FixedSweep(sweeps, program, STEP, forces)


def random_words(robot, sweep, seed, problems):
    """Return the words (problems, knots) of random problems, with one regularisation for all."""
    knots = sweep.sweeps.links - 1
    columns = [
        knot_numbers(random_expansion(robot, knots, seed + k), STEP, sweep.forces) for k in range(problems)
    ]
    numbers = {name: np.stack([column[name] for column in columns]) for name in columns[0]}
    return sweep.quantise(numbers | {REGULARISATION: np.array(1e-3)})[0]


def any_words(sweep, seed, problems):
    """Return random words (problems, knots) in all of their formats."""
    rng, shape = np.random.default_rng(seed), (problems, sweep.sweeps.links)
    words = {}
    for word in sweep.taken:
        size = () if word.name == REGULARISATION else shape
        words[word.name] = rng.integers(word.format.lowest, word.format.highest, size, endpoint=True)
    return words
