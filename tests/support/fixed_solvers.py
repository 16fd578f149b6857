"""Solvers on the words of accelerators, and problems for them."""

from functools import cache

import numpy as np

from rbdhw.fixed.knots import knot_program
from rbdhw.fixed.solver import REGULARISATION
from rbdhw.frontend.knot_step import driven, record_sweep
from rbdhw.golden.evaluation import evaluate
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.quantize.knots import knot_magnitudes, solver_numbers
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

STEP = 0.01

WEIGHT = 1e-3
"""The weight of each force."""

MOST = 10.0 * WEIGHT
"""The largest regularisation that sweeps are to take."""


def solver_problem(robot, bounds, knots, seed):
    """Return a problem from a random state to a goal up to 0.3 rad away, first with forces that hold it."""
    rng, nv = np.random.default_rng(seed), robot.nv
    low, high = 0.4 * np.clip(np.asarray(bounds["q"]), -3.0, 3.0).T
    q, v = rng.uniform(low, high), rng.uniform(-0.2, 0.2, nv)
    goal = np.hstack([q + rng.uniform(-0.3, 0.3, nv), np.zeros(nv)])
    Q = np.tile(np.hstack([rng.uniform(5.0, 10.0, nv), rng.uniform(0.5, 1.0, nv)]), (knots + 1, 1))
    Q[-1] *= 10.0
    held = evaluate(robot, "id", {"q": q[np.newaxis], "v": np.zeros((1, nv)), "a": np.zeros((1, nv))})
    limits = np.asarray(bounds["tau"])
    return {
        "q": q,
        "v": v,
        "h": np.array(STEP),
        "x_ref": np.tile(goal, (knots + 1, 1)),
        "Q": Q,
        "R": np.full((knots, nv), WEIGHT),
        "tau_min": limits[:, 0],
        "tau_max": limits[:, 1],
        "tau": np.tile(held["tau"], (knots, 1)),
        "states": np.zeros((knots + 1, 2 * nv)),
        "K": np.zeros((knots, nv, 2 * nv)),
        **_without_other_costs(robot, knots),
    }


def _without_other_costs(robot, knots):
    nv, frames = robot.nv, robot.sizes["frames"]
    return {
        "C": np.zeros((0, 2 * nv)),
        "y": np.zeros((knots + 1, 0)),
        "W": np.zeros((knots + 1, 0)),
        "limit_weight": np.zeros(2 * nv),
        "x_min": np.full(2 * nv, -1e3),
        "x_max": np.full(2 * nv, 1e3),
        "tau_ref": np.zeros((knots, nv)),
        "placement_ref": np.zeros((knots + 1, frames, 4, 4)),
        "position_weight": np.zeros((knots + 1, frames, 3)),
        "orientation_weight": np.zeros((knots + 1, frames)),
    }


@cache
def plan_of(name, width, ii):
    """Return the plan of an accelerator with steps and their derivatives."""
    options = BuildOptions(functions=("step", "dstep"), width=width, ii=ii)
    return plan_build(load_urdf(path(name)), options)


@cache
def fixed_solver(name, knots, alphas, width=27, ii=4, problems=8):
    """Return the bit-exact solver of a bundled robot, with formats from so many problems."""
    model = plan_of(name, width, ii).accelerator
    robot, bounds = model.robot, model.domain.bounds
    sweeps, forces = record_sweep(robot, knots), driven(robot)
    observed = [solver_problem(robot, bounds, knots, 1000 + seed) for seed in range(problems)]
    numbers = solver_numbers(robot, observed, forces)
    numbers[0] |= {REGULARISATION: np.array(MOST)}
    program = knot_program(sweeps, knot_magnitudes(sweeps, numbers), width)
    return FixedSolver(model, FixedSweep(sweeps, program, STEP, forces), alphas)
