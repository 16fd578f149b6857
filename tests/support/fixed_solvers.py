"""Solvers on the words of accelerators, and problems for them."""

from dataclasses import replace

from rbdhw.explore.solver import OBSERVED_KNOTS
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.solver_problems import random_problem
from rbdhw.model.solver_words import with_solver
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.quantize.solver_sweep import observed_sweep
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.remembered import remembered

STEP, ITERATIONS = 0.01, 255


@remembered
def plan_of(name, width=27, ii=4, number="fixed", time_step=None):
    """Return the plan of an accelerator with steps and their derivatives."""
    options = BuildOptions(("step", "dstep"), width=width, ii=ii, number=number, samples=256)
    return plan_build(replace(load_urdf(path(name)), time_step=time_step), options)


def solver_problem(model, knots, seed):
    """Return a random problem for an accelerator's robot."""
    return random_problem(model.robot, model.domain, knots, STEP, seed)


@remembered
def fixed_solver(name, knots, alphas, width=27, ii=4, problems=8, number="fixed", time_step=None):
    """Return the bit-exact solver of a bundled robot, with formats from so many problems."""
    model = plan_of(name, width, ii, number, time_step).accelerator
    steps = min(knots, OBSERVED_KNOTS)
    observed = (solver_problem(model, steps, 1000 + seed) for seed in range(problems))
    sweep = observed_sweep(model.robot, model.interface.words("dstep"), observed, steps, width)
    sweep = replace(sweep, sweeps=replace(sweep.sweeps, links=knots + 1))
    return FixedSolver(with_solver(model, sweep, alphas, ITERATIONS))
