"""Solvers on the words of accelerators, and problems for them."""

from dataclasses import replace

import numpy as np

from rbdhw.explore.accelerator import Planner
from rbdhw.explore.search import prepare_build
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_problems import moving_problem, random_problem
from rbdhw.model.solver_words import with_solver
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.solver_sweep import observed_sweep
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.remembered import remembered

STEP, ITERATIONS = 0.01, 255


@remembered
def plan_of(robot, width=27, ii=4, number="fixed", time_step=None):
    """Return the plan of an accelerator with steps and their derivatives.

    The ``robot`` is the name of a bundled one, or a function that makes it.
    """
    options = BuildOptions(("step", "dstep"), width=width, ii=ii, number=number, samples=256, knots=1)
    made = load_urdf(path(robot)) if isinstance(robot, str) else robot()
    source = replace(made, time_step=time_step)
    return Planner(prepare_build(source, options), options).plan_functions(options)


def solver_problem(model, knots, seed):
    """Return a random problem for an accelerator's robot."""
    return random_problem(model.robot, model.domain, knots, STEP, seed)


def with_close_limits(problem, share=0.1):
    """Return a problem whose forces differ from those that hold the robot by a share of all at most."""
    held, room = problem["tau"][0], share * (problem["tau_max"] - problem["tau_min"])
    return problem | {"tau_min": held - room, "tau_max": held + 0.5 * room}


@remembered
def fixed_solver(
    robot, knots, alphas, width=27, ii=4, problems=8, number="fixed", time_step=None, together=1, blocks=1
):
    """Return the bit-exact solver of a robot of :func:`plan_of`, with formats from so many problems.

    It solves so many problems ``together``, and sweeps back in so many ``blocks``.
    """
    model = plan_of(robot, width, ii, number, time_step).accelerator
    domain, seeds = model.domain, range(1000, 1000 + problems)
    observed = (moving_problem(model.robot, domain, knots, STEP, seed) for seed in seeds)
    sweep = observed_sweep(model.robot, model.interface.words("dstep"), observed, knots, width, blocks)
    return FixedSolver(with_solver(model, sweep, alphas, ITERATIONS, together, blocks))


def posed(fixed, seed):
    """Return a problem, its task, and the words of its goal."""
    problem = solver_problem(fixed.model, fixed.shape.knots, seed)
    return problem, fixed.task(problem, problem["tau"][0]), fixed.goal(problem)


def forces(fixed, plan):
    """Return the forces (N, nv) of a plan."""
    words = ((word.format.real(plan.forces[word.name])) for word in fixed.shape.taus)
    return np.stack(list(words), axis=1)


def real_states(fixed, plan):
    """Return the states (N + 1, nq + nv) of a plan."""
    words = (state.word for state in fixed.shape.state)
    units = (2.0 * np.pi if word.unit == "turn" else 1.0 for word in words)
    real = (state.word.format.real(plan.states[state.word.name]) for state in fixed.shape.state)
    return np.stack([unit * each for unit, each in zip(units, real, strict=True)], axis=1)
